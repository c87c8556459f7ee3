//! The exported class.

use core::cell::RefCell;
use core::time::Duration;

use wasm_bindgen::prelude::*;

use super::panic::install_hook;
use crate::engine::classify::retry_after::retry_after;
use crate::engine::classify::{ErrorClass, Failure, Rule};
use crate::engine::config::{ConfigError, EndpointConfig, Settings, TierOrder};
use crate::engine::method::MethodId;
use crate::engine::outcome::Outcome;
use crate::engine::raw_tx;
use crate::engine::request::{Call, Conclusion, Step};
use crate::engine::router::Router;
use crate::engine::strategy::Strategy;
use crate::engine::time::{HostClock, Timestamp, micros};

/// "None" among the small numbers that cross the boundary.
const NONE: u32 = u32::MAX;

/// The routing engine: opens requests, says where to send them, learns from what came back.
///
/// This is the inner class that the package's shell drives; its numbers are explained in
/// `pkg/src/engine.ts`. Use `createRpcClient` instead.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Engine {
    pub(super) inner: RefCell<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) router: Router,
    pub(super) clock: HostClock,
    /// A given seed needs no entropy, and none may be asked for before the first request: Workers refuse
    /// it outside of a handler.
    is_seeded: bool,
    last: LastStep,
}

/// Details of the last step, read one by one: an object per step would cost more than all of them.
#[derive(Clone, Copy, Debug, Default)]
struct LastStep {
    attempt: usize,
    endpoint: usize,
    timeout_ms: f64,
    backup_ms: f64,
    wait_ms: f64,
}

