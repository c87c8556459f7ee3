//! The exported class.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{RefCell, RefMut};
use core::time::Duration;

use wasm_bindgen::prelude::*;

use crate::engine::classify::Failure;
use crate::engine::classify::retry_after::retry_after;
use crate::engine::method::MethodId;
use crate::engine::outcome::Outcome;
use crate::engine::raw_tx;
use crate::engine::request::{Attempt, Call, Conclusion, Request, Step};
use crate::engine::router::Router;
use crate::engine::strategy::Strategy;
use crate::engine::time::{HostClock, Timestamp, from_millis, millis};

/// "None" among the small numbers that cross the boundary.
pub(super) const NONE: u32 = u32::MAX;

/// The routing engine: opens requests, says where to send them, learns from what came back.
///
/// This is the inner class that the package's shell drives; its numbers are explained in
/// `pkg/src/engine.ts`. Use `createRpcClient` instead.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Engine {
    inner: RefCell<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) router: Router,
    pub(super) clock: HostClock,
    /// A given seed needs no entropy, and none may be asked for before the first request: Workers refuse
    /// it outside of a handler.
    is_seeded: bool,
    last: [f64; 5],
}

/// Details of the last step, read one by one: an object per step would cost more than all of them. Times are
/// in milliseconds, and negative where there is none.
#[derive(Clone, Copy, Debug)]
enum Detail {
    Attempt,
    Endpoint,
    /// Time for the attempt.
    Timeout,
    /// When to ask for a backup.
    Backup,
    /// How long to wait, or when to try again.
    Wait,
}

