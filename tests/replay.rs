//! The same seed and script give the same decisions, in every version and on every target.
//!
//! Each vector is a seed and a few numbers from which a whole world follows; the hash of its trace is kept.
//! A change of a decision is a change of behaviour: if it is meant, `UPDATE_VECTORS=1 cargo test --test
//! replay` writes the vectors anew, and the commit says why. The same file runs as wasm in Node:
//! `cargo test --target wasm32-unknown-unknown --test replay`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a broken vector must stop the test"
)]

mod world;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use std::fmt::Write as _;

use serde_json::{Value, json};
use waypost::engine::classify::ErrorClass;
use waypost::engine::config::{Budget, HedgeConfig, Settings};
use waypost::engine::request::{Call, Step};
use waypost::engine::rng::Rng;
use waypost::engine::strategy::Strategy;

use world::{
    Reply, START, World, answer, bad_body, config, error, hang, limited, ms, offline, opaque,
    refused, secs, status,
};

const VECTORS: [(&str, &str); 6] = [
    ("load_balanced", include_str!("vectors/replay/load_balanced.json")),
    ("fastest", include_str!("vectors/replay/fastest.json")),
    ("latency_weighted", include_str!("vectors/replay/latency_weighted.json")),
    ("priority", include_str!("vectors/replay/priority.json")),
    ("adaptive", include_str!("vectors/replay/adaptive.json")),
    ("hedged", include_str!("vectors/replay/hedged.json")),
];
const METHODS: [&str; 6] = [
    "eth_call",
    "eth_getBalance",
    "eth_getLogs",
    "eth_sendTransaction",
    "eth_sendRawTransaction",
    "vendor_method",
];
/// Lines of the trace that one hash stands for, so that the first difference is easy to find.
const PAGE: usize = 250;

fn strategy(name: &str) -> Strategy {
    match name {
        "load_balanced" => Strategy::LoadBalanced,
        "fastest" => Strategy::Fastest,
        "latency_weighted" => Strategy::LatencyWeighted,
        "priority" => Strategy::Priority,
        "adaptive" => Strategy::Adaptive,
        other => panic!("no strategy {other}"),
    }
}

fn number(vector: &Value, name: &str) -> u64 {
    vector[name].as_u64().unwrap_or_else(|| panic!("{name} is missing"))
}

fn below(rng: &mut Rng, bound: u64) -> u64 {
    rng.next_u64() % bound
}

/// What an unsteady server answers: mostly something good.
fn reply(rng: &mut Rng, place: u64) -> Reply {
    let bad = [
        refused(),
        opaque(),
        offline(),
        hang(),
        status(503),
        status(401),
        limited(None),
        limited(Some(ms(700))),
        bad_body(),
        error(3, "execution reverted"),
        error(-32602, "invalid argument 0"),
        error(-32601, "the method does not exist"),
        error(-32000, "header not found"),
        error(-32000, "who knows"),
        error(-32000, "already known"),
    ];
    let latency = 20 + 25 * place + below(rng, 60) + 900 * u64::from(below(rng, 50) == 0);
    let which = usize::try_from(below(rng, 60)).expect("small");
    bad.get(which).map_or_else(|| answer(latency), |reply| reply.within(latency))
}

/// An endpoint that goes through phases: well, dead, well again.
fn serve(world: &mut World, place: usize, seed: u64) {
    let mut rng = Rng::new(seed ^ ((1 + place as u64) << 32));
    let phase = 40 + below(&mut rng, 80);
    world.serve(place, move |ask| {
        let seconds = ask.at.since(START).as_secs();
        match (place, seconds / phase % 3) {
            (1, 1) => refused(),
            (2, 1) => opaque(),
            (3, 1) => hang(),
            _ => reply(&mut rng, place as u64),
        }
    });
}

/// Everything that follows from a vector, as the lines of its trace.
fn play(vector: &Value) -> Vec<String> {
    let seed = number(vector, "seed");
    let mut world = World::empty(seed, START);
    let settings = Settings {
        strategy: strategy(vector["strategy"].as_str().expect("a strategy")),
        hedge: vector["hedge"].as_bool().unwrap_or(false).then(HedgeConfig::default),
        ..Settings::default()
    };
    let profile = world.router.add_profile(settings);
    let pool = world.router.add_pool(profile, "default", "ethereum");
    for place in 0..usize::try_from(number(vector, "endpoints")).expect("small") {
        let budget = (place == 4).then_some(Budget { rps: 4.0, burst: 4 });
        let config = waypost::engine::config::EndpointConfig { budget, ..config(place) };
        world.add(pool, &place.to_string(), config);
        serve(&mut world, place, seed);
    }
    let mut rng = Rng::new(!seed);
    for _ in 0..number(vector, "requests") {
        request(&mut world, &mut rng);
    }
    world.settle();
    assert!(world.is_quiet());
    world.trace.lines().map(str::to_owned).collect()
}

