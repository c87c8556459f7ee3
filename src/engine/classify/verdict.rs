//! The order in which the evidence is asked.
//!
//! User's rules, revert data, settled codes, words, custom error data, specific codes, HTTP status,
//! bare code. The status comes late because JSON-RPC over HTTP has no rule for it: servers send
//! reverts with 500 and limits with 200. Only 429 is never in doubt: it always limits.

use super::ErrorClass::{
    self, Auth, Caller, Capability, Network, RateLimit, Revert, Server, Timeout, Unknown,
};
use super::find::{contains, inspected};
use super::{Failure, Rule, Verdict, code, data, retry_after, text};

/// Says who is at fault.
///
/// Total: every combination of status, code, message and data has exactly one verdict. `message`
/// and `data` are those of a JSON-RPC error; an error without code and message is judged by its
/// HTTP status alone.
///
/// # Examples
///
/// ```
/// use waypost::engine::classify::{ErrorClass, Failure, classify};
///
/// let failure = Failure {
///     status: 200,
///     code: Some(-32005),
///     message: "query returned more than 10000 results",
///     data: "",
/// };
/// assert_eq!(classify(&failure, &[]).class, ErrorClass::Capability);
/// ```
#[must_use]
pub fn classify(failure: &Failure<'_>, rules: &[Rule]) -> Verdict {
    let finding = ruled(failure, rules).unwrap_or_else(|| unruled(failure));
    let limits = failure.status == 429 || finding.class == RateLimit;
    Verdict {
        class: finding.class,
        limits,
        retry_after: if limits { hint(failure) } else { None },
        method_missing: finding.method_missing,
        not_executed: is_certainly_not_executed(failure.status, finding),
    }
}

#[derive(Clone, Copy)]
struct Finding {
    class: ErrorClass,
    method_missing: bool,
    /// The evidence itself proves that the provider did not execute the request.
    refused: bool,
}

fn ruled(failure: &Failure<'_>, rules: &[Rule]) -> Option<Finding> {
    let class = rules.iter().find(|rule| rule.matches(failure))?.class;
    Some(Finding {
        class,
        method_missing: class == Capability && failure.code.is_some_and(code::is_method_missing),
        refused: matches!(class, RateLimit | Auth),
    })
}

impl Rule {
    /// Whether every condition that the rule has holds. A rule without any would swallow all
    /// errors of its provider, so it matches none.
    fn matches(&self, failure: &Failure<'_>) -> bool {
        let Self { code, status, message_contains, .. } = self;
        let conditional = code.is_some() || status.is_some() || !message_contains.is_empty();
        let text = inspected(failure.message);
        conditional
            && code.is_none_or(|code| failure.code == Some(code))
            && status.is_none_or(|status| failure.status == status)
            && (message_contains.is_empty()
                || message_contains.iter().any(|part| contains(text, part.as_bytes())))
    }
}

fn unruled(failure: &Failure<'_>) -> Finding {
    let finding = evidence(failure);
    let blames_the_provider = matches!(finding.class, Server | Network | Timeout | Auth | Unknown);
    if failure.status == 429 && blames_the_provider {
        // "Please retry" or "blocked" with a 429 is still a limit, and must not open a breaker.
        return Finding { class: RateLimit, ..finding };
    }
    finding
}

fn evidence(failure: &Failure<'_>) -> Finding {
    let plain = |class| Finding { class, method_missing: false, refused: false };
    if data::is_revert(failure.data) {
        return plain(Revert);
    }
    if let Some(class) = failure.code.and_then(code::settled) {
        return by_code(failure, class);
    }
    // A parse error quotes what it could not read: its words are the request's, not the node's.
    if failure.code != Some(-32700)
        && let Some(meaning) = text::meaning(failure.message)
    {
        let refused = meaning.method_missing || matches!(meaning.class, RateLimit | Auth);
        return Finding { class: meaning.class, method_missing: meaning.method_missing, refused };
    }
    if failure.code.is_some() && data::is_custom_error(failure.data) {
        return plain(Revert);
    }
    if let Some(class) = failure.code.and_then(code::specific) {
        return by_code(failure, class);
    }
    plain(by_status(failure))
}

fn by_code(failure: &Failure<'_>, class: ErrorClass) -> Finding {
    let method_missing = failure.code.is_some_and(code::is_method_missing);
    // -32005 and its like are limits by custom only: without a word of it nothing is certain.
    let refused = match class {
        RateLimit => failure.code == Some(429) || contains(inspected(failure.message), b"limit"),
        Auth => failure.code != Some(402),
        _ => method_missing,
    };
    Finding { class, method_missing, refused }
}

fn by_status(failure: &Failure<'_>) -> ErrorClass {
    let Failure { status, code, message, .. } = *failure;
    match code {
        None if message.is_empty() => code::status_alone(status),
        _ => code::status_with_json_rpc(status).unwrap_or_else(|| code.map_or(Unknown, code::bare)),
    }
}

/// A request with effects moves on only when this is certain. Reverts and refusals are answers of
/// a node that did look at the request, whatever status they came with.
const fn is_certainly_not_executed(status: u16, finding: Finding) -> bool {
    let answered = matches!(finding.class, Revert | Caller);
    !answered && (finding.refused || matches!(status, 401 | 403 | 429))
}

fn hint(failure: &Failure<'_>) -> Option<core::time::Duration> {
    retry_after::hint(failure.message).or_else(|| retry_after::hint(failure.data))
}
