//! The next step of a request: send, wait, or give up.

use core::time::Duration;

use super::breaker::Circuit;
use super::classify::ErrorClass;
use super::method::Safety;
use super::request::{Conclusion, Request, Step};
use super::router::Router;
use super::strategy::Strategy;
use super::survey::Choice;
use super::time::{Timestamp, from_millis, millis, share, times};

/// Shortest time that an attempt is given when many have to share what is left.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(250);
/// Longest wait for a limit to pass before a content request asks nevertheless.
const CONTENT_WAIT: Duration = Duration::from_secs(5);
/// A wait must leave at least this much of the request's time for the attempt after it.
const ROOM_FOR_ATTEMPT: Duration = Duration::from_millis(50);
/// First pause before the same endpoints are asked again; doubles with each round, and up to half of it is
/// added by lot.
const PAUSE: Duration = Duration::from_millis(100);
/// Shortest time after which a caller is told to try again: all have just failed.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// How long a trial is alone when nothing is known of the endpoint that stands behind it.
const BACKUP_DEFAULT: Duration = Duration::from_millis(500);
/// Shortest such time.
const BACKUP_SHORTEST: Duration = Duration::from_millis(20);

impl Router {
    /// The next step of a request that is not under way.
    pub(super) fn advance(&mut self, now: Timestamp, request: &mut Request) -> Step {
        if let Some(conclusion) = request.conclusion {
            return Step::End(conclusion);
        }
        if request.is_in_flight() {
            return if request.offered.is_some() {
                self.stagger(now, request)
            } else {
                self.accompany(now, request)
            };
        }
        if let Some(attempt) = request.doubtful {
            let conclusion = Conclusion::Answer(attempt);
            self.conclude(now, request, conclusion);
            return Step::End(conclusion);
        }
        if now >= request.deadline {
            return self.give_up(now, request);
        }
        if let Some(until) = request.pause_until {
            if now < until {
                return Step::Wait(until);
            }
            request.pause_until = None;
            request.rounds += 1;
            request.round_start = request.attempts.len();
        }
        if request.attempts.len() >= request.max_attempts {
            return self.give_up(now, request);
        }
        self.refresh_ranks(now, request);
        let survey = self.survey(now, request);
        // `adaptive` lets trials go beside a request, not first.
        let may_try_first = request.attempts.is_empty()
            && request.strategy != Strategy::Adaptive
            && request.safety == Safety::Safe
            && request.call.only.is_none()
            && survey.has_closed;
        if may_try_first && let Some(trial) = &survey.trial {
            return self.send(now, request, trial.place, survey.ready);
        }
        match (survey.best, survey.last_resort) {
            // A limit that lasts longer than a breaker's last resort is not waited for.
            (Some(best), Some((place, at))) if best.free_at.is_some_and(|free_at| at < free_at) => {
                self.try_last_resort(now, request, place, at)
            }
            (Some(best), _) => self.send_or_wait(now, request, &best, survey.ready),
            (None, Some((place, at))) => self.try_last_resort(now, request, place, at),
            (None, None) => self.go_round(now, request),
        }
    }

    /// Opens a second attempt at the best endpoint that is neither spent nor limited.
    pub(super) fn open_backup(&mut self, now: Timestamp, request: &mut Request) -> Option<Step> {
        let is_open = request.conclusion.is_none()
            && now < request.deadline
            && request.attempts.len() < request.max_attempts;
        if !is_open || request.safety != Safety::Safe {
            return None;
        }
        let survey = self.survey(now, request);
        let best = survey.best.filter(|best| best.free_at.is_none())?;
        Some(self.send(now, request, best.place, survey.ready))
    }

    pub(super) fn open_ride(
        &mut self,
        now: Timestamp,
        request: &mut Request,
        place: usize,
    ) -> Option<usize> {
        let may_ride = request.conclusion.is_none()
            && !request.is_in_flight()
            && now < request.deadline
            && request.attempts.len() < request.max_attempts
            && request.call.only.is_none_or(|only| only == place)
            && !request.is_spent(place);
        if !may_ride {
            return None;
        }
        let left = request.deadline.since(now);
        Some(self.open_attempt(now, request, place, left, false))
    }

    fn send_or_wait(
        &mut self,
        now: Timestamp,
        request: &mut Request,
        best: &Choice,
        ready: u32,
    ) -> Step {
        let Some(free_at) = best.free_at else {
            return self.send(now, request, best.place, ready);
        };
        if let Some((place, at)) = request.reserved
            && self.is_place_kept(now, request, place, at)
        {
            return if now < at { Step::Wait(at) } else { self.send(now, request, place, ready) };
        }
        let is_content = request.offered.is_some();
        let is_soon = !is_content || free_at <= now.after(CONTENT_WAIT);
        if is_soon && free_at.after(ROOM_FOR_ATTEMPT) <= request.deadline {
            return self.queue(now, request, best, free_at);
        }
        // The others have failed: better to ask one that wanted a rest than nobody. A configured budget is
        // never broken.
        let others_failed =
            request.attempts.iter().any(|a| a.end.class() != Some(ErrorClass::RateLimit));
        if (others_failed || is_content) && best.has_budget() {
            return self.send(now, request, best.place, ready);
        }
        self.give_up(now, request)
    }

