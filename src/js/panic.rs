//! Panics become JavaScript errors.

/// Makes a panic throw its message. Without it the caller sees `unreachable` and nothing else.
///
/// There is no input that should panic; this is for the defect that we have not found. Installing it again
/// changes nothing, and weighs less than remembering that it was done. After a panic, though, the thread
/// counts as panicking for ever, since nothing is unwound, and the hook must not be touched.
pub(super) fn install_hook() {
    if !std::thread::panicking() {
        std::panic::set_hook(Box::new(|info| {
            wasm_bindgen::throw_str(&format!("waypost panicked: {info}"));
        }));
    }
}
