//! What `adaptive` knows of the endpoints, and whom it probes.
//!
//! **Why.** An endpoint that is not asked is not known. Asking it with a user's request makes that user wait
//! for an unproven one; asking it beside the request costs one more request and nobody's time.
//!
//! **How.** A request that goes to the best endpoint may take one probe along: the same request at an
//! endpoint that was not heard of for a while, is on trial, or was never measured. Whichever answers first
//! serves the user; the other goes on, to be learnt from. Probes are a small share of all requests, with
//! some to begin with, and one each few minutes where there is hardly any traffic.

use alloc::vec::Vec;
use core::time::Duration;

use super::breaker::Circuit;
use super::endpoint::Endpoint;
use super::limit::Limit;
use super::method::{MethodId, Safety};
use super::metrics::{Cell, Gauge, HALF_LIFE, STALE_AFTER};
use super::request::Request;
use super::rng::Rng;
use super::router::Router;
use super::strategy::adaptive::{self, Sight};
use super::strategy::{Rank, Strategy};
use super::time::{Timestamp, millis};

/// An endpoint whose last answers were a surprise is probed after so long.
const SOON: Duration = Duration::from_secs(1);
/// Probes per request; and while some endpoint was never measured.
const PROBE_SHARE: (f64, f64) = (0.03, 0.1);
/// Without traffic a probe is saved up in this time.
const PROBE_EVERY: Duration = Duration::from_mins(5);
/// Probes that may be saved up, and that there are to begin with.
pub(super) const PROBES_SAVED: f64 = 8.0;

/// How much a probe is needed, least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// Not heard of with the method for a while.
    Old,
    /// Never measured at all, or so long ago that it counts for nothing.
    Unknown,
    /// A breaker's trial, which is owed.
    Trial,
}

impl Router {
    /// What is to be seen of an endpoint by a request for `method`.
    pub(super) fn sight(&self, now: Timestamp, place: usize, method: MethodId) -> Sight {
        let Some(endpoint) = self.endpoints.get(place) else { return Sight::default() };
        let parts = self.settings.get(endpoint.profile).map(|s| s.adaptive).unwrap_or_default();
        let limit = self.limits.get(endpoint.group).filter(|_| parts.capacity);
        let known = endpoint.metrics.gauge_at(now, method);
        let gauge = known.map(|(gauge, _)| gauge);
        let (beyond, oldest) =
            if parts.overdue { endpoint.overdue_at(now) } else { (0, Duration::ZERO) };
        Sight {
            usual_ms: if parts.gauge {
                gauge.and_then(Gauge::usual_ms)
            } else {
                endpoint.metrics.read_at(now, method).latency_ms
            },
            failing: known.map_or(0.0, |(gauge, silence)| gauge.failing(silence)),
            in_flight: endpoint.in_flight,
            slow: gauge.map_or(0, Gauge::slow_in_row) + beyond * Gauge::OUTLIER,
            oldest_ms: millis(oldest),
            wait_ms: limit.map_or(0.0, |limit| wait_ms(now, endpoint, limit)),
            refusing: limit.map_or(0.0, |limit| limit.capacity.refusing(now)),
        }
    }

    pub(super) fn rank_adaptive(
        &self,
        now: Timestamp,
        places: &[usize],
        method: MethodId,
        rng: &mut Rng,
    ) -> Vec<Rank> {
        let sights: Vec<Sight> =
            places.iter().map(|place| self.sight(now, *place, method)).collect();
        adaptive::rank(&sights, rng)
    }

    /// The endpoint that is to be probed beside a request that goes to `first`, out of the savings.
    pub(super) fn probe_target(
        &mut self,
        now: Timestamp,
        request: &Request,
        first: usize,
    ) -> Option<usize> {
        let may_probe = request.strategy == Strategy::Adaptive
            && request.safety == Safety::Safe
            && request.offered.is_none()
            && request.call.only.is_none()
            && self.settings.get(request.profile).is_some_and(|s| s.adaptive.probes);
        if !may_probe {
            return None;
        }
        let others = self.places(request).iter().filter(|place| **place != first);
        let target = others
            .filter_map(|place| Some((self.need(now, request, *place)?, *place)))
            .reduce(|most, next| if next.0 > most.0 { next } else { most });
        let need = target.map(|((need, _), _)| need);
        let pool = self.pools.get_mut(request.call.pool)?;
        let share = if need == Some(Need::Unknown) { PROBE_SHARE.1 } else { PROBE_SHARE.0 };
        let idle = millis(now.since(pool.probes_at)) / millis(PROBE_EVERY);
        pool.probes = (pool.probes + idle + share).min(PROBES_SAVED);
        pool.probes_at = now;
        if need != Some(Need::Trial) {
            if pool.probes < 1.0 {
                return None;
            }
            pool.probes -= f64::from(u8::from(need.is_some()));
        }
        target.map(|(_, place)| place)
    }

    /// Whether a probe of an endpoint is due, and since when nothing was heard of it.
    fn need(&self, now: Timestamp, request: &Request, place: usize) -> Option<(Need, Duration)> {
        let endpoint = self.endpoints.get(place)?;
        let limit = self.limits.get(endpoint.group)?;
        let standing = self.standing(place, now)?;
        let method = request.call.method;
        let is_idle = endpoint.in_flight == 0
            && standing.free_at().is_none()
            && standing.resting_until.is_none()
            && limit.capacity.wait_ms(now) <= 0.0;
        if !is_idle || self.is_unsuitable(now, request, endpoint) {
            return None;
        }
        match standing.circuit {
            Circuit::Open => return None,
            Circuit::HalfOpen if standing.is_on_trial => return None,
            Circuit::HalfOpen => return Some((Need::Trial, Duration::MAX)),
            Circuit::Closed => {}
        }
        // Whoever has just refused is not asked again for curiosity.
        let refused = limit.capacity.refused_at().map(|at| now.since(at));
        if refused.is_some_and(|ago| ago <= HALF_LIFE) {
            return None;
        }
        let ago = |cell: &Cell| cell.last_used().map(|at| now.since(at));
        let heard = ago(endpoint.metrics.all());
        if heard.is_none_or(|heard| heard > STALE_AFTER) {
            return Some((Need::Unknown, heard.unwrap_or(Duration::MAX)));
        }
        let cell = endpoint.metrics.of(method);
        let patience = match cell {
            Some(cell) if cell.gauge.is_unsettled() => SOON,
            _ => HALF_LIFE,
        };
        let own = cell.and_then(ago).unwrap_or(Duration::MAX);
        (own > patience).then_some((Need::Old, own))
    }
}

/// Milliseconds until there is room. One that refuses is asked by one request at a time.
fn wait_ms(now: Timestamp, endpoint: &Endpoint, limit: &Limit) -> f64 {
    let wait = limit.capacity.wait_ms(now);
    if limit.capacity.is_refusing() && endpoint.in_flight > 0 {
        wait.max(millis(limit.capacity.pause()))
    } else {
        wait
    }
}
