//! One request on its way: its attempts, its time, and how it ended.

use alloc::vec::Vec;
use core::time::Duration;

use super::classify::ErrorClass;
use super::method::{MethodId, Safety};
use super::strategy::{Rank, Strategy};
use super::time::Timestamp;

/// What the caller asks for.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Place of the pool.
    pub pool: usize,
    /// The method.
    pub method: MethodId,
    /// Strategy of this request alone.
    pub strategy: Option<Strategy>,
    /// The only endpoint that may answer: a provider override, or the owner of a filter.
    pub only: Option<usize>,
    /// The endpoint to ask first, chosen by a strategy outside of the engine.
    pub first: Option<usize>,
    /// Time for the whole request.
    pub deadline: Option<Duration>,
    /// Blocks that the request spans, if it is a query over a range.
    pub block_span: Option<u64>,
}

impl Call {
    /// A call that leaves everything to the settings.
    #[must_use]
    pub fn new(pool: usize, method: MethodId) -> Self {
        Self {
            pool,
            method,
            strategy: None,
            only: None,
            first: None,
            deadline: None,
            block_span: None,
        }
    }
}

/// What the shell has to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Send to `endpoint`, give up after `timeout`.
    Send {
        /// Number of the attempt within the request, from 0.
        attempt: usize,
        /// Place of the endpoint.
        endpoint: usize,
        /// Time for this attempt.
        timeout: Duration,
        /// Ask [`Router::backup`](super::router::Router::backup) for a second attempt if there is no
        /// answer after this long.
        backup_after: Option<Duration>,
    },
    /// Nothing can be sent before this instant; ask again then.
    Wait(Timestamp),
    /// Attempts are under way; ask again when one ends.
    Pending,
    /// The request has ended.
    End(Conclusion),
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// The attempt's result is the answer.
    Answer(usize),
    /// The attempt's error is the answer.
    Error(usize),
    /// The network already has the raw transaction, from an earlier attempt of this request.
    AlreadyKnown(usize),
    /// The raw transaction's nonce is used, and an earlier attempt of this request may be why: it is a
    /// success if the chain has the transaction, else the attempt's error is the answer.
    Unconfirmed(usize),
    /// It cannot be known whether the attempt was executed, and asking again could execute it twice.
    Indeterminate(usize),
    /// Every attempt failed.
    Exhausted {
        /// When the next try makes sense, if later than now.
        retry_at: Option<Timestamp>,
    },
    /// Time ran out.
    Deadline {
        /// When the next try makes sense, if later than now.
        retry_at: Option<Timestamp>,
    },
    /// Every provider that is left is rate-limited for longer than the request may take.
    RateLimited {
        /// When the first of them is free.
        retry_at: Option<Timestamp>,
    },
    /// The caller's signal.
    Aborted,
}

/// Why an attempt was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// To have an answer.
    Main,
    /// To have it from somebody else than one that is slow.
    Hedge,
    /// To learn of the endpoint, beside another: it goes on when the request has ended.
    Probe,
}

/// One attempt.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is true or not of any attempt")]
pub struct Attempt {
    /// Place of the endpoint.
    pub endpoint: usize,
    /// When it was sent.
    pub started: Timestamp,
    /// Time it was given.
    pub timeout: Duration,
    /// Whether that was all the time that such a request deserves.
    pub had_full_time: bool,
    /// From when on another endpoint may be asked beside it, if the request is one for content.
    pub overdue_at: Timestamp,
    /// Whether it holds the endpoint's trial permit.
    pub is_trial: bool,
    /// Why it was sent.
    pub role: Role,
    /// Whether the endpoint was expected to have no room for it.
    pub had_no_room: bool,
    /// Whether breaker and metrics learn from it. Of the members of a batch only one speaks for the
    /// transport.
    pub counts: bool,
    /// The breaker's generation when it was sent.
    pub generation: u32,
    /// How it ended.
    pub end: AttemptEnd,
}

impl Attempt {
    /// Whether it goes on when the request has ended, to be learnt from.
    #[must_use]
    pub fn runs_on(&self) -> bool {
        self.is_trial || self.role == Role::Probe
    }

