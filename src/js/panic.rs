//! Panics become JavaScript errors.

use std::sync::Once;

/// Makes a panic throw its message. Without it the caller sees `unreachable` and nothing else.
///
/// There is no input that should panic; this is for the defect that we have not found.
pub(super) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            wasm_bindgen::throw_str(&format!("waypost panicked: {info}"));
        }));
    });
}
