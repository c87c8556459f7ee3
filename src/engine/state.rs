//! Everything learnt of an endpoint, in a form that survives its page or isolate.
//!
//! Ages and spans travel, never instants: another isolate's clock has another origin. The host adds the
//! wall-clock time that passed in storage; it also keeps the names under which an endpoint is found again,
//! and the version of its format.
//!
//! Engines that keep telling each other what they learn export only what they saw themselves ([`Scope::Own`]):
//! otherwise each would hear its own news again, counted twice and a little younger every time.

use alloc::vec::Vec;
use core::time::Duration;

use super::breaker::{Breaker, Opening};
use super::method::MethodId;
use super::metrics::{Cell, STALE_AFTER};
use super::router::Router;
use super::time::{Timestamp, from_millis, sum};

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

/// Whose observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This engine's and all that it was told: what its own next page needs.
    All,
    /// This engine's alone: what others need.
    Own,
}

/// Transitions this close together are one that was told of twice: what lies between is the way of the news.
const SAME_TRANSITION: Duration = Duration::from_secs(1);

/// Outcomes of one endpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellState {
    /// Mean latency, which also knows successes that the samples no longer hold; if missing, it is that of
    /// the samples, one after the other.
    pub latency: Option<Duration>,
    /// Fresh outcomes, oldest first: age, and latency or nothing for a failure.
    pub samples: Vec<(Duration, Option<Duration>)>,
}

impl Router {
    /// What was learnt of the endpoint at `place`.
    #[must_use]
    pub fn export(&self, now: Timestamp, place: usize, scope: Scope) -> Option<EndpointState> {
        let endpoint = self.endpoints.get(place)?;
        let limited = self.standing(place, now)?.limited_until;
        let told = endpoint.metrics.told;
        let is_own = scope == Scope::Own;
        let unchanged = Breaker::default();
        let is_told = is_own && told.generation == Some(endpoint.breaker.generation());
        let breaker = if is_told { &unchanged } else { &endpoint.breaker };
        let limited = limited.filter(|until| !(is_own && told.limited_until == Some(*until)));
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
            all: CellState::of(endpoint.metrics.all(), now, is_own),
            methods: methods
                .map(|(method, cell)| (method, CellState::of(cell, now, is_own)))
                .collect(),
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
        self.learn(now, place, state, elapsed, false);
    }

    /// As [`Router::import`], for what others tell again and again while this engine is at work: their
    /// outcomes stand beside those seen here, in the place of what they told before, and a breaker changes
    /// only by a transition that is news.
    pub fn absorb(
        &mut self,
        now: Timestamp,
        place: usize,
        state: &EndpointState,
        elapsed: Duration,
    ) {
        self.learn(now, place, state, elapsed, true);
    }

    fn learn(
        &mut self,
        now: Timestamp,
        place: usize,
        state: &EndpointState,
        elapsed: Duration,
        is_shared: bool,
    ) {
        let now = self.observe(now);
        let Some(endpoint) = self.endpoints.get_mut(place) else { return };
        let Some(settings) = self.settings.get(endpoint.profile) else { return };
        let before = |ago: Duration| now.before(ago).before(elapsed);
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
        let state_of = |breaker: &Breaker| (breaker.changed_at, breaker.circuit_at(now));
        let is_newer = if is_shared {
            is_news(&restored, known)
        } else {
            state_of(&restored) >= state_of(known)
        };
        if is_newer {
            endpoint.breaker = restored;
            endpoint.metrics.told.generation = Some(next_generation);
        }
        let all = core::iter::once((None, &state.all));
        let methods = state.methods.iter().map(|(method, cell)| (Some(*method), cell));
        for (method, cell) in all.chain(methods) {
            let cell = cell.to_cell(now, elapsed);
            if is_shared {
                endpoint.metrics.absorb(now, method, &cell);
            } else {
                endpoint.metrics.restore(now, method, cell);
            }
        }
        let left =
            now.after(state.limited_for).before(elapsed).since(now).min(settings.rate_limit.max);
        let group = endpoint.group;
        if let Some(limit) = self.limits.get_mut(group).filter(|_| !left.is_zero()) {
            let until = Some(now.after(left));
            if until >= limit.until {
                limit.until = until;
                endpoint.metrics.told.limited_until = until;
            }
        }
    }
}

/// Whether a transition that others tell of is one that is not known here. Counts of failures that led to
/// none are each engine's own.
fn is_news(told: &Breaker, known: &Breaker) -> bool {
    match (known.opening, told.opening) {
        (None, None) => false,
        (None, Some(_)) => told.changed_at.after(SAME_TRANSITION) >= known.changed_at,
        (Some(_), _) => told.changed_at > known.changed_at.after(SAME_TRANSITION),
    }
}

impl CellState {
    fn of(cell: &Cell, now: Timestamp, is_own: bool) -> Self {
        let latency = cell.read_at(now).latency_ms.map(from_millis);
        Self {
            latency: latency.filter(|_| !(is_own && cell.is_mixed())),
            samples: cell.samples_at(now, is_own).collect(),
        }
    }

    /// Plays the samples again, so that the cell is what it would have been.
    fn to_cell(&self, now: Timestamp, elapsed: Duration) -> Cell {
        let mut cell = Cell::default();
        for (ago, latency) in &self.samples {
            let age = sum(*ago, elapsed);
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
        cell.mark_foreign();
        cell
    }
}
