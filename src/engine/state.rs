//! Everything learnt, in a form that survives its page or isolate.
//!
//! Ages and spans travel, never instants: another isolate's clock has another origin. The host adds the
//! wall-clock time that passed in storage.

use core::time::Duration;

use serde::Serialize;

use super::breaker::{Breaker, Opening};
use super::metrics::{Cell, STALE_AFTER};
use super::router::Router;
use super::time::{Timestamp, micros};

/// Version of the format. A reader refuses any other.
pub const VERSION: u32 = 1;

/// What one engine knows.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// [`VERSION`].
    pub version: u32,
    /// Wall clock of the host when it was saved, in milliseconds; the host fills it in.
    pub saved_at: f64,
    /// One entry per endpoint that has something to tell.
    pub endpoints: Vec<EndpointState>,
}

/// What is known of one endpoint. It is found again by its three names.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointState {
    /// Name of its profile.
    pub profile: String,
    /// Name of its chain.
    pub chain: String,
    /// Its id.
    pub provider: String,
    /// `http`.
    pub transport: String,
    /// Its breaker, unless that never changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker: Option<BreakerState>,
    /// Milliseconds left of its group's rate limit.
    pub limited_for_ms: f64,
    /// Outcomes over all methods.
    pub all: CellState,
    /// Outcomes per method.
    pub methods: Vec<MethodState>,
}

/// One breaker.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakerState {
    /// Consecutive counted failures.
    pub consecutive: u32,
    /// Failed trials since it was closed.
    pub reopens: u32,
    /// Successful trials since it was half-open.
    pub successes: u32,
    /// Milliseconds since its state changed.
    pub changed_ms_ago: f64,
    /// Since when and for how long it is, or was, open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<(f64, f64)>,
}

/// One endpoint's outcomes with one method.
#[derive(Clone, Debug, Serialize)]
pub struct MethodState {
    /// The method.
    pub method: String,
    /// Its outcomes.
    pub cell: CellState,
}

/// Outcomes of one endpoint.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CellState {
    /// Mean latency in milliseconds, which also knows successes that the samples no longer hold.
    pub latency_ms: Option<f64>,
    /// Fresh outcomes, oldest first.
    pub samples: Vec<Sample>,
}

/// Age, and latency or nothing for a failure; both in milliseconds.
pub type Sample = (f64, Option<f64>);

/// A state that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownVersion(pub u32);

impl Router {
    /// Everything learnt, as of `now`.
    #[must_use]
    pub fn export(&self, now: Timestamp) -> State {
        let places = self.pools.iter().flat_map(|pool| &pool.endpoints);
        let endpoints = places.filter_map(|place| self.export_endpoint(now, *place)).collect();
        State { version: VERSION, saved_at: 0.0, endpoints }
    }

    fn export_endpoint(&self, now: Timestamp, place: usize) -> Option<EndpointState> {
        let endpoint = self.endpoints.get(place)?;
        let pool = self.pools.iter().find(|pool| pool.endpoints.contains(&place))?;
        let breaker = &endpoint.breaker;
        let has_history = breaker.changed_at > Timestamp::ZERO || breaker.consecutive > 0;
        let limited = self.standing(place, now)?.limited_until;
        let methods = endpoint.metrics.methods().filter_map(|(method, cell)| {
            let method = self.methods.get(method)?.name.clone();
            Some(MethodState { method, cell: CellState::of(cell, now) })
        });
        Some(EndpointState {
            profile: pool.profile.clone(),
            chain: pool.chain.clone(),
            provider: endpoint.config.id.clone(),
            transport: "http".to_owned(),
            breaker: has_history.then(|| BreakerState {
                consecutive: breaker.consecutive,
                reopens: breaker.reopens,
                successes: breaker.successes,
                changed_ms_ago: millis(now.since(breaker.changed_at)),
                opened: breaker.opening.map(|opening| {
                    let span = opening.until.since(opening.at);
                    (millis(now.since(opening.at)), millis(span))
                }),
            }),
            limited_for_ms: limited.map_or(0.0, |until| millis(until.since(now))),
            all: CellState::of(endpoint.metrics.all(), now),
            methods: methods.collect(),
        })
    }

