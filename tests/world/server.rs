//! What scripted servers do.

use std::time::Duration;

use waypost::engine::classify::Failure;
use waypost::engine::outcome::Outcome;
use waypost::engine::time::Timestamp;

/// One request as its server sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) at: Timestamp,
    /// How many came before it.
    pub(crate) nth: usize,
    pub(crate) method: &'static str,
}

/// What comes back, and after how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub(crate) after: Duration,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Answer,
    Error { failure: Failure<'static>, retry_after: Option<Duration> },
    BadBody,
    Lost { opaque: bool },
    Offline,
    Hang,
}

impl Reply {
    pub(crate) fn within(self, millis: u64) -> Self {
        Self { after: ms(millis), ..self }
    }
}

impl What {
    /// As the shell reports it; a hang shows as the timeout of the attempt.
    pub(crate) fn outcome(self) -> Outcome<'static> {
        match self {
            Self::Answer => Outcome::Success,
            Self::Error { failure, retry_after } => Outcome::Error { failure, retry_after },
            Self::BadBody => Outcome::BadBody,
            Self::Lost { opaque } => Outcome::Network { opaque },
            Self::Offline => Outcome::Offline,
            Self::Hang => Outcome::Timeout,
        }
    }
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn reply(millis: u64, what: What) -> Reply {
    Reply { after: ms(millis), what }
}

pub(crate) fn answer(millis: u64) -> Reply {
    reply(millis, What::Answer)
}

pub(crate) fn hang() -> Reply {
    reply(0, What::Hang)
}

/// Nobody listens, and the host says so.
pub(crate) fn refused() -> Reply {
    reply(5, What::Lost { opaque: false })
}

/// `fetch` fails without a word, as in a browser.
pub(crate) fn opaque() -> Reply {
    reply(5, What::Lost { opaque: true })
}

pub(crate) fn offline() -> Reply {
    reply(1, What::Offline)
}

pub(crate) fn bad_body() -> Reply {
    reply(20, What::BadBody)
}

pub(crate) fn status(status: u16) -> Reply {
    let failure = Failure { status, ..Failure::default() };
    reply(20, What::Error { failure, retry_after: None })
}

/// HTTP 429, with or without a `Retry-After`.
pub(crate) fn limited(retry_after: Option<Duration>) -> Reply {
    let failure = Failure { status: 429, ..Failure::default() };
    reply(20, What::Error { failure, retry_after })
}

pub(crate) fn error(code: i64, message: &'static str) -> Reply {
    let failure = Failure { status: 200, code: Some(code), message, data: "" };
    reply(20, What::Error { failure, retry_after: None })
}
