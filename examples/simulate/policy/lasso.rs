//! Lasso's documented formula, as written (in milliseconds, sorted by random times weight), and the same with
//! latency in units of the quickest and a weighted draw.

use waypost::engine::math::{ln, log10};
use waypost::engine::rng::Rng;

use super::{Choice, Policy, View};
use crate::world::{Micros, What, millis};

const BETA: u32 = 3;
const MS_FLOOR: f64 = 30.0;
const EXPLORE_FLOOR: f64 = 0.05;
const MIN_CALLS: f64 = 3.0;
const MIN_SUCCESS_RATE: f64 = 0.85;
/// Weight of a new success in the mean.
const EWMA_WEIGHT: f64 = 0.125;

#[derive(Clone, Default)]
struct Record {
    mean_ms: Option<f64>,
    calls: f64,
    successes: f64,
}

impl Record {
    fn note(&mut self, took: Micros, what: Option<What>) {
        let Some(what) = what.filter(|what| !what.is_limit()) else { return };
        self.calls += 1.0;
        if what == What::Answer {
            self.successes += 1.0;
            let taken = millis(took);
            let mean = self.mean_ms.unwrap_or(taken);
            self.mean_ms = Some(mean + (taken - mean) * EWMA_WEIGHT);
        }
        // About the last forty.
        if self.calls > 40.0 {
            self.calls *= 0.975;
            self.successes *= 0.975;
        }
    }

    fn weight(&self, unit_ms: f64) -> f64 {
        let Some(mean) = self.mean_ms else { return EXPLORE_FLOOR };
        let rate = self.successes / self.calls;
        if rate < MIN_SUCCESS_RATE {
            return EXPLORE_FLOOR;
        }
        let mut speed = 1.0;
        for _ in 0..BETA {
            speed *= unit_ms / mean.max(MS_FLOOR);
        }
        let confidence = (0.6 * log10(self.calls.max(1.0)) / 3.0 + 0.4 * rate).clamp(0.0, 1.0);
        let scale = (self.calls / MIN_CALLS).min(1.0);
        (speed * rate * confidence * scale).max(EXPLORE_FLOOR)
    }
}

pub(crate) struct Formula(Vec<Record>);

impl Formula {
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![Record::default(); count])
    }
}

impl Policy for Formula {
    fn choose(&mut self, view: &View<'_>, rng: &mut Rng) -> Choice {
        let score = |provider: usize| -(rng.unit() * self.0[provider].weight(1.0));
        Choice::Send(super::smallest(view.among, score))
    }

    fn ended(&mut self, _now: Micros, provider: usize, took: Micros, what: Option<What>) {
        self.0[provider].note(took, what);
    }
}

pub(crate) struct Relative(Vec<Record>);

impl Relative {
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![Record::default(); count])
    }
}

impl Policy for Relative {
    fn choose(&mut self, view: &View<'_>, rng: &mut Rng) -> Choice {
        let means = self.0.iter().filter_map(|record| record.mean_ms);
        let best = means.fold(f64::INFINITY, f64::min).max(MS_FLOOR);
        let score = |provider: usize| -ln(rng.unit()) / self.0[provider].weight(best);
        Choice::Send(super::smallest(view.among, score))
    }

    fn ended(&mut self, _now: Micros, provider: usize, took: Micros, what: Option<What>) {
        self.0[provider].note(took, what);
    }
}
