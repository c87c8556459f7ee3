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

use core::time::Duration;

use super::classify::ErrorClass;
use super::endpoint::Standing;
use super::method::{MethodId, Safety};
use super::request::{Call, Request, Step};
use super::router::{News, Router};
use super::strategy::Rank;
use super::survey::OPEN_TIER;
use super::time::Timestamp;

/// Shortest and longest time that a gateway is alone. Twenty gateways of which one is good fit into a deadline,
/// and nobody waits long for a single one that hangs.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(1_500), Duration::from_secs(3));
/// Gateways that one request may be offered.
const MOST_OFFERED: usize = 4096;

impl Router {
    /// Adds endpoints to those that a content request may ask. Each should be offered once.
    pub fn offer(&mut self, now: Timestamp, handle: u32, places: &[usize]) {
        let now = self.observe(now);
        self.with_request(handle, |router, request| router.widen(now, request, places));
    }

    /// Puts an endpoint in front of the others that a content request may ask, if it is as healthy as they.
    pub fn prefer(&mut self, now: Timestamp, handle: u32, place: usize) {
        let now = self.observe(now);
        self.with_request(handle, |router, request| {
            let position = |request: &Request| {
                request.offered.as_ref()?.iter().position(|offered| *offered == place)
            };
            if position(request).is_none() {
                router.widen(now, request, &[place]);
            }
            let at = position(request);
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
        self.widen(now, &mut request, places);
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

    fn widen(&mut self, now: Timestamp, request: &mut Request, places: &[usize]) {
        let Some(settings) = self.settings.get(request.profile) else { return };
        let Some(offered) = &mut request.offered else { return };
        let known = self.endpoints.len();
        let room = MOST_OFFERED.saturating_sub(offered.len());
        let new: Vec<usize> =
            places.iter().copied().filter(|place| *place < known).take(room).collect();
        let candidates = self.candidates(now, &new, request.call.method);
        let ranks = request.strategy.rank(settings, &candidates, false, &mut self.ranking);
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
        let share = self.deadline.since(now) / u32::try_from(shares).unwrap_or(u32::MAX);
        share.clamp(PATIENCE.0, PATIENCE.1)
    }
}
