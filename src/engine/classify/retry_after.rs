//! When a provider wants to see us again.

use core::time::Duration;

use super::find::{inspected, occurrences};
use super::http_date;
use crate::engine::words::words;

/// A longer wait than this is taken for a mistake: a timestamp, or milliseconds, sent as seconds.
/// Quotas are renewed daily at the latest, and a longer ban would not be announced.
const LONGEST: Duration = Duration::from_hours(24);

/// What the words before a wait look like; a wait without a unit after them is in seconds.
///
/// Members of error data are among them: Infura's `backoff_seconds`, Chainstack's `try_again_in`.
const BEFORE_SECONDS: &str = "try again in|try again after|try_again_in|retry in|retry after|\
    retry-after|retry_after|retryafter|backoff_seconds|resets in|reset in|available in|wait|wait for";

/// The same, where a wait without a unit is in milliseconds.
const BEFORE_MILLIS: &str = "retry_after_ms|retryafterms|retry-after-ms|retry_in_ms";

/// How many quotes, colons and blanks may stand between those words and the number.
const SEPARATORS: usize = 8;

/// The wait that a `Retry-After` header asks for: seconds, or an HTTP date.
///
/// A date is compared with the response's own `Date`, so that a wrong clock on the user's machine
/// does no harm, and with `wall_now_ms` (milliseconds since 1970) if that is missing or unreadable.
/// Zero or a past date is [`Duration::ZERO`]; what is unreadable, or longer than a day, is `None`.
///
/// # Examples
///
/// ```
/// use core::time::Duration;
/// use waypost::engine::classify::retry_after::retry_after;
///
/// assert_eq!(retry_after("120", None, None), Some(Duration::from_secs(120)));
/// let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
/// let header = "Sun, 06 Nov 1994 08:49:47 GMT";
/// assert_eq!(retry_after(header, date, None), Some(Duration::from_secs(10)));
/// assert_eq!(retry_after("later", None, None), None);
/// ```
#[must_use]
pub fn retry_after(header: &str, date: Option<&str>, wall_now_ms: Option<f64>) -> Option<Duration> {
    let header = header.trim_ascii();
    if header.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        let (wait, rest) = span(header.as_bytes(), 1.0)?;
        // `fetch` joins a repeated header with commas.
        return if rest.is_empty() || rest.starts_with(b",") { Some(wait) } else { None };
    }
    let until = millis(http_date::parse(header)?);
    let now = date
        .and_then(|date| http_date::parse(date.trim_ascii()))
        .map(millis)
        .or_else(|| wall_now_ms.filter(|now| now.is_finite()))?;
    plausible(((until - now) / 1000.0).max(0.0))
}

/// The wait that an error's message or data asks for: "try again in 3.2 seconds", "retry in
/// 10m0s", `"backoff_seconds": 30`.
///
/// `None` if there is none, or it is longer than a day.
#[must_use]
pub fn hint(text: &str) -> Option<Duration> {
    let text = inspected(text);
    [(BEFORE_SECONDS, 1.0), (BEFORE_MILLIS, 0.001)].into_iter().find_map(|(phrases, unit)| {
        words(phrases)
            .flat_map(|phrase| occurrences(text, phrase.as_bytes()))
            .find_map(|after| span(after_separators(after)?, unit).map(|(wait, _)| wait))
    })
}

fn after_separators(text: &[u8]) -> Option<&[u8]> {
    let is_separator = |byte: &u8| matches!(byte, b' ' | b'"' | b'\'' | b':' | b'=' | b'~' | b'(');
    let skipped = text.iter().take_while(|byte| is_separator(byte)).count();
    if skipped <= SEPARATORS { text.get(skipped..) } else { None }
}

/// Reads "90", "1.5 s", "10m0s" or "1 minute 30 seconds" from the front of a text; a first number
/// without a unit counts `default_unit` seconds each.
fn span(text: &[u8], default_unit: f64) -> Option<(Duration, &[u8])> {
    let (first, mut rest) = number(text)?;
    let Some((unit, after_unit)) = unit(rest) else {
        let attached = rest.first().is_some_and(u8::is_ascii_alphanumeric);
        return if attached { None } else { Some((plausible(first * default_unit)?, rest)) };
    };
    let mut seconds = first * unit;
    rest = after_unit;
    while let Some((more, unit, after)) = measure(rest.trim_ascii_start()) {
        seconds += more * unit;
        rest = after;
    }
    Some((plausible(seconds)?, rest))
}

fn measure(text: &[u8]) -> Option<(f64, f64, &[u8])> {
    let (number, rest) = number(text)?;
    let (unit, rest) = unit(rest)?;
    Some((number, unit, rest))
}

