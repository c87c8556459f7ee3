//! The engine at work, to be counted.
//!
//! `counts.mjs` runs this under callgrind, which counts only what happens within [`counted`] and writes a file each
//! time that it returns. What stands before (making engines, warming them up) costs nothing, and
//! each line printed names a file: the scenario, and how often it was repeated.

mod world;

use std::hint::black_box;

use waypost::engine::classify::{Failure, classify};
use waypost::engine::outcome::Outcome;
use waypost::engine::state::{EndpointState, Scope};
use waypost::engine::strategy::Strategy;
use world::World;

const STRATEGIES: &[Strategy] = &[
    Strategy::LoadBalanced,
    Strategy::Fastest,
    Strategy::LatencyWeighted,
    Strategy::Priority,
    Strategy::Adaptive,
];
const SIZES: [usize; 4] = [3, 10, 100, 1_000];
/// Repetitions over all endpoints together: enough that what the dice decide evens out.
const RANKINGS: usize = 30_000;
const FEWEST: usize = 60;
const MOST: usize = 1_000;

const ERRORS: [Failure<'_>; 6] = [
    error(200, 3, "execution reverted: ERC20: transfer amount exceeds balance", "0x08c379a0"),
    error(200, -32_005, "query returned more than 10000 results", ""),
    error(429, -32_005, "daily request count exceeded, request rate limited", ""),
    error(200, -32_000, "missing trie node 8a1b (path ) state 0x01 is not available", ""),
    error(200, -32_000, "insufficient funds for gas * price + value", ""),
    // No phrase matches: all of them are tried.
    error(500, -32_603, "something went wrong while the upstream node was looking at it", ""),
];

const fn error<'a>(status: u16, code: i64, message: &'a str, data: &'a str) -> Failure<'a> {
    Failure { status, code: Some(code), message, data }
}

/// Calls `step` so many times. One function that is never inlined, so that its name is in the program.
#[inline(never)]
fn counted(times: usize, step: &mut dyn FnMut(usize)) {
    for time in 0..times {
        step(time);
    }
}

fn scenario(name: &str, times: usize, mut step: impl FnMut(usize)) {
    counted(times, &mut step);
    println!("{times}\t{name}");
}

fn requests(warm: &World, size: usize) {
    let times = (RANKINGS / size).clamp(FEWEST, MOST);
    for strategy in STRATEGIES {
        let mut world = warm.clone();
        let mut run = |_| world.request(Some(*strategy), &[Outcome::Success]);
        // Lists grow to the size that they keep.
        (0..times / 10).for_each(&mut run);
        scenario(&format!("request, {strategy:?}, {size} endpoints"), times, run);
    }
}

fn failover(warm: &World) {
    let failure = error(200, -32_000, "header not found", "");
    let mut world = warm.clone();
    let outcomes = [Outcome::Error { failure, retry_after: None }, Outcome::Success];
    let run = |_| world.request(None, &outcomes);
    scenario("request that fails over, 10 endpoints", MOST, run);
}

fn states(warm: &World) {
    let states: Vec<EndpointState> =
        warm.places().filter_map(|place| warm.router.export(warm.now, place, Scope::All)).collect();
    let mut fresh = vec![World::new(warm.size); FEWEST].into_iter();
    scenario("export, 10 endpoints", FEWEST, |_| {
        for place in warm.places() {
            black_box(warm.router.export(warm.now, place, Scope::All));
        }
    });
    let mut filled = Vec::with_capacity(FEWEST);
    scenario("import, 10 endpoints", FEWEST, |_| {
        if let Some(mut world) = fresh.next() {
            world.import(&states);
            // Taking it down is not counted.
            filled.push(world);
        }
    });
}

fn main() {
    for size in SIZES {
        let warm = World::warm(size);
        requests(&warm, size);
        if size == 10 {
            failover(&warm);
            states(&warm);
        }
    }
    scenario("classify, 6 errors", FEWEST, |_| {
        for failure in black_box(&ERRORS) {
            black_box(classify(failure, &[]));
        }
    });
}