#[wasm_bindgen]
impl Engine {
    /// An engine without providers. Without a seed it takes one from the platform at the first request.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(seed: Option<f64>) -> Self {
        let inner = Inner {
            router: Router::new(seed.map_or(0, f64::to_bits)),
            clock: HostClock::default(),
            is_seeded: seed.is_some(),
            last: [-1.0; 5],
        };
        Self { inner: RefCell::new(inner) }
    }

    /// The number of a method name.
    #[must_use]
    pub fn method(&self, name: &str) -> usize {
        let this = &mut *self.inner();
        this.router.method(name).index()
    }

    /// Whether a method may be repeated.
    #[wasm_bindgen(js_name = isSafe)]
    #[must_use]
    pub fn is_safe(&self, method: usize) -> bool {
        let method = MethodId::from_index(method);
        method.is_some_and(|method| self.inner().router.is_safe(method))
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
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        this.seed();
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
        this.router.begin(now, call).unwrap_or(NONE)
    }

    /// The next step: 0 send, 1 wait, 2 pending, 3 and above an end. [`Engine::detail`] has the details.
    pub fn next(&self, now: f64, handle: u32) -> u32 {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        let step = this.router.next(now, handle);
        this.show(now, step)
    }

    /// A second attempt beside a slow one: 0 send, 2 nobody to ask.
    pub fn backup(&self, now: f64, handle: u32) -> u32 {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        let step = this.router.backup(now, handle).unwrap_or(Step::Pending);
        this.show(now, step)
    }

    /// Joins another request's attempt at a provider; the attempt's number, or `4294967295`.
    pub fn ride(&self, now: f64, handle: u32, endpoint: usize) -> u32 {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        this.router.ride(now, handle, endpoint).map_or(NONE, small)
    }

    /// A detail of the last step; see [`Detail`].
    #[must_use]
    pub fn detail(&self, which: usize) -> f64 {
        self.inner().last.get(which).copied().unwrap_or(-1.0)
    }

    /// Closes an attempt: 0 with a result, 1 with the answer that there is no such content, 2 with a result that
    /// may mean no more than that the provider is behind, as `null` for a receipt: it is the answer only if no
    /// other attempt under way has a better one.
    pub fn succeed(&self, now: f64, handle: u32, attempt: usize, how: u32) {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        let outcome = match how {
            0 => Outcome::Success,
            1 => Outcome::Declined,
            _ => Outcome::Doubtful,
        };
        this.router.complete(now, handle, attempt, outcome);
    }

    /// Closes an attempt with an HTTP or JSON-RPC error; returns its class.
    #[expect(clippy::too_many_arguments, reason = "an object would cost more than the call")]
    pub fn fail(
        &self,
        now: f64,
        handle: u32,
        attempt: usize,
        status: u16,
        code: f64,
        message: &str,
        data: &str,
        retry_after_header: &str,
        sent_at: &str,
        wall_now: f64,
    ) -> u32 {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        let retry_after = retry_after(retry_after_header, Some(sent_at), Some(wall_now));
        let failure = Failure { status, code: code_of(code), message, data };
        let outcome = Outcome::Error { failure, retry_after };
        let class = this.router.complete(now, handle, attempt, outcome);
        class.map_or(NONE, |class| class as u32)
    }

    /// Closes an attempt without an answer; returns its class. 0 a useless body, 1 silence, 2 a connection
    /// that surely failed, 3 no network, 4 a timeout, 5 abandoned.
    pub fn lose(&self, now: f64, handle: u32, attempt: usize, how: u32) -> u32 {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        let outcome = match how {
            0 => Outcome::BadBody,
            1 => Outcome::Network { opaque: true },
            2 => Outcome::Network { opaque: false },
            3 => Outcome::Offline,
            4 => Outcome::Timeout,
            _ => Outcome::Abandoned,
        };
        let class = this.router.complete(now, handle, attempt, outcome);
        class.map_or(NONE, |class| class as u32)
    }

    /// The caller's signal: nobody is blamed.
    pub fn abort(&self, now: f64, handle: u32) {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        this.router.abort(now, handle);
    }

    /// Whether an attempt goes on when its request has ended, to be learnt from: the trial of a recovered
    /// endpoint, or a probe.
    #[wasm_bindgen(js_name = isTrial)]
    #[must_use]
    pub fn is_trial(&self, handle: u32, attempt: usize) -> bool {
        let this = self.inner();
        let attempts = this.router.request(handle).map(Request::attempts);
        attempts.and_then(|attempts| attempts.get(attempt)).is_some_and(Attempt::runs_on)
    }

    /// Lets a request go.
    pub fn release(&self, handle: u32) {
        let this = &mut *self.inner();
        this.router.release(handle);
    }

    /// Requests under way.
    #[wasm_bindgen(getter, js_name = openRequests)]
    #[must_use]
    pub fn open_requests(&self) -> usize {
        self.inner().router.open_requests()
    }

    /// The strategy of a request: 0 `load_balanced`, 1 `fastest`, 2 `latency_weighted`, 3 `priority`,
    /// 4 `adaptive`.
    #[wasm_bindgen(js_name = strategyOf)]
    #[must_use]
    pub fn strategy_of(&self, handle: u32) -> u32 {
        self.inner().router.request(handle).map_or(NONE, |request| request.strategy() as u32)
    }

    /// A 128-bit random name in hexadecimal.
    #[wasm_bindgen(js_name = requestId)]
    #[must_use]
    pub fn request_id(&self) -> String {
        let this = &mut *self.inner();
        this.seed();
        this.router.request_id()
    }

    /// The highest block that a provider has shown.
    #[wasm_bindgen(js_name = noteHead)]
    pub fn note_head(&self, endpoint: usize, head: f64) {
        let this = &mut *self.inner();
        if let Some(head) = whole(head) {
            this.router.note_head(endpoint, head);
        }
    }

    /// Hash of a raw signed transaction; empty if it is not one.
    #[wasm_bindgen(js_name = transactionHash)]
    #[must_use]
    pub fn transaction_hash(raw: &str) -> Vec<u8> {
        raw_tx::transaction_hash(raw).map(Vec::from).unwrap_or_default()
    }
}

#[cfg(feature = "forced-panic")]
#[wasm_bindgen]
impl Engine {
    /// Panics while the engine is borrowed, below so many frames of 64 KB.
    #[wasm_bindgen(js_name = forcePanic)]
    pub fn force_panic(&self, frames: u32) {
        let this = self.inner();
        sink(frames, &this.last);
    }
}

