//! `fastest`: ascending measured latency.
//!
//! Only endpoints with enough fresh calls and a good success rate qualify. The rest follow, those with the
//! fewest calls first, so that a cold start measures them in turn; ties are broken by lot.

use super::{Candidate, Rank};
use crate::engine::config::FastestConfig;
use crate::engine::rng::Rng;

/// Whether an endpoint is proven.
#[must_use]
pub fn is_qualified(config: &FastestConfig, candidate: &Candidate) -> bool {
    let reading = &candidate.reading;
    reading.latency_ms.is_some()
        && reading.calls >= config.min_calls
        && reading.success_rate >= config.min_success_rate
}

pub(super) fn rank(config: &FastestConfig, candidate: &Candidate, rng: &mut Rng) -> Rank {
    match candidate.reading.latency_ms {
        Some(latency) if is_qualified(config, candidate) => Rank { group: 1, score: latency },
        _ => Rank { group: 2, score: f64::from(candidate.reading.calls) + rng.unit() * 0.5 },
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{UNMEASURED, measured};
    use super::*;
    use crate::engine::config::Settings;
    use crate::engine::metrics::Reading;
    use crate::engine::strategy::Strategy;

    fn order(candidates: &[Candidate]) -> Vec<usize> {
        let ranks =
            Strategy::Fastest.rank(&Settings::default(), candidates, false, &mut Rng::new(1));
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by(|a, b| ranks[*a].compare(&ranks[*b]));
        order
    }

    #[test]
    fn the_quickest_qualified_goes_first() {
        assert_eq!(order(&[UNMEASURED, measured(120.0), measured(40.0)]), [2, 1, 0]);
    }

    #[test]
    fn few_calls_or_many_failures_do_not_qualify() {
        let few = Candidate {
            reading: Reading { calls: 2, success_rate: 1.0, latency_ms: Some(1.0) },
            ..UNMEASURED
        };
        let failing = Candidate {
            reading: Reading { calls: 32, success_rate: 0.89, latency_ms: Some(1.0) },
            ..UNMEASURED
        };
        assert_eq!(order(&[failing, few, measured(300.0)]), [2, 1, 0]);
    }

    #[test]
    fn equal_latencies_keep_the_order_of_the_configuration() {
        assert_eq!(order(&[measured(50.0), measured(50.0), measured(40.0)]), [2, 0, 1]);
    }

    #[test]
    fn a_cold_start_measures_in_turn() {
        let called = |calls| Candidate {
            reading: Reading { calls, success_rate: 1.0, latency_ms: Some(5.0) },
            ..UNMEASURED
        };
        assert_eq!(order(&[called(2), called(1), UNMEASURED]), [2, 1, 0]);
    }
}
