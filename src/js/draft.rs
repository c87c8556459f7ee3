//! A provider's settings on their way into the engine.

use core::cell::RefCell;

use wasm_bindgen::prelude::*;

use super::engine::misconfigured;
use crate::engine::classify::{ErrorClass, Rule};
use crate::engine::config::EndpointConfig;

/// Collects the settings of one provider, piece by piece.
#[wasm_bindgen]
#[derive(Debug)]
pub struct EndpointDraft {
    pub(super) config: RefCell<EndpointConfig>,
}

#[wasm_bindgen]
impl EndpointDraft {
    /// A provider with the default settings.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(id: String) -> Self {
        Self { config: RefCell::new(EndpointConfig { id, ..EndpointConfig::default() }) }
    }

    /// Sets a number by its path.
    ///
    /// # Errors
    /// `{ path, value, min, max }` if it is out of its range.
    pub fn set(&self, path: &str, value: f64) -> Result<(), JsValue> {
        self.config.borrow_mut().set(path, value).map_err(misconfigured)
    }

    /// Adds a method that the provider does not serve; a trailing `*` stands for any rest.
    pub fn refuse(&self, method: String) {
        self.config.borrow_mut().unsupported_methods.push(method);
    }

    /// Adds a rule for errors; `error_class` is the place of the class in [`ErrorClass::ALL`].
    #[wasm_bindgen(js_name = addRule)]
    pub fn add_rule(
        &self,
        code: Option<f64>,
        status: Option<u16>,
        message_contains: Vec<String>,
        error_class: usize,
    ) {
        let Some(class) = ErrorClass::ALL.get(error_class).copied() else {
            return;
        };
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates; codes are small")]
        let code = code.map(|code| code as i64);
        self.config.borrow_mut().error_rules.push(Rule { code, status, message_contains, class });
    }
}
