//! What Lasso RPC was seen to do, row by row: the same here, or different with a reason.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a broken vector must stop the test"
)]

mod world;

use std::time::Duration;

use serde_json::Value;
use waypost::engine::breaker::{Breaker, Circuit};
use waypost::engine::classify::ErrorClass;
use waypost::engine::config::{
    BreakerConfig, EndpointConfig, LatencyWeightedConfig, Settings, TierOrder,
};
use waypost::engine::endpoint::Standing;
use waypost::engine::method::safety;
use waypost::engine::metrics::{Cell, Reading, STALE_AFTER};
use waypost::engine::request::Call;
use waypost::engine::rng::Rng;
use waypost::engine::strategy::{Candidate, Strategy, fastest, latency_weighted as weighted};
use waypost::engine::time::Timestamp;

use world::{Reply, START, World, config, error, hang, limited, ms, refused, status};

fn rows(name: &str) -> Vec<Value> {
    let all: Value =
        serde_json::from_str(include_str!("vectors/lasso.json")).expect("vectors are JSON");
    all[name].as_array().unwrap_or_else(|| panic!("no rows {name}")).clone()
}

fn float(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} of {row}"))
}

fn int(row: &Value, name: &str) -> u64 {
    row[name].as_u64().unwrap_or_else(|| panic!("{name} of {row}"))
}

fn word<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or_else(|| panic!("{name} of {row}"))
}

fn words(row: &Value, name: &str) -> Vec<String> {
    let list = row[name].as_array().unwrap_or_else(|| panic!("{name} of {row}"));
    list.iter().map(|item| item.as_str().expect("a word").to_owned()).collect()
}

fn count(row: &Value, name: &str) -> u32 {
    u32::try_from(int(row, name)).expect("a count")
}

fn candidate(calls: u32, success_rate: f64, latency_ms: Option<f64>) -> Candidate {
    Candidate { priority: 100.0, reading: Reading { calls, success_rate, latency_ms } }
}

#[test]
fn failed_trials_lengthen_the_delay() {
    for row in rows("breaker_delay") {
        let config = BreakerConfig {
            timeout: 1,
            recovery: ms(int(&row, "base")),
            max_recovery: ms(int(&row, "max")),
            ..BreakerConfig::DEFAULT
        };
        let mut breaker = Breaker::default();
        for _ in 0..=int(&row, "reopens") {
            let generation = breaker.generation();
            breaker.on_failure(START, generation, ErrorClass::Timeout, &config, 0.0);
        }
        let opening = breaker.opening.expect("open");
        assert_eq!(opening.until.since(opening.at), ms(int(&row, "delay")), "{row}");
    }
}

#[test]
fn confidence_and_weight() {
    for row in rows("weight") {
        let (calls, rate) = (count(&row, "calls"), float(&row, "success_rate"));
        let confidence = weighted::confidence(calls, rate);
        assert!((confidence - float(&row, "confidence")).abs() < 1e-12, "{row}");
        let settings = LatencyWeightedConfig {
            beta: float(&row, "beta"),
            explore_floor: float(&row, "explore_floor"),
            ..Settings::default().latency_weighted
        };
        let alone = candidate(calls, rate, Some(float(&row, "ms")));
        let best = weighted::best_latency(&settings, &[alone]);
        let weight = weighted::weight(&settings, &alone, best);
        assert!((weight - float(&row, "weight")).abs() < 1e-12, "{row}: {weight}");
        let differs = (weight - float(&row, "lasso_weight")).abs() > 1e-12;
        assert_eq!(differs, row["differs"].is_string(), "{row}");
    }
}

#[test]
fn weights_are_relative() {
    for row in rows("relative_weight") {
        let settings = LatencyWeightedConfig {
            beta: float(&row, "beta"),
            ms_floor: 1.0,
            explore_floor: 0.0,
            ..Settings::default().latency_weighted
        };
        let latencies = row["ms"].as_array().expect("latencies");
        let candidates: Vec<Candidate> =
            latencies.iter().map(|ms| candidate(1000, 1.0, ms.as_f64())).collect();
        let best = weighted::best_latency(&settings, &candidates);
        for (candidate, expected) in candidates.iter().zip(row["weights"].as_array().expect("w")) {
            let weight = weighted::weight(&settings, candidate, best);
            assert!((weight - expected.as_f64().expect("a number")).abs() < 1e-12, "{row}");
        }
    }
}

