//! Settings of a profile and of its endpoints, and what they may be.
//!
//! These are values that the engine relies on; `Settings::set` and `EndpointConfig::set` check what a user
//! writes.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::classify::{ErrorClass, Rule};
use super::method::MethodId;
use super::strategy::Strategy;
use super::time::{from_millis, millis};

mod set;

/// A number out of its range.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigError {
    /// Path of the field as the user wrote it, for example `circuitBreaker.recoveryMs`.
    pub path: String,
    /// The value seen.
    pub value: f64,
    /// Smallest allowed value.
    pub min: f64,
    /// Largest allowed value.
    pub max: f64,
}

/// Circuit breaker settings.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakerConfig {
    /// Consecutive server failures that open. 1 to 1000, default 5.
    pub server: u32,
    /// Consecutive network failures that open. Default 3: a refused connection is clearer than a 500.
    pub network: u32,
    /// Consecutive timeouts that open. Default 2: each has cost a user its whole time.
    pub timeout: u32,
    /// Consecutive refusals of our credentials that open. Default 3.
    pub auth: u32,
    /// Time from opening to half-open. 10 ms to 1 h, default 10 s: a page's outages are short.
    pub recovery: Duration,
    /// Longest such time after failed trials. Default 300 s.
    pub max_recovery: Duration,
    /// Successful trials that close. 1 to 100, default 2.
    pub success_threshold: u32,
    /// Random lengthening of the recovery time, as a share of it. 0 to 1, default 0.05.
    pub jitter: f64,
}

impl BreakerConfig {
    /// The default of every field.
    pub const DEFAULT: Self = Self {
        server: 5,
        network: 3,
        timeout: 2,
        auth: 3,
        recovery: Duration::from_secs(10),
        max_recovery: Duration::from_mins(5),
        success_threshold: 2,
        jitter: 0.05,
    };

    /// The longest time from opening to half-open.
    #[must_use]
    pub fn longest_opening(&self) -> Duration {
        from_millis(millis(self.max_recovery.max(self.recovery)) * (1.0 + self.jitter))
    }

    /// How many consecutive failures open the breaker when the last is of `class`.
    #[must_use]
    pub fn threshold(&self, class: ErrorClass) -> u32 {
        match class {
            ErrorClass::Network => self.network,
            ErrorClass::Timeout => self.timeout,
            ErrorClass::Auth => self.auth,
            _ => self.server,
        }
    }
}

/// How long a rate limit is remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimitConfig {
    /// When the provider names no time. 0 to 1 h, default 30 s.
    pub default: Duration,
    /// At most, whatever the provider says. 0 to 24 h, default 5 min.
    pub max: Duration,
}

impl RateLimitConfig {
    /// The default of every field.
    pub const DEFAULT: Self =
        Self { default: Duration::from_secs(30), max: Duration::from_mins(5) };
}

/// A request budget enforced before sending.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Requests per second. 0.001 to 1,000,000.
    pub rps: f64,
    /// Requests that may go at once after a rest. 1 to 1,000,000, default: one second's worth.
    pub burst: u32,
}

/// Settings of `fastest`.
#[derive(Clone, Debug, PartialEq)]
pub struct FastestConfig {
    /// Fresh calls before an endpoint qualifies. 0 to 32, default 3.
    pub min_calls: u32,
    /// Success rate below which it does not. 0 to 1, default 0.9.
    pub min_success_rate: f64,
}

/// Settings of `latency_weighted`.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyWeightedConfig {
    /// Exponent of the latency ratio. 0 to 10, default 3; 0 ignores latency.
    pub beta: f64,
    /// Latencies below this count as this. 0.001 to 60,000 ms, default 30.
    pub ms_floor: f64,
    /// Smallest weight. 0 to 1, default 0.05: five per cent of the best.
    pub explore_floor: f64,
    /// Fresh calls before the weight counts in full. 0 to 32, default 3.
    pub min_calls: u32,
    /// Success rate below which an endpoint follows the qualified ones. 0 to 1, default 0.85.
    pub min_success_rate: f64,
}

