//! What an error's words say.
//!
//! **Why words.** JSON-RPC codes are shared by unrelated errors: -32000 is a revert at one node, a
//! missing block at the next and a quota at a third. The sentence is the only evidence there is.
//!
//! **How.** Groups of phrases, asked in a fixed order; the first group that knows one decides. A
//! group stands before another where its sentences often hold words of the other ("rate limited,
//! please retry", "block range too large, try again"). Reverts come first, because their reason is
//! written by a contract's author and may say anything, "unauthorized" and "rate limit" included.

use super::ErrorClass::{self, Auth, BlockMissing, Caller, Capability, RateLimit, Revert, Server};
use super::find::{any, contains, inspected};
use super::phrases;

/// What a sentence means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    /// Who is to blame.
    pub(super) class: ErrorClass,
    /// The provider does not know the method.
    pub(super) method_missing: bool,
}

struct Group {
    class: ErrorClass,
    phrases: &'static str,
    /// A phrase that counts unless it is only a part of the longer one.
    except: Option<(&'static str, &'static str)>,
    method_missing: bool,
}

const fn group(class: ErrorClass, phrases: &'static str) -> Group {
    Group { class, phrases, except: None, method_missing: false }
}

static GROUPS: &[Group] = &[
    Group { except: Some(("revert", "evm_revert")), ..group(Revert, phrases::MACHINE) },
    group(Capability, phrases::SIZE_DESPITE_LIMIT_WORDS),
    group(RateLimit, phrases::LIMIT),
    KNOWN,
    group(Caller, phrases::TRANSACTION),
    Group { method_missing: true, ..group(Capability, phrases::METHOD) },
    group(BlockMissing, phrases::BEHIND),
    group(Caller, phrases::RANGE),
    group(Capability, phrases::SCOPE),
    Group {
        except: Some(("unknown block", "unknown blockchain")),
        ..group(BlockMissing, phrases::BLOCK)
    },
    group(Revert, phrases::SIMULATION),
    group(Auth, phrases::CREDENTIALS),
    group(Server, phrases::SICK),
    group(Caller, phrases::PARAMETERS),
    group(Capability, phrases::FEATURE),
    group(Caller, phrases::MALFORMED),
];

const NONCE_USED: Group = group(Caller, phrases::NONCE_USED);

const KNOWN: Group = Group {
    except: Some(("known transaction", "unknown transaction")),
    ..group(Caller, phrases::ALREADY_KNOWN)
};

impl Group {
    fn knows(&self, text: &[u8]) -> bool {
        any(text, self.phrases)
            || self.except.is_some_and(|(phrase, longer)| {
                contains(text, phrase.as_bytes()) && !contains(text, longer.as_bytes())
            })
    }
}

/// The meaning of a message, if it has one.
pub(super) fn meaning(message: &str) -> Option<Meaning> {
    let text = inspected(message);
    GROUPS
        .iter()
        .find(|group| group.knows(text))
        .map(|group| Meaning { class: group.class, method_missing: group.method_missing })
}

/// Whether the message says that the pool or the chain has this very transaction already.
///
/// After an earlier attempt of ours it means that the attempt arrived, whatever became of its
/// answer: the client reports success with the transaction's own hash. "Nonce too low" is not
/// among the spellings, since another transaction may have used the nonce.
#[must_use]
pub fn is_already_known(message: &str) -> bool {
    KNOWN.knows(inspected(message))
}

/// Whether a refused transaction's nonce is used, in any client's spelling. After an earlier attempt at the
/// same transaction that means either that it is mined already or that another one took its place.
#[must_use]
pub fn is_nonce_used(message: &str) -> bool {
    NONCE_USED.knows(inspected(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(message: &str) -> Option<ErrorClass> {
        meaning(message).map(|meaning| meaning.class)
    }

    #[test]
    fn phrases_are_lower_case_and_none_is_empty_or_known_twice() {
        let mut seen: Vec<&str> = Vec::new();
        for phrase in GROUPS.iter().flat_map(|group| group.phrases.split('|')) {
            assert!(!phrase.is_empty());
            assert_eq!(phrase, phrase.to_ascii_lowercase());
            assert_eq!(phrase.trim(), phrase);
            assert!(!seen.contains(&phrase), "{phrase} occurs twice");
            seen.push(phrase);
        }
    }

    #[test]
    fn a_reason_written_by_a_contract_does_not_change_what_a_revert_is() {
        for reason in ["unauthorized", "rate limit", "header not found", "please retry", "pruned"] {
            assert_eq!(class(&format!("execution reverted: {reason}")), Some(Revert), "{reason}");
        }
    }

    #[test]
    fn longer_words_that_hold_a_phrase_do_not_count() {
        assert_eq!(class("unknown blockchain"), None);
        assert_eq!(class("Unknown block"), Some(BlockMissing));
        assert_eq!(class("no evm_revert here"), None);
        assert_eq!(class("revert"), Some(Revert));
        assert!(!is_already_known("unknown transaction"));
        assert!(is_already_known("Known transaction"));
    }

    #[test]
    fn each_client_s_spelling_of_already_known_is_known() {
        for message in [
            "already known",
            "AlreadyKnown",
            "ALREADY_EXISTS: already known",
            "Known transaction",
            "known transaction: 0xabc",
            "TRANSACTION_ALREADY_KNOWN",
            "Transaction with the same hash was already imported.",
            "transaction already imported",
            "tx already exists in cache",
            "This transaction has already been processed",
            "DUPLICATE_TRANSACTION",
        ] {
            assert!(is_already_known(message), "{message}");
            assert_eq!(class(message), Some(Caller), "{message}");
        }
        for message in ["nonce too low", "transaction not found", "", "file already exists"] {
            assert!(!is_already_known(message), "{message}");
        }
    }

    #[test]
    fn a_used_nonce_is_told_from_one_that_is_too_high() {
        for message in ["nonce too low: next nonce 3, tx nonce 2", "Nonce too low", "OldNonce"] {
            assert!(is_nonce_used(message), "{message}");
        }
        for message in ["nonce too high", "already known", "insufficient funds", ""] {
            assert!(!is_nonce_used(message), "{message}");
        }
    }

    #[test]
    fn a_missing_block_inside_of_a_method_s_error_is_a_missing_block() {
        let found = meaning("method eth_call failed: header not found");
        assert_eq!(found, Some(Meaning { class: BlockMissing, method_missing: false }));
        let found = meaning("the method eth_foo does not exist/is not available");
        assert_eq!(found, Some(Meaning { class: Capability, method_missing: true }));
    }
}
