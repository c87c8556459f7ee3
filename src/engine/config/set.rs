//! Settings one by one, by the path under which a user writes them, each with its range.
//!
//! A path and a number are all that has to cross from JavaScript, and the range stands beside the field that
//! it guards.

use alloc::borrow::ToOwned;

use super::{BreakerConfig, Budget, ConfigError, EndpointConfig, Settings};
use crate::engine::time::from_millis;

const HOUR_MS: f64 = 3_600_000.0;
const DAY_MS: f64 = 86_400_000.0;
const MANY: f64 = 1_000_000.0;

/// A number on its way into a field.
struct Given<'a> {
    path: &'a str,
    value: f64,
}

impl Given<'_> {
    fn within(&self, min: f64, max: f64) -> Result<f64, ConfigError> {
        if self.value >= min && self.value <= max {
            return Ok(self.value);
        }
        Err(ConfigError { path: self.path.to_owned(), value: self.value, min, max })
    }

    fn count(&self, min: f64, max: f64) -> Result<u32, ConfigError> {
        self.within(min, max).map(whole)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "every range of a count lies within u32"
)]
fn whole(value: f64) -> u32 {
    value as u32
}

/// Puts a number that is within its range into its field.
type Put = fn(&mut Settings, f64);

/// Every number of a profile: its path, its range, its place.
static FIELDS: [(&str, f64, f64, Put); 24] = [
    ("deadlineMs", 1.0, DAY_MS, |s, v| s.deadline = Some(from_millis(v))),
    ("attemptTimeoutMs", 1.0, DAY_MS, |s, v| s.attempt_timeout = Some(from_millis(v))),
    ("maxAttempts", 1.0, 64.0, |s, v| s.max_attempts = Some(whole(v))),
    ("rateLimit.defaultMs", 0.0, HOUR_MS, |s, v| s.rate_limit.default = from_millis(v)),
    ("rateLimit.maxMs", 0.0, DAY_MS, |s, v| s.rate_limit.max = from_millis(v)),
    ("strategies.fastest.minCalls", 0.0, 32.0, |s, v| s.fastest.min_calls = whole(v)),
    ("strategies.fastest.minSuccessRate", 0.0, 1.0, |s, v| s.fastest.min_success_rate = v),
    ("strategies.latencyWeighted.beta", 0.0, 10.0, |s, v| s.latency_weighted.beta = v),
    ("strategies.latencyWeighted.msFloor", 0.001, 60_000.0, |s, v| s.latency_weighted.ms_floor = v),
    ("strategies.latencyWeighted.exploreFloor", 0.0, 1.0, |s, v| {
        s.latency_weighted.explore_floor = v;
    }),
    ("strategies.latencyWeighted.minCalls", 0.0, 32.0, |s, v| {
        s.latency_weighted.min_calls = whole(v);
    }),
    ("strategies.latencyWeighted.minSuccessRate", 0.0, 1.0, |s, v| {
        s.latency_weighted.min_success_rate = v;
    }),
    ("circuitBreaker.failureThreshold", 1.0, 1000.0, |s, v| {
        let all = whole(v);
        s.breaker =
            BreakerConfig { server: all, network: all, timeout: all, auth: all, ..s.breaker };
    }),
    ("circuitBreaker.thresholds.server", 1.0, 1000.0, |s, v| s.breaker.server = whole(v)),
    ("circuitBreaker.thresholds.network", 1.0, 1000.0, |s, v| s.breaker.network = whole(v)),
    ("circuitBreaker.thresholds.timeout", 1.0, 1000.0, |s, v| s.breaker.timeout = whole(v)),
    ("circuitBreaker.thresholds.auth", 1.0, 1000.0, |s, v| s.breaker.auth = whole(v)),
    ("circuitBreaker.recoveryMs", 10.0, HOUR_MS, |s, v| s.breaker.recovery = from_millis(v)),
    ("circuitBreaker.maxRecoveryMs", 10.0, DAY_MS, |s, v| s.breaker.max_recovery = from_millis(v)),
    ("circuitBreaker.successThreshold", 1.0, 100.0, |s, v| s.breaker.success_threshold = whole(v)),
    ("circuitBreaker.jitter", 0.0, 1.0, |s, v| s.breaker.jitter = v),
    // Any of these turns hedging on.
    ("hedge.quantile", 0.5, 0.999, |s, v| s.hedge.get_or_insert_default().quantile = v),
    ("hedge.budget", 0.0, 1.0, |s, v| s.hedge.get_or_insert_default().budget = v),
    ("hedge.maxExtra", 1.0, 3.0, |s, v| s.hedge.get_or_insert_default().max_extra = whole(v)),
];

impl Settings {
    /// Sets one field. A threshold for all classes has to be set before those of single classes.
    ///
    /// # Errors
    /// The number is out of its range, or (with an empty range) the path is not known.
    pub fn set(&mut self, path: &str, value: f64) -> Result<(), ConfigError> {
        let given = Given { path, value };
        let Some((_, min, max, put)) = FIELDS.iter().find(|(known, ..)| *known == path) else {
            return Err(unknown(path, value));
        };
        put(self, given.within(*min, *max)?);
        Ok(())
    }
}

