//! `latency_weighted`: a random permutation that prefers the quick.
//!
//! **Why.** Sending everything to the quickest trips its rate limit and makes many clients run in a herd;
//! sending evenly wastes what was measured.
//!
//! **How.** `weight = (best / latency)^beta × success_rate × confidence × calls_scale`, never under the
//! floor. It is Lasso's documented formula with latency counted in units of the quickest endpoint: in
//! milliseconds every weight would lie under the floor and the draw would be uniform. The order is an
//! exponential race, ascending `-ln(U) / weight`, which draws without replacement in proportion to the
//! weights (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006); sorting by
//! `U × weight` does not.
//!
//! **Cold start** all have the floor's weight: uniform. **Stale** likewise. **Ties** are broken by the draw.

use super::{Candidate, Rank};
use crate::engine::config::LatencyWeightedConfig;
use crate::engine::math::{ln, log10, pow};
use crate::engine::rng::Rng;

/// Calls that a full window of measurements holds: the usual case, whose logarithm need not be computed for
/// every endpoint of every request.
const WINDOW: u32 = 32;
const WINDOW_LOG10: f64 = 1.505_149_978_319_906;

/// Whether an endpoint is proven.
#[must_use]
pub fn is_qualified(config: &LatencyWeightedConfig, candidate: &Candidate) -> bool {
    let reading = &candidate.reading;
    reading.latency_ms.is_some() && reading.success_rate >= config.min_success_rate
}

/// The latency that counts as 1: the smallest measured, not under the floor.
#[must_use]
pub fn best_latency(config: &LatencyWeightedConfig, candidates: &[Candidate]) -> f64 {
    let measured = candidates.iter().filter_map(|candidate| candidate.reading.latency_ms);
    measured.fold(f64::INFINITY, f64::min).max(config.ms_floor)
}

/// How far the numbers of an endpoint can be trusted, 0 to 1: rises with the logarithm of the calls.
#[must_use]
pub fn confidence(calls: u32, success_rate: f64) -> f64 {
    if calls == 0 {
        return 0.0;
    }
    let magnitude = if calls == WINDOW { WINDOW_LOG10 } else { log10(f64::from(calls)) };
    (0.6 * magnitude / 3.0 + 0.4 * success_rate).clamp(0.0, 1.0)
}

/// The weight of an endpoint, in (0, 1]; `best` is from [`best_latency`].
#[must_use]
pub fn weight(config: &LatencyWeightedConfig, candidate: &Candidate, best: f64) -> f64 {
    let reading = &candidate.reading;
    // A floor of zero must not make an endpoint unreachable.
    let floor = config.explore_floor.max(1e-9);
    let Some(latency) = reading.latency_ms.filter(|_| is_qualified(config, candidate)) else {
        return floor;
    };
    let calls = f64::from(reading.calls);
    let calls_scale = (calls / f64::from(config.min_calls.max(1))).min(1.0);
    let speed = pow(best / latency.max(config.ms_floor), config.beta);
    let raw = speed
        * reading.success_rate
        * confidence(reading.calls, reading.success_rate)
        * calls_scale;
    raw.max(floor)
}

