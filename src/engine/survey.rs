//! A look over a pool: how each endpoint stands, and which of them comes first.

use core::cmp::Ordering;
use core::time::Duration;

use super::breaker::Circuit;
use super::classify::ErrorClass;
use super::endpoint::{Endpoint, Standing};
use super::request::Request;
use super::router::Router;
use super::strategy::Rank;
use super::time::Timestamp;

/// How often a request looks whether somebody else's trial has ended. A wake-up from one request to another
/// would be shorter, and is not allowed in Workers.
const POLL: Duration = Duration::from_millis(100);

/// Where a content request puts an endpoint whose breaker is open: it asks everybody before it gives up.
pub(super) const OPEN_TIER: u8 = 5;

/// An endpoint that may be asked now or at a known time.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    pub(super) place: usize,
    order: Order,
    /// `Some` if a limit has to pass first.
    pub(super) free_at: Option<Timestamp>,
    standing: Standing,
}

impl Choice {
    /// Whether it is closed, rested and not limited.
    pub(super) fn is_ready(&self) -> bool {
        self.order.tier == 1
    }

    /// Whether the limit that lasts longest is the configured budget.
    pub(super) fn is_budget(&self) -> bool {
        self.standing.budget_at > self.standing.limited_until
    }

    /// Whether the configured budget admits a request now.
    pub(super) fn has_budget(&self) -> bool {
        self.standing.budget_at.is_none()
    }
}

/// Order of attempts: suitable before unsuitable, then health, then the soonest free, then (if a block was
/// missing) the furthest ahead, then the strategy's rank. Ties go to the earlier endpoint.
#[derive(Clone, Copy)]
struct Order {
    unsuitable: bool,
    tier: u8,
    free: Timestamp,
    behind: u64,
    rank: Rank,
}

impl Order {
    fn compare(&self, other: &Self) -> Ordering {
        self.unsuitable
            .cmp(&other.unsuitable)
            .then(self.tier.cmp(&other.tier))
            .then(self.free.cmp(&other.free))
            .then(self.behind.cmp(&other.behind))
            .then(self.rank.compare(&other.rank))
    }
}

/// What a look over the pool found.
#[derive(Default)]
pub(super) struct Survey {
    /// First in the order of attempts.
    pub(super) best: Option<Choice>,
    /// A recovered endpoint that waits for its trial.
    pub(super) trial: Option<Choice>,
    /// The endpoint whose last resort comes first, and when.
    pub(super) last_resort: Option<(usize, Timestamp)>,
    /// Endpoints that could be asked now.
    pub(super) ready: u32,
    /// Whether there is a closed one among them.
    pub(super) has_closed: bool,
}

impl Router {
    /// One pass over the pool.
    pub(super) fn survey(&self, now: Timestamp, request: &Request) -> Survey {
        self.survey_those(now, request, false)
    }

    /// One pass over those whose origin has no attempt of the request under way.
    pub(super) fn survey_elsewhere(&self, now: Timestamp, request: &Request) -> Survey {
        self.survey_those(now, request, true)
    }

    fn survey_those(&self, now: Timestamp, request: &Request, is_elsewhere: bool) -> Survey {
        let mut survey = Survey::default();
        let Some(settings) = self.settings.get(request.profile) else { return survey };
        let prefers_ahead = request.count(ErrorClass::BlockMissing) > 0;
        for (position, place) in self.places(request).iter().copied().enumerate() {
            let is_asked_for = request.call.only.is_none_or(|only| only == place);
            if !is_asked_for || request.is_spent(place) {
                continue;
            }
            let Some(endpoint) = self.endpoints.get(place) else { continue };
            if is_elsewhere && self.is_asked(request, endpoint.group) {
                continue;
            }
            let standing = Standing::read(endpoint, self.limits.get(endpoint.group), now);
            let tier = match standing.tier(settings.tier_order) {
                Some(tier) => tier,
                None if request.offered.is_some() => OPEN_TIER,
                None => {
                    survey.note_last_resort(now, place, endpoint, &standing);
                    continue;
                }
            };
            let free_at = standing.free_at();
            let order = Order {
                unsuitable: self.is_unsuitable(now, request, endpoint),
                tier,
                free: free_at.max(standing.resting_until).unwrap_or(Timestamp::ZERO),
                behind: if prefers_ahead { u64::MAX - endpoint.head.unwrap_or(0) } else { 0 },
                rank: request.ranks.get(position).copied().unwrap_or_default(),
            };
            survey.note(Choice { place, order, free_at, standing });
        }
        survey
    }

