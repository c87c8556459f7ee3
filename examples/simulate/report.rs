//! One run as a JSON object.

use serde_json::{Map, Value, json};

use crate::router::Router;
use crate::scenario::Scenario;
use crate::stats::Tally;

/// Plays a scenario and the oracles beside it.
pub(crate) fn report(scenario: &Scenario, name: &str, router: &Router, seed: u64) -> Value {
    let tally = router.play(scenario, seed);
    let summary = tally.summary();
    let shares: Map<String, Value> = scenario
        .providers
        .iter()
        .zip(&tally.sent)
        .map(|(provider, sent)| {
            (provider.id.clone(), json!(round(*sent as f64 / tally.attempts.max(1) as f64, 4)))
        })
        .collect();
    json!({
        "scenario": scenario.name,
        "strategy": name,
        "seed": seed,
        "requests": tally.took.len(),
        "meanMs": round(summary.mean, 2),
        "p50Ms": round(summary.p50, 2),
        "p95Ms": round(summary.p95, 2),
        "p99Ms": round(summary.p99, 2),
        "p999Ms": round(summary.p999, 2),
        "failed": tally.failed,
        "attemptsPerRequest": round(tally.share(tally.attempts), 4),
        "rateLimitedPerRequest": round(tally.share(tally.limited), 4),
        "hedgesPerRequest": round(tally.share(tally.hedges), 4),
        "shares": shares,
        "oracle": bound(&play("oracle", scenario, seed)),
        "oracleHedged": bound(&play("oracle_hedged", scenario, seed)),
    })
}

fn play(name: &str, scenario: &Scenario, seed: u64) -> Tally {
    Router::named(name, false).map(|oracle| oracle.play(scenario, seed)).unwrap_or_default()
}

fn bound(tally: &Tally) -> Value {
    let summary = tally.summary();
    json!({
        "meanMs": round(summary.mean, 2),
        "p99Ms": round(summary.p99, 2),
        "p999Ms": round(summary.p999, 2),
        "failed": tally.failed,
    })
}

fn round(number: f64, digits: i32) -> f64 {
    let scale = f64::from(10_u32.pow(digits.unsigned_abs()));
    (number * scale).round() / scale
}