#[cfg(feature = "forced-panic")]
#[expect(clippy::large_stack_arrays, clippy::panic, reason = "that is what it is for")]
fn sink(frames: u32, last: &[f64]) -> f64 {
    let frame = core::hint::black_box([0.5; 8192]);
    if frames == 0 {
        panic!("forced");
    }
    frame.iter().sum::<f64>() + sink(frames - 1, last)
}

impl Engine {
    /// One place that borrows, instead of one per export: the check weighs more than the call.
    #[inline(never)]
    pub(super) fn inner(&self) -> RefMut<'_, Inner> {
        // The library's own panic would bring along what prints it.
        self.inner
            .try_borrow_mut()
            .unwrap_or_else(|_| wasm_bindgen::throw_str("recursive use of the engine"))
    }
}

impl Inner {
    pub(super) fn seed(&mut self) {
        if !self.is_seeded {
            // Without entropy the engine still routes; it only starts like every other one.
            self.router.reseed(getrandom::u64().unwrap_or(0));
            self.is_seeded = true;
        }
    }

    /// Keeps the details of a step and returns its number.
    fn show(&mut self, now: Timestamp, step: Step) -> u32 {
        self.last = [-1.0; 5];
        match step {
            Step::Send { attempt, endpoint, timeout, backup_after } => {
                self.keep(Detail::Attempt, attempt as f64);
                self.keep(Detail::Endpoint, endpoint as f64);
                self.keep(Detail::Timeout, millis(timeout));
                self.keep(Detail::Backup, backup_after.map_or(-1.0, millis));
                0
            }
            Step::Wait(at) => self.end_later(now, Some(at), 1),
            Step::Pending => 2,
            Step::End(conclusion) => match conclusion {
                Conclusion::Answer(attempt) => self.end_with(attempt, 3),
                Conclusion::Error(attempt) => self.end_with(attempt, 4),
                Conclusion::AlreadyKnown(attempt) => self.end_with(attempt, 5),
                Conclusion::Indeterminate(attempt) => self.end_with(attempt, 6),
                Conclusion::Exhausted { retry_at } => self.end_later(now, retry_at, 7),
                Conclusion::Deadline { retry_at } => self.end_later(now, retry_at, 8),
                Conclusion::RateLimited { retry_at } => self.end_later(now, retry_at, 9),
                Conclusion::Aborted => 10,
                Conclusion::Unconfirmed(attempt) => self.end_with(attempt, 11),
            },
        }
    }

    fn keep(&mut self, detail: Detail, value: f64) {
        if let Some(place) = self.last.get_mut(detail as usize) {
            *place = value;
        }
    }

    fn end_with(&mut self, attempt: usize, number: u32) -> u32 {
        self.keep(Detail::Attempt, attempt as f64);
        number
    }

    fn end_later(&mut self, now: Timestamp, at: Option<Timestamp>, number: u32) -> u32 {
        self.keep(Detail::Wait, at.map_or(-1.0, |at| millis(at.since(now))));
        number
    }
}

/// A JSON-RPC code; NaN is none.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates; codes are small")]
pub(super) fn code_of(number: f64) -> Option<i64> {
    (!number.is_nan()).then_some(number as i64)
}

pub(super) fn strategy_of(number: u32) -> Option<Strategy> {
    match number {
        0 => Some(Strategy::LoadBalanced),
        1 => Some(Strategy::Fastest),
        2 => Some(Strategy::LatencyWeighted),
        3 => Some(Strategy::Priority),
        4 => Some(Strategy::Adaptive),
        _ => None,
    }
}

fn some(number: u32) -> Option<usize> {
    (number != NONE).then_some(number as usize)
}

pub(super) fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(NONE)
}

pub(super) fn span(ms: f64) -> Option<Duration> {
    Some(from_millis(ms)).filter(|span| !span.is_zero())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn whole(number: f64) -> Option<u64> {
    (number >= 0.0).then_some(number as u64)
}
