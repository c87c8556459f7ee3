//! What an attempt's end means: for the endpoint, and for the request.

use core::time::Duration;

use super::breaker::Circuit;
use super::classify::{ErrorClass, Failure, Verdict, classify, is_already_known, is_nonce_used};
use super::method::Safety;
use super::request::{Attempt, AttemptEnd, Conclusion, Request};
use super::router::{News, Router};
use super::time::Timestamp;

/// Providers that may say "not me" before it is believed.
const CAPABILITY_LIMIT: usize = 3;
/// Providers that may answer with a catch-all error that says nothing.
const UNKNOWN_LIMIT: usize = 2;
/// An attempt that is completed this much after its time belongs to a page that was frozen, or to a clock
/// that jumped: what it says about time is not the endpoint's doing.
const FROZEN_AFTER: Duration = Duration::from_secs(1);

/// What the shell saw.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// A JSON-RPC result, or a content answer.
    Success,
    /// An HTTP error, a JSON-RPC error, or both.
    Error {
        /// The error.
        failure: Failure<'a>,
        /// What a `Retry-After` header says.
        retry_after: Option<Duration>,
    },
    /// An answer with status 200 that is no answer: HTML, truncated, empty, another request's id.
    BadBody,
    /// Nothing came back.
    Network {
        /// It cannot be known why, as in a browser: it may be our own network.
        opaque: bool,
    },
    /// Nothing came back, and the host knows that it has no network.
    Offline,
    /// The attempt's time ran out.
    Timeout,
    /// We stopped it: another attempt was quicker, or the host gave up.
    Abandoned,
}

impl Router {
    /// Closes an attempt. Returns the class of its failure, `None` for a success. An attempt that is
    /// already closed stays as it is.
    pub fn complete(
        &mut self,
        now: Timestamp,
        handle: u32,
        attempt: usize,
        outcome: Outcome<'_>,
    ) -> Option<ErrorClass> {
        let now = self.observe(now);
        self.with_request(handle, |router, request| {
            let opened = request.attempts.get(attempt).copied()?;
            if opened.end != AttemptEnd::InFlight {
                return opened.end.class();
            }
            let end = router.close(now, request, &opened, attempt, outcome);
            if let Some(attempt) = request.attempts.get_mut(attempt) {
                attempt.end = end;
            }
            router.settle_silence(now, request);
            router.decide(now, request, attempt, end, outcome);
            end.class()
        })
        .flatten()
    }

    /// Tells the endpoint, and names the end of the attempt.
    fn close(
        &mut self,
        now: Timestamp,
        request: &mut Request,
        attempt: &Attempt,
        number: usize,
        outcome: Outcome<'_>,
    ) -> AttemptEnd {
        self.free_permits(attempt);
        let is_frozen = is_frozen(now, attempt);
        match outcome {
            Outcome::Success => {
                self.praise(now, request, attempt);
                AttemptEnd::Success
            }
            Outcome::Error { failure, retry_after } => {
                self.close_error(now, request, attempt, &failure, retry_after)
            }
            Outcome::BadBody => {
                self.blame(now, request, attempt, ErrorClass::Server);
                failed(ErrorClass::Server)
            }
            Outcome::Network { opaque } => {
                if is_frozen {
                    // Whatever broke the connection, it was not the endpoint.
                } else if opaque {
                    request.silent.push(number);
                } else {
                    self.blame(now, request, attempt, ErrorClass::Network);
                }
                failed(ErrorClass::Network)
            }
            Outcome::Timeout => {
                if !is_frozen && attempt.had_full_time {
                    self.blame(now, request, attempt, ErrorClass::Timeout);
                } else if !is_frozen && attempt.counts {
                    self.rest(now, attempt);
                }
                failed(ErrorClass::Timeout)
            }
            Outcome::Offline => failed(ErrorClass::Network),
            Outcome::Abandoned => failed(ErrorClass::Abort),
        }
    }

    fn close_error(
        &mut self,
        now: Timestamp,
        request: &Request,
        attempt: &Attempt,
        failure: &Failure<'_>,
        retry_after: Option<Duration>,
    ) -> AttemptEnd {
        let rules = self.endpoints.get(attempt.endpoint).map(|e| e.config.error_rules.clone());
        let verdict = classify(failure, &rules.unwrap_or_default());
        if verdict.limits {
            self.limit(now, attempt.endpoint, retry_after.or(verdict.retry_after));
        }
        match verdict.class {
            // The provider did its work: the answer is the chain's, or the caller's own fault.
            ErrorClass::Revert | ErrorClass::Caller => {
                self.praise(now, request, attempt);
            }
            ErrorClass::Server | ErrorClass::Auth | ErrorClass::Network | ErrorClass::Timeout => {
                self.blame(now, request, attempt, verdict.class);
            }
            ErrorClass::RateLimit
            | ErrorClass::Capability
            | ErrorClass::BlockMissing
            | ErrorClass::Unknown
            | ErrorClass::Abort => self.remember_neutral(now, request, attempt, &verdict),
        }
        AttemptEnd::Failed {
            class: verdict.class,
            answered: failure.code.is_some(),
            not_executed: verdict.not_executed,
        }
    }

