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

/// `base`, which is positive, to the power of `exponent`. Whole exponents, which are the usual ones, are
/// multiplied out; others are good to some fourteen digits, at a quarter of the bytes of the exact function.
#[must_use]
pub fn pow(base: f64, exponent: f64) -> f64 {
    let mut power = 1.0;
    let mut left = exponent;
    while left >= 1.0 {
        power *= base;
        left -= 1.0;
    }
    if left > 0.0 { power * libm::exp(left * libm::log(base)) } else { power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_and_logarithms_are_those_of_the_platform() {
        for base in [1e-6, 0.037, 0.5, 0.999, 1.0] {
            for exponent in [0.0, 0.5, 1.0, 2.25, 3.0, 10.0] {
                #[expect(clippy::disallowed_methods, reason = "what ours is compared with")]
                let expected = f64::powf(base, exponent);
                assert!((pow(base, exponent) / expected - 1.0).abs() < 1e-12, "{base} {exponent}");
            }
        }
        assert!((log10(1000.0) - 3.0).abs() < 1e-15);
        assert!((ln(core::f64::consts::E) - 1.0).abs() < 1e-15);
    }
}
