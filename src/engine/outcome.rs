//! What an attempt's end means: for the endpoint, and for the request.

use core::time::Duration;

use super::breaker::Circuit;
use super::classify::{ErrorClass, Failure, Verdict, classify};
use super::request::{Attempt, AttemptEnd, Conclusion, Request, Role};
use super::router::{News, Router};
use super::strategy::Strategy;
use super::time::Timestamp;

/// An attempt that is completed this much after its time belongs to a page that was frozen, or to a clock
/// that jumped: what it says about time is not the endpoint's doing.
const FROZEN_AFTER: Duration = Duration::from_secs(1);

/// What the shell saw.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// A JSON-RPC result, or content.
    Success,
    /// A JSON-RPC result that may mean no more than that the endpoint is behind: another attempt under way may
    /// have a better one.
    Doubtful,
    /// An answer that there is no such content: the endpoint works, and how fast it says no says nothing.
    Declined,
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
            if opened.role == Role::Hedge {
                router.replace_hedge(now, request, end.class());
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
            Outcome::Success | Outcome::Doubtful => {
                self.praise(now, request, attempt, true);
                AttemptEnd::Success
            }
            Outcome::Declined => {
                self.praise(now, request, attempt, false);
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
            Outcome::Abandoned => {
                // Another was quicker: how long this one was silent is worth knowing.
                if matches!(request.conclusion(), Some(Conclusion::Answer(_))) && !is_frozen {
                    self.note_slow(now, request, attempt);
                }
                // Another gateway was quicker, though it was asked later: this one is asked last for a while.
                if request.offered.is_some() && !is_frozen && now >= attempt.overdue_at {
                    self.rest(now, attempt);
                }
                failed(ErrorClass::Abort)
            }
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
            self.limit(now, request, attempt, retry_after.or(verdict.retry_after));
        }
        match verdict.class {
            // The provider did its work: the answer is the chain's, or the caller's own fault.
            ErrorClass::Revert | ErrorClass::Caller => {
                self.praise(now, request, attempt, true);
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

    pub(super) fn free_permits(&mut self, attempt: &Attempt) {
        if let Some(endpoint) = self.endpoints.get_mut(attempt.endpoint) {
            endpoint.close(attempt.started);
            if attempt.is_trial && attempt.generation == endpoint.breaker.generation() {
                endpoint.breaker.end_trial(attempt.started.after(attempt.timeout));
            }
        }
    }

    /// The endpoint did its work.
    fn praise(&mut self, now: Timestamp, request: &Request, attempt: &Attempt, is_measure: bool) {
        let Some(endpoint) = self.endpoints.get_mut(attempt.endpoint) else {
            return;
        };
        let is_measure = is_measure && !is_frozen(now, attempt);
        let latency = is_measure.then(|| now.since(attempt.started));
        endpoint.note_answer(now);
        if !attempt.counts {
            return;
        }
        if let Some(limit) = self.limits.get_mut(endpoint.group) {
            limit.capacity.serve(attempt.had_no_room);
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
        let taken = now.since(attempt.started);
        endpoint.metrics.record(request.call.method, |cell| {
            cell.record_failure(now);
            cell.record_silence(taken);
        });
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

    /// An attempt that was stopped in favour of another.
    fn note_slow(&mut self, now: Timestamp, request: &Request, attempt: &Attempt) {
        let taken = now.since(attempt.started);
        if let Some(endpoint) = self.endpoints.get_mut(attempt.endpoint).filter(|_| attempt.counts)
        {
            endpoint.metrics.record(request.call.method, |cell| cell.record_silence(taken));
        }
    }

    fn limit(
        &mut self,
        now: Timestamp,
        request: &Request,
        attempt: &Attempt,
        retry_after: Option<Duration>,
    ) {
        let place = attempt.endpoint;
        let Some(endpoint) = self.endpoints.get(place) else {
            return;
        };
        let Some(settings) = self.settings.get(endpoint.profile) else {
            return;
        };
        let Some(limit) = self.limits.get_mut(endpoint.group) else {
            return;
        };
        if attempt.counts {
            limit.capacity.refuse(now, attempt.started);
        }
        // What the model has learnt is a better guess than the default, which it never exceeds.
        let is_adaptive = request.strategy == Strategy::Adaptive && settings.adaptive.pauses;
        let guess = is_adaptive.then(|| limit.capacity.pause().min(settings.rate_limit.default));
        if limit.mark(now, retry_after.or(guess), &settings.rate_limit) {
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

    pub(super) fn blame_silent(&mut self, now: Timestamp, request: &Request, number: usize) {
        let Some(attempt) = request.attempts.get(number).copied() else {
            return;
        };
        if let Some(endpoint) = self.endpoints.get_mut(attempt.endpoint) {
            endpoint.note_silence(now, &mut self.timing);
        }
        self.blame(now, request, &attempt, ErrorClass::Network);
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
    now.since(attempt.started.after(attempt.timeout)) > FROZEN_AFTER
}

pub(super) fn failed(class: ErrorClass) -> AttemptEnd {
    AttemptEnd::Failed { class, answered: false, not_executed: false }
}
