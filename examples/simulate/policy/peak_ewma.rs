//! Peak EWMA with two choices, as in Finagle: the mean jumps to peaks and decays in ten seconds; the load is
//! the mean times the requests under way; of two drawn at random the less loaded is asked.

use waypost::engine::rng::Rng;

use super::{Choice, Policy, View};
use crate::world::{Micros, What, seconds};

const DECAY_S: f64 = 10.0;

#[derive(Clone, Default)]
struct Record {
    cost: f64,
    at: Micros,
    pending: f64,
}

impl Record {
    fn observe(&mut self, now: Micros, took: f64) {
        let weight = libm::exp(-seconds(now.saturating_sub(self.at)) / DECAY_S);
        self.at = now;
        self.cost =
            if took > self.cost { took } else { self.cost * weight + took * (1.0 - weight) };
    }
}

pub(crate) struct PeakEwma(Vec<Record>);

impl PeakEwma {
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![Record::default(); count])
    }

    fn load(&mut self, now: Micros, provider: usize) -> f64 {
        let record = &mut self.0[provider];
        if record.pending == 0.0 {
            record.observe(now, 0.0);
        }
        record.cost * (record.pending + 1.0)
    }
}

impl Policy for PeakEwma {
    fn choose(&mut self, view: &View<'_>, rng: &mut Rng) -> Choice {
        let first = super::smallest(view.among, |_| rng.unit());
        let others: Vec<usize> = view.among.iter().copied().filter(|it| *it != first).collect();
        if others.is_empty() {
            return Choice::Send(first);
        }
        let second = super::smallest(&others, |_| rng.unit());
        let is_less = self.load(view.now, second) < self.load(view.now, first);
        Choice::Send(if is_less { second } else { first })
    }

    /// Who waits already deserves the best of all.
    fn choose_backup(&mut self, view: &View<'_>, _rng: &mut Rng) -> Choice {
        Choice::Send(super::smallest(view.among, |provider| self.load(view.now, provider)))
    }

    fn sent(&mut self, _now: Micros, provider: usize) {
        self.0[provider].pending += 1.0;
    }

    fn ended(&mut self, now: Micros, provider: usize, took: Micros, what: Option<What>) {
        let record = &mut self.0[provider];
        record.pending -= 1.0;
        // One that was abandoned took at least so long.
        if what.is_some() || took as f64 > record.cost {
            record.observe(now, took as f64);
        }
    }
}
