//! A running picture of an endpoint's latency with one method: what is usual, how far answers stray, and how
//! many fail.
//!
//! **Why.** A mean needs many answers to follow a change, and one straggler moves it for a while; an endpoint
//! that is not asked because of it never gets the answers that would correct it. A usual latency that is
//! deaf to single outliers and jumps when they come in a row does both: it stays, and it leaves at once.
//!
//! **How.** The usual latency moves by a twelfth of the difference to each answer, which is cut at two and a
//! half times of what is usual. An answer that strays far is an outlier: three slow ones in a
//! row, and the usual latency is the mildest of them. Two quick ones lead back, there or after a silence. (Elsewhere they are nothing
//! to jump for: many methods have answers that are quick now and then.) The spread is the logarithm of how much longer
//! than usual nineteen of twenty answers take at most; it goes up by a step with each answer beyond it and down
//! by a little with each within it, so that the share comes out right whatever the distribution is.
//!
//! **Censored** samples are those of attempts that were stopped: they took at least so long.

use core::time::Duration;

use crate::engine::math::{ln, pow};
use crate::engine::time::millis;

/// In silence half of the failures are forgotten in so long, and an endpoint is worth a probe.
pub const HALF_LIFE: Duration = Duration::from_secs(10);
/// After so long without outcomes something may have changed.
const QUIET: Duration = Duration::from_secs(5);

/// Smallest weight of an answer in what is usual.
const WEIGHT: f32 = 1.0 / 12.0;
/// Weight of an outcome in the share of failures.
const FAILURE_WEIGHT: f32 = 1.0 / 6.0;
/// An answer counts at most as this many times the usual latency, and at least as its inverse.
const CUT: f32 = 2.5;
/// Share of the answers beyond the spread.
const BEYOND: f32 = 0.05;
/// Spread before anything is known: twice as long as usual.
const FIRST_SPREAD: f32 = 0.7;
/// How fast the spread follows.
const SPREAD_STEP: f32 = 0.15;
/// Spreads are kept within these.
const SPREADS: (f32, f32) = (0.1, 2.5);
/// An outlier strays this many spreads, and at least by a factor of two.
const OUTLIER_SPREADS: f32 = 1.5;
const OUTLIER_LEAST: f32 = 0.7;
/// What an outlier counts, and a silence that may become one; how much of slow, and of quick, in a row is
/// believed.
const OUTLIER: i8 = 2;
const SILENCE: i8 = 1;
const BELIEVED: (i8, i8) = (5, -4);
/// Answers after a jump until it is certain.
const SETTLED: u8 = 5;

/// What is usual of an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    /// Microseconds; 0 before the first answer.
    usual: f32,
    /// Logarithm of the 95th percentile in units of what is usual.
    spread: f32,
    /// The mildest of the outliers in a row.
    mildest: f32,
    /// Share of failures.
    failing: f32,
    /// What the outliers in a row count, negative for quick ones.
    row: i8,
    /// Answers, as far as they matter for the weight of the next.
    count: u8,
    /// Whether quick outliers are believed: what is usual is what slow ones said, or old.
    is_doubtful: bool,
}

impl Gauge {
    /// What an outlier counts.
    pub const OUTLIER: u32 = OUTLIER.unsigned_abs() as u32;

    /// Takes in an answer that took `taken` microseconds.
    pub fn record(&mut self, taken: u32) {
        self.failing -= self.failing * FAILURE_WEIGHT;
        self.observe(taken as f32);
    }

    /// Takes in an attempt that gave no answer for `taken` microseconds: it never makes an endpoint look
    /// quicker.
    pub fn censor(&mut self, taken: u32) {
        if self.usual <= 0.0 || (taken as f32) < self.usual {
            return;
        }
        let (stray, far) = (self.stray(taken as f32), self.far());
        if stray > far {
            self.observe(taken as f32);
        } else if stray > self.spread {
            self.widen(1.0);
            self.note_outlier(taken as f32, SILENCE);
        }
    }

    /// Something is heard again after `silence`.
    #[expect(clippy::cast_possible_truncation, reason = "between 0 and 1")]
    pub fn wake(&mut self, silence: Duration) {
        self.failing = self.failing(silence) as f32;
        self.is_doubtful |= silence > QUIET;
    }

    /// Takes in a failure.
    pub fn fail(&mut self) {
        self.failing += (1.0 - self.failing) * FAILURE_WEIGHT;
    }

    /// Milliseconds that an answer usually takes; quick outliers are believed at once, for whoever believes
    /// them will see. Nothing before the first answer.
    #[must_use]
    pub fn usual_ms(&self) -> Option<f64> {
        let usual = if self.row < 0 { self.mildest } else { self.usual };
        (self.usual > 0.0).then(|| f64::from(usual) / 1e3)
    }

    /// Logarithm of the 95th percentile in units of what is usual.
    #[must_use]
    pub fn spread(&self) -> f64 {
        f64::from(self.spread)
    }

    /// Milliseconds from which on an answer is an outlier.
    #[must_use]
    pub fn far_ms(&self) -> Option<f64> {
        Some(self.usual_ms()? * libm::exp(f64::from(self.far())))
    }

    /// Share of failures, the latest most, when nothing was heard for `silence`.
    #[must_use]
    pub fn failing(&self, silence: Duration) -> f64 {
        if self.failing <= 0.0 {
            return 0.0;
        }
        f64::from(self.failing) * pow(0.5, millis(silence) / millis(HALF_LIFE))
    }

