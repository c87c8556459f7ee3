//! Who is at fault: turns what came back into a [`Verdict`].
//!
//! [`classify`] asks the user's rules, then revert data, then codes that mean one thing, the
//! message's words, the HTTP status and the bare code, and stops at the first that knows.

mod code;
mod data;
mod find;
mod http_date;
mod phrases;
pub mod retry_after;
mod text;
mod verdict;

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

pub use text::{is_already_known, is_nonce_used};
pub use verdict::classify;

/// Who or what is to blame for an answer that is not a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorClass {
    /// The contract reverted: the chain's own answer, the same everywhere.
    Revert,
    /// The request itself is wrong, or the transaction was refused by the protocol's rules.
    Caller,
    /// The provider wants fewer requests.
    RateLimit,
    /// This provider cannot serve this request; another may.
    Capability,
    /// The block is not there, yet.
    BlockMissing,
    /// The provider broke: 5xx, internal error, a body that is not JSON-RPC.
    Server,
    /// Nothing came back.
    Network,
    /// The attempt's time ran out.
    Timeout,
    /// The provider refuses our credentials, or lack of them.
    Auth,
    /// The caller's signal.
    Abort,
    /// A catch-all code with a text that says nothing.
    Unknown,
}

impl ErrorClass {
    /// All classes, each at the place of its number.
    pub const ALL: [Self; 11] = [
        Self::Revert,
        Self::Caller,
        Self::RateLimit,
        Self::Capability,
        Self::BlockMissing,
        Self::Server,
        Self::Network,
        Self::Timeout,
        Self::Auth,
        Self::Abort,
        Self::Unknown,
    ];
}

/// What the shell saw of a JSON-RPC or HTTP error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failure<'a> {
    /// HTTP status of the response.
    pub status: u16,
    /// JSON-RPC error code, if the body held a JSON-RPC error.
    pub code: Option<i64>,
    /// JSON-RPC error message; empty if there was none.
    pub message: &'a str,
    /// `error.data`, or `error.data.data`, if a string; empty otherwise.
    pub data: &'a str,
}

/// The engine's opinion of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Who is to blame.
    pub class: ErrorClass,
    /// The provider is to be treated as rate-limited, whatever the class.
    pub limits: bool,
    /// A hint in the error's text when to come back.
    pub retry_after: Option<Duration>,
    /// The provider does not know the method.
    pub method_missing: bool,
    /// It is certain that the provider did not execute the request.
    pub not_executed: bool,
}

/// One of the user's own rules for a provider, looked at before everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// JSON-RPC code that must match, if given.
    pub code: Option<i64>,
    /// HTTP status that must match, if given.
    pub status: Option<u16>,
    /// Texts of which the message must hold one, in any case; empty for any message.
    pub message_contains: Vec<String>,
    /// What a match is.
    pub class: ErrorClass,
}
