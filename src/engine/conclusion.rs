//! How a request ends: by an answer, by an error that is the answer, or by its caller.

use super::classify::{ErrorClass, is_already_known, is_nonce_used};
use super::method::Safety;
use super::outcome::{Outcome, failed};
use super::request::{AttemptEnd, Conclusion, Request};
use super::router::Router;
use super::time::Timestamp;

/// Providers that may say "not me" before it is believed.
const CAPABILITY_LIMIT: usize = 3;
/// Providers that may answer with a catch-all error that says nothing.
const UNKNOWN_LIMIT: usize = 2;

impl Router {
    /// Whether the request ends here.
    pub(super) fn decide(
        &mut self,
        now: Timestamp,
        request: &mut Request,
        attempt: usize,
        end: AttemptEnd,
        outcome: Outcome<'_>,
    ) {
        if request.conclusion.is_some() {
            return;
        }
        let conclusion = match end {
            AttemptEnd::InFlight => None,
            AttemptEnd::Success if matches!(outcome, Outcome::Doubtful) => {
                let first = *request.doubtful.get_or_insert(attempt);
                (!request.is_in_flight()).then_some(Conclusion::Answer(first))
            }
            AttemptEnd::Success => Some(Conclusion::Answer(attempt)),
            AttemptEnd::Failed { class, answered, not_executed } => {
                resent(request, attempt, outcome)
                    .or_else(|| conclusion(request, attempt, class, answered, not_executed))
            }
        };
        if let Some(conclusion) = conclusion {
            self.conclude(now, request, conclusion);
        }
    }

    /// Ends a request and settles who was silent.
    pub(super) fn conclude(
        &mut self,
        now: Timestamp,
        request: &mut Request,
        conclusion: Conclusion,
    ) {
        request.conclusion = Some(conclusion);
        if let Some((place, _)) = request.reserved.take()
            && let Some(endpoint) = self.endpoints.get(place)
            && let Some(limit) = self.limits.get_mut(endpoint.group)
        {
            limit.give_back();
        }
        let silent = core::mem::take(&mut request.silent);
        // Several endpoints silent together, and nothing else heard: that is our own network. A single one
        // cannot be told from it, and is asked again as a last resort anyway.
        let first = silent.first().and_then(|n| request.attempts.get(*n)).map(|a| a.endpoint);
        let is_one = silent
            .iter()
            .filter_map(|number| request.attempts.get(*number))
            .all(|attempt| Some(attempt.endpoint) == first);
        if is_one && conclusion != Conclusion::Aborted {
            for number in silent {
                self.blame_silent(now, request, number);
            }
        }
    }

    pub(super) fn end_aborted(&mut self, now: Timestamp, request: &mut Request) {
        for number in 0..request.attempts.len() {
            let Some(attempt) = request.attempts.get(number).copied() else {
                continue;
            };
            if attempt.end == AttemptEnd::InFlight {
                self.free_permits(&attempt);
                if let Some(attempt) = request.attempts.get_mut(number) {
                    attempt.end = failed(ErrorClass::Abort);
                }
            }
        }
        if request.conclusion.is_none() {
            self.conclude(now, request, Conclusion::Aborted);
        }
    }
}

/// How a raw transaction ends that is refused because an earlier attempt of the same request brought it in,
/// or may have.
fn resent(request: &Request, attempt: usize, outcome: Outcome<'_>) -> Option<Conclusion> {
    let Outcome::Error { failure, .. } = outcome else { return None };
    if request.safety != Safety::Broadcast || !request.may_have_been_executed(attempt) {
        return None;
    }
    if is_already_known(failure.message) {
        return Some(Conclusion::AlreadyKnown(attempt));
    }
    is_nonce_used(failure.message).then_some(Conclusion::Unconfirmed(attempt))
}

fn conclusion(
    request: &Request,
    attempt: usize,
    class: ErrorClass,
    answered: bool,
    not_executed: bool,
) -> Option<Conclusion> {
    match class {
        ErrorClass::Revert | ErrorClass::Caller => Some(Conclusion::Error(attempt)),
        ErrorClass::Abort if request.safety != Safety::Unsafe => None,
        _ if request.safety == Safety::Unsafe && !not_executed => Some(if answered {
            Conclusion::Error(attempt)
        } else {
            Conclusion::Indeterminate(attempt)
        }),
        ErrorClass::Capability | ErrorClass::BlockMissing => {
            let agree = request.count(class) >= CAPABILITY_LIMIT;
            agree.then(|| Conclusion::Error(request.telling_error().unwrap_or(attempt)))
        }
        ErrorClass::Unknown => {
            let agree = request.count(class) >= UNKNOWN_LIMIT;
            agree.then(|| Conclusion::Error(request.telling_error().unwrap_or(attempt)))
        }
        _ => None,
    }
}