    /// What the slow outliers in a row count; see [`Gauge::OUTLIER`].
    #[must_use]
    pub fn slow_in_row(&self) -> u32 {
        self.row.max(0).unsigned_abs().into()
    }

    /// Whether it is not certain yet that what is usual has changed.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        self.count < SETTLED
    }

    fn observe(&mut self, taken: f32) {
        let taken = taken.max(1.0);
        if self.usual <= 0.0 {
            (self.usual, self.spread, self.count) = (taken, FIRST_SPREAD, 1);
            return;
        }
        let stray = self.stray(taken);
        let is_far = if self.is_doubtful { stray.abs() } else { stray } > self.far();
        if is_far {
            let count = if stray > 0.0 { OUTLIER } else { -OUTLIER };
            if self.note_outlier(taken, count) {
                return;
            }
        } else {
            self.row = 0;
            self.widen(f32::from(u8::from(stray > self.spread)));
        }
        let weight = (1.0 / (f32::from(self.count) + 1.0)).max(WEIGHT);
        self.count = self.count.saturating_add(1);
        // Not `clamp`, which may panic and would link what prints its bounds.
        let cut = taken.max(self.usual / CUT).min(self.usual * CUT);
        self.usual += (cut - self.usual) * weight;
    }

    /// Logarithm of an answer's time in units of what is usual.
    #[expect(clippy::cast_possible_truncation, reason = "a small number")]
    fn stray(&self, taken: f32) -> f32 {
        ln(f64::from(taken / self.usual)) as f32
    }

    fn far(&self) -> f32 {
        (self.spread * OUTLIER_SPREADS).max(OUTLIER_LEAST)
    }

    /// Moves the spread by an answer that was beyond it (1) or not (0).
    fn widen(&mut self, is_beyond: f32) {
        let spread = self.spread + SPREAD_STEP * (is_beyond - BEYOND);
        self.spread = spread.max(SPREADS.0).min(SPREADS.1);
    }

    /// Counts an outlier. Returns whether there were enough of them to be believed.
    fn note_outlier(&mut self, taken: f32, count: i8) -> bool {
        if self.row.signum() != count.signum() {
            (self.row, self.mildest) = (0, taken);
        }
        self.row += count;
        self.mildest = if count > 0 { self.mildest.min(taken) } else { self.mildest.max(taken) };
        let is_believed = self.row >= BELIEVED.0 || self.row <= BELIEVED.1;
        if is_believed {
            (self.usual, self.is_doubtful) = (self.mildest, count > 0);
            (self.row, self.count) = (0, 1);
        }
        is_believed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauge(answers: impl IntoIterator<Item = u32>) -> Gauge {
        let mut gauge = Gauge::default();
        answers.into_iter().for_each(|millis| gauge.record(millis * 1000));
        gauge
    }

    fn is_about(gauge: &Gauge, millis: f64) -> bool {
        gauge.usual_ms().is_some_and(|usual| (usual / millis - 1.0).abs() < 0.15)
    }

    #[test]
    fn one_straggler_moves_little_and_three_in_a_row_are_believed() {
        let mut gauge = gauge([50; 20]);
        gauge.record(400_000);
        assert!(is_about(&gauge, 56.0), "{gauge:?}");
        gauge.record(400_000);
        assert!(is_about(&gauge, 64.0), "{gauge:?}");
        gauge.record(400_000);
        assert!(is_about(&gauge, 400.0) && gauge.is_unsettled(), "{gauge:?}");
    }

    #[test]
    fn a_recovered_endpoint_is_believed_after_two_answers_and_tried_after_one() {
        let mut gauge = gauge([[50; 20], [600; 20]].concat());
        assert!(is_about(&gauge, 600.0), "{gauge:?}");
        gauge.record(50_000);
        assert!(is_about(&gauge, 50.0), "{gauge:?}");
        gauge.record(55_000);
        assert!(is_about(&gauge, 55.0), "{gauge:?}");
        gauge.record(50_000);
        assert!(is_about(&gauge, 52.0), "{gauge:?}");
    }

    #[test]
    fn the_spread_holds_nineteen_of_twenty_whatever_the_distribution() {
        // Quantiles of an exponential distribution, in an order without rows.
        let at = |n: u32| -ln((f64::from(n * 37 % 100) + 0.5) / 100.0) * 100.0;
        let mut gauge = Gauge::default();
        let mut beyond = 0;
        for n in 0..4_000_u32 {
            let taken = at(n);
            if let Some(usual) = gauge.usual_ms().filter(|_| n >= 2_000) {
                beyond += u32::from(taken > usual * libm::exp(gauge.spread()));
            }
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            gauge.record((taken * 1e3) as u32);
        }
        assert!((60..150).contains(&beyond), "{beyond} of 2000");
    }

    #[test]
    fn silence_says_that_it_is_slow_and_never_that_it_is_quick() {
        let mut gauge = gauge([50; 20]);
        (0..9).for_each(|_| gauge.censor(10_000));
        assert!(is_about(&gauge, 50.0));
        (0..5).for_each(|_| gauge.censor(140_000));
        assert!(gauge.usual_ms() > Some(130.0), "{gauge:?}");
    }

    #[test]
    fn failures_fade_with_successes_and_leave_the_latency() {
        let mut gauge = gauge([50; 20]);
        (0..6).for_each(|_| gauge.fail());
        assert!(gauge.failing(Duration::ZERO) > 0.6 && is_about(&gauge, 50.0));
        (0..12).for_each(|_| gauge.record(50_000));
        assert!(gauge.failing(Duration::ZERO) < 0.1);
    }
}
