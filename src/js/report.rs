//! What the engine knows, as numbers: each row of a table is a run of `f64`, and NaN is nothing. The words
//! are in `pkg/src/report.ts`, in the same order.
//!
//! Objects would have to be built field by field across the boundary, and the code for that weighs three
//! times as much.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use wasm_bindgen::prelude::*;

use super::engine::{Engine, strategy_of};
use crate::engine::method::MethodId;
use crate::engine::router::News;
use crate::engine::state::{BreakerState, CellState, EndpointState, Scope};
use crate::engine::time::{from_millis, millis};

#[wasm_bindgen]
impl Engine {
    /// Where each provider of a chain ranks for a method, in the expected order.
    #[must_use]
    pub fn explain(&self, now: f64, pool: usize, method: usize, strategy: u32) -> Vec<f64> {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        let Some(method) = MethodId::from_index(method) else { return Vec::new() };
        let rows = this.router.explain(now, pool, method, strategy_of(strategy));
        rows.iter()
            .flat_map(|row| {
                [
                    row.endpoint as f64,
                    row.rank.map_or(f64::NAN, f64::from),
                    row.tier.map_or(f64::NAN, f64::from),
                    f64::from(row.reason as u8),
                    f64::from(row.circuit as u8),
                    row.reopens_in_ms,
                    row.limited_for_ms,
                    row.resting_for_ms,
                    row.latency_ms.unwrap_or(f64::NAN),
                    row.success_rate,
                    f64::from(row.calls),
                    f64::from(u8::from(row.qualified)),
                    row.priority,
                    row.share,
                ]
            })
            .collect()
    }

    /// The state of one provider, then one run per method.
    #[must_use]
    pub fn status(&self, now: f64, endpoint: usize) -> Vec<f64> {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        let Some(status) = this.router.status(now, endpoint) else { return Vec::new() };
        let mut numbers = vec![
            f64::from(status.circuit as u8),
            status.reopens_in_ms,
            f64::from(status.consecutive_failures),
            status.limited_for_ms,
            status.resting_for_ms,
            f64::from(status.in_flight),
            f64::from(status.total),
            status.latency_ms.unwrap_or(f64::NAN),
            status.success_rate,
            f64::from(status.calls),
            status.head.unwrap_or(f64::NAN),
        ];
        for method in &status.methods {
            numbers.extend([
                method.method.index() as f64,
                method.latency_ms.unwrap_or(f64::NAN),
                method.p95_ms.unwrap_or(f64::NAN),
                method.success_rate,
                f64::from(method.calls),
                f64::from(method.total),
                method.last_used_ms_ago.unwrap_or(f64::NAN),
            ]);
        }
        numbers
    }

    /// The name of a method's number.
    #[wasm_bindgen(js_name = methodName)]
    #[must_use]
    pub fn method_name(&self, method: usize) -> String {
        let method = MethodId::from_index(method);
        let inner = self.inner();
        method.map_or("", |method| inner.router.method_name(method)).to_owned()
    }

    /// What was learnt of one provider: breaker and limit first, then per method its number (-1 for all
    /// methods together), its mean, the count of its samples, and the samples. What others told is left out
    /// if it `is_own`.
    #[wasm_bindgen(js_name = exportState)]
    #[must_use]
    pub fn export_state(&self, now: f64, endpoint: usize, is_own: bool) -> Vec<f64> {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        let scope = if is_own { Scope::Own } else { Scope::All };
        let Some(state) = this.router.export(now, endpoint, scope) else { return Vec::new() };
        let breaker = &state.breaker;
        let opened = breaker.opened.map(|(ago, span)| (millis(ago), millis(span)));
        let mut numbers = vec![
            f64::from(breaker.consecutive),
            f64::from(breaker.reopens),
            f64::from(breaker.successes),
            millis(breaker.changed_ago),
            opened.map_or(f64::NAN, |(ago, _)| ago),
            opened.map_or(f64::NAN, |(_, span)| span),
            millis(state.limited_for),
        ];
        push_cell(&mut numbers, -1.0, &state.all);
        for (method, cell) in &state.methods {
            push_cell(&mut numbers, method.index() as f64, cell);
        }
        numbers
    }

    /// Takes over numbers that [`Engine::export_state`] gave, `elapsed_ms` ago. Whatever they are, nothing
    /// breaks by them. If it `is_shared`, more of the kind follows while requests are under way.
    #[wasm_bindgen(js_name = importState)]
    pub fn import_state(
        &self,
        now: f64,
        endpoint: usize,
        numbers: &[f64],
        elapsed_ms: f64,
        is_shared: bool,
    ) {
        let this = &mut *self.inner();
        let now = this.clock.at(now);
        let Some(state) = read_state(numbers) else { return };
        let elapsed = from_millis(elapsed_ms);
        if is_shared {
            this.router.absorb(now, endpoint, &state, elapsed);
        } else {
            this.router.import(now, endpoint, &state, elapsed);
        }
    }

    /// The next news as `[kind, endpoint, circuit or milliseconds]`; empty if there is none. Kind 0 is a
    /// breaker, 1 a rate limit.
    #[wasm_bindgen(js_name = pollNews)]
    #[must_use]
    pub fn poll_news(&self) -> Vec<f64> {
        match self.inner().router.poll_news() {
            None => Vec::new(),
            Some(News::Circuit { endpoint, circuit }) => {
                vec![0.0, endpoint as f64, f64::from(circuit as u8)]
            }
            Some(News::Limited { endpoint, span }) => vec![1.0, endpoint as f64, millis(span)],
        }
    }
}

fn push_cell(numbers: &mut Vec<f64>, method: f64, cell: &CellState) {
    let latency = cell.latency.map_or(f64::NAN, millis);
    numbers.extend([method, latency, cell.samples.len() as f64]);
    for (age, taken) in &cell.samples {
        numbers.extend([millis(*age), taken.map_or(f64::NAN, millis)]);
    }
}

fn read_state(numbers: &[f64]) -> Option<EndpointState> {
    let (head, mut rest) = numbers.split_first_chunk()?;
    let [consecutive, reopens, successes, changed, opened, open_for, limited] = *head;
    let mut state = EndpointState {
        breaker: BreakerState {
            consecutive: count(consecutive),
            reopens: count(reopens),
            successes: count(successes),
            changed_ago: duration(changed)?,
            opened: duration(opened).zip(duration(open_for)),
        },
        limited_for: duration(limited)?,
        ..EndpointState::default()
    };
    while let Some(([method, latency, length], after)) = rest.split_first_chunk() {
        let samples = after.get(..count(*length) as usize * 2)?;
        rest = after.get(samples.len()..)?;
        let pairs = samples.as_chunks::<2>().0.iter();
        let cell = CellState {
            latency: duration(*latency),
            samples: pairs
                .filter_map(|[age, taken]| Some((duration(*age)?, duration(*taken))))
                .collect(),
        };
        match MethodId::from_index(count(*method) as usize) {
            Some(id) if *method >= 0.0 => state.methods.push((id, cell)),
            _ => state.all = cell,
        }
    }
    Some(state)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn count(number: f64) -> u32 {
    number as u32
}

fn duration(millis: f64) -> Option<Duration> {
    (millis >= 0.0).then(|| from_millis(millis))
}