    /// Waits for a limit to pass; takes a place in a configured budget, so that nobody overtakes.
    fn queue(
        &mut self,
        now: Timestamp,
        request: &mut Request,
        best: &Choice,
        free_at: Timestamp,
    ) -> Step {
        if !best.is_budget() {
            return Step::Wait(free_at);
        }
        let group = self.endpoints.get(best.place).map(|endpoint| endpoint.group);
        let limit = group.and_then(|group| self.limits.get_mut(group));
        let at = limit.map_or(free_at, |limit| limit.reserve(now));
        request.reserved = Some((best.place, at));
        Step::Wait(at)
    }

    /// Whether a place in the queue of a budget still leads to an attempt.
    fn is_place_kept(
        &self,
        now: Timestamp,
        request: &Request,
        place: usize,
        at: Timestamp,
    ) -> bool {
        let standing = self.standing(place, now);
        !request.is_spent(place)
            && standing.is_some_and(|standing| {
                standing.circuit == Circuit::Closed && standing.limited_until <= Some(at)
            })
    }

    fn try_last_resort(
        &mut self,
        now: Timestamp,
        request: &mut Request,
        place: usize,
        at: Timestamp,
    ) -> Step {
        let is_on_trial = self.endpoints.get(place).is_some_and(|e| e.breaker.is_on_trial_at(now));
        if at <= now && !is_on_trial {
            self.send(now, request, place, 1)
        } else if at.after(ROOM_FOR_ATTEMPT) <= request.deadline {
            Step::Wait(at)
        } else {
            // The open ones come too late, but the others may be well again.
            self.go_round(now, request)
        }
    }

    /// Everyone was asked: pauses and starts again, if that could help and there is time.
    fn go_round(&mut self, now: Timestamp, request: &mut Request) -> Step {
        let is_new_round = request.round_start < request.attempts.len();
        if !is_new_round || !request.may_go_round() {
            return self.give_up(now, request);
        }
        let pause = times(PAUSE, 1_u32.checked_shl(request.rounds).unwrap_or(u32::MAX));
        let until = now.after(from_millis(millis(pause) * (1.0 + self.timing.unit() * 0.5)));
        if until.after(ROOM_FOR_ATTEMPT) > request.deadline {
            return self.give_up(now, request);
        }
        request.pause_until = Some(until);
        Step::Wait(until)
    }

    /// Opens an attempt at `place`, which is one of `ready` that could be asked.
    pub(super) fn send(
        &mut self,
        now: Timestamp,
        request: &mut Request,
        place: usize,
        ready: u32,
    ) -> Step {
        let left = request.deadline.since(now);
        let attempts_left = request.max_attempts.saturating_sub(request.attempts.len()).max(1);
        let shares = attempts_left.min(ready.max(1) as usize);
        // Nobody else will be asked after a silent unsafe attempt, so it gets all the time there is.
        let timeout = if request.safety == Safety::Unsafe {
            left
        } else if request.offered.is_some() {
            request.hint.min(left)
        } else {
            request.hint.min(share(left, shares).max(SHORTEST_ATTEMPT)).min(left)
        };
        let is_reserved = request.reserved.is_some_and(|(reserved, _)| reserved == place);
        let group = self.endpoints.get(place).map(|endpoint| endpoint.group);
        if let Some(limit) = group.and_then(|group| self.limits.get_mut(group))
            && !is_reserved
        {
            limit.reserve(now);
        }
        request.reserved = None;
        let attempt = self.open_attempt(now, request, place, timeout, true);
        let is_trial = request.attempts.get(attempt).is_some_and(|attempt| attempt.is_trial);
        let may_back = request.safety == Safety::Safe;
        let backup_after = if may_back && is_trial && ready > 1 {
            Some(self.backup_delay(now, request))
        } else {
            // Of content somebody else may be known by then.
            let overdue_at = request.attempts.get(attempt).map(|attempt| attempt.overdue_at);
            let patience = overdue_at
                .filter(|_| may_back && request.offered.is_some())
                .map(|at| at.since(now));
            patience.or_else(|| self.plan_second(now, request, place))
        };
        Step::Send { attempt, endpoint: place, timeout, backup_after }
    }

    /// How long a trial is left alone: the 95th percentile of the endpoint that stands behind it.
    fn backup_delay(&self, now: Timestamp, request: &Request) -> Duration {
        let behind = self.survey(now, request).best;
        let known = behind.and_then(|best| {
            let metrics = &self.endpoints.get(best.place)?.metrics;
            let own = metrics.of(request.call.method).and_then(|c| c.percentile_at(now, 0.95));
            own.or_else(|| metrics.all().percentile_at(now, 0.95))
        });
        known.unwrap_or(BACKUP_DEFAULT).max(BACKUP_SHORTEST)
    }

    /// Ends a request without an answer.
    pub(super) fn give_up(&mut self, now: Timestamp, request: &mut Request) -> Step {
        let free_at = self.retry_at(now, request);
        // All have just failed: an endpoint that could be asked at once is better asked a little later.
        let retry_at = free_at.map(|at| at.max(now.after(RETRY_PAUSE)));
        let all_limited = request
            .attempts
            .iter()
            .all(|attempt| attempt.end.class() == Some(ErrorClass::RateLimit));
        let conclusion = if let Some(attempt) = request.telling_error() {
            Conclusion::Error(attempt)
        } else if let Some(attempt) = request.silent_broadcast() {
            Conclusion::Indeterminate(attempt)
        } else if now >= request.deadline {
            Conclusion::Deadline { retry_at }
        } else if all_limited && self.is_limited(now, request) {
            Conclusion::RateLimited { retry_at: free_at }
        } else {
            Conclusion::Exhausted { retry_at }
        };
        self.conclude(now, request, conclusion);
        Step::End(conclusion)
    }
}
