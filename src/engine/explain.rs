//! What the engine knows, for the person on call.

use alloc::vec::Vec;

use super::breaker::Circuit;
use super::endpoint::Standing;
use super::method::MethodId;
use super::router::Router;
use super::sort::sort_by;
use super::strategy::{Candidate, Strategy, fastest, latency_weighted};
use super::time::{Timestamp, millis};

/// Where one endpoint ranks for a method, and why.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Place of the endpoint.
    pub endpoint: usize,
    /// Place in the expected order, from 1; `None` while excluded.
    pub rank: Option<u32>,
    /// Health tier, 1 the best; `None` while excluded.
    pub tier: Option<u8>,
    /// What put it there, most important first.
    pub reason: Reason,
    /// The breaker's state.
    pub circuit: Circuit,
    /// Milliseconds until the breaker is half-open; 0 unless open.
    pub reopens_in_ms: f64,
    /// Milliseconds until the rate limit or the configured budget admits a request; 0 if now.
    pub limited_for_ms: f64,
    /// Milliseconds in which it is asked last, after a failure that says nothing; 0 if none.
    pub resting_for_ms: f64,
    /// Mean latency of recent successes, of the method or (without any) of all.
    pub latency_ms: Option<f64>,
    /// Share of the fresh calls that succeeded.
    pub success_rate: f64,
    /// Fresh calls, at most 32.
    pub calls: u32,
    /// Whether the strategy takes it for proven.
    pub qualified: bool,
    /// The configured priority.
    pub priority: f64,
    /// Chance to be asked first among endpoints of the same tier.
    pub share: f64,
}

/// What decides an endpoint's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The breaker refuses traffic.
    CircuitOpen,
    /// The breaker is half-open and its one trial is under way.
    OnTrial,
    /// Half-open: the next safe request tries it.
    TrialDue,
    /// The provider or the configured budget asks for a pause.
    RateLimited,
    /// A failure that says nothing was a moment ago.
    Resting,
    /// It does not serve the method.
    Unsupported,
    /// Not measured enough, lately, to be trusted.
    Unproven,
    /// Nothing but the strategy.
    Healthy,
}

/// One endpoint's state.
#[derive(Clone, Debug)]
pub struct Status {
    /// The breaker's state.
    pub circuit: Circuit,
    /// Milliseconds until the breaker is half-open; 0 unless open.
    pub reopens_in_ms: f64,
    /// Consecutive counted failures.
    pub consecutive_failures: u32,
    /// Milliseconds until the rate limit ends; 0 if none.
    pub limited_for_ms: f64,
    /// Milliseconds in which it is asked last; 0 if none.
    pub resting_for_ms: f64,
    /// Attempts under way.
    pub in_flight: u32,
    /// Outcomes ever counted.
    pub total: u32,
    /// Over all methods.
    pub latency_ms: Option<f64>,
    /// Over all methods.
    pub success_rate: f64,
    /// Fresh calls over all methods, at most 32.
    pub calls: u32,
    /// Highest block number seen from it.
    pub head: Option<f64>,
    /// Per method.
    pub methods: Vec<MethodStatus>,
}

/// One endpoint's numbers for one method.
#[derive(Clone, Debug)]
pub struct MethodStatus {
    /// The method.
    pub method: MethodId,
    /// Mean latency of recent successes.
    pub latency_ms: Option<f64>,
    /// 95th percentile of recent successes.
    pub p95_ms: Option<f64>,
    /// Share of the fresh calls that succeeded.
    pub success_rate: f64,
    /// Fresh calls, at most 32.
    pub calls: u32,
    /// Outcomes ever counted.
    pub total: u32,
    /// Milliseconds since the last.
    pub last_used_ms_ago: Option<f64>,
}

impl Router {
    /// Where each endpoint of a pool ranks for a method, in the expected order. Nothing changes by it, and
    /// no random number is drawn.
    #[must_use]
    pub fn explain(
        &self,
        now: Timestamp,
        pool: usize,
        method: MethodId,
        strategy: Option<Strategy>,
    ) -> Vec<Explanation> {
        let Some(known) = self.pools.get(pool) else {
            return Vec::new();
        };
        let Some(settings) = self.settings.get(known.profile_place) else {
            return Vec::new();
        };
        let strategy = strategy.unwrap_or(settings.strategy);
        let candidates = self.candidates(now, &known.endpoints, method);
        let best = latency_weighted::best_latency(&settings.latency_weighted, &candidates);
        let appraise = |place: usize, candidate: &Candidate| match strategy {
            Strategy::Fastest => (fastest::is_qualified(&settings.fastest, candidate), f64::NAN),
            Strategy::LatencyWeighted => {
                let config = &settings.latency_weighted;
                let weight = latency_weighted::weight(config, candidate, best);
                (latency_weighted::is_qualified(config, candidate), weight)
            }
            Strategy::LoadBalanced | Strategy::Priority => (true, 1.0),
            // Ranked by what is expected now, which the mean does not tell.
            Strategy::Adaptive => {
                let expected = self.sight(now, place, method).expected_ms();
                (expected.is_some(), 1.0 / expected.unwrap_or(f64::INFINITY))
            }
        };
        let mut rows: Vec<Explanation> = known
            .endpoints
            .iter()
            .zip(&candidates)
            .filter_map(|(place, candidate)| {
                let (qualified, weight) = appraise(*place, candidate);
                self.explanation(now, *place, method, candidate, (qualified, weight))
            })
            .collect();
        order(&mut rows, strategy);
        rows
    }

