//! The phrases, group by group, in the order in which [`super::text`] asks them.
//!
//! Lower case, separated by `|`; `*` stands for a few words, `?` for one word. Collected from what
//! nodes (geth, erigon, nethermind, besu, reth, anvil, hardhat, agave) and hosted providers answer.

/// The virtual machine's verdicts other than "revert", which has an exception.
pub(super) const MACHINE: &str = "\
    vm execution error|vm exception|evm error|out of gas|invalid opcode|bad instruction|bad jump|\
    invalid jump|stack underflow|stack limit reached|write protection|max code size exceeded|\
    always failing transaction";

/// Requests too heavy or too many at once, in words that a limit or a fault would use.
pub(super) const SIZE_DESPITE_LIMIT_WORDS: &str = "\
    timeout on the free tier|execution aborted (timeout|too many requests in batch|\
    too many requests in a batch|too many requests in the batch|batch of more than";

/// Too many requests, too many credits, too much of a plan used up.
pub(super) const LIMIT: &str = "\
    rate limit|ratelimit|rate-limit|rate_limit|rate exceeded|call rate|too many requests|\
    toomanyrequests|too many concurrent|concurrent requests|throttl|quota|capacity limit|\
    capacity exceeded|exceeded*capacity|compute unit|request unit|request count exceeded|\
    request limit|requests limit|limit of requests|requests per second|requests per minute|\
    requests per day|rps limit|maximum requests|cannot fulfill request|out of credits|\
    credits limit|credit limit|insufficient credits|not enough credits|daily limit|monthly limit|\
    hourly limit|usage limit|usage cap|slow down";

/// The transaction pool, or the chain, has it already.
pub(super) const ALREADY_KNOWN: &str = "\
    already known|alreadyknown|already_known|already_exists|already imported|\
    transaction already exists|tx already exists|already in mempool|already in the mempool|\
    already in mpool|already in pool|already in the pool|already in the transaction pool|\
    already in the system|already been processed|duplicate transaction|duplicate_transaction";

/// The nonce belongs to a transaction that is mined: perhaps to this one.
pub(super) const NONCE_USED: &str = "\
    nonce too low|nonce_too_low|noncetoolow|nonce is too low|nonce is below|oldnonce|\
    nonce has already been used";

/// The protocol's rules, or the pool's, refuse the transaction; every node would.
pub(super) const TRANSACTION: &str = "\
    nonce too|noncetoo|nonce is too|nonce is below|invalid nonce|incorrect nonce|nonce gap|\
    noncegap|oldnonce|nonce mismatch|account nonce|nonce has already been used|sequence mismatch|\
    insufficient funds|insufficientfunds|insufficient balance|insufficient sender balance|\
    insufficient maxfeepergas|exceeds account balance|exceeds balance|have enough funds|\
    not enough balance|lack of funds|overdraft|upfront cost|underpriced|fee too low|feetoolow|\
    gas price too low|gas price below|gas price is too low|than block base fee|than base fee|\
    than the block base fee|below block base fee|below base fee|fee cap|priority fee|\
    exceeds the configured cap|gas too low|intrinsic gas|floor data gas|block gas limit|\
    gas limit too|gas limit is too|gas limit reached|gaslimit|gas required exceeds|\
    gas uint64 overflow|oversized data|initcode|invalid sender|invalid signature|\
    invalid transaction|invalid chain id|invalid chainid|wrong chain id|transaction type|tx type|\
    txtype|replay-protected|replay protected|rlp:|rlp error|rlp decod|invalid rlp|\
    decode signed transaction|blob sidecar|blob gas|blob fee|not an eoa|sender is contract|\
    senderiscontract|replacement not allowed|already reserved|delegated account|\
    not authorized to send|signature verification";

/// The provider does not know the method, or does not let us call it.
pub(super) const METHOD: &str = "\
    method not|method is not|method ? not|method ? is not|method does not exist|\
    method ? does not exist|method is unsupported|method ? is unsupported|unsupported method|\
    unknown method|no such method";

/// The node has not come as far as the question.
pub(super) const BEHIND: &str = "\
    beyond*head|beyond*latest|greater than*latest|greater than*head|greater than*current block|\
    higher than*latest|after last accepted|ahead of*head|unfinalized data|future block|\
    node is behind|context slot";

/// Blocks, logs or history outside of what this provider serves, and features of a dearer plan.
pub(super) const SCOPE: &str = "\
    range*too large|range*too wide|range*too big|range*is limited|range*limited to|ranges over|\
    is limited to|range limit|max range|maximum range|block range|exceeds the range|\
    too many blocks|response size|response is too big|response too large|\
    query returned more than|result set too large|too many results|too many logs|result limit|\
    exceeds limit of|exceeds max|exceed max|exceeds the max|too many addresses|too many topics|\
    specify an address|specify less number of address|missing trie node|pruned|pruning|archive|\
    state not available|state is not available|state unavailable|no state available|\
    historical state|historical data|history unavailable|state histories|proof window|\
    first available block|batch size|batch too large|batch limit|batch requests|batching is|\
    free tier|freetier|free plan|upgrade|paid plan|paid tier|your plan|current plan|higher plan|\
    dedicated full node|dedicated node|personal token";

/// The block is not there.
pub(super) const BLOCK: &str = "\
    header not found|header ? not found|header for hash not found|block not found|\
    block ? not found|block is out of range|block out of range|could not find block|\
    cannot find block|block does not exist|block ? does not exist|block is not available|\
    block ? is not available|block not available|block ? not available|blockhash not found|\
    was skipped";

/// A chain that runs a transaction before it takes it says so in these words.
pub(super) const SIMULATION: &str = "simulation failed";

/// Our key, or our origin.
pub(super) const CREDENTIALS: &str = "\
    unauthorized|unauthenticated|authenticat|api key|api-key|apikey|forbidden|access denied|\
    permission denied|project id|access token|jwt|origin*not allowed|been blocked|been banned|\
    blacklist|whitelist|tenant disabled|app is inactive|payment required|subscription expired|\
    does not have access";

/// The provider, or what stands behind it, is not well.
pub(super) const SICK: &str = "\
    please retry|try again|temporarily unavailable|temporary internal error|timeout|timed out|\
    deadline exceeded|context canceled|resource unavailable|service unavailable|overloaded|\
    bad gateway|no available|no healthy|route your request|connection refused|connection reset|\
    econn|upstream|server is busy|server busy|is unhealthy";

/// A range that runs backwards; it stands alone to be asked before the ranges that are too wide.
pub(super) const RANGE: &str = "invalid block range";

/// Parameters that no node can read.
pub(super) const PARAMETERS: &str = "\
    invalid argument|cannot unmarshal|unable to decode|failed to deserialize|\
    did not match any variant|invalid type:|invalid hex|hex string|hex number|odd length|\
    invalid address|wrong number of|too many arguments|missing value for required|\
    missing required";

/// Features that are off, and limits without a number.
pub(super) const FEATURE: &str = "\
    not supported|unsupported|does not support|doesn't support|not available|not enabled|\
    is disabled|not implemented|unimplemented|syncing|limit reached|exceeds limit|too large|\
    too big|pool is full";

/// The bare words of the codes -32600 and -32602, which other sentences begin with.
pub(super) const MALFORMED: &str = "invalid param|invalid input|invalid request|parse error";
