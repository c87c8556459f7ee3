//! What `adaptive` promises, in the simulator: as near to an oracle as it gets, and no worse than the peers.
//!
//! The bounds leave some room over what was measured when they were written, for they are not meant to be met
//! by luck.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    dead_code,
    reason = "a simulation that goes wrong must stop; the tables are not needed here"
)]
#![cfg(not(target_arch = "wasm32"))]

#[path = "../examples/simulate/client.rs"]
mod client;
#[path = "../examples/simulate/engine.rs"]
mod engine;
#[path = "../examples/simulate/policy/mod.rs"]
mod policy;
#[path = "../examples/simulate/random.rs"]
mod random;
#[path = "../examples/simulate/router.rs"]
mod router;
#[path = "../examples/simulate/run.rs"]
mod run;
#[path = "../examples/simulate/scenario.rs"]
mod scenario;
#[path = "../examples/simulate/stats.rs"]
mod stats;
#[path = "../examples/simulate/world.rs"]
mod world;

use router::Router;
use scenario::Scenario;
use stats::Tally;

fn scenario(name: &str) -> Scenario {
    let path = format!("{}/tests/scenarios/{name}.json", env!("CARGO_MANIFEST_DIR"));
    Scenario::parse(&std::fs::read_to_string(path).expect("the scenario is there")).expect("JSON")
}

fn play(name: &str, scenario: &Scenario) -> Tally {
    Router::named(name, false).expect("the name is known").play(scenario, 1)
}

#[test]
fn mixed_faults_are_met_nearly_as_by_an_oracle() {
    let scenario = scenario("mixed-faults");
    let (tally, oracle) = (play("adaptive+hedge", &scenario), play("oracle_hedged", &scenario));
    let (it, best) = (tally.summary(), oracle.summary());
    assert!(it.mean <= best.mean * 1.1, "{it:?} {best:?}");
    assert!(it.p99 <= best.p99 * 1.25 && it.p999 <= best.p999 * 1.5, "{it:?} {best:?}");
    assert!(tally.share(tally.limited) <= 0.01, "{}", tally.share(tally.limited));
    assert!(tally.share(tally.attempts) <= 1.1, "{}", tally.share(tally.attempts));
    assert_eq!(tally.failed, 0);
}

#[test]
fn no_peer_is_quicker_by_a_twentieth() {
    for name in ["steady", "two-providers", "slow-creep", "correlated-outage", "thundering-herd"] {
        let scenario = scenario(name);
        let deadline = scenario.timeout_ms * f64::from(scenario.max_attempts);
        let own = play("adaptive+hedge", &scenario).punished_mean(deadline);
        for peer in policy::NAMES.into_iter().filter(|name| !name.starts_with("oracle")) {
            let theirs = play(peer, &scenario).punished_mean(deadline);
            assert!(own <= theirs * 1.05, "{name}: {own} and {peer} {theirs}");
        }
    }
}

#[test]
fn a_run_follows_from_its_seed() {
    let scenario = random::scenario(7);
    let [one, two] = [0, 1].map(|_| play("adaptive+hedge", &scenario).took);
    assert_eq!(one, two);
}

#[test]
fn every_scenario_can_be_read_and_played() {
    let folder = format!("{}/tests/scenarios", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).expect("the folder is there");
    let paths = files.map(|file| file.expect("a file").path());
    let scenarios: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    assert!(scenarios.len() >= 10);
    for path in scenarios {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        let mut scenario = Scenario::parse(&text).expect("a scenario");
        scenario.duration_s = scenario.duration_s.min(20.0);
        for name in router::STRATEGIES {
            play(name, &scenario);
        }
    }
}