#[wasm_bindgen]
impl Engine {
    /// An engine without providers. Without a seed it takes one from the platform at the first request.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(seed: Option<f64>) -> Self {
        install_hook();
        let inner = Inner {
            router: Router::new(seed.map_or(0, f64::to_bits)),
            clock: HostClock::default(),
            is_seeded: seed.is_some(),
            last: LastStep::default(),
        };
        Self { inner: RefCell::new(inner) }
    }

    /// Adds a profile with the default settings; `strategy` as in [`Engine::begin`].
    #[wasm_bindgen(js_name = addProfile)]
    #[must_use]
    pub fn add_profile(&self, strategy: u32, unlimited_first: bool) -> usize {
        let settings = Settings {
            strategy: strategy_of(strategy).unwrap_or_default(),
            tier_order: if unlimited_first {
                TierOrder::UnlimitedFirst
            } else {
                TierOrder::ClosedFirst
            },
            ..Settings::default()
        };
        self.inner.borrow_mut().router.add_profile(settings)
    }

    /// Sets a number of a profile by its path.
    ///
    /// # Errors
    /// `[min, max]` if it is out of its range.
    #[wasm_bindgen(js_name = setProfile)]
    pub fn set_profile(&self, profile: usize, path: &str, value: f64) -> Result<(), JsValue> {
        let inner = &mut *self.inner.borrow_mut();
        let settings = inner.router.settings_mut(profile);
        settings.map_or(Ok(()), |settings| settings.set(path, value)).map_err(misconfigured)
    }

    /// Adds a chain to a profile.
    #[wasm_bindgen(js_name = addPool)]
    #[must_use]
    pub fn add_pool(&self, place: usize, profile: &str, chain: &str) -> usize {
        self.inner.borrow_mut().router.add_pool(place, profile, chain)
    }

    /// Adds a provider with the default settings to a chain.
    #[wasm_bindgen(js_name = addEndpoint)]
    #[must_use]
    pub fn add_endpoint(&self, pool: usize, group: &str, id: &str) -> usize {
        let config = EndpointConfig { id: id.to_owned(), ..EndpointConfig::default() };
        self.inner.borrow_mut().router.add_endpoint(pool, group, config)
    }

    /// Sets a number of a provider by its path.
    ///
    /// # Errors
    /// `[min, max]` if it is out of its range.
    #[wasm_bindgen(js_name = setEndpoint)]
    pub fn set_endpoint(&self, endpoint: usize, path: &str, value: f64) -> Result<(), JsValue> {
        let inner = &mut *self.inner.borrow_mut();
        inner.router.set_endpoint(endpoint, path, value).map_err(misconfigured)
    }

    /// Adds a method that the provider does not serve; a trailing `*` stands for any rest.
    pub fn refuse(&self, endpoint: usize, method: &str) {
        self.inner.borrow_mut().router.add_refusal(endpoint, method);
    }

    /// Adds a rule for errors of the provider. `texts` has one per line; `error_class` is the place of the
    /// class in [`ErrorClass::ALL`].
    #[wasm_bindgen(js_name = addRule)]
    pub fn add_rule(
        &self,
        endpoint: usize,
        code: Option<f64>,
        status: Option<u16>,
        texts: &str,
        error_class: usize,
    ) {
        let Some(class) = ErrorClass::ALL.get(error_class).copied() else { return };
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates; codes are small")]
        let code = code.map(|code| code as i64);
        let message_contains = texts.lines().map(ToOwned::to_owned).collect();
        let rule = Rule { code, status, message_contains, class };
        self.inner.borrow_mut().router.add_rule(endpoint, rule);
    }

    /// The number of a method name.
    #[must_use]
    pub fn method(&self, name: &str) -> usize {
        self.inner.borrow_mut().router.method(name).index()
    }

    /// Opens a request; `4294967295` if the pool is not known or far too many are open.
    #[expect(clippy::too_many_arguments, reason = "an object would cost more than the call")]
    #[must_use]
    pub fn begin(
        &self,
        now: f64,
        pool: usize,
        method: usize,
        strategy: u32,
        only: u32,
        first: u32,
        deadline_ms: f64,
        block_span: f64,
    ) -> u32 {
        let inner = &mut *self.inner.borrow_mut();
        let now = inner.clock.at(now);
        inner.seed();
        let Some(method) = MethodId::from_index(method) else {
            return NONE;
        };
        let call = Call {
            pool,
            method,
            strategy: strategy_of(strategy),
            only: some(only),
            first: some(first),
            deadline: span(deadline_ms),
            block_span: whole(block_span),
        };
        inner.router.begin(now, call).unwrap_or(NONE)
    }

    /// The next step: 0 send, 1 wait, 2 pending, 3 and above an end. The `step…` getters have the details.
    pub fn next(&self, now: f64, handle: u32) -> u32 {
        let inner = &mut *self.inner.borrow_mut();
        let now = inner.clock.at(now);
        let step = inner.router.next(now, handle);
        inner.show(now, step)
    }

    /// A second attempt beside a slow one: 0 send, 2 nobody to ask.
    pub fn backup(&self, now: f64, handle: u32) -> u32 {
        let inner = &mut *self.inner.borrow_mut();
        let now = inner.clock.at(now);
        let step = inner.router.backup(now, handle).unwrap_or(Step::Pending);
        inner.show(now, step)
    }

    /// Joins another request's attempt at a provider; the attempt's number, or `4294967295`.
    pub fn ride(&self, now: f64, handle: u32, endpoint: usize) -> u32 {
        let inner = &mut *self.inner.borrow_mut();
        let now = inner.clock.at(now);
        inner.router.ride(now, handle, endpoint).map_or(NONE, small)
    }

    /// The attempt of the last step.
    #[wasm_bindgen(getter, js_name = stepAttempt)]
    #[must_use]
    pub fn step_attempt(&self) -> usize {
        self.inner.borrow().last.attempt
    }

    /// The provider of the last step.
    #[wasm_bindgen(getter, js_name = stepEndpoint)]
    #[must_use]
    pub fn step_endpoint(&self) -> usize {
        self.inner.borrow().last.endpoint
    }

    /// Time for the attempt of the last step.
    #[wasm_bindgen(getter, js_name = stepTimeoutMs)]
    #[must_use]
    pub fn step_timeout_ms(&self) -> f64 {
        self.inner.borrow().last.timeout_ms
    }

    /// When to ask for a backup; negative if never.
    #[wasm_bindgen(getter, js_name = stepBackupMs)]
    #[must_use]
    pub fn step_backup_ms(&self) -> f64 {
        self.inner.borrow().last.backup_ms
    }

    /// How long to wait, or when to try again; negative if not known.
    #[wasm_bindgen(getter, js_name = stepWaitMs)]
    #[must_use]
    pub fn step_wait_ms(&self) -> f64 {
        self.inner.borrow().last.wait_ms
    }

    /// Closes an attempt with a result.
    pub fn succeed(&self, now: f64, handle: u32, attempt: usize) {
        let inner = &mut *self.inner.borrow_mut();
        let now = inner.clock.at(now);
        inner.router.complete(now, handle, attempt, Outcome::Success);
    }

    /// Closes an attempt with an HTTP or JSON-RPC error; returns its class.
    #[expect(clippy::too_many_arguments, reason = "an object would cost more than the call")]
    #[expect(clippy::needless_pass_by_value, reason = "strings cross the boundary by value")]
    pub fn fail(
        &self,
        now: f64,
        handle: u32,
        attempt: usize,
        status: u16,
        code: Option<f64>,
        message: &str,
        data: &str,
        retry_after_header: Option<String>,
        sent_at: Option<String>,
        wall_now: f64,
    ) -> u32 {
        let inner = &mut *self.inner.borrow_mut();
        let now = inner.clock.at(now);
        let retry_after = retry_after_header
            .and_then(|header| retry_after(&header, sent_at.as_deref(), Some(wall_now)));
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates; codes are small")]
        let code = code.map(|code| code as i64);
        let failure = Failure { status, code, message, data };
        let outcome = Outcome::Error { failure, retry_after };
        let class = inner.router.complete(now, handle, attempt, outcome);
        class.map_or(NONE, |class| class as u32)
    }

    /// Closes an attempt without an answer; returns its class. 0 a useless body, 1 silence, 2 a connection
    /// that surely failed, 3 no network, 4 a timeout, 5 abandoned.
    pub fn lose(&self, now: f64, handle: u32, attempt: usize, how: u32) -> u32 {
        let inner = &mut *self.inner.borrow_mut();
        let now = inner.clock.at(now);
        let outcome = match how {
            0 => Outcome::BadBody,
            1 => Outcome::Network { opaque: true },
            2 => Outcome::Network { opaque: false },
            3 => Outcome::Offline,
            4 => Outcome::Timeout,
            _ => Outcome::Abandoned,
        };
        let class = inner.router.complete(now, handle, attempt, outcome);
        class.map_or(NONE, |class| class as u32)
    }

    /// The caller's signal: nobody is blamed.
    pub fn abort(&self, now: f64, handle: u32) {
        let inner = &mut *self.inner.borrow_mut();
        let now = inner.clock.at(now);
        inner.router.abort(now, handle);
    }

    /// Lets a request go.
    pub fn release(&self, handle: u32) {
        self.inner.borrow_mut().router.release(handle);
    }

    /// Requests under way.
    #[wasm_bindgen(getter, js_name = openRequests)]
    #[must_use]
    pub fn open_requests(&self) -> usize {
        self.inner.borrow().router.open_requests()
    }

    /// The strategy of a request: 0 `load_balanced`, 1 `fastest`, 2 `latency_weighted`, 3 `priority`.
    #[wasm_bindgen(js_name = strategyOf)]
    #[must_use]
    pub fn strategy_of(&self, handle: u32) -> u32 {
        self.inner.borrow().router.request(handle).map_or(NONE, |request| request.strategy() as u32)
    }

    /// The providers that may be asked, in the order of attempts as of now.
    #[must_use]
    pub fn ranking(&self, now: f64, handle: u32) -> Vec<u32> {
        let inner = &mut *self.inner.borrow_mut();
        let now = inner.clock.at(now);
        inner.router.ranking(now, handle).into_iter().map(small).collect()
    }

    /// The breaker's state of a provider: 0 closed, 1 half-open, 2 open.
    #[must_use]
    pub fn circuit(&self, now: f64, endpoint: usize) -> u32 {
        let inner = &mut *self.inner.borrow_mut();
        let now = inner.clock.at(now);
        let endpoint = inner.router.endpoint(endpoint);
        endpoint.map_or(NONE, |endpoint| endpoint.breaker.circuit_at(now) as u32)
    }

    /// A 128-bit random name in hexadecimal.
    #[wasm_bindgen(js_name = requestId)]
    #[must_use]
    pub fn request_id(&self) -> String {
        let inner = &mut *self.inner.borrow_mut();
        inner.seed();
        inner.router.request_id()
    }

    /// The highest block that a provider has shown.
    #[wasm_bindgen(js_name = noteHead)]
    pub fn note_head(&self, endpoint: usize, head: f64) {
        if let Some(head) = whole(head) {
            self.inner.borrow_mut().router.note_head(endpoint, head);
        }
    }

    /// Hash of a raw signed transaction; `undefined` if it is not one.
    #[wasm_bindgen(js_name = transactionHash)]
    #[must_use]
    pub fn transaction_hash(raw: &str) -> Option<String> {
        let hash = raw_tx::transaction_hash(raw)?;
        let digits = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let digits = digits.filter_map(|digit| char::from_digit(u32::from(digit), 16));
        Some("0x".chars().chain(digits).collect())
    }
}

