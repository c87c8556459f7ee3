//! Everything learnt of an endpoint, in a form that survives its page or isolate.
//!
//! Ages and spans travel, never instants: another isolate's clock has another origin. The host adds the
//! wall-clock time that passed in storage; it also keeps the names under which an endpoint is found again,
//! and the version of its format.

use core::time::Duration;

use super::breaker::{Breaker, Opening};
use super::method::MethodId;
use super::metrics::{Cell, STALE_AFTER};
use super::router::Router;
use super::time::{Timestamp, from_millis};

/// What is known of one endpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndpointState {
    /// Its breaker.
    pub breaker: BreakerState,
    /// What is left of its group's rate limit.
    pub limited_for: Duration,
    /// Outcomes over all methods.
    pub all: CellState,
    /// Outcomes per method.
    pub methods: Vec<(MethodId, CellState)>,
}

/// One breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BreakerState {
    /// Consecutive counted failures.
    pub consecutive: u32,
    /// Failed trials since it was closed.
    pub reopens: u32,
    /// Successful trials since it was half-open.
    pub successes: u32,
    /// Since its state changed.
    pub changed_ago: Duration,
    /// Since when and for how long it is, or was, open; `None` while closed.
    pub opened: Option<(Duration, Duration)>,
}

/// Outcomes of one endpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellState {
    /// Mean latency, which also knows successes that the samples no longer hold.
    pub latency: Option<Duration>,
    /// Fresh outcomes, oldest first: age, and latency or nothing for a failure.
    pub samples: Vec<(Duration, Option<Duration>)>,
}

impl Router {
    /// Everything learnt of the endpoint at `place`.
    #[must_use]
    pub fn export(&self, now: Timestamp, place: usize) -> Option<EndpointState> {
        let endpoint = self.endpoints.get(place)?;
        let breaker = &endpoint.breaker;
        let limited = self.standing(place, now)?.limited_until;
        let methods = endpoint.metrics.methods();
        Some(EndpointState {
            breaker: BreakerState {
                consecutive: breaker.consecutive,
                reopens: breaker.reopens,
                successes: breaker.successes,
                changed_ago: now.since(breaker.changed_at),
                opened: breaker
                    .opening
                    .map(|opening| (now.since(opening.at), opening.until.since(opening.at))),
            },
            limited_for: limited.map_or(Duration::ZERO, |until| until.since(now)),
            all: CellState::of(endpoint.metrics.all(), now),
            methods: methods.map(|(method, cell)| (method, CellState::of(cell, now))).collect(),
        })
    }

    /// Takes over what another engine learnt of the endpoint at `place`, `elapsed` ago. A breaker that
    /// changed more lately here keeps its state, and so does a method with fresh outcomes.
    pub fn import(
        &mut self,
        now: Timestamp,
        place: usize,
        state: &EndpointState,
        elapsed: Duration,
    ) {
        let now = self.observe(now);
        let Some(endpoint) = self.endpoints.get_mut(place) else { return };
        let Some(settings) = self.settings.get(endpoint.profile) else { return };
        let before = |ago: Duration| now.before(ago.saturating_add(elapsed));
        let saved = &state.breaker;
        let changed_at = before(saved.changed_ago);
        let opening = saved.opened.map(|(ago, span)| {
            let at = before(ago);
            Opening { at, until: at.after(span.min(settings.breaker.longest_opening())) }
        });
        let counts = (saved.consecutive, saved.reopens, saved.successes);
        let known = &endpoint.breaker;
        let next_generation = known.generation().wrapping_add(1);
        let restored = Breaker::restore(counts, opening, changed_at, next_generation);
        let news = |breaker: &Breaker| (breaker.changed_at, breaker.circuit_at(now));
        if news(&restored) >= news(known) {
            endpoint.breaker = restored;
        }
        endpoint.metrics.restore(now, None, state.all.to_cell(now, elapsed));
        for (method, cell) in &state.methods {
            endpoint.metrics.restore(now, Some(*method), cell.to_cell(now, elapsed));
        }
        let left = state.limited_for.saturating_sub(elapsed).min(settings.rate_limit.max);
        let group = endpoint.group;
        if let Some(limit) = self.limits.get_mut(group).filter(|_| !left.is_zero()) {
            limit.until = limit.until.max(Some(now.after(left)));
        }
    }
}

impl CellState {
    fn of(cell: &Cell, now: Timestamp) -> Self {
        let latency = cell.read_at(now).latency_ms.map(from_millis);
        Self { latency, samples: cell.samples_at(now).collect() }
    }

    /// Plays the samples again, so that the cell is what it would have been.
    fn to_cell(&self, now: Timestamp, elapsed: Duration) -> Cell {
        let mut cell = Cell::default();
        for (ago, latency) in &self.samples {
            let age = ago.saturating_add(elapsed);
            if age > STALE_AFTER {
                continue;
            }
            match latency {
                Some(latency) => cell.record_success(now.before(age), Some(*latency)),
                None => cell.record_failure(now.before(age)),
            }
        }
        if let Some(latency) = self.latency {
            cell.set_mean(latency);
        }
        cell
    }
}
