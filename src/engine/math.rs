//! Transcendental functions that give the same bits on every target.
//!
//! The standard library's come from the platform and may differ in the last digit, which would make a
//! native trace differ from a wasm one; `libm` is plain Rust and does not.

/// Natural logarithm.
#[must_use]
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// Decimal logarithm.
#[must_use]
pub fn log10(x: f64) -> f64 {
    libm::log(x) / core::f64::consts::LN_10
}

/// `base`, which is positive, to the power of `exponent`. Good to some fourteen digits, at a quarter of the
/// bytes of the exact function.
#[must_use]
pub fn pow(base: f64, exponent: f64) -> f64 {
    libm::exp(exponent * libm::log(base))
}