/// Second attempts beside slow ones.
#[derive(Clone, Debug, PartialEq)]
pub struct HedgeConfig {
    /// Share of the answers that come before the second attempt. 0.5 to 0.999, default 0.95.
    pub quantile: f64,
    /// Second attempts per request, on the average. 0 to 1, default 0.05.
    pub budget: f64,
    /// Such attempts for one request. 1 to 3, default 1.
    pub max_extra: u32,
    /// The methods that have them; empty for all that may be repeated. Raw transactions have to be named.
    pub methods: Vec<MethodId>,
}

impl Default for HedgeConfig {
    fn default() -> Self {
        Self { quantile: 0.95, budget: 0.05, max_extra: 1, methods: Vec::new() }
    }
}

/// The parts of `adaptive`, each of which the simulator can leave out to show what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is there or is not")]
pub struct AdaptiveParts {
    /// What is usual instead of the mean.
    pub gauge: bool,
    /// Attempts under way beyond their time.
    pub overdue: bool,
    /// Learnt limits.
    pub capacity: bool,
    /// Short pauses after refusals that name no time.
    pub pauses: bool,
    /// Probes beside requests.
    pub probes: bool,
}

impl Default for AdaptiveParts {
    fn default() -> Self {
        Self { gauge: true, overdue: true, capacity: true, pauses: true, probes: true }
    }
}

/// Whether health or quota comes first among endpoints that are not quite well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TierOrder {
    /// Closed and rate-limited before half-open: the order that Lasso documents.
    #[default]
    ClosedFirst,
    /// Half-open and not limited before closed and limited: the order that Lasso's code has.
    UnlimitedFirst,
}

/// Everything that a profile decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Strategy of requests that name none.
    pub strategy: Strategy,
    /// Settings of `fastest`.
    pub fastest: FastestConfig,
    /// Settings of `latency_weighted`.
    pub latency_weighted: LatencyWeightedConfig,
    /// Parts of `adaptive`.
    pub adaptive: AdaptiveParts,
    /// Second attempts beside slow ones; `None` for none.
    pub hedge: Option<HedgeConfig>,
    /// Breaker settings.
    pub breaker: BreakerConfig,
    /// Rate-limit memory.
    pub rate_limit: RateLimitConfig,
    /// Time for a whole request; `None` takes the method's default.
    pub deadline: Option<Duration>,
    /// Time for one attempt; `None` takes the method's hint.
    pub attempt_timeout: Option<Duration>,
    /// Attempts per request; `None` is the larger of 4 and the number of endpoints, at most 16.
    pub max_attempts: Option<u32>,
    /// Order of the tiers.
    pub tier_order: TierOrder,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            strategy: Strategy::LoadBalanced,
            fastest: FastestConfig { min_calls: 3, min_success_rate: 0.9 },
            latency_weighted: LatencyWeightedConfig {
                beta: 3.0,
                ms_floor: 30.0,
                explore_floor: 0.05,
                min_calls: 3,
                min_success_rate: 0.85,
            },
            adaptive: AdaptiveParts::default(),
            hedge: None,
            breaker: BreakerConfig::DEFAULT,
            rate_limit: RateLimitConfig::DEFAULT,
            deadline: None,
            attempt_timeout: None,
            max_attempts: None,
            tier_order: TierOrder::ClosedFirst,
        }
    }
}

/// Settings of one endpoint.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// Name in metadata, events and errors.
    pub id: String,
    /// Lower goes first under `priority`. Default 100.
    pub priority: f64,
    /// Budget enforced before sending.
    pub budget: Option<Budget>,
    /// Methods that it does not serve; a trailing `*` stands for any rest.
    pub unsupported_methods: Vec<String>,
    /// Largest number of blocks that one `eth_getLogs` may span.
    pub max_block_range: Option<u64>,
    /// The user's own classification, looked at first.
    pub error_rules: Vec<Rule>,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            id: String::new(),
            priority: 100.0,
            budget: None,
            unsupported_methods: Vec::new(),
            max_block_range: None,
            error_rules: Vec::new(),
        }
    }
}
