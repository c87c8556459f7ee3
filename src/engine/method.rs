//! What is known of a JSON-RPC method by its name: whether it may be repeated, and how long it takes.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::engine::words::words;
use Safety::{Broadcast, Safe, Unsafe};

/// Whether a request may be sent again when its fate is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safety {
    /// Reads: repeating changes nothing.
    Safe,
    /// A signed raw transaction: the same transaction wherever it goes.
    Broadcast,
    /// Everything else, and every method that is not known.
    Unsafe,
}

/// Method names that one engine tells apart. Names come from users, so there must be a bound; later ones
/// share the last place.
pub const METHOD_CAPACITY: usize = 128;

/// A method's place in an engine's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MethodId(u8);

impl MethodId {
    /// The id for a place; `None` beyond the capacity.
    #[must_use]
    pub fn from_index(index: usize) -> Option<Self> {
        u8::try_from(index).ok().filter(|_| index < METHOD_CAPACITY).map(Self)
    }

    /// The place.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// One method's traits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Whether it may be repeated.
    pub safety: Safety,
    /// Time that one attempt usually deserves.
    pub hint: Duration,
    /// Default time for the whole request.
    pub deadline: Duration,
}

impl Method {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            safety: safety(name),
            hint: hint(name),
            deadline: deadline(name),
        }
    }
}

/// Interns method names, at most [`METHOD_CAPACITY`].
#[derive(Clone, Debug, Default)]
pub struct Methods(Vec<Method>);

impl Methods {
    /// The id of a name. Once the table is full, a new name gets the last id, which then stands for
    /// "others" and is as safe as the least safe.
    pub fn intern(&mut self, name: &str) -> MethodId {
        let known = self.0.iter().position(|method| method.name == name);
        let index = known.unwrap_or_else(|| {
            if self.0.len() < METHOD_CAPACITY {
                self.0.push(Method::new(name));
            } else if let Some(last) = self.0.last_mut() {
                *last = Method { safety: Unsafe, ..Method::new("") };
            }
            self.0.len() - 1
        });
        MethodId::from_index(index).unwrap_or(MethodId(0))
    }

    /// The traits of an id, known since it was interned.
    #[must_use]
    pub fn get(&self, id: MethodId) -> Option<&Method> {
        self.0.get(id.index())
    }
}

/// Reads of the namespace `eth` that do not begin with `get`.
const ETH_READS: &str = "accounts|blobBaseFee|blockNumber|call|callMany|chainId|coinbase|config|\
    createAccessList|estimateGas|feeHistory|gasPrice|maxPriorityFeePerGas|mining|protocolVersion|\
    simulateV1|syncing";
/// Filters belong to one provider, and reading one consumes it.
const ETH_UNSAFE_READS: &str = "getFilterChanges|getFilterLogs|getWork";
/// Reads without a namespace that do not begin with `get`: Solana's.
const BARE_READS: &str = "simulateTransaction|isBlockhashValid|minimumLedgerSlot";
/// HTTP's own, for content.
const CONTENT_READS: &str = "GET|HEAD|OPTIONS";
/// Namespaces that hold nothing but reads.
const READING: &str = "net|web3|trace|debug|txpool|rpc";

/// Whether a method may be repeated. Unknown methods are not.
#[must_use]
pub fn safety(name: &str) -> Safety {
    let (namespace, verb) = split(name);
    let is_eth = namespace == "eth";
    if is_eth && verb == "sendRawTransaction" {
        return Broadcast;
    }
    // `get…` are reads of every dialect: `eth_getLogs`, `zks_getProof`, Solana's `getBalance`.
    let is_read = (is_eth && is_one_of(ETH_READS, verb))
        || is_one_of(READING, namespace)
        || (namespace.is_empty()
            && (is_one_of(BARE_READS, verb) || is_one_of(CONTENT_READS, verb)))
        || verb.starts_with("get");
    if is_read && !(is_eth && is_one_of(ETH_UNSAFE_READS, verb)) { Safe } else { Unsafe }
}