impl Inner {
    fn seed(&mut self) {
        if !self.is_seeded {
            // Without entropy the engine still routes; it only starts like every other one.
            self.router.reseed(getrandom::u64().unwrap_or(0));
            self.is_seeded = true;
        }
    }

    /// Keeps the details of a step and returns its number.
    fn show(&mut self, now: Timestamp, step: Step) -> u32 {
        let until = |at: Option<Timestamp>| at.map_or(-1.0, |at| millis(at.since(now)));
        let mut last = LastStep { backup_ms: -1.0, wait_ms: -1.0, ..LastStep::default() };
        let number = match step {
            Step::Send { attempt, endpoint, timeout, backup_after } => {
                last.attempt = attempt;
                last.endpoint = endpoint;
                last.timeout_ms = millis(timeout);
                last.backup_ms = backup_after.map_or(-1.0, millis);
                0
            }
            Step::Wait(at) => {
                last.wait_ms = until(Some(at));
                1
            }
            Step::Pending => 2,
            Step::End(conclusion) => match conclusion {
                Conclusion::Answer(attempt) => last.at(attempt, 3),
                Conclusion::Error(attempt) => last.at(attempt, 4),
                Conclusion::AlreadyKnown(attempt) => last.at(attempt, 5),
                Conclusion::Indeterminate(attempt) => last.at(attempt, 6),
                Conclusion::Exhausted { retry_at } => last.retry(until(retry_at), 7),
                Conclusion::Deadline { retry_at } => last.retry(until(retry_at), 8),
                Conclusion::RateLimited { retry_at } => last.retry(until(retry_at), 9),
                Conclusion::Aborted => 10,
                Conclusion::Unconfirmed(attempt) => last.at(attempt, 11),
            },
        };
        self.last = last;
        number
    }
}

impl LastStep {
    fn at(&mut self, attempt: usize, number: u32) -> u32 {
        self.attempt = attempt;
        number
    }

    fn retry(&mut self, wait_ms: f64, number: u32) -> u32 {
        self.wait_ms = wait_ms;
        number
    }
}

/// A refused number as `[min, max]`, which the shell turns into a sentence.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn misconfigured(error: ConfigError) -> JsValue {
    js_sys::Float64Array::from([error.min, error.max].as_slice()).into()
}

pub(super) fn strategy_of(number: u32) -> Option<Strategy> {
    match number {
        0 => Some(Strategy::LoadBalanced),
        1 => Some(Strategy::Fastest),
        2 => Some(Strategy::LatencyWeighted),
        3 => Some(Strategy::Priority),
        _ => None,
    }
}

fn some(number: u32) -> Option<usize> {
    (number != NONE).then_some(number as usize)
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(NONE)
}

pub(super) fn millis(span: Duration) -> f64 {
    micros(span) as f64 / 1000.0
}

pub(super) fn span(ms: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(ms / 1000.0).ok().filter(|span| !span.is_zero())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn whole(number: f64) -> Option<u64> {
    (number >= 0.0).then_some(number as u64)
}