    fn explanation(
        &self,
        now: Timestamp,
        place: usize,
        method: MethodId,
        candidate: &Candidate,
        (qualified, share): (bool, f64),
    ) -> Option<Explanation> {
        let endpoint = self.endpoints.get(place)?;
        let settings = self.settings.get(endpoint.profile)?;
        let standing = self.standing(place, now)?;
        let name = self.methods.get(method).map_or("", |method| &method.name);
        let refused = endpoint.metrics.of(method).is_some_and(|cell| cell.is_refused_at(now));
        let reason = reason(&standing, refused || endpoint.refuses(name), qualified);
        Some(Explanation {
            endpoint: place,
            rank: None,
            tier: standing.tier(settings.tier_order),
            reason,
            circuit: standing.circuit,
            reopens_in_ms: self.reopens_in_ms(now, place),
            limited_for_ms: millis_until(now, standing.free_at()),
            resting_for_ms: millis_until(now, standing.resting_until),
            latency_ms: candidate.reading.latency_ms,
            success_rate: candidate.reading.success_rate,
            calls: candidate.reading.calls,
            qualified,
            priority: candidate.priority,
            share,
        })
    }

    /// The state of the endpoint at a place.
    #[must_use]
    pub fn status(&self, now: Timestamp, place: usize) -> Option<Status> {
        let endpoint = self.endpoints.get(place)?;
        let standing = self.standing(place, now)?;
        let all = endpoint.metrics.all();
        let reading = all.read_at(now);
        Some(Status {
            circuit: standing.circuit,
            reopens_in_ms: self.reopens_in_ms(now, place),
            consecutive_failures: endpoint.breaker.consecutive,
            limited_for_ms: millis_until(now, standing.limited_until),
            resting_for_ms: millis_until(now, standing.resting_until),
            in_flight: endpoint.in_flight,
            total: all.total(),
            latency_ms: reading.latency_ms,
            success_rate: reading.success_rate,
            calls: reading.calls,
            head: endpoint.head.map(|head| head as f64),
            methods: self.method_statuses(now, place),
        })
    }

    fn method_statuses(&self, now: Timestamp, place: usize) -> Vec<MethodStatus> {
        let Some(endpoint) = self.endpoints.get(place) else {
            return Vec::new();
        };
        let cells = endpoint.metrics.methods();
        let statuses = cells.map(|(method, cell)| {
            let reading = cell.read_at(now);
            MethodStatus {
                method,
                latency_ms: reading.latency_ms,
                p95_ms: cell.percentile_at(now, 0.95).map(millis),
                success_rate: reading.success_rate,
                calls: reading.calls,
                total: cell.total(),
                last_used_ms_ago: cell.last_used().map(|at| millis_until(at, Some(now))),
            }
        });
        statuses.collect()
    }

    fn reopens_in_ms(&self, now: Timestamp, place: usize) -> f64 {
        let opening = self.endpoints.get(place).and_then(|endpoint| endpoint.breaker.opening);
        millis_until(now, opening.map(|opening| opening.until))
    }
}

fn reason(standing: &Standing, unsupported: bool, qualified: bool) -> Reason {
    if standing.circuit == Circuit::Open {
        Reason::CircuitOpen
    } else if standing.circuit == Circuit::HalfOpen && standing.is_on_trial {
        Reason::OnTrial
    } else if unsupported {
        Reason::Unsupported
    } else if standing.free_at().is_some() {
        Reason::RateLimited
    } else if standing.circuit == Circuit::HalfOpen {
        Reason::TrialDue
    } else if standing.resting_until.is_some() {
        Reason::Resting
    } else if qualified {
        Reason::Healthy
    } else {
        Reason::Unproven
    }
}

/// Sorts into the expected order, numbers the rows, and turns weights into shares.
fn order(rows: &mut [Explanation], strategy: Strategy) {
    sort_by(rows, |a, b| {
        let score = |row: &Explanation| match strategy {
            Strategy::Fastest => row.latency_ms.unwrap_or(f64::INFINITY),
            Strategy::LatencyWeighted | Strategy::Adaptive => -row.share,
            Strategy::Priority => row.priority,
            Strategy::LoadBalanced => 0.0,
        };
        let last = |row: &Explanation| row.tier.unwrap_or(u8::MAX);
        (a.reason == Reason::Unsupported)
            .cmp(&(b.reason == Reason::Unsupported))
            .then(last(a).cmp(&last(b)))
            .then(b.qualified.cmp(&a.qualified))
            .then(score(a).total_cmp(&score(b)))
    });
    let leading = rows.first().map(|row| (row.tier, row.qualified, row.reason));
    let competes = |row: &Explanation| {
        Some((row.tier, row.qualified)) == leading.map(|(tier, qualified, _)| (tier, qualified))
            && row.tier.is_some()
    };
    let by_lot = matches!(strategy, Strategy::LoadBalanced | Strategy::LatencyWeighted);
    let sum: f64 = rows.iter().filter(|row| competes(row)).map(|row| row.share).sum();
    let mut rank = 0;
    for row in rows {
        if row.tier.is_some() {
            rank += 1;
            row.rank = Some(rank);
        }
        row.share = match (by_lot, competes(row)) {
            (true, true) => row.share / sum,
            (false, true) if rank == 1 => 1.0,
            _ => 0.0,
        };
    }
}

fn millis_until(now: Timestamp, at: Option<Timestamp>) -> f64 {
    at.map_or(0.0, |at| millis(at.since(now)))
}
