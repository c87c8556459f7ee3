//! One endpoint: its settings and all that is known of it.

use alloc::vec::Vec;
use core::time::Duration;

use super::breaker::{Breaker, Circuit};
use super::config::{EndpointConfig, TierOrder};
use super::limit::Limit;
use super::method::MethodId;
use super::metrics::{Gauge, Metrics};
use super::rng::Rng;
use super::time::{Timestamp, from_millis};

/// An endpoint that gave an answer this lately is probably alive: a `fetch` that fails without a word may
/// then be a rate limit that CORS hides.
const ANSWERED_LATELY: Duration = Duration::from_mins(1);
/// Shortest and longest rest after such a failure.
const REST: (f64, f64) = (2.0, 5.0);
/// Longest rest after a row of attempts that were cut short.
const REST_CAP: f64 = 60.0;
/// Attempts under way that are watched one by one: more say nothing more.
const WATCHED: usize = 16;

/// One endpoint of a pool.
#[derive(Clone, Debug, Default)]
pub struct Endpoint {
    /// Its settings.
    pub config: EndpointConfig,
    /// Place of its profile.
    pub profile: usize,
    /// Place of its quota group.
    pub group: usize,
    /// Its circuit breaker.
    pub breaker: Breaker,
    /// What was measured.
    pub metrics: Metrics,
    /// A short absence without blame.
    pub rest: Rest,
    /// Bodies in a row that broke off after good headers.
    pub broken_bodies: u32,
    /// Attempts under way.
    pub in_flight: u32,
    /// Some of them: when each was sent, and from when on it takes longer than it should.
    pub(super) under_way: Vec<(Timestamp, Timestamp)>,
    /// Highest block number seen from it.
    pub head: Option<u64>,
    /// When it last gave an answer, unless it failed since.
    pub answered_at: Option<Timestamp>,
}

/// A time in which an endpoint is asked last, though nothing is counted against it.
#[derive(Clone, Debug, Default)]
pub struct Rest {
    /// Until when.
    pub until: Option<Timestamp>,
    streak: u32,
}

impl Rest {
    /// After a failure that says nothing: two to five seconds.
    pub fn after_silence(&mut self, now: Timestamp, rng: &mut Rng) {
        self.extend(now, 1.0, rng);
    }

    /// After an attempt that did not get its full time: as long, and doubling while they follow each
    /// other, since no breaker ever opens on them.
    pub fn after_short_attempt(&mut self, now: Timestamp, rng: &mut Rng) {
        let factor = 1_u32.checked_shl(self.streak).unwrap_or(u32::MAX);
        self.streak = self.streak.saturating_add(1);
        self.extend(now, f64::from(factor), rng);
    }

    fn extend(&mut self, now: Timestamp, factor: f64, rng: &mut Rng) {
        let (shortest, longest) = REST;
        let seconds = (shortest + (longest - shortest) * rng.unit()) * factor;
        let until = now.after(from_millis(seconds.min(REST_CAP) * 1000.0));
        self.until = self.until.max(Some(until));
    }
}

/// How an endpoint stands at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its breaker's state.
    pub circuit: Circuit,
    /// Whether its one trial is under way.
    pub is_on_trial: bool,
    /// When the provider's rate limit ends, if one is in force.
    pub limited_until: Option<Timestamp>,
    /// When the configured budget has a place again, if it has none now.
    pub budget_at: Option<Timestamp>,
    /// When its rest ends, if it rests.
    pub resting_until: Option<Timestamp>,
}

impl Standing {
    /// Reads the standing of an endpoint, whose group's limit is `limit`.
    #[must_use]
    pub fn read(endpoint: &Endpoint, limit: Option<&Limit>, now: Timestamp) -> Self {
        let budget_at = limit.map_or(now, |limit| limit.admits_at(now));
        Self {
            circuit: endpoint.breaker.circuit_at(now),
            is_on_trial: endpoint.breaker.is_on_trial_at(now),
            limited_until: limit.and_then(|limit| limit.limited_until(now)),
            budget_at: Some(budget_at).filter(|at| *at > now),
            resting_until: endpoint.rest.until.filter(|until| *until > now),
        }
    }

    /// When it may be asked without breaking a limit; `None` if now.
    #[must_use]
    pub fn free_at(&self) -> Option<Timestamp> {
        self.limited_until.max(self.budget_at)
    }

    /// Health tier, 1 the best; `None` while open, or half-open with its trial taken.
    #[must_use]
    pub fn tier(&self, order: TierOrder) -> Option<u8> {
        let is_waiting = self.free_at().is_some() || self.resting_until.is_some();
        let (closed_limited, half_open) = match order {
            TierOrder::ClosedFirst => (2, 3),
            TierOrder::UnlimitedFirst => (3, 2),
        };
        match (self.circuit, is_waiting) {
            (Circuit::Closed, false) => Some(1),
            (Circuit::Closed, true) => Some(closed_limited),
            (Circuit::HalfOpen, _) if self.is_on_trial => None,
            (Circuit::HalfOpen, false) => Some(half_open),
            (Circuit::HalfOpen, true) => Some(4),
            (Circuit::Open, _) => None,
        }
    }
}