/// One request and what its user does with it, beside those still under way.
fn request(world: &mut World, rng: &mut Rng) {
    let which = if below(rng, 3) == 0 { below(rng, 6) } else { 0 };
    let method = METHODS[usize::try_from(which).expect("small")];
    let mut call = world.call(method);
    match below(rng, 20) {
        0 => call.only = Some(0),
        1 => call.first = Some(1),
        2 => call.deadline = Some(ms(1 + below(rng, 4_000))),
        3 => call.block_span = Some(below(rng, 4_000)),
        _ => {}
    }
    let run = world.start(call);
    match below(rng, 25) {
        0 => {
            world.pass(ms(below(rng, 60)));
            world.abort(run);
        }
        1 => ride(world, rng, call, run),
        2 => world.freeze(secs(below(rng, 90))),
        _ => {}
    }
    world.pass(ms(below(rng, 500)));
}

/// A member of a batch, which shares what another request has sent.
fn ride(world: &mut World, rng: &mut Rng, call: Call, leader: usize) {
    let Some(endpoint) = world.asked(leader).last().copied() else { return };
    let call = Call { deadline: None, ..call };
    let rider = world.router.begin(world.now, call).expect("a handle");
    let seat = world.router.ride(world.now, rider, endpoint);
    if let Some(seat) = seat {
        let outcome = reply(rng, 0).what.outcome();
        let class = world.router.complete(world.now, rider, seat, outcome);
        let next = world.router.next(world.now, rider);
        if let Step::Send { attempt, .. } = next {
            let outcome = reply(rng, 0).what.outcome();
            world.router.complete(world.now, rider, attempt, outcome);
        }
        writeln!(world.trace, "ride {endpoint} {class:?} {next:?}").expect("a string takes all");
    }
    world.router.abort(world.now, rider);
    world.router.release(rider);
}

/// FNV-1a.
fn hash(lines: &[String]) -> String {
    let bytes = lines.iter().flat_map(|line| line.bytes().chain([b'\n']));
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3);
    }
    format!("{hash:016x}")
}

/// Sends, waits and ends.
fn decisions(lines: &[String]) -> usize {
    let words = [" send ", " wait ", " end ", "ride "];
    lines.iter().filter(|line| words.iter().any(|word| line.contains(word))).count()
}

fn result(lines: &[String]) -> Value {
    let hashes: Vec<String> = lines.chunks(PAGE).map(hash).collect();
    json!({ "decisions": decisions(lines), "hashes": hashes })
}

#[test]
fn every_vector_gives_its_trace() {
    for (name, text) in VECTORS {
        let mut vector: Value = serde_json::from_str(text).expect("JSON");
        let lines = play(&vector);
        let result = result(&lines);
        if update(name, &mut vector, &result) {
            continue;
        }
        let expected = vector["result"]["hashes"].as_array().expect("hashes");
        let found = result["hashes"].as_array().expect("hashes");
        let differing = (0..expected.len().max(found.len()))
            .find(|page| expected.get(*page) != found.get(*page));
        if let Some(page) = differing {
            let lines = lines.iter().skip(page * PAGE).take(PAGE);
            let lines: Vec<&str> = lines.map(String::as_str).collect();
            panic!("{name}: the trace differs in these lines\n{}", lines.join("\n"));
        }
        assert_eq!(vector["result"], result, "{name}");
    }
}

/// Writes a vector anew, if asked to.
#[cfg(not(target_arch = "wasm32"))]
fn update(name: &str, vector: &mut Value, result: &Value) -> bool {
    let is_asked = std::env::var_os("UPDATE_VECTORS").is_some();
    if is_asked {
        vector["result"] = result.clone();
        let text = serde_json::to_string_pretty(vector).expect("JSON") + "\n";
        let path = format!("{}/tests/vectors/replay/{name}.json", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, text).expect("the vectors can be written");
    }
    is_asked
}

#[cfg(target_arch = "wasm32")]
fn update(_name: &str, _vector: &mut Value, _result: &Value) -> bool {
    false
}

#[test]
fn the_vectors_cover_every_class_and_thousands_of_decisions() {
    let traces: Vec<Vec<String>> =
        VECTORS.iter().map(|(_, text)| play(&serde_json::from_str(text).expect("JSON"))).collect();
    for class in ErrorClass::ALL {
        let word = format!("came Some({class:?})");
        assert!(traces.iter().flatten().any(|line| line.ends_with(&word)), "{word}");
    }
    for word in [" abort", "ride ", " wait ", "Deadline", "AlreadyKnown", "Indeterminate"] {
        assert!(traces.iter().flatten().any(|line| line.contains(word)), "{word}");
    }
    assert!(traces.iter().map(|trace| decisions(trace)).sum::<usize>() >= 2_000);
}

#[test]
fn another_seed_gives_another_trace() {
    let mut vector: Value = serde_json::from_str(VECTORS[0].1).expect("JSON");
    let hash = |vector: &Value| result(&play(vector));
    let before = hash(&vector);
    assert_eq!(before, hash(&vector));
    vector["seed"] = json!(number(&vector, "seed") + 1);
    assert_ne!(before, hash(&vector));
}