#[test]
fn the_race_gives_first_places_by_weight() {
    for row in rows("race") {
        let mut settings = Settings::default();
        settings.latency_weighted.beta = 1.0;
        let weights = row["weights"].as_array().expect("weights");
        let latency = |weight: &Value| 50.0 / weight.as_f64().expect("a number");
        let candidates: Vec<Candidate> =
            weights.iter().map(|w| candidate(1000, 1.0, Some(latency(w)))).collect();
        let mut rng = Rng::new(1);
        let mut firsts = 0.0;
        for _ in 0..int(&row, "draws") {
            let ranks = Strategy::LatencyWeighted.rank(&settings, &candidates, false, &mut rng);
            firsts += f64::from(u8::from(ranks[0].compare(&ranks[1]).is_lt()));
        }
        let share = firsts / float(&row, "draws");
        let bounds = row["first_share"].as_array().expect("bounds");
        let bound = |index: usize| bounds[index].as_f64().expect("a number");
        assert!(share > bound(0) && share < bound(1), "{row}: {share}");
    }
}

#[test]
fn mean_latency_success_rate_and_staleness() {
    for row in rows("latency") {
        let mut cell = Cell::default();
        for latency in row["ms"].as_array().expect("latencies") {
            cell.record_success(START, latency.as_u64().map(Duration::from_millis));
        }
        let mean = cell.read_at(START).latency_ms.expect("measured");
        assert!((mean - float(&row, "mean")).abs() < 1e-6, "{row}: {mean}");
    }
    for row in rows("success_rate") {
        let mut cell = Cell::default();
        for outcome in word(&row, "outcomes").chars() {
            match outcome {
                'S' => cell.record_success(START, Some(ms(50))),
                _ => cell.record_failure(START),
            }
        }
        let reading = cell.read_at(START);
        let rate = reading.success_rate;
        assert!((rate - float(&row, "success_rate")).abs() < 1e-12, "{row}");
        let candidate = Candidate { priority: 100.0, reading };
        let qualified = fastest::is_qualified(&Settings::default().fastest, &candidate);
        assert_eq!(Some(qualified), row["qualified"].as_bool(), "{row}");
        let same = (rate - float(&row, "lasso_p")).abs() < 1e-9
            && Some(qualified) == row["lasso_qualified"].as_bool();
        assert_eq!(same, row["differs"].is_null(), "{row}");
    }
    for row in rows("stale") {
        assert_eq!(STALE_AFTER, ms(int(&row, "ms")));
    }
}

#[test]
fn fastest_ranks_the_qualified() {
    for row in rows("fastest") {
        let channels = row["channels"].as_array().expect("channels");
        let seen = |channel: &Value| match channel["state"].as_str() {
            Some("qualified") => candidate(10, 1.0, channel["mean"].as_f64()),
            Some("unqualified") => candidate(2, 1.0, channel["mean"].as_f64()),
            _ => candidate(0, 0.0, None),
        };
        let candidates: Vec<Candidate> = channels.iter().map(seen).collect();
        let settings = Settings::default();
        let ranks = Strategy::Fastest.rank(&settings, &candidates, false, &mut Rng::new(1));
        let mut order: Vec<usize> = (0..ranks.len()).collect();
        order.sort_by(|a, b| ranks[*a].compare(&ranks[*b]));
        let names: Vec<String> =
            order.iter().map(|place| word(&channels[*place], "id").to_owned()).collect();
        let start = words(&row, "starts_with");
        assert!(names.starts_with(&start), "{row}: {names:?}");
        assert_eq!(start == words(&row, "lasso_order"), row["differs"].is_null(), "{row}");
    }
}

#[test]
fn tiers_in_both_orders() {
    for row in rows("tiers") {
        let standing = |name: &String| {
            let state = &row["state"][name];
            let circuit = match state[0].as_str() {
                Some("closed") => Circuit::Closed,
                Some("half_open") => Circuit::HalfOpen,
                _ => Circuit::Open,
            };
            Standing {
                circuit,
                is_on_trial: false,
                limited_until: (state[1] == true).then_some(Timestamp::MAX),
                budget_at: None,
                resting_until: None,
            }
        };
        for (name, order) in [
            ("closed_first", TierOrder::ClosedFirst),
            ("unlimited_first", TierOrder::UnlimitedFirst),
        ] {
            let mut names = words(&row, "in");
            names.retain(|name| standing(name).tier(order).is_some());
            names.sort_by_key(|name| standing(name).tier(order));
            assert_eq!(names, words(&row, name), "{row}");
        }
    }
}

