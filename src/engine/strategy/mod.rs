//! How endpoints are ranked.
//!
//! A strategy gives each candidate a [`Rank`]; lower goes first. It sees a read-only [`Candidate`] and
//! knows nothing of breakers or limits: the router puts the health tier in front of the rank, so the order
//! of attempts is (tier, rank). No list is sorted: the router looks for the smallest, once per attempt.

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::config::Settings;
use super::metrics::Reading;
use super::rng::Rng;

pub mod adaptive;
pub mod fastest;
pub mod latency_weighted;

/// The strategies that the engine knows by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Uniform shuffle: even load, no opinion.
    #[default]
    LoadBalanced,
    /// Ascending measured latency of the method.
    Fastest,
    /// Weighted random permutation: quick ones more often, none never.
    LatencyWeighted,
    /// Ascending configured priority.
    Priority,
    /// Smallest expected time; ranked by [`adaptive::rank`], which sees more than a [`Candidate`].
    Adaptive,
}

/// What a strategy sees of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The configured priority.
    pub priority: f64,
    /// What was measured, for the method at hand.
    pub reading: Reading,
}

/// Place of a candidate: group first, then score, both ascending; ties go to the earlier endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rank {
    /// 0 an unproven endpoint whose turn it is, 1 the qualified, 2 the rest.
    pub group: u8,
    /// Order within the group.
    pub score: f64,
}

impl Rank {
    /// Total order of ranks.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        self.group.cmp(&other.group).then(self.score.total_cmp(&other.score))
    }
}

/// Share of the requests that try an unproven endpoint before a proven one. Under 1 in 10, so that few
/// users ever wait for one, and enough for a new endpoint to be known within a few dozen requests.
pub const EXPLORE_SHARE: f64 = 0.08;

impl Strategy {
    /// Ranks `candidates` for one request. `may_explore` is false where waiting for an unproven endpoint
    /// cannot be undone.
    pub fn rank(
        self,
        settings: &Settings,
        candidates: &[Candidate],
        may_explore: bool,
        rng: &mut Rng,
    ) -> Vec<Rank> {
        let best = latency_weighted::best_latency(&settings.latency_weighted, candidates);
        let rank = |candidate: &Candidate| match self {
            Self::LoadBalanced | Self::Adaptive => Rank { group: 1, score: rng.unit() },
            Self::Priority => Rank { group: 1, score: candidate.priority },
            Self::Fastest => fastest::rank(&settings.fastest, candidate, rng),
            Self::LatencyWeighted => {
                latency_weighted::rank(&settings.latency_weighted, candidate, best, rng)
            }
        };
        let mut ranks: Vec<Rank> = candidates.iter().map(rank).collect();
        if may_explore {
            explore(&mut ranks, rng);
        }
        ranks
    }
}

/// With probability [`EXPLORE_SHARE`], puts one of the unproven in front of the proven, each with the same
/// chance.
pub(super) fn explore(ranks: &mut [Rank], rng: &mut Rng) {
    let unproven = ranks.iter().filter(|rank| rank.group == 2).count();
    if unproven == 0 || unproven == ranks.len() {
        return;
    }
    let draw = rng.unit();
    if draw > EXPLORE_SHARE {
        return;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of endpoints"
    )]
    let chosen = (libm::ceil(draw / EXPLORE_SHARE * unproven as f64) as usize).max(1) - 1;
    if let Some(rank) = ranks.iter_mut().filter(|rank| rank.group == 2).nth(chosen) {
        rank.group = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn measured(latency_ms: f64) -> Candidate {
        let reading = Reading { calls: 32, success_rate: 1.0, latency_ms: Some(latency_ms) };
        Candidate { priority: 100.0, reading }
    }

    pub(super) const UNMEASURED: Candidate = Candidate {
        priority: 100.0,
        reading: Reading { calls: 0, success_rate: 0.0, latency_ms: None },
    };

    /// How often each candidate came first in `draws` rankings.
    pub(super) fn first_places(
        strategy: Strategy,
        candidates: &[Candidate],
        may_explore: bool,
        draws: u32,
    ) -> Vec<f64> {
        let mut rng = Rng::new(42);
        let mut wins = vec![0.0; candidates.len()];
        for _ in 0..draws {
            let ranks = strategy.rank(&Settings::default(), candidates, may_explore, &mut rng);
            let best = (0..ranks.len()).min_by(|a, b| ranks[*a].compare(&ranks[*b])).unwrap();
            wins[best] += 1.0;
        }
        wins
    }

    /// Pearson's statistic; the callers name the limit for p = 0.001.
    pub(super) fn chi_square(observed: &[f64], shares: &[f64]) -> f64 {
        let total: f64 = observed.iter().sum();
        observed
            .iter()
            .zip(shares)
            .map(|(seen, share)| {
                let difference = seen - share * total;
                difference * difference / (share * total)
            })
            .sum()
    }

    #[test]
    fn load_balanced_is_uniform() {
        let wins = first_places(
            Strategy::LoadBalanced,
            &[measured(1.0), UNMEASURED, measured(900.0)],
            true,
            100_000,
        );
        assert!(chi_square(&wins, &[1.0 / 3.0; 3]) < 13.8, "{wins:?}");
    }

    #[test]
    fn priority_follows_the_configuration() {
        let candidates = [3.0, 1.0, 2.0].map(|priority| Candidate { priority, ..UNMEASURED });
        assert_eq!(first_places(Strategy::Priority, &candidates, true, 50), [0.0, 50.0, 0.0]);
    }

    #[test]
    fn the_unproven_go_first_in_less_than_one_of_ten_requests_and_each_does() {
        let mut candidates = vec![measured(50.0)];
        candidates.extend([UNMEASURED; 5]);
        for strategy in [Strategy::Fastest, Strategy::LatencyWeighted] {
            let wins = first_places(strategy, &candidates, true, 100_000);
            let unproven: f64 = wins.iter().skip(1).sum();
            assert!((unproven / 100_000.0 - EXPLORE_SHARE).abs() < 0.004, "{strategy:?} {wins:?}");
            assert!(chi_square(&wins[1..], &[0.2; 5]) < 18.5, "{strategy:?} {wins:?}");
            let careful = first_places(strategy, &candidates, false, 1000);
            assert!((careful[0] - 1000.0).abs() < 0.5, "{strategy:?} must not explore");
        }
    }
}
