//! What the router routes between: profiles, their chains, and the endpoints of each. Filled in before the
//! first request.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::classify::Rule;
use super::config::{ConfigError, EndpointConfig, Settings};
use super::endpoint::Endpoint;
use super::limit::Limit;
use super::router::Router;
use super::time::Timestamp;
use super::{adapt, hedge};

/// A set of endpoints that serve the same chain for one profile.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// Name of the profile.
    pub profile: String,
    /// Name of the chain.
    pub chain: String,
    pub(super) profile_place: usize,
    /// Places of its endpoints, in the order of the configuration.
    pub endpoints: Vec<usize>,
    /// Whether it has no endpoints of its own: each request brings a list, as content gateways come and go.
    pub(super) is_content: bool,
    /// Second attempts saved up.
    pub(super) hedges: f64,
    /// Probes saved up, and since when.
    pub(super) probes: f64,
    pub(super) probes_at: Timestamp,
}

impl Router {
    /// Adds a profile and returns its place.
    pub fn add_profile(&mut self, settings: Settings) -> usize {
        self.settings.push(settings);
        self.settings.len() - 1
    }

    /// The settings of a profile, to be changed before the first request.
    pub fn settings_mut(&mut self, profile: usize) -> Option<&mut Settings> {
        self.settings.get_mut(profile)
    }

    /// Adds a chain to a profile and returns the pool's place.
    pub fn add_pool(&mut self, profile_place: usize, profile: &str, chain: &str) -> usize {
        self.pools.push(Pool {
            profile: profile.to_owned(),
            chain: chain.to_owned(),
            profile_place,
            endpoints: Vec::new(),
            is_content: false,
            hedges: hedge::SAVED,
            probes: adapt::PROBES_SAVED,
            probes_at: Timestamp::ZERO,
        });
        self.pools.len() - 1
    }

    /// Adds a pool to a profile whose requests bring their endpoints with them (see
    /// [`Router::offer`]) and returns its place.
    pub fn add_content_pool(&mut self, profile_place: usize) -> usize {
        self.pools.push(Pool { profile_place, is_content: true, ..Pool::default() });
        self.pools.len() - 1
    }

    /// Adds an endpoint that content requests may be offered, with limits of its own, and returns its place.
    pub fn add_gateway(&mut self, pool: usize) -> usize {
        let profile = self.pools.get(pool).map_or(0, |pool| pool.profile_place);
        self.groups.push((profile, String::new()));
        self.limits.push(Limit::default());
        let group = self.groups.len() - 1;
        self.endpoints.push(Endpoint { profile, group, ..Endpoint::default() });
        self.endpoints.len() - 1
    }

    /// Forgets all that is known of a gateway, so that its place can be another's. Returns whether that can
    /// be: not while attempts are under way.
    pub fn forget_gateway(&mut self, place: usize) -> bool {
        let Some(endpoint) = self.endpoints.get_mut(place).filter(|e| e.in_flight == 0) else {
            return false;
        };
        if let Some(limit) = self.limits.get_mut(endpoint.group) {
            *limit = Limit::default();
        }
        let (profile, group) = (endpoint.profile, endpoint.group);
        *endpoint = Endpoint { profile, group, ..Endpoint::default() };
        true
    }

    /// Adds an endpoint to a pool and returns its place. Endpoints of one profile with the same `group`
    /// share their rate limits.
    pub fn add_endpoint(&mut self, pool: usize, group: &str, config: EndpointConfig) -> usize {
        let place = self.endpoints.len();
        let Some(pool) = self.pools.get_mut(pool) else {
            return place;
        };
        pool.endpoints.push(place);
        let key = (pool.profile_place, group.to_owned());
        let group = self.groups.iter().position(|known| *known == key).unwrap_or_else(|| {
            self.groups.push(key);
            self.limits.push(Limit::default());
            self.groups.len() - 1
        });
        let profile = pool.profile_place;
        self.endpoints.push(Endpoint { config, profile, group, ..Endpoint::default() });
        self.restrict(place);
        place
    }

    /// Sets a number of an endpoint by its path.
    ///
    /// # Errors
    /// As [`EndpointConfig::set`].
    pub fn set_endpoint(
        &mut self,
        place: usize,
        path: &str,
        value: f64,
    ) -> Result<(), ConfigError> {
        let Some(endpoint) = self.endpoints.get_mut(place) else { return Ok(()) };
        endpoint.config.set(path, value)?;
        self.restrict(place);
        Ok(())
    }

    /// Adds a method that an endpoint does not serve.
    pub fn add_refusal(&mut self, place: usize, method: &str) {
        if let Some(endpoint) = self.endpoints.get_mut(place) {
            endpoint.config.unsupported_methods.push(method.to_owned());
        }
    }

    /// Adds a rule for the errors of an endpoint.
    pub fn add_rule(&mut self, place: usize, rule: Rule) {
        if let Some(endpoint) = self.endpoints.get_mut(place) {
            endpoint.config.error_rules.push(rule);
        }
    }

    /// Puts an endpoint's budget in force for its group.
    fn restrict(&mut self, place: usize) {
        let Some(endpoint) = self.endpoints.get(place) else { return };
        if let Some(budget) = &endpoint.config.budget
            && let Some(limit) = self.limits.get_mut(endpoint.group)
        {
            limit.restrict(budget);
        }
    }
}
