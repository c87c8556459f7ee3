//! Requests that bring their gateways with them.

use alloc::vec::Vec;

use wasm_bindgen::prelude::*;

use super::engine::{Engine, NONE, small, span, strategy_of};
use crate::engine::method::MethodId;
use crate::engine::request::Call;

#[wasm_bindgen]
impl Engine {
    /// Adds a pool without endpoints, whose requests bring a list.
    #[wasm_bindgen(js_name = addContentPool)]
    #[must_use]
    pub fn add_content_pool(&self, profile: usize) -> usize {
        let this = &mut *self.inner();
        this.router.add_content_pool(profile)
    }

    /// Adds an endpoint that content requests may be offered.
    #[wasm_bindgen(js_name = addGateway)]
    #[must_use]
    pub fn add_gateway(&self, pool: usize) -> usize {
        let this = &mut *self.inner();
        this.router.add_gateway(pool)
    }

    /// Forgets all that is known of a gateway; false while attempts are under way.
    #[wasm_bindgen(js_name = forgetGateway)]
    #[must_use]
    pub fn forget_gateway(&self, place: usize) -> bool {
        let this = &mut *self.inner();
        this.router.forget_gateway(place)
    }

    /// Adds gateways to those that a request may ask.
    pub fn offer(&self, now: f64, handle: u32, places: &[u32]) {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        this.router.offer(now, handle, &wide(places));
    }

    /// Puts a gateway in front of the others that a request may ask.
    pub fn prefer(&self, now: f64, handle: u32, place: usize) {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        this.router.prefer(now, handle, place);
    }

    /// The one of `places` that a strategy puts first; `4294967295` for none.
    #[must_use]
    pub fn pick(&self, now: f64, pool: usize, method: usize, strategy: u32, places: &[u32]) -> u32 {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        this.seed();
        let Some(method) = MethodId::from_index(method) else {
            return NONE;
        };
        let call = Call { strategy: strategy_of(strategy), ..Call::new(pool, method) };
        this.router.pick(now, call, &wide(places)).map_or(NONE, small)
    }

    /// The health tier of each place, from 1, the best, to 5, an open breaker.
    #[must_use]
    pub fn tiers(&self, now: f64, places: &[u32]) -> Vec<u8> {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        places.iter().map(|place| this.router.tier(now, *place as usize)).collect()
    }

    /// Whether a place is in the best tier and its last answer was good.
    #[wasm_bindgen(js_name = isTrusted)]
    #[must_use]
    pub fn is_trusted(&self, now: f64, place: usize) -> bool {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        this.router.is_trusted(now, place)
    }

    /// Takes note of how the body of an answer ended.
    #[wasm_bindgen(js_name = endBody)]
    pub fn end_body(&self, now: f64, place: usize, method: usize, is_whole: bool) {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        if let Some(method) = MethodId::from_index(method) {
            this.router.end_body(now, place, method, is_whole);
        }
    }

    /// Takes note of what was seen outside of a request: a success after `ms`, or a failure (negative).
    pub fn note(&self, now: f64, place: usize, method: usize, ms: f64, is_probe: bool) {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        if let Some(method) = MethodId::from_index(method) {
            let latency = (ms >= 0.0).then(|| span(ms).unwrap_or_default());
            this.router.note(now, place, method, latency, is_probe);
        }
    }
}

fn wide(places: &[u32]) -> Vec<usize> {
    places.iter().map(|place| *place as usize).collect()
}
