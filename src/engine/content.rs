//! Content: requests that bring their endpoints with them, since gateways come and go with every list.
//!
//! **Why.** A routing strategy outside of the engine chooses one gateway out of a list that it alone knows,
//! and may be asked again when that one fails. Breakers, limits, measurements, attempts and deadlines
//! are those of every other request.
//!
//! **What differs.** Each gateway is asked once. An open breaker puts a gateway last instead of excluding
//! it: a list of one is the user's wish. A slow answer does not end an attempt, since gateways may have to
//! find the data first: after its share of the deadline the next gateway is asked beside it (as RFC 8305 does
//! with addresses), and the first answer wins.

use alloc::vec::Vec;
use core::time::Duration;

use super::classify::ErrorClass;
use super::endpoint::Standing;
use super::method::{MethodId, Safety};
use super::request::{Call, Request, Step};
use super::router::{News, Router};
use super::strategy::Rank;
use super::survey::OPEN_TIER;
use super::time::{Timestamp, share};

/// Shortest and longest time that a gateway is alone. Twenty gateways of which one is good fit into a deadline,
/// and nobody waits long for a single one that hangs.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(1_500), Duration::from_secs(3));
/// Gateways that one request may be offered.
const MOST_OFFERED: usize = 4096;

impl Router {
    /// Adds endpoints to those that a content request may ask. Each should be offered once.
    pub fn offer(&mut self, now: Timestamp, handle: u32, places: &[usize]) {
        let now = self.observe(now);
        self.with_request(handle, |router, request| router.widen(now, request, places, false));
    }

    /// Puts an endpoint in front of the others that a request may ask, if it is as healthy as they. A content
    /// request may ask it from now on.
    pub fn prefer(&mut self, now: Timestamp, handle: u32, place: usize) {
        let now = self.observe(now);
        self.with_request(handle, |router, request| {
            if request.offered.as_ref().is_some_and(|offered| !offered.contains(&place)) {
                router.widen(now, request, &[place], false);
            }
            let at = router.places(request).iter().position(|known| *known == place);
            if let Some(rank) = at.and_then(|at| request.ranks.get_mut(at)) {
                *rank = Rank { group: 0, score: f64::NEG_INFINITY };
            }
        });
    }

    /// The endpoint that the strategy of `call` puts first among `places`, the healthiest before all others.
    pub fn pick(&mut self, now: Timestamp, call: Call, places: &[usize]) -> Option<usize> {
        let now = self.observe(now);
        let mut request = self.open_request(now, call)?;
        request.offered = Some(Vec::new());
        request.ranks.clear();
        // Here it is decided who goes first: the unproven have their share of that.
        let may_explore = request.safety == Safety::Safe;
        self.widen(now, &mut request, places, may_explore);
        self.survey(now, &request).best.map(|best| best.place)
    }

    /// Health tier of an endpoint, from 1, the best, to 5, an open breaker.
    #[must_use]
    pub fn tier(&self, now: Timestamp, place: usize) -> u8 {
        let profile = self.endpoints.get(place).map_or(0, |endpoint| endpoint.profile);
        let order = self.settings.get(profile).map(|settings| settings.tier_order);
        let standing = self.standing(place, now);
        let tier = |standing: Standing| standing.tier(order.unwrap_or_default());
        standing.and_then(tier).unwrap_or(OPEN_TIER)
    }

    /// Whether an endpoint is in the best tier and its last answer was good: who has chosen it may stay with it.
    #[must_use]
    pub fn is_trusted(&self, now: Timestamp, place: usize) -> bool {
        let failures = self.endpoints.get(place).map_or(0, |endpoint| endpoint.breaker.consecutive);
        failures == 0 && self.tier(now, place) == 1
    }

