//! In which order a request's endpoints are asked, before health is looked at.

use alloc::vec::Vec;

use super::method::{MethodId, Safety};
use super::request::Call;
use super::rng::Rng;
use super::router::Router;
use super::strategy::{Candidate, Rank, Strategy, explore};
use super::time::Timestamp;

impl Router {
    /// What strategies see of each of these endpoints.
    pub(super) fn candidates(
        &self,
        now: Timestamp,
        places: &[usize],
        method: MethodId,
    ) -> Vec<Candidate> {
        let endpoints = places.iter().filter_map(|place| self.endpoints.get(*place));
        endpoints
            .map(|endpoint| Candidate {
                priority: endpoint.config.priority,
                reading: endpoint.metrics.read_at(now, method),
            })
            .collect()
    }

    pub(super) fn rank(&mut self, now: Timestamp, call: &Call) -> Vec<Rank> {
        let Some(pool) = self.pools.get(call.pool) else {
            return Vec::new();
        };
        let Some(settings) = self.settings.get(pool.profile_place) else {
            return Vec::new();
        };
        let safety = self.methods.get(call.method).map(|method| method.safety);
        let strategy = call.strategy.unwrap_or(settings.strategy);
        // `adaptive` has its probes for that.
        let may_explore =
            safety == Some(Safety::Safe) && call.first.is_none() && strategy != Strategy::Adaptive;
        let by = (pool.profile_place, strategy, call.method);
        let mut rng = self.ranking.clone();
        let mut ranks = self.rank_places(now, &pool.endpoints, by, may_explore, &mut rng);
        let first = pool.endpoints.iter().position(|place| Some(*place) == call.first);
        self.ranking = rng;
        if let Some(rank) = first.and_then(|first| ranks.get_mut(first)) {
            *rank = Rank { group: 0, score: f64::NEG_INFINITY };
        }
        ranks
    }

    /// Ranks endpoints by a strategy of a profile for a method.
    pub(super) fn rank_places(
        &self,
        now: Timestamp,
        places: &[usize],
        (profile, strategy, method): (usize, Strategy, MethodId),
        may_explore: bool,
        rng: &mut Rng,
    ) -> Vec<Rank> {
        if strategy == Strategy::Adaptive {
            let mut ranks = self.rank_adaptive(now, places, method, rng);
            if may_explore {
                explore(&mut ranks, rng);
            }
            return ranks;
        }
        let candidates = self.candidates(now, places, method);
        let Some(settings) = self.settings.get(profile) else { return Vec::new() };
        strategy.rank(settings, &candidates, may_explore, rng)
    }
}