    /// Whether it has not ended yet.
    #[must_use]
    pub fn is_in_flight(&self) -> bool {
        self.end == AttemptEnd::InFlight
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// Not yet.
    InFlight,
    /// With a result.
    Success,
    /// With an error.
    Failed {
        /// Who is to blame.
        class: ErrorClass,
        /// The provider sent a JSON-RPC error.
        answered: bool,
        /// It is certain that the provider did not execute the request.
        not_executed: bool,
    },
}

impl AttemptEnd {
    /// The class of a failure.
    #[must_use]
    pub fn class(self) -> Option<ErrorClass> {
        match self {
            Self::Failed { class, .. } => Some(class),
            _ => None,
        }
    }
}

/// State of one request.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) call: Call,
    pub(super) profile: usize,
    pub(super) safety: Safety,
    pub(super) strategy: Strategy,
    pub(super) deadline: Timestamp,
    /// Time that an attempt deserves.
    pub(super) hint: Duration,
    pub(super) max_attempts: usize,
    /// The endpoints that a content request brought with it; `None` for those of the pool.
    pub(super) offered: Option<Vec<usize>>,
    /// Rank of each endpoint of the pool or the offer, in its order.
    pub(super) ranks: Vec<Rank>,
    pub(super) attempts: Vec<Attempt>,
    /// First attempt of the current round; an endpoint is asked once a round.
    pub(super) round_start: usize,
    /// Rounds that are over.
    pub(super) rounds: u32,
    pub(super) pause_until: Option<Timestamp>,
    /// An endpoint that is to be asked beside the first, to learn of it.
    pub(super) probe: Option<usize>,
    /// When a second attempt is to start beside those under way.
    pub(super) hedge_at: Option<Timestamp>,
    /// Second attempts so far.
    pub(super) hedges: u32,
    /// An attempt whose result is the answer if nobody has a better one.
    pub(super) doubtful: Option<usize>,
    /// A place in an endpoint's budget, and its time.
    pub(super) reserved: Option<(usize, Timestamp)>,
    /// Attempts without an answer whose blame waits until it is known that the network works.
    pub(super) silent: Vec<usize>,
    pub(super) conclusion: Option<Conclusion>,
    pub(super) released: bool,
}

impl Request {
    /// How it ended, if it did.
    #[must_use]
    pub fn conclusion(&self) -> Option<Conclusion> {
        self.conclusion
    }

    /// All attempts so far.
    #[must_use]
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// The strategy in force.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Whether an attempt is under way.
    #[must_use]
    pub fn is_in_flight(&self) -> bool {
        self.attempts.iter().any(Attempt::is_in_flight)
    }

    /// Whether a second attempt is owed to it: a trial is under way, or content is looked for.
    pub(super) fn has_stand_in(&self) -> bool {
        let is_trial = |attempt: &Attempt| attempt.is_in_flight() && attempt.is_trial;
        self.offered.is_some() || self.attempts.iter().any(|a| is_trial(a) && a.role == Role::Main)
    }

    /// Failures of one class.
    pub(super) fn count(&self, class: ErrorClass) -> usize {
        self.attempts.iter().filter(|attempt| attempt.end.class() == Some(class)).count()
    }

    /// Whether an endpoint may not be asked (again) in this round, or at all.
    pub(super) fn is_spent(&self, endpoint: usize) -> bool {
        self.attempts.iter().enumerate().any(|(number, attempt)| {
            attempt.endpoint == endpoint
                && (number >= self.round_start || !is_passing(attempt.end.class()))
        })
    }

    /// Whether asking the same endpoints again could help, and harms nobody.
    pub(super) fn may_go_round(&self) -> bool {
        let may_repeat = self.safety == Safety::Safe
            || self.attempts.iter().all(|attempt| {
                matches!(attempt.end, AttemptEnd::Failed { not_executed: true, .. })
            });
        may_repeat
            && self.offered.is_none()
            && self.call.only.is_none()
            && self.attempts.iter().any(|attempt| is_passing(attempt.end.class()))
    }

    /// The first provider's error that a caller can use, when nothing better came.
    pub(super) fn telling_error(&self) -> Option<usize> {
        self.attempts.iter().position(|attempt| {
            matches!(
                attempt.end,
                AttemptEnd::Failed {
                    class: ErrorClass::Capability | ErrorClass::BlockMissing | ErrorClass::Unknown,
                    answered: true,
                    ..
                }
            )
        })
    }

    /// The first attempt at sending a raw transaction that may have been executed.
    pub(super) fn silent_broadcast(&self) -> Option<usize> {
        let is_silent = |attempt: &Attempt| {
            matches!(attempt.end, AttemptEnd::Failed { answered: false, not_executed: false, .. })
        };
        let is_broadcast = self.safety == Safety::Broadcast;
        self.attempts.iter().position(|attempt| is_broadcast && is_silent(attempt))
    }

    /// Whether an earlier attempt may have been executed.
    pub(super) fn may_have_been_executed(&self, before: usize) -> bool {
        self.attempts
            .iter()
            .take(before)
            .any(|attempt| !matches!(attempt.end, AttemptEnd::Failed { not_executed: true, .. }))
    }
}

/// Failures that may be over in a moment.
fn is_passing(class: Option<ErrorClass>) -> bool {
    matches!(
        class,
        Some(
            ErrorClass::Server | ErrorClass::Network | ErrorClass::Timeout | ErrorClass::RateLimit
        )
    )
}
