//! The scenario file: who serves, how well, and who asks.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One scenario. Times of latencies are in milliseconds, of everything else in seconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) duration_s: f64,
    pub(crate) arrivals: Arrivals,
    /// For one attempt.
    #[serde(default = "timeout")]
    pub(crate) timeout_ms: f64,
    #[serde(default = "max_attempts")]
    pub(crate) max_attempts: u32,
    /// Clients with an engine each, which share the providers' buckets and the arrivals.
    #[serde(default = "one")]
    pub(crate) clients: usize,
    #[serde(default)]
    pub(crate) methods: Vec<Method>,
    pub(crate) providers: Vec<Provider>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Arrivals {
    /// Over all clients.
    pub(crate) rps: f64,
    #[serde(default)]
    pub(crate) process: Process,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Process {
    #[default]
    Poisson,
    /// The same time between any two.
    Uniform,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Method {
    pub(crate) name: String,
    #[serde(default = "whole")]
    pub(crate) share: f64,
    #[serde(default = "whole")]
    pub(crate) latency_factor: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Provider {
    pub(crate) id: String,
    pub(crate) median_ms: f64,
    #[serde(default)]
    pub(crate) sigma: f64,
    #[serde(default)]
    pub(crate) straggler: Option<Straggler>,
    #[serde(default)]
    pub(crate) rate_limit: Option<RateLimit>,
    #[serde(default)]
    pub(crate) episodes: Vec<Episode>,
    /// Factors of methods that are not those of the scenario.
    #[serde(default)]
    pub(crate) methods: BTreeMap<String, f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Straggler {
    pub(crate) share: f64,
    pub(crate) factor: f64,
}

/// A bucket that starts full. A request that finds no token takes none.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RateLimit {
    pub(crate) rps: f64,
    #[serde(default)]
    pub(crate) burst: Option<f64>,
    #[serde(default = "quick")]
    pub(crate) reject_ms: [f64; 2],
    #[serde(default)]
    pub(crate) retry_after_s: Option<f64>,
}

impl RateLimit {
    pub(crate) fn depth(&self) -> f64 {
        self.burst.unwrap_or(self.rps).max(1.0)
    }
}

/// A time in which a provider is not itself. Of several at once the later in the list wins where they differ.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Episode {
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    #[serde(default)]
    pub(crate) latency_factor: Option<f64>,
    #[serde(default)]
    pub(crate) status: Option<u16>,
    #[serde(default)]
    pub(crate) hang: bool,
    #[serde(default)]
    pub(crate) reset: bool,
    /// When a status or a reset comes.
    #[serde(default)]
    pub(crate) after_ms: Option<[f64; 2]>,
    #[serde(default)]
    pub(crate) retry_after_s: Option<f64>,
    /// Of the requests.
    #[serde(default = "whole")]
    pub(crate) share: f64,
    #[serde(default)]
    pub(crate) methods: Option<Vec<String>>,
}

impl Episode {
    pub(crate) fn after(&self) -> [f64; 2] {
        self.after_ms.unwrap_or_else(quick)
    }

    pub(crate) fn covers(&self, seconds: f64, method: &str) -> bool {
        let is_of = self.methods.as_ref().is_none_or(|of| of.iter().any(|name| name == method));
        (self.from_s..self.to_s).contains(&seconds) && is_of
    }
}

impl Scenario {
    /// Reads a scenario from its text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if scenario.providers.is_empty() {
            return Err("a scenario needs providers".to_owned());
        }
        Ok(scenario.completed())
    }

    /// With what a scenario may leave out.
    pub(crate) fn completed(mut self) -> Self {
        if self.methods.is_empty() {
            let name = "eth_call".to_owned();
            self.methods.push(Method { name, share: 1.0, latency_factor: 1.0 });
        }
        self.clients = self.clients.max(1);
        self
    }

    /// The factor of a method at a provider.
    pub(crate) fn factor(&self, provider: usize, method: usize) -> f64 {
        let method = &self.methods[method];
        let own = self.providers[provider].methods.get(&method.name);
        own.copied().unwrap_or(method.latency_factor)
    }
}

fn timeout() -> f64 {
    3_000.0
}

fn max_attempts() -> u32 {
    4
}

fn one() -> usize {
    1
}

fn whole() -> f64 {
    1.0
}

fn quick() -> [f64; 2] {
    [15.0, 20.0]
}
