//! viem's `rank`: a ping to everybody each four seconds, a window of ten, and a score of 0.3 for speed and 0.7
//! for stability. It learns from pings alone, and a failure enters the mean with the little time it took.

use std::collections::VecDeque;

use waypost::engine::rng::Rng;

use super::{Choice, Policy, View};
use crate::world::Micros;

const INTERVAL: Micros = 4_000_000;
const WINDOW: usize = 10;
const LATENCY_WEIGHT: f64 = 0.3;
const STABILITY_WEIGHT: f64 = 0.7;

pub(crate) struct ViemRank(Vec<VecDeque<(f64, bool)>>);

impl ViemRank {
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![VecDeque::new(); count])
    }

    fn score(&self, provider: usize, longest: f64) -> f64 {
        let samples = &self.0[provider];
        if samples.is_empty() {
            return 0.0;
        }
        let count = samples.len() as f64;
        let stability = samples.iter().filter(|sample| sample.1).count() as f64 / count;
        if stability == 0.0 {
            return 0.0;
        }
        let mean = samples.iter().map(|sample| sample.0).sum::<f64>() / count;
        LATENCY_WEIGHT * (1.0 - mean / longest) + STABILITY_WEIGHT * stability
    }
}

impl Policy for ViemRank {
    fn choose(&mut self, view: &View<'_>, _rng: &mut Rng) -> Choice {
        let longest = self.0.iter().flatten().map(|sample| sample.0).fold(1.0, f64::max);
        Choice::Send(super::smallest(view.among, |provider| -self.score(provider, longest)))
    }

    fn ping_interval(&self) -> Option<Micros> {
        Some(INTERVAL)
    }

    fn pinged(&mut self, provider: usize, latency: Micros, is_answered: bool) {
        let samples = &mut self.0[provider];
        samples.push_back((latency as f64, is_answered));
        if samples.len() > WINDOW {
            samples.pop_front();
        }
    }
}
