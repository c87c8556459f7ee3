//! Second attempts beside one that is slow.
//!
//! **Why.** A straggler, a hang and an endpoint that has just become slow look the same from outside: no
//! answer yet. Asking somebody else after most answers would have come costs little and is the only thing
//! that helps the slowest requests ("The Tail at Scale", Dean and Barroso, 2013).
//!
//! **How.** The time is a quantile of what was measured, per endpoint and method, so that the share of the
//! requests that reach it is known beforehand. A budget bounds it whatever happens: it fills with every
//! request, and the emptier it is the later is the time, so that it is spent on those who have waited
//! longest. The second attempt goes to another origin, and only requests that may be repeated have one.

use core::time::Duration;

use super::classify::ErrorClass;
use super::method::{MethodId, Safety};
use super::request::{Request, Role, Step};
use super::router::Router;
use super::strategy::Strategy;
use super::survey::Choice;
use super::time::{Timestamp, from_millis};
use crate::engine::math::ln;

/// Time after which a second attempt starts where nothing is known.
const UNKNOWN: Duration = Duration::from_millis(500);
/// Shortest such time.
const SHORTEST: Duration = Duration::from_millis(10);
/// Second attempts that may be saved up.
pub(super) const SAVED: f64 = 20.0;
/// The spread is longer by this part while nothing is saved.
const THRIFT: f64 = 0.5;

impl Router {
    /// Plans what follows an attempt at `place`: returns when to ask for a second one.
    pub(super) fn plan_second(
        &mut self,
        now: Timestamp,
        request: &mut Request,
        place: usize,
    ) -> Option<Duration> {
        let hedge_at = self.hedge_delay(now, request, place).map(|delay| now.after(delay));
        request.hedge_at = hedge_at.filter(|at| *at < request.deadline);
        if request.attempts.len() == 1 {
            request.probe = self.probe_target(now, request, place);
        }
        if request.probe.is_some() {
            return Some(Duration::ZERO);
        }
        request.hedge_at.map(|at| at.since(now))
    }

    /// How long an attempt at `place` is alone, if it may have company at all.
    fn hedge_delay(&self, now: Timestamp, request: &Request, place: usize) -> Option<Duration> {
        let settings = self.settings.get(request.profile)?;
        let config = settings.hedge.as_ref()?;
        let is_listed = config.methods.contains(&request.call.method);
        let may_hedge = match request.safety {
            Safety::Safe => config.methods.is_empty() || is_listed,
            Safety::Broadcast => is_listed,
            Safety::Unsafe => false,
        };
        let has_room = request.offered.is_none()
            && request.call.only.is_none()
            && request.hedges < config.max_extra
            && config.budget > 0.0;
        if !may_hedge || !has_room {
            return None;
        }
        let pool = self.pools.get(request.call.pool)?;
        let thrift = 1.0 + THRIFT * (1.0 - pool.hedges / SAVED);
        let delay = self.quantile(now, place, request.call.method, config.quantile, thrift);
        Some(delay.unwrap_or(UNKNOWN).max(SHORTEST))
    }

    /// The time that `share` of an endpoint's answers do not exceed; `stretch` makes the distance to what is
    /// usual longer.
    fn quantile(
        &self,
        now: Timestamp,
        place: usize,
        method: MethodId,
        share: f64,
        stretch: f64,
    ) -> Option<Duration> {
        /// Logit of the share that the gauge follows.
        const KNOWN_LOGIT: f64 = 2.944_438_979_166_440_5; // ln(0.95 / 0.05)
        let (gauge, _) = self.endpoints.get(place)?.metrics.gauge_at(now, method)?;
        let logit = ln(share / (1.0 - share));
        let spread = gauge.spread() * stretch * logit / KNOWN_LOGIT;
        Some(from_millis(gauge.usual_ms()? * libm::exp(spread)))
    }

    /// Opens the attempt beside others that was planned, if it is time. `None` if there is nothing to do now.
    pub(super) fn open_second(&mut self, now: Timestamp, request: &mut Request) -> Option<Step> {
        let is_open = request.conclusion.is_none()
            && now < request.deadline
            && request.attempts.len() < request.max_attempts;
        if !is_open {
            (request.probe, request.hedge_at) = (None, None);
            return None;
        }
        if let Some(place) = request.probe.take() {
            return Some(self.open_probe(now, request, place));
        }
        request.hedge_at.take_if(|at| *at <= now)?;
        if self.pools.get(request.call.pool).is_none_or(|pool| pool.hedges < 1.0) {
            return None;
        }
        self.refresh_ranks(now, request);
        let survey = self.survey_elsewhere(now, request);
        let best = survey.best.filter(Choice::is_ready)?;
        if let Some(pool) = self.pools.get_mut(request.call.pool) {
            pool.hedges -= 1.0;
        }
        request.hedges += 1;
        let number = request.attempts.len();
        let step = self.send(now, request, best.place, survey.ready);
        if let Some(attempt) = request.attempts.get_mut(number) {
            attempt.role = Role::Hedge;
        }
        Some(step)
    }

    /// A second attempt failed: whoever waits gets another at once, if the budget has it. A refusal cost nobody
    /// anything, and is given back.
    pub(super) fn replace_hedge(
        &mut self,
        now: Timestamp,
        request: &mut Request,
        class: Option<ErrorClass>,
    ) {
        if request.conclusion.is_some() || class.is_none_or(|class| class == ErrorClass::Abort) {
            return;
        }
        request.hedges = request.hedges.saturating_sub(1);
        request.hedge_at = Some(now);
        if class == Some(ErrorClass::RateLimit)
            && let Some(pool) = self.pools.get_mut(request.call.pool)
        {
            pool.hedges += 1.0;
        }
    }

    fn open_probe(&mut self, now: Timestamp, request: &mut Request, place: usize) -> Step {
        let left = request.deadline.since(now);
        let timeout = request.hint.min(left);
        let attempt = self.open_attempt(now, request, place, timeout, true);
        if let Some(attempt) = request.attempts.get_mut(attempt) {
            attempt.role = Role::Probe;
        }
        let backup_after = request.hedge_at.map(|at| at.since(now));
        Step::Send { attempt, endpoint: place, timeout, backup_after }
    }

    /// The next step of a request that is under way: a second attempt, if one was planned.
    pub(super) fn accompany(&mut self, now: Timestamp, request: &mut Request) -> Step {
        match request.hedge_at.filter(|_| request.probe.is_none()) {
            Some(at) if now < at => Step::Wait(at),
            _ => self.open_second(now, request).unwrap_or(Step::Pending),
        }
    }

    /// Ranks again, if the strategy lives from the moment.
    pub(super) fn refresh_ranks(&mut self, now: Timestamp, request: &mut Request) {
        if request.strategy == Strategy::Adaptive
            && request.offered.is_none()
            && !request.attempts.is_empty()
        {
            request.ranks = self.rank(now, &request.call);
        }
    }

    /// Adds what a new request brings to the budget.
    pub(super) fn save_for_hedges(&mut self, profile: usize, pool: usize) {
        let config = self.settings.get(profile).and_then(|settings| settings.hedge.as_ref());
        let share = config.map_or(0.0, |config| config.budget);
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.hedges = (pool.hedges + share).min(SAVED);
        }
    }
}