/// Digits with at most one point between them.
fn number(text: &[u8]) -> Option<(f64, &[u8])> {
    let (mut value, rest) = digits(text)?;
    let Some((fraction, after)) = rest.strip_prefix(b".").and_then(digits_and_scale) else {
        return Some((value, rest));
    };
    value += fraction;
    Some((value, after))
}

fn digits(text: &[u8]) -> Option<(f64, &[u8])> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(count).filter(|_| count > 0)?;
    let value = digits.iter().fold(0.0, |value, digit| value * 10.0 + f64::from(digit - b'0'));
    Some((value, rest))
}

fn digits_and_scale(text: &[u8]) -> Option<(f64, &[u8])> {
    let (_, rest) = digits(text)?;
    let mut scale = 1.0;
    let fraction = text.iter().take(text.len() - rest.len()).fold(0.0, |value, digit| {
        scale /= 10.0;
        value + f64::from(digit - b'0') * scale
    });
    Some((fraction, rest))
}

/// The seconds of a unit, written out or short, in front of a text.
fn unit(text: &[u8]) -> Option<(f64, &[u8])> {
    let text = text.trim_ascii_start();
    let length = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, rest) = text.split_at_checked(length)?;
    let is = |names: &str| words(names).any(|name| word.eq_ignore_ascii_case(name.as_bytes()));
    let seconds = if is("s|sec|secs|second|seconds") {
        1.0
    } else if is("ms|msec|millis|millisecond|milliseconds") {
        0.001
    } else if is("m|min|mins|minute|minutes") {
        60.0
    } else if is("h|hr|hour|hours") {
        3600.0
    } else {
        return None;
    };
    Some((seconds, rest))
}

#[expect(clippy::cast_precision_loss, reason = "a year of four digits is exact in milliseconds")]
fn millis(seconds: i64) -> f64 {
    (seconds * 1000) as f64
}

/// Rounds to milliseconds, the finest that anyone means.
fn plausible(seconds: f64) -> Option<Duration> {
    if seconds <= LONGEST.as_secs_f64() {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to a day")]
        let millis = (seconds * 1000.0 + 0.5) as u64;
        Some(Duration::from_millis(millis))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: Option<&str> = Some("Sun, 06 Nov 1994 08:49:37 GMT");
    const DATE_MS: f64 = 784_111_777_000.0;

    #[test]
    fn seconds_may_have_a_fraction_and_a_unit_and_nothing_else() {
        let wait = |header| retry_after(header, None, None).map(|wait| wait.as_millis());
        assert_eq!(wait(" 120 "), Some(120_000));
        assert_eq!(wait("0"), Some(0));
        assert_eq!(wait("1.5"), Some(1500));
        assert_eq!(wait("10s"), Some(10_000));
        assert_eq!(wait("60, 60"), Some(60_000));
        assert_eq!(wait("86400"), Some(86_400_000));
        for header in ["", "-1", "86401", "1700000000", "1e3", "0x10", ".5", "NaN", "2 moons", "٣"]
        {
            assert_eq!(wait(header), None, "{header}");
        }
        assert_eq!(wait(&"9".repeat(400)), None);
    }

    #[test]
    fn a_date_is_read_relative_to_the_response_s_own_clock() {
        let later = "Sun, 06 Nov 1994 08:50:07 GMT";
        let seconds = |date, now| retry_after(later, date, now).map(|wait| wait.as_secs());
        assert_eq!(seconds(DATE, Some(0.0)), Some(30));
        assert_eq!(seconds(None, Some(DATE_MS + 20_000.0)), Some(10));
        assert_eq!(seconds(Some("yesterday"), Some(DATE_MS + 20_000.0)), Some(10));
        assert_eq!(seconds(None, Some(DATE_MS + 60_000.0)), Some(0));
        assert_eq!(seconds(None, Some(0.0)), None);
        assert_eq!(seconds(None, None), None);
        assert_eq!(seconds(None, Some(f64::NAN)), None);
        assert_eq!(seconds(None, Some(f64::NEG_INFINITY)), None);
    }

    #[test]
    fn a_hint_is_a_number_right_after_its_words() {
        for text in
            ["slow down", "retry after some time. Error 429", "wait", "retry_after: null", ""]
        {
            assert_eq!(hint(text), None, "{text}");
        }
        assert_eq!(hint("wait, or retry in 2 blocks"), Some(Duration::from_secs(2)));
        assert_eq!(hint("try again in 1 minute 30 seconds"), Some(Duration::from_secs(90)));
    }
}