    /// Takes note of something that was seen outside of a request: a success with its latency, or a failure
    /// (`None`). A probe (`is_probe`) measures and decides nothing: a gateway may answer probes and
    /// nothing else.
    pub fn note(
        &mut self,
        now: Timestamp,
        place: usize,
        method: MethodId,
        latency: Option<Duration>,
        is_probe: bool,
    ) {
        let now = self.observe(now);
        let jitter = self.timing.unit();
        let Some(endpoint) = self.endpoints.get_mut(place) else { return };
        let Some(settings) = self.settings.get(endpoint.profile) else { return };
        endpoint.metrics.record(method, |cell| match latency {
            Some(_) => cell.record_success(now, latency),
            None => cell.record_failure(now),
        });
        if is_probe {
            return;
        }
        let (breaker, config) = (&mut endpoint.breaker, &settings.breaker);
        let generation = breaker.generation();
        let has_changed = if latency.is_some() {
            breaker.on_success(now, generation, config)
        } else {
            breaker.on_failure(now, generation, ErrorClass::Server, config, jitter)
        };
        if has_changed {
            let circuit = breaker.circuit_at(now);
            self.tell(News::Circuit { endpoint: place, circuit });
        }
        if latency.is_some()
            && let Some(endpoint) = self.endpoints.get_mut(place)
        {
            endpoint.note_answer(now);
        }
    }

    /// Takes note of how the body of an answer ended, whose headers were a success. Those headers have
    /// forgiven all failures before them, so that bodies which break in a row are counted apart.
    pub fn end_body(&mut self, now: Timestamp, place: usize, method: MethodId, is_whole: bool) {
        let Some(endpoint) = self.endpoints.get_mut(place) else { return };
        if is_whole {
            endpoint.broken_bodies = 0;
            return;
        }
        endpoint.broken_bodies = endpoint.broken_bodies.saturating_add(1);
        let earlier = endpoint.broken_bodies - 1;
        endpoint.breaker.consecutive = endpoint.breaker.consecutive.max(earlier);
        self.note(now, place, method, None, false);
    }

    fn widen(
        &mut self,
        now: Timestamp,
        request: &mut Request,
        places: &[usize],
        may_explore: bool,
    ) {
        let Some(offered) = &mut request.offered else { return };
        let known = self.endpoints.len();
        let room = MOST_OFFERED.saturating_sub(offered.len());
        let new: Vec<usize> =
            places.iter().copied().filter(|place| *place < known).take(room).collect();
        let by = (request.profile, request.strategy, request.call.method);
        let mut rng = self.ranking.clone();
        let ranks = self.rank_places(now, &new, by, may_explore, &mut rng);
        self.ranking = rng;
        offered.extend(new);
        request.ranks.extend(ranks);
    }

    /// The next step of a request that has attempts under way: for content another gateway, once all of them
    /// have been alone long enough.
    pub(super) fn stagger(&mut self, now: Timestamp, request: &mut Request) -> Step {
        let may_ask = request.offered.is_some()
            && request.safety == Safety::Safe
            && now < request.deadline
            && request.attempts.len() < request.max_attempts;
        if !may_ask {
            return Step::Pending;
        }
        let survey = self.survey(now, request);
        let Some(best) = survey.best.filter(|best| best.free_at.is_none()) else {
            return Step::Pending;
        };
        let in_flight = request.attempts.iter().filter(|attempt| attempt.is_in_flight());
        match in_flight.map(|attempt| attempt.overdue_at).max() {
            Some(overdue_at) if now < overdue_at => Step::Wait(overdue_at),
            _ => self.send(now, request, best.place, survey.ready),
        }
    }
}

impl Request {
    /// How long a gateway is alone: its share of the deadline.
    pub(super) fn patience(&self, now: Timestamp) -> Duration {
        let offered = self.offered.as_ref().map_or(1, Vec::len);
        let shares = offered.saturating_sub(self.attempts.len()).max(1);
        let left = self.deadline.since(now);
        share(left, shares).max(PATIENCE.0.min(share(left, 2))).min(PATIENCE.1)
    }
}
