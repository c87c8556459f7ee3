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
    let micros = span.as_micros();
    if micros > u64::MAX as u128 {
        u64::MAX
    } else {
        #[expect(clippy::cast_possible_truncation, reason = "compared with u64::MAX above")]
        {
            micros as u64
        }
    }
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
            // The origin is one second before the first reading, so that "before" has room.
            let elapsed_ms = match self.last_reading {
                Some(last) => (reading_ms - last).max(0.0),
                None => 1000.0,
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
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Timestamp::MAX.after(Duration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::ZERO.before(Duration::MAX), Timestamp::ZERO);
        assert_eq!(Timestamp::ZERO.since(Timestamp::MAX), Duration::ZERO);
    }
}