impl EndpointConfig {
    /// Sets one field. A rate has to be set before its burst.
    ///
    /// # Errors
    /// The number is out of its range, or (with an empty range) the path is not known.
    pub fn set(&mut self, path: &str, value: f64) -> Result<(), ConfigError> {
        let given = Given { path, value };
        match (path, &mut self.budget) {
            ("priority", _) => self.priority = given.within(-1e9, 1e9)?,
            ("rateLimit.rps", budget) => {
                let rps = given.within(0.001, MANY)?;
                // One second's worth may go at once.
                let burst = Given { path, value: rps.max(1.0) }.count(1.0, MANY)?;
                *budget = Some(Budget { rps, burst });
            }
            ("rateLimit.burst", Some(budget)) => budget.burst = given.count(1.0, MANY)?,
            ("capabilities.maxBlockRange", _) => {
                self.max_block_range = Some(u64::from(given.count(0.0, 4_294_967_295.0)?));
            }
            _ => return Err(unknown(path, value)),
        }
        Ok(())
    }
}

fn unknown(path: &str, value: f64) -> ConfigError {
    ConfigError { path: path.to_owned(), value, min: f64::INFINITY, max: f64::NEG_INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_takes_both_ends_of_its_range_and_nothing_beyond() {
        for (path, min, max) in [
            ("deadlineMs", 1.0, DAY_MS),
            ("attemptTimeoutMs", 1.0, DAY_MS),
            ("maxAttempts", 1.0, 64.0),
            ("rateLimit.defaultMs", 0.0, HOUR_MS),
            ("rateLimit.maxMs", 0.0, DAY_MS),
            ("strategies.fastest.minCalls", 0.0, 32.0),
            ("strategies.fastest.minSuccessRate", 0.0, 1.0),
            ("strategies.latencyWeighted.beta", 0.0, 10.0),
            ("strategies.latencyWeighted.msFloor", 0.001, 60_000.0),
            ("strategies.latencyWeighted.exploreFloor", 0.0, 1.0),
            ("strategies.latencyWeighted.minCalls", 0.0, 32.0),
            ("strategies.latencyWeighted.minSuccessRate", 0.0, 1.0),
            ("circuitBreaker.failureThreshold", 1.0, 1000.0),
            ("circuitBreaker.thresholds.server", 1.0, 1000.0),
            ("circuitBreaker.thresholds.network", 1.0, 1000.0),
            ("circuitBreaker.thresholds.timeout", 1.0, 1000.0),
            ("circuitBreaker.thresholds.auth", 1.0, 1000.0),
            ("circuitBreaker.recoveryMs", 10.0, HOUR_MS),
            ("circuitBreaker.maxRecoveryMs", 10.0, DAY_MS),
            ("circuitBreaker.successThreshold", 1.0, 100.0),
            ("circuitBreaker.jitter", 0.0, 1.0),
            ("hedge.quantile", 0.5, 0.999),
            ("hedge.budget", 0.0, 1.0),
            ("hedge.maxExtra", 1.0, 3.0),
        ] {
            let mut settings = Settings::default();
            assert_eq!(settings.set(path, min), Ok(()), "{path}");
            assert_eq!(settings.set(path, max), Ok(()), "{path}");
            for beyond in [min - 0.01, max + 0.01, f64::INFINITY] {
                let error = settings.set(path, beyond).unwrap_err();
                assert_eq!(error, ConfigError { path: path.into(), value: beyond, min, max });
            }
            assert!(settings.set(path, f64::NAN).is_err(), "{path}");
        }
        assert!(Settings::default().set("circuitBreaker.nonsense", 1.0).is_err());
        assert!(Settings::default().set("nonsense", 1.0).is_err());
    }

    #[test]
    fn a_threshold_for_all_classes_gives_way_to_one_of_a_class() {
        let mut settings = Settings::default();
        settings.set("circuitBreaker.failureThreshold", 7.0).unwrap();
        settings.set("circuitBreaker.thresholds.timeout", 1.0).unwrap();
        let breaker = settings.breaker;
        assert_eq!((breaker.server, breaker.network, breaker.auth), (7, 7, 7));
        assert_eq!(breaker.timeout, 1);
    }

    #[test]
    fn a_rate_without_a_burst_allows_one_second_at_once() {
        for (rps, burst) in [(0.5, 1), (1.0, 1), (12.7, 12)] {
            let mut config = EndpointConfig::default();
            config.set("rateLimit.rps", rps).unwrap();
            assert_eq!(config.budget, Some(Budget { rps, burst }));
        }
        let mut config = EndpointConfig::default();
        config.set("rateLimit.rps", 5.0).unwrap();
        config.set("rateLimit.burst", 50.0).unwrap();
        assert_eq!(config.budget, Some(Budget { rps: 5.0, burst: 50 }));
        assert!(config.set("rateLimit.rps", 0.0).is_err());
        assert!(EndpointConfig::default().set("rateLimit.burst", 1.0).is_err());
    }
}