    /// Whether an attempt of the request is under way in a group.
    fn is_asked(&self, request: &Request, group: usize) -> bool {
        let in_flight = request.attempts.iter().filter(|attempt| attempt.is_in_flight());
        let mut endpoints = in_flight.filter_map(|attempt| self.endpoints.get(attempt.endpoint));
        endpoints.any(|endpoint| endpoint.group == group)
    }

    /// Whether it is known that an endpoint cannot serve the request. It is still asked when all are unsuitable:
    /// the settings may be out of date.
    pub(super) fn is_unsuitable(
        &self,
        now: Timestamp,
        request: &Request,
        endpoint: &Endpoint,
    ) -> bool {
        let cell = endpoint.metrics.of(request.call.method);
        let is_refused = cell.is_some_and(|cell| cell.is_refused_at(now));
        let spans_too_much = match (request.call.block_span, endpoint.config.max_block_range) {
            (Some(span), Some(most)) => span > most,
            _ => false,
        };
        let method = self.methods.get(request.call.method);
        is_refused || spans_too_much || method.is_some_and(|method| endpoint.refuses(&method.name))
    }

    /// Whether every endpoint that may answer is limited.
    pub(super) fn is_limited(&self, now: Timestamp, request: &Request) -> bool {
        let places = self.askable(request);
        let mut standings = places.filter_map(|place| self.standing(place, now)).peekable();
        standings.peek().is_some() && standings.all(|standing| standing.free_at().is_some())
    }

    /// The endpoints of the pool, or those that the request brought.
    pub(super) fn places<'a>(&'a self, request: &'a Request) -> &'a [usize] {
        let pool = || self.pools.get(request.call.pool).map(|pool| &*pool.endpoints);
        request.offered.as_deref().or_else(pool).unwrap_or_default()
    }

    /// Every endpoint that may answer a request.
    fn askable<'a>(&'a self, request: &'a Request) -> impl Iterator<Item = usize> + 'a {
        let only = request.call.only;
        self.places(request)
            .iter()
            .copied()
            .filter(move |place| only.is_none_or(|only| only == *place))
    }

    /// When the first endpoint that may answer may be asked again.
    pub(super) fn retry_at(&self, now: Timestamp, request: &Request) -> Option<Timestamp> {
        let times = self.askable(request).filter_map(|place| {
            let standing = self.standing(place, now)?;
            let breaker = match standing.circuit {
                Circuit::Open => self.endpoints.get(place)?.breaker.last_resort_at(),
                _ => now,
            };
            Some(breaker.max(standing.free_at().unwrap_or(now)))
        });
        times.min()
    }
}

impl Survey {
    fn note(&mut self, choice: Choice) {
        if choice.free_at.is_none() {
            self.ready += 1;
            if choice.standing.circuit == Circuit::Closed {
                self.has_closed |= choice.order.tier == 1;
            } else if choice.standing.circuit == Circuit::HalfOpen
                && choice.order.tier < OPEN_TIER
                && !choice.order.unsuitable
                && choice.standing.resting_until.is_none()
            {
                keep_better(&mut self.trial, &choice);
            }
        }
        keep_better(&mut self.best, &choice);
    }

    fn note_last_resort(
        &mut self,
        now: Timestamp,
        place: usize,
        endpoint: &Endpoint,
        standing: &Standing,
    ) {
        let at = if standing.is_on_trial {
            now.after(POLL)
        } else {
            endpoint.breaker.last_resort_at().max(standing.free_at().unwrap_or(now))
        };
        if self.last_resort.is_none_or(|(_, sooner)| at < sooner) {
            self.last_resort = Some((place, at));
        }
    }
}

fn keep_better(kept: &mut Option<Choice>, choice: &Choice) {
    if kept.as_ref().is_none_or(|kept| choice.order.compare(&kept.order).is_lt()) {
        *kept = Some(*choice);
    }
}
