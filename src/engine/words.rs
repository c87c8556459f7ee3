//! Lists of words in one string: a slice of strings has a pointer and a length per word, which weigh as much as
//! the word.

/// The words of a list whose separator is a bar.
pub(crate) fn words(list: &str) -> impl Iterator<Item = &str> {
    split(list, "|")
}

/// What stands between the separators, which are ASCII. The library's ways of splitting may panic, and linking
/// what prints that weighs more than the error phrases.
pub(crate) fn split<'a>(text: &'a str, separators: &'static str) -> impl Iterator<Item = &'a str> {
    let mut rest = Some(text);
    core::iter::from_fn(move || {
        let text = rest?;
        let is_separator = |byte| separators.as_bytes().contains(&byte);
        let end = text.bytes().position(is_separator).unwrap_or(text.len());
        rest = text.get(end + 1..);
        text.get(..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_stands_between_separators() {
        for (list, expected) in
            [("a|é||d", vec!["a", "é", "", "d"]), ("", vec![""]), ("a|", vec!["a", ""])]
        {
            assert_eq!(words(list).collect::<Vec<_>>(), expected);
        }
        assert_eq!(split("1 Jan-94", " -").collect::<Vec<_>>(), ["1", "Jan", "94"]);
    }
}