/// What stands before the first underscore, and what follows it.
fn split(name: &str) -> (&str, &str) {
    let at = name.bytes().position(|byte| byte == b'_');
    let halves = at.and_then(|at| Some((name.get(..at)?, name.get(at + 1..)?)));
    halves.unwrap_or(("", name))
}

/// Whether a word is in a list with bars. Comparing with each in turn by a `match` is three times the code.
fn is_one_of(list: &str, word: &str) -> bool {
    words(list).any(|known| known == word)
}

/// Time that one attempt deserves, never under 2.5 s.
fn hint(name: &str) -> Duration {
    Duration::from_millis(match name {
        "eth_getProof" => 10_000,
        // Until the headers are there: a gateway may have to find the data first.
        _ if is_one_of(CONTENT_READS, name) => 15_000,
        "debug_traceTransaction" => 30_000,
        _ if name.starts_with("debug_") || name.starts_with("trace_") => 45_000,
        "eth_call" | "eth_estimateGas" | "eth_getLogs" | "eth_getFilterLogs" => 5_000,
        "eth_getTransactionReceipt" => 3_000,
        _ if name.starts_with("eth_get") => 2_500,
        "eth_blockNumber" | "eth_chainId" | "eth_gasPrice" | "eth_newFilter" | "net_version"
        | "web3_clientVersion" => 2_500,
        _ => 10_000,
    })
}

/// Default time for a whole request: long only for methods that scan or replay.
fn deadline(name: &str) -> Duration {
    let slow = name == "eth_getLogs" || name.starts_with("debug_") || name.starts_with("trace_");
    Duration::from_secs(match () {
        () if slow => 60,
        () if is_one_of(CONTENT_READS, name) => 45,
        () => 10,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_safe_and_everything_unknown_is_not() {
        for name in [
            "eth_call",
            "eth_blockNumber",
            "eth_getLogs",
            "net_version",
            "debug_traceCall",
            "trace_block",
            "txpool_status",
            "eth_getBlockReceipts",
            "eth_feeHistory",
            "getBalance",
            "zks_getProof",
        ] {
            assert_eq!(safety(name), Safe, "{name}");
        }
        for name in [
            "eth_sendTransaction",
            "personal_sign",
            "eth_sign",
            "eth_signTransaction",
            "eth_newFilter",
            "eth_newBlockFilter",
            "eth_newPendingTransactionFilter",
            "eth_getFilterLogs",
            "eth_getFilterChanges",
            "eth_uninstallFilter",
            "eth_subscribe",
            "eth_unsubscribe",
            "eth_submitWork",
            "vendor_privateMethod",
            "sendTransaction",
            "",
            "wallet_sendCalls",
            "eth_signTypedData_v4",
        ] {
            assert_eq!(safety(name), Unsafe, "{name}");
        }
        assert_eq!(safety("eth_sendRawTransaction"), Broadcast);
    }

    #[test]
    fn the_table_is_bounded_and_later_names_share_an_unsafe_place() {
        let mut methods = Methods::default();
        let call = methods.intern("eth_call");
        for n in 0..1000 {
            methods.intern(&format!("eth_get{n}"));
        }
        assert_eq!(methods.intern("eth_call"), call);
        let late = methods.intern("eth_getLate");
        assert_eq!(late.index(), METHOD_CAPACITY - 1);
        assert_eq!(methods.get(late).unwrap().safety, Unsafe);
    }

    #[test]
    fn hints_are_never_under_two_and_a_half_seconds() {
        for name in ["eth_blockNumber", "eth_getBalance", "eth_call", "x", "debug_traceBlock"] {
            assert!(hint(name) >= Duration::from_millis(2_500), "{name}");
        }
        assert_eq!(deadline("eth_getLogs"), Duration::from_mins(1));
        assert_eq!(deadline("eth_call"), Duration::from_secs(10));
    }
}
