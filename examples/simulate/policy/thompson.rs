//! Discounted Thompson sampling over the logarithm of the latency: each provider's mean is drawn from what is
//! believed of it, and the smallest draw is asked. Failures count with the time they took, at least a second.

use waypost::engine::math::ln;
use waypost::engine::rng::Rng;

use super::{Choice, Policy, View};
use crate::world::{Micros, What, normal};

/// Each new observation makes the earlier ones count this much.
const DISCOUNT: f64 = 0.95;
const FAILURE: f64 = 1e6;

#[derive(Clone, Default)]
struct Record {
    count: f64,
    sum: f64,
    squares: f64,
}

pub(crate) struct Thompson(Vec<Record>);

impl Thompson {
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![Record::default(); count])
    }
}

impl Policy for Thompson {
    fn choose(&mut self, view: &View<'_>, rng: &mut Rng) -> Choice {
        // What was not asked lately becomes uncertain.
        for record in &mut self.0 {
            record.count *= 0.9995;
            record.sum *= 0.9995;
            record.squares *= 0.9995;
        }
        let draw = |provider: usize| {
            let record = &self.0[provider];
            if record.count < 0.5 {
                return rng.unit();
            }
            let mean = record.sum / record.count;
            let variance = (record.squares / record.count - mean * mean).max(0.05);
            mean + normal(rng) * (variance / record.count).sqrt()
        };
        Choice::Send(super::smallest(view.among, draw))
    }

    fn ended(&mut self, _now: Micros, provider: usize, took: Micros, what: Option<What>) {
        let Some(what) = what.filter(|what| !what.is_limit()) else { return };
        let taken = if what == What::Answer { took as f64 } else { (took as f64).max(FAILURE) };
        let sample = ln(taken.max(1.0));
        let record = &mut self.0[provider];
        record.count = record.count * DISCOUNT + 1.0;
        record.sum = record.sum * DISCOUNT + sample;
        record.squares = record.squares * DISCOUNT + sample * sample;
    }
}
