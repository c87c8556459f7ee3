//! C3 (Suresh et al., NSDI 2015) without feedback from the servers, so that service time and response time
//! are one: the score is the mean latency times the cube of the estimated queue. As Elasticsearch does, the
//! numbers of those not chosen are pulled towards the chosen one's, so that they are tried again.

use waypost::engine::rng::Rng;

use super::{Choice, Policy, View};
use crate::world::{Micros, What};

const EWMA_WEIGHT: f64 = 0.3;
const PULL: f64 = 0.02;

#[derive(Clone, Default)]
struct Record {
    mean: f64,
    outstanding: f64,
}

pub(crate) struct C3 {
    records: Vec<Record>,
    clients: f64,
}

impl C3 {
    pub(crate) fn new(count: usize, clients: usize) -> Self {
        Self { records: vec![Record::default(); count], clients: clients as f64 }
    }

    fn score(&self, provider: usize) -> f64 {
        let record = &self.records[provider];
        let queue = 1.0 + record.outstanding * self.clients;
        record.mean * queue * queue * queue
    }
}

impl Policy for C3 {
    fn choose(&mut self, view: &View<'_>, rng: &mut Rng) -> Choice {
        let start = super::smallest(view.among, |_| rng.unit());
        let score = |it: usize| self.score(it) + if it == start { -1e-9 } else { 0.0 };
        let chosen = super::smallest(view.among, score);
        let best = self.records[chosen].mean;
        for provider in view.among.iter().filter(|it| **it != chosen) {
            let record = &mut self.records[*provider];
            record.mean += (best - record.mean) * PULL;
        }
        Choice::Send(chosen)
    }

    fn sent(&mut self, _now: Micros, provider: usize) {
        self.records[provider].outstanding += 1.0;
    }

    fn ended(&mut self, _now: Micros, provider: usize, took: Micros, what: Option<What>) {
        let record = &mut self.records[provider];
        record.outstanding -= 1.0;
        if what.is_some_and(|what| !what.is_limit()) {
            let taken = took as f64;
            let mean = if record.mean == 0.0 { taken } else { record.mean };
            record.mean = mean + (taken - mean) * EWMA_WEIGHT;
        }
    }
}