#[test]
fn what_may_be_repeated() {
    for row in rows("method_safety") {
        let found = format!("{:?}", safety(word(&row, "method")));
        assert_eq!(found, word(&row, "safety"), "{row}");
        let lasso = match word(&row, "lasso") {
            "replay_safe" => "Safe",
            "raw_transaction_broadcast" => "Broadcast",
            _ => "Unsafe",
        };
        assert_eq!(found == lasso, row["differs"].is_null(), "{row}");
    }
}

#[test]
fn a_range_is_refused_when_its_ends_are_further_apart_than_the_limit() {
    let hex = |row: &Value, name: &str| {
        u64::from_str_radix(word(row, name).trim_start_matches("0x"), 16).expect("hexadecimal")
    };
    for row in rows("block_span") {
        let mut world = World::new(0);
        let max_block_range = row["limit"].as_u64();
        world.add(0, "a", EndpointConfig { max_block_range, ..config(0) });
        world.add(0, "b", config(1));
        let span = hex(&row, "to") - hex(&row, "from");
        let call = Call { block_span: Some(span), ..world.call("eth_getLogs") };
        let first = world.path_with(call).0[0];
        assert_eq!(Some(first == 0), row["ok"].as_bool(), "{row}");
    }
}

fn reply(category: &str) -> Reply {
    match category {
        "client_error" => status(418),
        "invalid_params" => error(-32602, "invalid params"),
        "parse_error" => error(-32700, "parse error"),
        "capability_violation" => error(-32000, "missing trie node"),
        "method_not_found" => error(-32601, "the method does not exist"),
        "block_not_available" => error(-32000, "header not found"),
        "rate_limit" => limited(None),
        "server_error" => status(500),
        "network_error" | "circuit_open" => refused(),
        "timeout" => hang(),
        "unclassified_server_error" => error(-32000, "who knows"),
        other => panic!("no such category: {other}"),
    }
}

/// Lets as many fail as the row says and one more, and looks whether somebody else is asked then.
#[test]
fn whether_the_next_is_asked() {
    for row in rows("failover") {
        let failure = reply(word(&row, "category"));
        let others = row["other_prior"].as_object();
        let others = others.map_or(0, |others| {
            others.values().map(|count| count.as_u64().expect("a count")).sum()
        });
        let failing = usize::try_from(int(&row, "prior") + 1 + others).expect("small");
        let left = usize::try_from(int(&row, "remaining")).expect("small");
        let mut world = World::new(failing + left);
        for place in 0..failing {
            let is_other = u64::try_from(place).expect("small") < others;
            world.serve(place, move |_| if is_other { reply("client_error") } else { failure });
        }
        if word(&row, "category") == "circuit_open" {
            (0..3).for_each(|_| {
                world.ask("eth_call");
            });
            assert_eq!(world.path("eth_call").0, [1], "{row}");
            continue;
        }
        let asks_another = world.path("eth_call").0.contains(&failing);
        let decision = if asks_another { "failover" } else { "stop" };
        assert_eq!(decision, word(&row, "decision"), "{row}");
        assert_eq!(decision == word(&row, "lasso"), row["differs"].is_null(), "{row}");
    }
}

#[test]
fn how_many_attempts_a_request_has() {
    for row in rows("envelope").into_iter().filter(|row| row["attempts"].is_object()) {
        let given = &row["attempts"];
        let endpoints = usize::try_from(int(given, "endpoints")).expect("small");
        let mut world = World::new(endpoints);
        world.serve_all(|_| refused());
        let method = if word(given, "method") == "eth_call" { "eth_call" } else { "eth_sign" };
        let deadline = given["deadline_ms"].as_u64().map(ms);
        let call = Call { deadline, ..world.call(method) };
        let attempts = world.path_with(call).0.len();
        assert_eq!(attempts as u64, int(given, "most"), "{row}");
    }
}

#[test]
fn what_is_not_looked_at_here_has_its_place_or_a_reason() {
    for (name, word) in [("elsewhere", "where"), ("not_part_of_the_engine", "because")] {
        let rows = rows(name);
        assert!(!rows.is_empty() && rows.iter().all(|row| row[word].is_string()), "{name}");
    }
}