    fn remember_neutral(
        &mut self,
        now: Timestamp,
        request: &Request,
        attempt: &Attempt,
        verdict: &Verdict,
    ) {
        let Some(endpoint) = self.endpoints.get_mut(attempt.endpoint) else {
            return;
        };
        endpoint.note_answer(now);
        if verdict.method_missing {
            endpoint.metrics.record_refusal(now, request.call.method);
        }
    }

    fn free_permits(&mut self, attempt: &Attempt) {
        if let Some(endpoint) = self.endpoints.get_mut(attempt.endpoint) {
            endpoint.in_flight = endpoint.in_flight.saturating_sub(1);
            if attempt.is_trial && attempt.generation == endpoint.breaker.generation() {
                endpoint.breaker.end_trial(attempt.started.after(attempt.timeout));
            }
        }
    }

    /// The endpoint did its work.
    fn praise(&mut self, now: Timestamp, request: &Request, attempt: &Attempt) {
        let Some(endpoint) = self.endpoints.get_mut(attempt.endpoint) else {
            return;
        };
        let latency = (!is_frozen(now, attempt)).then(|| now.since(attempt.started));
        endpoint.note_answer(now);
        if !attempt.counts {
            return;
        }
        let Some(settings) = self.settings.get(endpoint.profile) else {
            return;
        };
        endpoint.metrics.record(request.call.method, |cell| {
            cell.record_success(now, latency);
        });
        if endpoint.breaker.on_success(now, attempt.generation, &settings.breaker) {
            self.tell(News::Circuit { endpoint: attempt.endpoint, circuit: Circuit::Closed });
        }
    }

    /// The endpoint failed.
    fn blame(&mut self, now: Timestamp, request: &Request, attempt: &Attempt, class: ErrorClass) {
        let jitter = self.timing.unit();
        let Some(endpoint) = self.endpoints.get_mut(attempt.endpoint) else {
            return;
        };
        let Some(settings) = self.settings.get(endpoint.profile) else {
            return;
        };
        if !attempt.counts {
            return;
        }
        if class != ErrorClass::Network {
            endpoint.answered_at = None;
        }
        endpoint.metrics.record(request.call.method, |cell| cell.record_failure(now));
        let config = &settings.breaker;
        if endpoint.breaker.on_failure(now, attempt.generation, class, config, jitter) {
            self.tell(News::Circuit { endpoint: attempt.endpoint, circuit: Circuit::Open });
        }
    }

    fn rest(&mut self, now: Timestamp, attempt: &Attempt) {
        if let Some(endpoint) = self.endpoints.get_mut(attempt.endpoint) {
            endpoint.rest.after_short_attempt(now, &mut self.timing);
        }
    }

    fn limit(&mut self, now: Timestamp, place: usize, retry_after: Option<Duration>) {
        let Some(endpoint) = self.endpoints.get(place) else {
            return;
        };
        let Some(settings) = self.settings.get(endpoint.profile) else {
            return;
        };
        let Some(limit) = self.limits.get_mut(endpoint.group) else {
            return;
        };
        if limit.mark(now, retry_after, &settings.rate_limit) {
            let span = limit.until.map_or(Duration::ZERO, |until| until.since(now));
            self.tell(News::Limited { endpoint: place, span });
        }
    }

    /// Blames the silent once anything else came back: then the network works, and silence was theirs.
    fn settle_silence(&mut self, now: Timestamp, request: &mut Request) {
        if !request.attempts.iter().any(|attempt| has_spoken(attempt.end)) {
            return;
        }
        for number in core::mem::take(&mut request.silent) {
            self.blame_silent(now, request, number);
        }
    }

    fn blame_silent(&mut self, now: Timestamp, request: &Request, number: usize) {
        let Some(attempt) = request.attempts.get(number).copied() else {
            return;
        };
        if let Some(endpoint) = self.endpoints.get_mut(attempt.endpoint) {
            endpoint.note_silence(now, &mut self.timing);
        }
        self.blame(now, request, &attempt, ErrorClass::Network);
    }

    /// Whether the request ends here.
    fn decide(
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

/// Whether anything came back from the network.
fn has_spoken(end: AttemptEnd) -> bool {
    !matches!(
        end,
        AttemptEnd::InFlight
            | AttemptEnd::Failed {
                class: ErrorClass::Network | ErrorClass::Abort | ErrorClass::Timeout,
                ..
            }
    )
}

fn is_frozen(now: Timestamp, attempt: &Attempt) -> bool {
    now.since(attempt.started) > attempt.timeout.saturating_add(FROZEN_AFTER)
}

fn failed(class: ErrorClass) -> AttemptEnd {
    AttemptEnd::Failed { class, answered: false, not_executed: false }
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
