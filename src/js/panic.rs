//! Panics become JavaScript errors.

use alloc::string::String;
use core::panic::PanicInfo;

/// Throws what is known of a panic. The caller would otherwise see `unreachable` and nothing else.
///
/// There is no input that should panic; this is for the defect that we have not found. Only texts that are
/// finished are shown, and the line is written by hand: formatting would add 3 KB to the module.
#[panic_handler]
fn throw(info: &PanicInfo<'_>) -> ! {
    let mut text = String::from("waypost panicked");
    if let Some(place) = info.location() {
        text.push_str(" at ");
        text.push_str(place.file());
        text.push(':');
        push_number(&mut text, place.line());
    }
    if let Some(message) = info.message().as_str() {
        text.push_str(": ");
        text.push_str(message);
    }
    wasm_bindgen::throw_str(&text)
}

fn push_number(text: &mut String, number: u32) {
    if number >= 10 {
        push_number(text, number / 10);
    }
    text.extend(char::from_digit(number % 10, 10));
}