impl Endpoint {
    /// An attempt begins.
    pub(super) fn open(&mut self, now: Timestamp, method: MethodId) {
        self.in_flight += 1;
        let gauge = self.metrics.gauge_at(now, method).map(|(gauge, _)| gauge);
        if let Some(far) = gauge.and_then(Gauge::far_ms)
            && self.under_way.len() < WATCHED
        {
            self.under_way.push((now, now.after(from_millis(far))));
        }
    }

    /// An attempt that was sent at `started` has ended.
    pub(super) fn close(&mut self, started: Timestamp) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(place) = self.under_way.iter().position(|(sent, _)| *sent == started) {
            // Their order is of no matter, and `remove` may panic.
            if let Some(last) = self.under_way.pop()
                && let Some(slot) = self.under_way.get_mut(place)
            {
                *slot = last;
            }
        }
    }

    /// How many attempts take longer than they should, and the age of the oldest.
    pub(super) fn overdue_at(&self, now: Timestamp) -> (u32, Duration) {
        let overdue = self.under_way.iter().filter(|(_, due)| *due <= now);
        overdue.fold((0, Duration::ZERO), |(count, oldest), (sent, _)| {
            (count + 1, oldest.max(now.since(*sent)))
        })
    }

    /// Notes an answer of any kind: the endpoint is alive.
    pub fn note_answer(&mut self, now: Timestamp) {
        self.answered_at = Some(now);
        self.rest = Rest::default();
    }

    /// Notes a failure without an answer; rests if the endpoint answered lately.
    pub fn note_silence(&mut self, now: Timestamp, rng: &mut Rng) {
        if self.answered_at.is_some_and(|at| now.since(at) <= ANSWERED_LATELY) {
            self.rest.after_silence(now, rng);
        }
        self.answered_at = None;
    }

    /// Whether the settings say that it does not serve `method`.
    #[must_use]
    pub fn refuses(&self, method: &str) -> bool {
        self.config.unsupported_methods.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => method.starts_with(start),
            None => pattern == method,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(circuit: Circuit, limited: bool) -> Standing {
        Standing {
            circuit,
            is_on_trial: false,
            limited_until: limited.then_some(Timestamp::MAX),
            budget_at: None,
            resting_until: None,
        }
    }

    #[test]
    fn tiers_are_in_the_documented_order_or_in_the_other() {
        let all = [
            standing(Circuit::Closed, false),
            standing(Circuit::Closed, true),
            standing(Circuit::HalfOpen, false),
            standing(Circuit::HalfOpen, true),
            standing(Circuit::Open, false),
        ];
        let documented = all.map(|standing| standing.tier(TierOrder::ClosedFirst));
        assert_eq!(documented, [Some(1), Some(2), Some(3), Some(4), None]);
        let other = all.map(|standing| standing.tier(TierOrder::UnlimitedFirst));
        assert_eq!(other, [Some(1), Some(3), Some(2), Some(4), None]);
    }

    #[test]
    fn rests_between_two_and_five_seconds_and_longer_only_after_short_attempts() {
        let mut rng = Rng::new(1);
        let now = Timestamp::from_millis(1000);
        for _ in 0..100 {
            let mut rest = Rest::default();
            rest.after_silence(now, &mut rng);
            let span = rest.until.unwrap().since(now).as_secs_f64();
            assert!((2.0..=5.0).contains(&span), "{span}");
        }
        let mut rest = Rest::default();
        for (shortest, longest) in
            [(2.0, 5.0), (4.0, 10.0), (8.0, 20.0), (16.0, 40.0), (32.0, 60.0)]
        {
            rest.until = None;
            rest.after_short_attempt(now, &mut rng);
            let span = rest.until.unwrap().since(now).as_secs_f64();
            assert!((shortest..=longest).contains(&span), "{span}");
        }
    }

    #[test]
    fn only_an_endpoint_that_answered_lately_rests() {
        let mut endpoint = Endpoint::default();
        let mut rng = Rng::new(1);
        endpoint.note_silence(Timestamp::from_millis(1000), &mut rng);
        assert_eq!(endpoint.rest.until, None);
        endpoint.note_answer(Timestamp::from_millis(2000));
        endpoint.note_silence(Timestamp::from_millis(3000), &mut rng);
        assert!(endpoint.rest.until.is_some());
    }

    #[test]
    fn unsupported_methods_may_end_in_a_star() {
        let mut endpoint = Endpoint::default();
        endpoint.config.unsupported_methods = vec!["debug_*".into(), "eth_getLogs".into()];
        assert!(endpoint.refuses("debug_traceCall") && endpoint.refuses("eth_getLogs"));
        assert!(!endpoint.refuses("eth_call"));
    }
}
