//! Circuit breaker of one endpoint.
//!
//! **Why.** An endpoint that has just failed several times in a row will most likely fail again, and a
//! user who waits for it waits in vain. *Closed* lets traffic flow, *open* refuses it, *half-open* admits
//! one trial at a time.
//!
//! **How.** One counter of consecutive counted failures is compared with the threshold of the class of the
//! current failure. The state is computed from timestamps: an open breaker whose time has come *is*
//! half-open, no timer has to fire. Each opening starts a new generation, and an answer to an attempt of an
//! earlier generation changes nothing.
//!
//! **Cold start** closed. **Idle** an open breaker becomes half-open and stays so until a trial is made.
//! **Clock steps** `now` is monotonic here; equal timestamps are fine. **Cost** constant.
//!
//! Model: Lasso RPC's breaker, with shorter times, since a page's outages are short.

use core::time::Duration;

use super::classify::ErrorClass;
use super::config::BreakerConfig;
use super::time::{Timestamp, from_millis, millis, times};

/// Where a breaker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Circuit {
    /// Traffic flows.
    Closed,
    /// One trial at a time.
    HalfOpen,
    /// Traffic is refused.
    Open,
}

/// The longest that a pool without any closed endpoint makes its users wait for the next trial.
const LAST_RESORT_CAP: Duration = Duration::from_secs(30);
/// The first such wait; doubles with every failed trial.
const LAST_RESORT_BASE: Duration = Duration::from_secs(1);

/// An opening: since when, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// When it opened.
    pub at: Timestamp,
    /// When it becomes half-open.
    pub until: Timestamp,
}

/// State of one breaker.
#[derive(Clone, Debug, Default)]
pub struct Breaker {
    /// Consecutive counted failures.
    pub consecutive: u32,
    /// Failed trials since the breaker left the closed state.
    pub reopens: u32,
    /// Successful trials since it became half-open.
    pub successes: u32,
    /// The current opening; `None` while closed.
    pub opening: Option<Opening>,
    /// When the state last changed.
    pub changed_at: Timestamp,
    generation: u32,
    /// Until when the current trial holds the only permit, if it is never completed.
    trial_until: Option<Timestamp>,
    /// Whether the current opening has had a trial.
    was_tried: bool,
}

impl Breaker {
    /// A breaker as it was saved: consecutive failures, failed and successful trials, opening, last change.
    /// `generation` must be a new one where attempts may be under way.
    #[must_use]
    pub fn restore(
        (consecutive, reopens, successes): (u32, u32, u32),
        opening: Option<Opening>,
        changed_at: Timestamp,
        generation: u32,
    ) -> Self {
        Self { consecutive, reopens, successes, opening, changed_at, generation, ..Self::default() }
    }

    /// Where the breaker stands.
    #[must_use]
    pub fn circuit_at(&self, now: Timestamp) -> Circuit {
        match self.opening {
            None => Circuit::Closed,
            Some(opening) if now < opening.until => Circuit::Open,
            Some(_) => Circuit::HalfOpen,
        }
    }

    /// Number of the current generation, which every attempt carries.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Whether the one trial permit is taken.
    #[must_use]
    pub fn is_on_trial_at(&self, now: Timestamp) -> bool {
        self.trial_until.is_some_and(|until| now < until)
    }

    /// When an open breaker may be tried because nothing else is left: 1 s after it opened, doubling
    /// with every failed trial, at most 30 s, and never later than it becomes half-open.
    #[must_use]
    pub fn last_resort_at(&self) -> Timestamp {
        self.opening.map_or(Timestamp::ZERO, |opening| {
            let wait = doubled(LAST_RESORT_BASE, self.reopens, LAST_RESORT_CAP);
            opening.at.after(wait).min(opening.until)
        })
    }

    /// Takes the trial permit until `expires`; an open breaker becomes half-open by it. Returns whether this
    /// is the first trial of the opening.
    pub fn begin_trial(&mut self, now: Timestamp, expires: Timestamp) -> bool {
        if let Some(opening) = &mut self.opening {
            opening.until = opening.until.min(now);
        }
        self.trial_until = Some(expires);
        !core::mem::replace(&mut self.was_tried, true)
    }

    /// Gives the permit of the trial that `expires` then back without an opinion. One that has expired and
    /// ends late has nothing to give back: the permit is another's.
    pub fn end_trial(&mut self, expires: Timestamp) {
        self.trial_until = self.trial_until.filter(|until| *until != expires);
    }

    /// A success of an attempt of `generation`. Returns whether the state changed.
    pub fn on_success(&mut self, now: Timestamp, generation: u32, config: &BreakerConfig) -> bool {
        if generation != self.generation {
            return false;
        }
        if self.opening.is_none() {
            self.consecutive = 0;
            return false;
        }
        self.successes = self.successes.saturating_add(1);
        if self.successes < config.success_threshold {
            return false;
        }
        *self = Self {
            generation: self.generation.wrapping_add(1),
            changed_at: now,
            ..Self::default()
        };
        true
    }

    /// A counted failure of an attempt of `generation`; `jitter` in (0, 1] spreads the re-openings of many
    /// clients. Returns whether the state changed.
    pub fn on_failure(
        &mut self,
        now: Timestamp,
        generation: u32,
        class: ErrorClass,
        config: &BreakerConfig,
        jitter: f64,
    ) -> bool {
        if generation != self.generation {
            return false;
        }
        if self.opening.is_some() {
            self.reopens = self.reopens.saturating_add(1);
        } else {
            self.consecutive = self.consecutive.saturating_add(1);
            if self.consecutive < config.threshold(class) {
                return false;
            }
        }
        let delay = doubled(config.recovery, self.reopens, config.max_recovery);
        let until = now.after(delay).after(from_millis(millis(delay) * config.jitter * jitter));
        self.opening = Some(Opening { at: now, until });
        self.successes = 0;
        self.trial_until = None;
        self.was_tried = false;
        self.generation = self.generation.wrapping_add(1);
        self.changed_at = now;
        true
    }
}