    /// Takes over what another engine learnt `elapsed` ago. Endpoints that are not configured here are
    /// passed over; a breaker that changed more lately here keeps its state.
    ///
    /// # Errors
    /// [`UnknownVersion`], and nothing is changed.
    pub fn import(
        &mut self,
        now: Timestamp,
        state: &State,
        elapsed: Duration,
    ) -> Result<(), UnknownVersion> {
        if state.version != VERSION {
            return Err(UnknownVersion(state.version));
        }
        let now = self.observe(now);
        for entry in &state.endpoints {
            self.import_endpoint(now, entry, elapsed);
        }
        Ok(())
    }

    fn import_endpoint(&mut self, now: Timestamp, entry: &EndpointState, elapsed: Duration) {
        let pool = self
            .pools
            .iter()
            .find(|pool| pool.profile == entry.profile && pool.chain == entry.chain);
        let Some(place) = pool.and_then(|pool| {
            pool.endpoints.iter().copied().find(|place| {
                self.endpoints.get(*place).is_some_and(|e| e.config.id == entry.provider)
            })
        }) else {
            return;
        };
        let interned: Vec<_> =
            entry.methods.iter().map(|method| self.methods.intern(&method.method)).collect();
        let Some(endpoint) = self.endpoints.get_mut(place) else {
            return;
        };
        let age = |ms: f64| span(ms).saturating_add(elapsed);
        if let Some(saved) = &entry.breaker {
            let changed_at = now.before(age(saved.changed_ms_ago));
            if changed_at >= endpoint.breaker.changed_at {
                let opening = saved.opened.map(|(ago, length)| {
                    let at = now.before(age(ago));
                    Opening { at, until: at.after(span(length)) }
                });
                let counts = (saved.consecutive, saved.reopens, saved.successes);
                endpoint.breaker = Breaker::restore(counts, opening, changed_at);
            }
        }
        endpoint.metrics.restore(now, None, entry.all.to_cell(now, &age));
        for (method, saved) in interned.into_iter().zip(&entry.methods) {
            endpoint.metrics.restore(now, Some(method), saved.cell.to_cell(now, &age));
        }
        let left = span(entry.limited_for_ms).saturating_sub(elapsed);
        let group = endpoint.group;
        if let Some(limit) = self.limits.get_mut(group).filter(|_| !left.is_zero()) {
            limit.until = limit.until.max(Some(now.after(left)));
        }
    }
}

impl CellState {
    fn of(cell: &Cell, now: Timestamp) -> Self {
        Self {
            latency_ms: cell.read_at(now).latency_ms,
            samples: cell
                .samples_at(now)
                .map(|(age, taken)| (millis(age), taken.map(millis)))
                .collect(),
        }
    }

    /// Plays the samples again, so that the cell is what it would have been.
    fn to_cell(&self, now: Timestamp, age: &dyn Fn(f64) -> Duration) -> Cell {
        let mut cell = Cell::default();
        for (ago, taken) in &self.samples {
            let age = age(*ago);
            if age > STALE_AFTER {
                continue;
            }
            match taken {
                Some(taken) => cell.record_success(now.before(age), Some(span(*taken))),
                None => cell.record_failure(now.before(age)),
            }
        }
        if let Some(latency) = self.latency_ms {
            cell.set_mean(span(latency));
        }
        cell
    }
}

fn millis(span: Duration) -> f64 {
    micros(span) as f64 / 1000.0
}

/// A span from a stored number, which may be anything.
fn span(millis: f64) -> Duration {
    Duration::try_from_secs_f64(millis / 1000.0).unwrap_or_default()
}
