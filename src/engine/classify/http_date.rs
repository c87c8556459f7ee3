//! HTTP dates, in the three forms that RFC 9110 (5.6.7) obliges a recipient to read.

use crate::engine::words::{split, words};

const MONTHS: &str = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec";

/// Two-digit years from here on are of the last century, as everywhere since POSIX. The standard's
/// sliding window would differ from 2045 on, for a form that was obsolete in 1995.
const CENTURY_PIVOT: i64 = 70;

/// Seconds since 1970 of an IMF-fixdate, RFC 850 or asctime date; `None` for anything else.
///
/// The day of the week is not compared: a wrong one leaves the instant clear.
pub(super) fn parse(text: &str) -> Option<i64> {
    // The forms differ in order and punctuation only: split into words, each is unmistakable.
    let mut words = split(text, " ,-:").filter(|word| !word.is_empty());
    let parts: [&str; 8] = core::array::from_fn(|_| words.next().unwrap_or_default());
    let ([_, day, month, year, hour, minute, second, "GMT"]
    | [_, month, day, hour, minute, second, year, ""]) = parts
    else {
        return None;
    };
    if words.next().is_some() {
        return None;
    }
    let days = days_since_epoch(full_year(year)?, month_number(month)?, number(day)?)?;
    Some(days * 86_400 + seconds_of_day([hour, minute, second])?)
}

fn number(word: &str) -> Option<i64> {
    let plain = matches!(word.len(), 1..=4) && word.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| word.bytes().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

fn full_year(word: &str) -> Option<i64> {
    let year = number(word)?;
    match word.len() {
        4 => Some(year),
        2 if year < CENTURY_PIVOT => Some(2000 + year),
        2 => Some(1900 + year),
        _ => None,
    }
}

fn month_number(word: &str) -> Option<i64> {
    (1..).zip(words(MONTHS)).find(|(_, name)| *name == word).map(|(number, _)| number)
}

fn seconds_of_day([hour, minute, second]: [&str; 3]) -> Option<i64> {
    let (hour, minute, second) = (number(hour)?, number(minute)?, number(second)?);
    // 60 is a leap second.
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

/// Days from 1970-01-01 in the Gregorian calendar, by years that begin in March so that the leap
/// day is the last one.
fn days_since_epoch(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    Some(365 * year + leap_days + day_of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_name_the_same_instant() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse(text), Some(784_111_777), "{text}");
        }
    }

    #[test]
    fn calendar_edges_are_right() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
            ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Tuesday, 01-Jan-69 00:00:00 GMT", 3_124_224_000),
        ] {
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_date_is_refused() {
        for text in [
            "",
            "soon",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 29 Feb 2023 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 19944 08:49:37 GMT",
            "Sun, 06 Nov 194 08:49:37 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT GMT",
            "2026-01-01T00:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