/// `base` doubled `count` times, at most `cap`.
fn doubled(base: Duration, count: u32, cap: Duration) -> Duration {
    let factor = 1_u32.checked_shl(count).unwrap_or(u32::MAX);
    times(base, factor).min(cap)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: BreakerConfig = BreakerConfig::DEFAULT;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn fail(breaker: &mut Breaker, now: Timestamp, class: ErrorClass) -> bool {
        breaker.on_failure(now, breaker.generation(), class, &CONFIG, 0.0)
    }

    fn succeed(breaker: &mut Breaker, now: Timestamp) -> bool {
        breaker.on_success(now, breaker.generation(), &CONFIG)
    }

    #[test]
    fn each_class_has_its_own_threshold() {
        for (class, threshold) in [
            (ErrorClass::Server, 5),
            (ErrorClass::Network, 3),
            (ErrorClass::Timeout, 2),
            (ErrorClass::Auth, 3),
        ] {
            let mut breaker = Breaker::default();
            for n in 1..=threshold {
                assert_eq!(breaker.circuit_at(at(1)), Circuit::Closed, "{class:?} after {n}");
                fail(&mut breaker, at(1), class);
            }
            assert_eq!(breaker.circuit_at(at(1)), Circuit::Open, "{class:?}");
        }
    }

    #[test]
    fn one_counter_is_compared_with_the_threshold_of_the_current_class() {
        let mut breaker = Breaker::default();
        fail(&mut breaker, at(1), ErrorClass::Server);
        assert!(fail(&mut breaker, at(1), ErrorClass::Timeout));
    }

    #[test]
    fn a_success_starts_the_count_again() {
        let mut breaker = Breaker::default();
        fail(&mut breaker, at(1), ErrorClass::Timeout);
        succeed(&mut breaker, at(2));
        fail(&mut breaker, at(3), ErrorClass::Timeout);
        assert_eq!(breaker.circuit_at(at(3)), Circuit::Closed);
    }

    #[test]
    fn opens_half_opens_and_closes_by_timestamps_alone() {
        let mut breaker = Breaker::default();
        fail(&mut breaker, at(0), ErrorClass::Timeout);
        fail(&mut breaker, at(0), ErrorClass::Timeout);
        assert_eq!(breaker.circuit_at(Timestamp::from_millis(9_999)), Circuit::Open);
        assert_eq!(breaker.circuit_at(at(10)), Circuit::HalfOpen);
        assert!(breaker.begin_trial(at(10), at(20)), "the first trial of the opening");
        assert!(breaker.is_on_trial_at(at(19)));
        assert!(!breaker.is_on_trial_at(at(20)), "a lost trial expires");
        breaker.end_trial(at(20));
        assert!(!succeed(&mut breaker, at(11)));
        assert!(succeed(&mut breaker, at(12)));
        assert_eq!(breaker.circuit_at(at(12)), Circuit::Closed);
    }

    #[test]
    fn failed_trials_double_the_delay_up_to_the_cap() {
        // Rows of the model's vectors: base, failed trials, cap, delay.
        for (base, reopens, cap, delay) in [
            (60_000, 1, 600_000, 120_000),
            (60_000, 2, 600_000, 240_000),
            (60_000, 3, 600_000, 480_000),
            (60_000, 4, 600_000, 600_000),
            (60_000, 9, 600_000, 600_000),
            (80, 1, 600_000, 160),
            (100, 10, 300, 300),
            (100, 40, 300, 300),
        ] {
            let millis = Duration::from_millis;
            assert_eq!(doubled(millis(base), reopens, millis(cap)), millis(delay));
        }
    }

    #[test]
    fn jitter_lengthens_the_delay_by_at_most_a_twentieth() {
        let mut breaker = Breaker::default();
        breaker.on_failure(at(0), 0, ErrorClass::Timeout, &CONFIG, 1.0);
        breaker.on_failure(at(0), 0, ErrorClass::Timeout, &CONFIG, 1.0);
        assert_eq!(breaker.opening.unwrap().until, Timestamp::from_millis(10_500));
    }

    #[test]
    fn late_answers_from_before_the_trip_change_nothing() {
        let mut breaker = Breaker::default();
        let before = breaker.generation();
        fail(&mut breaker, at(0), ErrorClass::Timeout);
        fail(&mut breaker, at(0), ErrorClass::Timeout);
        let opening = breaker.opening;
        assert!(!breaker.on_success(at(1), before, &CONFIG));
        assert!(!breaker.on_failure(at(1), before, ErrorClass::Timeout, &CONFIG, 0.0));
        assert_eq!(breaker.opening, opening);
        assert_eq!(breaker.reopens, 0);
    }

    #[test]
    fn the_last_resort_comes_after_one_second_and_at_most_thirty() {
        let mut breaker = Breaker::default();
        fail(&mut breaker, at(0), ErrorClass::Timeout);
        fail(&mut breaker, at(0), ErrorClass::Timeout);
        assert_eq!(breaker.last_resort_at(), at(1));
        for n in 1..20 {
            breaker.begin_trial(at(100 * n), at(100 * n + 1));
            fail(&mut breaker, at(100 * n), ErrorClass::Timeout);
            let wait = breaker.last_resort_at().since(at(100 * n));
            assert_eq!(wait, Duration::from_secs((1 << n.min(5)).min(30)));
        }
    }
}
