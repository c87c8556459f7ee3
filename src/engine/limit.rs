//! Rate limits of one quota group: what the provider told us, and what the user configured.
//!
//! A limit never opens a breaker: a provider that says "slow down" is alive. Members of a group (URLs of
//! one origin, or of one `quotaGroup`) share it, since they share the provider's counter.

use core::time::Duration;

use super::capacity::Capacity;
use super::config::{Budget, RateLimitConfig};
use super::time::{Timestamp, from_millis, times};

/// Rate-limit state of one group.
#[derive(Clone, Debug, Default)]
pub struct Limit {
    /// Until when the provider asked us to stay away.
    pub until: Option<Timestamp>,
    /// What the provider's own limit seems to be.
    pub capacity: Capacity,
    bucket: Option<Bucket>,
}

impl Limit {
    /// When the provider's limit ends, if one is in force.
    #[must_use]
    pub fn limited_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.until.filter(|until| now < *until)
    }

    /// Remembers a limit: for `retry_after` if the provider named a time (zero means now), else for the
    /// configured default, never longer than the configured maximum. The later of two ends stands.
    /// Returns whether the group is limited by it.
    pub fn mark(
        &mut self,
        now: Timestamp,
        retry_after: Option<Duration>,
        config: &RateLimitConfig,
    ) -> bool {
        let span = retry_after.unwrap_or(config.default).min(config.max);
        if span.is_zero() {
            return false;
        }
        self.until = self.until.max(Some(now.after(span)));
        true
    }

    /// Adds a configured budget. Of several in one group the strictest rate stands, of equal rates the last.
    pub fn restrict(&mut self, budget: &Budget) {
        let bucket = Bucket::new(budget);
        if self.bucket.as_ref().is_none_or(|known| bucket.interval >= known.interval) {
            self.bucket = Some(bucket);
        }
    }

    /// When the budget admits the next request: `now`, or later.
    #[must_use]
    pub fn admits_at(&self, now: Timestamp) -> Timestamp {
        self.bucket.as_ref().map_or(now, |bucket| bucket.admits_at(now))
    }

    /// Gives back a place that will not be used.
    pub fn give_back(&mut self) {
        if let Some(bucket) = &mut self.bucket {
            bucket.arrival = bucket.arrival.before(bucket.interval);
        }
    }

    /// Takes the next place in the budget and returns its time.
    pub fn reserve(&mut self, now: Timestamp) -> Timestamp {
        self.bucket.as_mut().map_or(now, |bucket| bucket.reserve(now))
    }
}

/// Token bucket in the form of the generic cell rate algorithm (ITU-T I.371): one instant instead of a
/// counter and a refill timer.
#[derive(Clone, Debug)]
struct Bucket {
    interval: Duration,
    tolerance: Duration,
    arrival: Timestamp,
}

impl Bucket {
    fn new(budget: &Budget) -> Self {
        let interval = from_millis(1000.0 / budget.rps);
        let tolerance = times(interval, budget.burst.saturating_sub(1));
        Self { interval, tolerance, arrival: Timestamp::ZERO }
    }

    fn admits_at(&self, now: Timestamp) -> Timestamp {
        now.max(self.arrival.before(self.tolerance))
    }

    fn reserve(&mut self, now: Timestamp) -> Timestamp {
        let at = self.admits_at(now);
        self.arrival = self.arrival.max(now).after(self.interval);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: RateLimitConfig = RateLimitConfig::DEFAULT;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn lasts_for_the_hint_the_default_or_the_maximum() {
        let now = Timestamp::from_millis(1000);
        for (hint, expected) in [
            (Some(seconds(2)), Some(seconds(2))),
            (None, Some(seconds(30))),
            (Some(seconds(3600)), Some(seconds(300))),
            (Some(Duration::ZERO), None),
        ] {
            let mut limit = Limit::default();
            limit.mark(now, hint, &CONFIG);
            assert_eq!(limit.limited_until(now).map(|until| until.since(now)), expected);
        }
    }

    #[test]
    fn the_later_end_stands_and_lapses_by_itself() {
        let start = Timestamp::from_millis(0);
        let mut limit = Limit::default();
        limit.mark(start, Some(seconds(10)), &CONFIG);
        limit.mark(start.after(seconds(1)), Some(seconds(2)), &CONFIG);
        assert!(limit.limited_until(start.after(seconds(9))).is_some());
        assert!(limit.limited_until(start.after(seconds(10))).is_none());
    }

    #[test]
    fn a_budget_admits_its_burst_then_its_rate() {
        let mut limit = Limit::default();
        limit.restrict(&Budget { rps: 10.0, burst: 3 });
        let now = Timestamp::from_millis(5000);
        let waits: Vec<u128> = (0..6).map(|_| limit.reserve(now).since(now).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100, 200, 300]);
        let later = now.after(seconds(60));
        assert_eq!(limit.admits_at(later), later, "an idle bucket is full, not more");
        let after: Vec<u128> =
            (0..4).map(|_| limit.reserve(later).since(later).as_millis()).collect();
        assert_eq!(after, [0, 0, 0, 100]);
    }

    #[test]
    fn the_strictest_budget_of_a_group_stands() {
        let mut limit = Limit::default();
        for rps in [5.0, 1.0, 9.0] {
            limit.restrict(&Budget { rps, burst: 1 });
        }
        let now = Timestamp::from_millis(0);
        limit.reserve(now);
        assert_eq!(limit.admits_at(now).since(now), seconds(1));
    }
}
