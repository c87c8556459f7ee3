//! Searching error texts: case-insensitive, without allocating, within bounds.
//!
//! Texts come from strangers, so only their first [`INSPECTED_BYTES`] are read. Case is folded for
//! ASCII only: every known phrase is ASCII, and full folding would cost more bytes than the rest of
//! the classifier.

use crate::engine::words::words;

/// How much of a text is looked at: a node's longest known sentence is a tenth of it, and a
/// megabyte of HTML costs no more than a page.
pub(super) const INSPECTED_BYTES: usize = 4096;

/// The longest stretch a `*` in a phrase stands for: a 0x-prefixed hash and a few words.
const GAP_BYTES: usize = 96;

/// The part of a text that is looked at.
///
/// Bytes, not characters: a phrase is ASCII and cannot match inside of a cut character.
pub(super) fn inspected(text: &str) -> &[u8] {
    let bytes = text.as_bytes();
    bytes.get(..INSPECTED_BYTES).unwrap_or(bytes)
}

/// Whether `needle` occurs in `text`, in any case. An empty needle never does, so that an empty
/// phrase in a user's rule does not match every error.
pub(super) fn contains(text: &[u8], needle: &[u8]) -> bool {
    occurrences(text, needle).next().is_some()
}

/// What follows each occurrence of `needle` in `text`.
pub(super) fn occurrences<'a>(
    text: &'a [u8],
    needle: &'a [u8],
) -> impl Iterator<Item = &'a [u8]> + 'a {
    // Most places are ruled out by their first letter: there are some three hundred phrases.
    let first = needle.first().map(u8::to_ascii_lowercase);
    let starts = move |byte: &u8| Some(byte.to_ascii_lowercase()) == first;
    let candidates = text.iter().enumerate().filter(move |(_, byte)| starts(byte));
    candidates.filter_map(|(at, _)| {
        let (part, rest) = text.get(at..)?.split_at_checked(needle.len())?;
        part.eq_ignore_ascii_case(needle).then_some(rest)
    })
}

/// Whether any of the phrases, separated by `|`, occurs in `text`.
///
/// In a phrase, one `*` stands for anything up to [`GAP_BYTES`] and one `?` for a single word, since
/// nodes put numbers and names in the middle of their sentences. One string per group, not a slice
/// of strings: the pointers would weigh as much as the words.
pub(super) fn any(text: &[u8], phrases: &str) -> bool {
    words(phrases).any(|phrase| matches(text, phrase.as_bytes()))
}

fn matches(text: &[u8], phrase: &[u8]) -> bool {
    let Some(at) = phrase.iter().position(|byte| matches!(byte, b'*' | b'?')) else {
        return contains(text, phrase);
    };
    let Some((head, [wildcard, tail @ ..])) = phrase.split_at_checked(at) else {
        return false;
    };
    occurrences(text, head).any(|after| {
        if *wildcard == b'*' {
            contains(after.get(..GAP_BYTES + tail.len()).unwrap_or(after), tail)
        } else {
            let word = after.iter().position(|byte| *byte == b' ').unwrap_or(after.len());
            after.get(word..word + tail.len()).is_some_and(|found| found.eq_ignore_ascii_case(tail))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_is_ignored_and_an_empty_needle_matches_nothing() {
        assert!(contains(b"Header NOT Found", b"not found"));
        assert!(!contains(b"header", b"header not found"));
        assert!(!contains(b"anything", b""));
        assert!(!contains(b"", b""));
    }

    #[test]
    fn a_star_bridges_a_hash_but_not_a_page() {
        let near = format!("block 0x{} not found", "a".repeat(64));
        let far = format!("block {} not found", "a".repeat(200));
        assert!(any(near.as_bytes(), "nothing|block *not found"));
        assert!(!any(far.as_bytes(), "block *not found"));
        assert!(!any(b"not found: block ", "block *not found"));
    }

    #[test]
    fn a_question_mark_is_one_word() {
        assert!(any(b"Method eth_foo not found", "method ? not found"));
        assert!(!any(b"method eth_foo: block not found", "method ? not found"));
        assert!(!any(b"method not found", "method ? not found"));
        assert!(!any(b"method ", "method ? not found"));
    }

    #[test]
    fn a_star_tries_every_place_where_its_head_occurs() {
        let text = format!("block {} block 7 not found", "a".repeat(200));
        assert!(any(text.as_bytes(), "block *not found"));
    }

    #[test]
    fn only_the_beginning_of_a_text_is_inspected() {
        let inside = format!("{}rate", "x".repeat(INSPECTED_BYTES - 4));
        let outside = format!("{}rate", "x".repeat(INSPECTED_BYTES - 3));
        assert!(contains(inspected(&inside), b"rate"));
        assert!(!contains(inspected(&outside), b"rate"));
        assert_eq!(inspected(&"é".repeat(4000)).len(), INSPECTED_BYTES);
    }
}