pub(super) fn rank(
    config: &LatencyWeightedConfig,
    candidate: &Candidate,
    best: f64,
    rng: &mut Rng,
) -> Rank {
    Rank {
        group: if is_qualified(config, candidate) { 1 } else { 2 },
        score: -ln(rng.unit()) / weight(config, candidate, best),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{UNMEASURED, chi_square, first_places, measured};
    use super::*;
    use crate::engine::config::Settings;
    use crate::engine::metrics::Reading;
    use crate::engine::strategy::Strategy;

    const DRAWS: u32 = 100_000;

    fn config() -> LatencyWeightedConfig {
        Settings::default().latency_weighted
    }

    fn shares(candidates: &[Candidate]) -> Vec<f64> {
        let best = best_latency(&config(), candidates);
        let weights: Vec<f64> = candidates.iter().map(|c| weight(&config(), c, best)).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|w| w / sum).collect()
    }

    #[test]
    fn confidence_follows_the_model() {
        for (calls, rate, expected) in [
            (100, 0.98, 0.792),
            (1000, 1.0, 1.0),
            (2, 0.7, 0.340_205_999_132_796_2),
            (1, 1.0, 0.4),
            (32, 1.0, 0.4 + 0.2 * 1.505_149_978_319_906),
            (31, 1.0, 0.4 + 0.2 * 1.491_361_693_834_272_6),
            (0, 1.0, 0.0),
        ] {
            assert!((confidence(calls, rate) - expected).abs() < 1e-12, "{calls} {rate}");
        }
    }

    #[test]
    fn weights_are_relative_to_the_quickest() {
        let relative =
            LatencyWeightedConfig { beta: 2.0, ms_floor: 1.0, explore_floor: 0.0, ..config() };
        for latencies in [[10.0, 20.0, 40.0], [100.0, 200.0, 400.0]] {
            let candidates = latencies.map(measured);
            let best = best_latency(&relative, &candidates);
            let weights = candidates.map(|c| weight(&relative, &c, best) / confidence(32, 1.0));
            for (weight, expected) in weights.iter().zip([1.0, 0.25, 0.0625]) {
                assert!((weight - expected).abs() < 1e-12, "{weights:?}");
            }
        }
    }

    #[test]
    fn milliseconds_do_not_drown_in_the_floor() {
        // Reliability and confidence are equal here, so the shares are those of (50/latency)^3.
        let candidates = [50.0, 100.0, 200.0, 400.0, 800.0].map(measured);
        let no_floor = LatencyWeightedConfig { explore_floor: 0.0, ..config() };
        let weights = candidates.map(|c| weight(&no_floor, &c, 50.0));
        let sum: f64 = weights.iter().sum();
        for (weight, share) in weights.iter().zip([0.875, 0.109, 0.014, 0.002, 0.0002]) {
            assert!((weight / sum - share).abs() < 0.001, "{weights:?}");
        }
    }

    #[test]
    fn first_places_match_the_weights() {
        let candidates = [40.0, 60.0, 80.0, 120.0, 700.0].map(measured);
        let wins = first_places(Strategy::LatencyWeighted, &candidates, true, DRAWS);
        assert!(chi_square(&wins, &shares(&candidates)) < 18.5, "{wins:?}");
    }

    #[test]
    fn ten_times_the_latency_gives_the_same_shares() {
        let once = shares(&[50.0, 90.0, 200.0].map(measured));
        let tenfold = shares(&[500.0, 900.0, 2000.0].map(measured));
        for (a, b) in once.iter().zip(&tenfold) {
            assert!((a - b).abs() < 1e-12);
        }
    }

    #[test]
    fn second_places_match_the_weights_of_those_left() {
        let candidates = [40.0, 60.0, 80.0].map(measured);
        let all = shares(&candidates);
        let mut rng = Rng::new(9);
        let mut second = [0.0; 3];
        for _ in 0..DRAWS {
            let ranks =
                Strategy::LatencyWeighted.rank(&Settings::default(), &candidates, false, &mut rng);
            let mut order = [0, 1, 2];
            order.sort_by(|a, b| ranks[*a].compare(&ranks[*b]));
            second[order[1]] += 1.0;
        }
        let expected: Vec<f64> = (0..3)
            .map(|i| {
                (0..3).filter(|j| *j != i).map(|j| all[j] * all[i] / (1.0 - all[j])).sum::<f64>()
            })
            .collect();
        assert!(chi_square(&second, &expected) < 13.8, "{second:?} {expected:?}");
    }

    #[test]
    fn a_failing_endpoint_follows_and_keeps_the_floor() {
        let failing = Candidate {
            reading: Reading { calls: 32, success_rate: 0.84, latency_ms: Some(1.0) },
            ..UNMEASURED
        };
        assert!(!is_qualified(&config(), &failing));
        for candidate in [failing, UNMEASURED] {
            assert!((weight(&config(), &candidate, 50.0) - 0.05).abs() < 1e-12);
        }
    }

    #[test]
    fn few_calls_scale_the_weight_down() {
        let called = |calls| Candidate {
            reading: Reading { calls, success_rate: 1.0, latency_ms: Some(50.0) },
            ..UNMEASURED
        };
        let scaled = weight(&config(), &called(1), 50.0);
        assert!((scaled - 0.4 / 3.0).abs() < 1e-12, "{scaled}");
    }
}
