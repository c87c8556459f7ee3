//! What JSON-RPC codes and HTTP statuses say by themselves.
//!
//! Three tables, because a code's worth differs: [`settled`] codes mean one thing everywhere and no
//! words can change that; [`specific`] ones are a provider's own and yield to words, not to the
//! HTTP status; [`bare`] ones are the catch-alls, asked last.

use super::ErrorClass::{
    self, Auth, BlockMissing, Caller, Capability, Network, RateLimit, Revert, Server, Unknown,
};

/// JSON-RPC's own "method not found".
pub(super) const METHOD_NOT_FOUND: i64 = -32601;

/// A code that means one thing, whatever the message says.
///
/// 3 is geth's revert, -32015 the virtual machine's error at nethermind and its ancestors; both
/// carry a contract's own words in the message, so the message must not be asked.
pub(super) const fn settled(code: i64) -> Option<ErrorClass> {
    match code {
        3 | -32015 => Some(Revert),
        METHOD_NOT_FOUND => Some(Capability),
        4001 => Some(Caller),
        _ => None,
    }
}

/// A code of which the meaning is known, though not every provider's.
///
/// -32046, -32029, -32090, -32097, -32098 and 30 are limits at Cloudflare, `TheRPC`, Ankr and dRPC,
/// Blast, and dRPC; -32007, -32011, -32012, -32055 are limits at `QuickNode` and others, where the
/// cost of a wrong guess is a short cool-down. 26 and 35 are dRPC's, -32701 `PublicNode`'s, -32614
/// `QuickNode`'s and -32062 Ankr's log ranges, 4444 is pruned history (EIP-4444), -32010 a refused
/// transaction (nethermind, openethereum), 41xx to 49xx are EIP-1193's.
pub(super) const fn specific(code: i64) -> Option<ErrorClass> {
    match code {
        401..=403 | 4100 => Some(Auth),
        4200 | -32004 | 35 | 4444 | -32614 | -32701 | -32062 => Some(Capability),
        4900 | 4901 => Some(Network),
        429 | 30 | -32005 | -32007 | -32011 | -32012 | -32029 | -32046 | -32055 | -32090
        | -32097 | -32098 => Some(RateLimit),
        26 | -39001 => Some(BlockMissing),
        -32010 => Some(Caller),
        _ => None,
    }
}

/// Whether the code says that the provider does not know the method.
pub(super) const fn is_method_missing(code: i64) -> bool {
    matches!(code, METHOD_NOT_FOUND | 4200 | -32004)
}

/// What is left to say of a code when nothing else spoke.
///
/// -32003 is "transaction rejected", -32001 and -32006 "resource not found" and "version not
/// supported" (EIP-1474); -32016 is the virtual machine's exception at openethereum. 12 to 23 are
/// dRPC's faults, -31001 and -31002 Pocket's. A code in the range of HTTP statuses is read as one,
/// but a JSON-RPC body with 404 comes from a node that understood the request and refused it.
pub(super) const fn bare(code: i64) -> ErrorClass {
    match code {
        -32700 | -32600 | -32602 | -32003 => Caller,
        -32016 => Revert,
        -32001 => BlockMissing,
        -32006 => Capability,
        -32603 | -32099..=-32002 | -31002 | -31001 | 12 | 14 | 19 | 23 | 408 | 500..=599 => Server,
        400..=499 => Caller,
        _ => Unknown,
    }
}

/// What an HTTP status says when the body is a JSON-RPC error, or `None` if nothing: JSON-RPC over
/// HTTP sends its errors with 200, 400 or 404 as it pleases.
pub(super) const fn status_with_json_rpc(status: u16) -> Option<ErrorClass> {
    match status {
        429 => Some(RateLimit),
        401..=403 => Some(Auth),
        408 | 500.. => Some(Server),
        _ => None,
    }
}

/// What an HTTP status says when the body is not JSON-RPC.
///
/// 404 is a wrong or expired key in the path, mostly. 413 is this request's size, not the
/// provider's health: its breaker must not open because a page sends large bodies. 405 has no such
/// excuse, as JSON-RPC is always a POST. 200 with something else than JSON-RPC is a broken
/// provider or a captive portal, and 0 is no response at all.
pub(super) const fn status_alone(status: u16) -> ErrorClass {
    match status {
        0 => Network,
        429 => RateLimit,
        401..=404 => Auth,
        413 => Capability,
        _ => Server,
    }
}
