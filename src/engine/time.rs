//! Instants and spans, as the host hands them in.
//!
//! The engine never reads a clock. [`Timestamp`] counts microseconds from an origin that the host
//! chooses; [`HostClock`] turns the host's readings, which may jump back, into timestamps that do not.

use core::time::Duration;

/// An instant: microseconds since an origin chosen by the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The origin.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `micros` microseconds after the origin.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// The instant `millis` milliseconds after the origin.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1000))
    }

    /// Microseconds since the origin.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The span from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// The instant `span` later, at most [`Timestamp::MAX`].
    #[must_use]
    pub const fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(micros(span)))
    }

    /// The instant `span` earlier, at least [`Timestamp::ZERO`].
    #[must_use]
    pub const fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(micros(span)))
    }
}

/// Whole microseconds of a span, saturating.
#[must_use]
pub const fn micros(span: Duration) -> u64 {
    span.as_secs().saturating_mul(1_000_000).saturating_add(span.subsec_micros() as u64)
}

/// Two spans together, saturating.
///
/// This, [`times`] and [`share`] instead of the library's operators: those panic with texts, and linking what prints a
/// text weighs more than all sums over spans here.
#[must_use]
pub const fn sum(a: Duration, b: Duration) -> Duration {
    Duration::from_micros(micros(a).saturating_add(micros(b)))
}

/// A span `factor` times as long, saturating.
#[must_use]
pub const fn times(span: Duration, factor: u32) -> Duration {
    Duration::from_micros(micros(span).saturating_mul(factor as u64))
}

/// One of `parts` equal parts of a span; all of it if there are none.
#[must_use]
pub fn share(span: Duration, parts: usize) -> Duration {
    Duration::from_micros(micros(span) / (parts as u64).max(1))
}

/// A span in milliseconds.
#[must_use]
pub fn millis(span: Duration) -> f64 {
    micros(span) as f64 / 1000.0
}

/// The span of so many milliseconds, to the microsecond; zero for what is negative or not a number.
///
/// The library's way from a number to a span panics for some of them, and the texts weigh more than the
/// engine's arithmetic.
#[must_use]
pub fn from_millis(millis: f64) -> Duration {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    Duration::from_micros((millis * 1000.0 + 0.5) as u64)
}

/// Makes the host's clock readings monotonic.
///
/// A step back counts as no time passed and moves the reference, so that time goes on from there: a
/// clock set back by an hour costs nothing, and does not freeze the engine for an hour.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostClock {
    last_reading: Option<f64>,
    now: Timestamp,
}

impl HostClock {
    /// The timestamp for a reading in milliseconds; a reading that is not finite counts as no time
    /// passed.
    pub fn at(&mut self, reading_ms: f64) -> Timestamp {
        if reading_ms.is_finite() {
            // The origin is a day before the first reading: room for what was learnt before, elsewhere.
            let elapsed_ms = match self.last_reading {
                Some(last) => (reading_ms - last).max(0.0),
                None => 86_400_000.0,
            };
            self.last_reading = Some(reading_ms);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "not negative; `as` saturates"
            )]
            let elapsed = (elapsed_ms * 1000.0) as u64;
            self.now = Timestamp(self.now.0.saturating_add(elapsed));
        }
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_back_counts_as_no_time_and_time_goes_on_from_there() {
        let mut clock = HostClock::default();
        let start = clock.at(5_000.0);
        assert_eq!(clock.at(5_010.0).since(start), Duration::from_millis(10));
        assert_eq!(clock.at(1_000.0).since(start), Duration::from_millis(10));
        assert_eq!(clock.at(1_005.0).since(start), Duration::from_millis(15));
    }

    #[test]
    fn readings_that_are_not_numbers_do_not_move_time() {
        let mut clock = HostClock::default();
        let start = clock.at(0.0);
        assert_eq!(clock.at(f64::NAN), start);
        assert_eq!(clock.at(f64::INFINITY), start);
        assert_eq!(clock.at(2.0).since(start), Duration::from_millis(2));
    }

    #[test]
    fn milliseconds_are_kept_to_the_microsecond_and_nonsense_is_no_time() {
        for micros in [0, 1, 999, 33_333, 1_234_567_891] {
            let span = Duration::from_micros(micros);
            assert_eq!(from_millis(millis(span)), span);
        }
        for nonsense in [-1.0, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(from_millis(nonsense), Duration::ZERO);
        }
        assert_eq!(from_millis(f64::INFINITY), Duration::from_micros(u64::MAX));
    }

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Timestamp::MAX.after(Duration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::ZERO.before(Duration::MAX), Timestamp::ZERO);
        assert_eq!(Timestamp::ZERO.since(Timestamp::MAX), Duration::ZERO);
    }
}
