//! Revert data: what a contract returned when it gave up.

/// `Error(string)` and `Panic(uint256)`, the selectors that the compiler itself emits.
const SELECTORS: [&[u8]; 2] = [b"0x08c379a0", b"0x4e487b71"];

/// Whether the data proves a revert, whatever code and message say.
///
/// Nethermind's ancestors put the word in front: `Reverted 0x…`.
pub(super) fn is_revert(data: &str) -> bool {
    let data = data.as_bytes();
    SELECTORS.iter().any(|selector| starts_with(data, selector)) || starts_with(data, b"revert")
}

/// Whether the data has the shape of a contract's own error: a selector and whole words.
///
/// Weaker evidence, as a provider may send any hex: it decides only when words do not.
pub(super) fn is_custom_error(data: &str) -> bool {
    data.strip_prefix("0x").is_some_and(|hex| {
        hex.len() % 64 == 8 && hex.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

fn starts_with(data: &[u8], prefix: &[u8]) -> bool {
    data.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_s_selectors_count_in_any_case_and_only_in_front() {
        assert!(is_revert("0x08c379a0"));
        assert!(is_revert("0x08C379A00000"));
        assert!(is_revert("0X4E487B71"));
        assert!(is_revert("Reverted 0x"));
        for other in ["", "0x", "0x08c3", "0xdeadbeef", "0x0008c379a0", "é08c379a0"] {
            assert!(!is_revert(other), "{other}");
        }
    }

    #[test]
    fn a_custom_error_is_a_selector_and_whole_words() {
        let one_word = format!("0xdeadbeef{}", "0".repeat(64));
        assert!(is_custom_error("0xdeadbeef"));
        assert!(is_custom_error(&one_word));
        for other in ["", "0x", "0xdeadbeef00", "deadbeef", "0xdeadbeeg"] {
            assert!(!is_custom_error(other), "{other}");
        }
    }
}
