//! Telling the engine what it routes between.

use alloc::borrow::ToOwned;
use alloc::vec;
use alloc::vec::Vec;

use wasm_bindgen::prelude::*;

use crate::engine::words::split;

use super::engine::{Engine, NONE, code_of, strategy_of};
use crate::engine::classify::{ErrorClass, Rule};
use crate::engine::config::{ConfigError, EndpointConfig, Settings, TierOrder};

#[wasm_bindgen]
impl Engine {
    /// Adds a profile with the default settings; `strategy` as in [`Engine::begin`].
    #[wasm_bindgen(js_name = addProfile)]
    #[must_use]
    pub fn add_profile(&self, strategy: u32, unlimited_first: bool) -> usize {
        let this = &mut *self.inner();
        let settings = Settings {
            strategy: strategy_of(strategy).unwrap_or_default(),
            tier_order: if unlimited_first {
                TierOrder::UnlimitedFirst
            } else {
                TierOrder::ClosedFirst
            },
            ..Settings::default()
        };
        this.router.add_profile(settings)
    }

    /// Sets a number of a profile by its path; `[min, max]` if it is out of its range, else nothing.
    #[wasm_bindgen(js_name = setProfile)]
    #[must_use]
    pub fn set_profile(&self, profile: usize, path: &str, value: f64) -> Vec<f64> {
        let this = &mut *self.inner();
        let settings = this.router.settings_mut(profile);
        refusal(settings.map_or(Ok(()), |settings| settings.set(path, value)))
    }

    /// Lets a method of a profile have second attempts beside slow ones; without any, all that may be repeated
    /// have them. A number of the setting `hedge` has to be set before.
    #[wasm_bindgen(js_name = hedgeMethod)]
    pub fn hedge_method(&self, profile: usize, method: &str) {
        let this = &mut *self.inner();
        let method = this.router.method(method);
        if let Some(settings) = this.router.settings_mut(profile)
            && let Some(hedge) = &mut settings.hedge
        {
            hedge.methods.push(method);
        }
    }

    /// Adds a chain to a profile. Names stay in the shell.
    #[wasm_bindgen(js_name = addPool)]
    #[must_use]
    pub fn add_pool(&self, profile: usize) -> usize {
        let this = &mut *self.inner();
        this.router.add_pool(profile, "", "")
    }

    /// Adds a provider with the default settings to a chain.
    #[wasm_bindgen(js_name = addEndpoint)]
    #[must_use]
    pub fn add_endpoint(&self, pool: usize, group: &str) -> usize {
        let this = &mut *self.inner();
        this.router.add_endpoint(pool, group, EndpointConfig::default())
    }

    /// Sets a number of a provider by its path; `[min, max]` if it is out of its range, else nothing.
    #[wasm_bindgen(js_name = setEndpoint)]
    #[must_use]
    pub fn set_endpoint(&self, endpoint: usize, path: &str, value: f64) -> Vec<f64> {
        let this = &mut *self.inner();
        refusal(this.router.set_endpoint(endpoint, path, value))
    }

    /// Adds a method that the provider does not serve; a trailing `*` stands for any rest.
    pub fn refuse(&self, endpoint: usize, method: &str) {
        let this = &mut *self.inner();
        this.router.add_refusal(endpoint, method);
    }

    /// Adds a rule for errors of the provider. `texts` has one per line; `error_class` is the place of the
    /// class in [`ErrorClass::ALL`].
    #[wasm_bindgen(js_name = addRule)]
    pub fn add_rule(
        &self,
        endpoint: usize,
        code: f64,
        status: u32,
        texts: &str,
        error_class: usize,
    ) {
        let this = &mut *self.inner();
        let Some(class) = ErrorClass::ALL.get(error_class).copied() else { return };
        let code = code_of(code);
        let status = (status != NONE).then(|| u16::try_from(status).unwrap_or(u16::MAX));
        let texts = split(texts, "\n").filter(|text| !text.is_empty());
        let message_contains = texts.map(ToOwned::to_owned).collect();
        let rule = Rule { code, status, message_contains, class };
        this.router.add_rule(endpoint, rule);
    }
}

/// The range of a refused number, which the shell turns into a sentence.
fn refusal(result: Result<(), ConfigError>) -> Vec<f64> {
    result.map_or_else(|error| vec![error.min, error.max], |()| Vec::new())
}
