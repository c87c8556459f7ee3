//! What holds whatever happens.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a property that does not hold must stop the test"
)]

#[path = "properties/content.rs"]
mod content;
#[path = "properties/machine.rs"]
mod machine;
mod world;

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};
use waypost::engine::config::Settings;
use waypost::engine::outcome::Outcome;
use waypost::engine::request::{Call, Step};
use waypost::engine::strategy::Strategy as Ranking;
use waypost::engine::time::Timestamp;

use machine::{faults, ops};
use world::{
    Reply, World, answer, bad_body, error, hang, limited, ms, offline, opaque, refused, secs,
    status,
};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(0x5741_5950),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/properties.proptest-regressions",
        ))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn in_flight_counts_are_exact_and_return_to_zero(seed: u64, script in ops()) {
        prop_assert_eq!(faults("in flight", seed, &script), []);
    }

    #[test]
    fn no_endpoint_has_two_trials_at_once(seed: u64, script in ops()) {
        prop_assert_eq!(faults("trials", seed, &script), []);
    }

    #[test]
    fn an_open_endpoint_is_not_asked_while_another_is_closed(seed: u64, script in ops()) {
        prop_assert_eq!(faults("open", seed, &script), []);
    }

    #[test]
    fn no_attempt_and_no_wait_reaches_beyond_the_deadline(seed: u64, script in ops()) {
        prop_assert_eq!(faults("deadline", seed, &script), []);
    }

    #[test]
    fn no_request_makes_more_attempts_than_it_may(seed: u64, script in ops()) {
        prop_assert_eq!(faults("attempts", seed, &script), []);
    }

    #[test]
    fn an_unsafe_request_is_never_sent_while_it_may_have_been_executed(
        seed: u64,
        script in ops(),
    ) {
        prop_assert_eq!(faults("unsafe", seed, &script), []);
    }

    #[test]
    fn completing_twice_or_with_an_unknown_number_changes_nothing(seed: u64, script in ops()) {
        prop_assert_eq!(faults("twice", seed, &script), []);
    }

    #[test]
    fn a_refusal_for_a_limit_names_a_time_and_that_time_is_true(seed: u64, script in ops()) {
        prop_assert_eq!(faults("retry_at", seed, &script), []);
    }

    #[test]
    fn watching_changes_no_decision(seed: u64, script in ops()) {
        prop_assert_eq!(faults("watching", seed, &script), []);
    }

    #[test]
    fn every_number_is_a_number(seed: u64, script in ops()) {
        prop_assert_eq!(faults("numbers", seed, &script), []);
    }
}

fn replies() -> impl Strategy<Value = Reply> {
    let silent = [hang(), refused(), opaque(), offline(), bad_body()];
    let spoken = [
        status(503),
        status(403),
        limited(None),
        limited(Some(secs(3))),
        limited(Some(Duration::ZERO)),
        error(-32601, "no such method"),
        error(-32000, "header not found"),
        error(-32000, "who knows"),
        error(3, "execution reverted"),
    ];
    prop_oneof![
        4 => (0_u64..8_000).prop_map(answer),
        2 => (prop::sample::select(silent.to_vec()), 0_u64..8_000).prop_map(|(r, ms)| r.within(ms)),
        2 => (prop::sample::select(spoken.to_vec()), 0_u64..8_000).prop_map(|(r, ms)| r.within(ms)),
    ]
}

fn rankings() -> impl Strategy<Value = Ranking> {
    prop::sample::select(vec![
        Ranking::LoadBalanced,
        Ranking::Fastest,
        Ranking::LatencyWeighted,
        Ranking::Priority,
    ])
}

fn methods() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "eth_call",
        "eth_getBalance",
        "eth_getLogs",
        "eth_sendTransaction",
        "eth_sendRawTransaction",
        "vendor_method",
    ])
}

/// A pool whose endpoints do one after the other of what their lists say.
fn scripted(strategy: Ranking, scripts: Vec<Vec<Reply>>) -> World {
    let mut world = World::with(Settings { strategy, ..Settings::default() }, scripts.len());
    for (place, script) in scripts.into_iter().enumerate() {
        world.serve(place, move |ask| script[ask.nth % script.len()]);
    }
    world
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn every_request_ends_by_its_deadline_and_leaves_nothing_behind(
        strategy in rankings(),
        scripts in prop::collection::vec(prop::collection::vec(replies(), 1..6), 1..8),
        calls in prop::collection::vec(
            (methods(), 0_u64..2_000, prop::option::of(1_u64..12_000), prop::option::of(0_u64..3_000)),
            1..30,
        ),
    ) {
        let mut world = scripted(strategy, scripts);
        let mut runs = Vec::new();
        for (method, gap, deadline, patience) in calls {
            let call = Call { deadline: deadline.map(ms), ..world.call(method) };
            let run = world.start(call);
            let slow = if method == "eth_getLogs" { secs(60) } else { secs(10) };
            runs.push((run, call.deadline.unwrap_or(slow)));
            world.pass(ms(gap));
            if patience.is_some_and(|patience| patience < gap) {
                world.abort(run);
            }
        }
        for (run, deadline) in runs {
            let ending = world.finish(run);
            prop_assert!(ending.took <= deadline, "{:?} of {:?}", ending, deadline);
            let most = world.endpoints().max(4);
            prop_assert!(world.asked(run).len() <= most);
        }
        world.settle();
        prop_assert!(world.is_quiet());
    }

    #[test]
    fn a_good_endpoint_answers_whatever_the_others_do(
        strategy in rankings(),
        mut scripts in prop::collection::vec(prop::collection::vec(replies(), 1..6), 1..5),
        good in 0_usize..5,
    ) {
        // What no other endpoint is asked after.
        let is_final = |reply: &Reply| {
            let text = format!("{reply:?}");
            text.contains("code: Some")
        };
        for script in &mut scripts {
            script.retain(|reply| !is_final(reply));
        }
        scripts.retain(|script| !script.is_empty());
        scripts.insert(good.min(scripts.len()), vec![answer(40)]);
        let mut world = scripted(strategy, scripts);
        for _ in 0..30 {
            let ending = world.ask("eth_call");
            prop_assert!(
                matches!(ending.conclusion, waypost::engine::request::Conclusion::Answer(_)),
                "{:?}\n{}", ending, world.trace
            );
            world.pass(ms(200));
        }
    }

    #[test]
    fn outcomes_at_one_timestamp_all_count(count in 1_u32..100, at in any::<u64>()) {
        let mut world = World::new(1);
        let (at, call) = (Timestamp::from_micros(at), world.call("eth_call"));
        for _ in 0..count {
            let handle = world.router.begin(at, call).expect("a handle");
            world.router.next(at, handle);
            world.router.complete(at, handle, 0, Outcome::Success);
            world.router.release(handle);
        }
        // At the end of time every deadline has passed.
        let sent = if at == Timestamp::MAX { 0 } else { count };
        let cell = world.router.endpoint(0).expect("known").metrics.all();
        prop_assert_eq!((cell.total(), cell.read_at(at).calls), (sent, sent.min(32)));
    }
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn every_healthy_endpoint_is_reached_in_the_end(
        strategy in prop::sample::select(vec![
            Ranking::LoadBalanced,
            Ranking::Fastest,
            Ranking::LatencyWeighted,
        ]),
        scripts in prop::collection::vec(prop::collection::vec(replies(), 1..6), 2..7),
        latencies in prop::collection::vec(1_u64..900, 7),
    ) {
        let count = scripts.len();
        let mut world = scripted(strategy, scripts);
        for _ in 0..100 {
            world.ask("eth_call");
            world.pass(ms(700));
        }
        world.settle();
        for (place, latency) in latencies.into_iter().enumerate().take(count) {
            world.serve(place, move |_| answer(latency));
        }
        let before: Vec<usize> = (0..count).map(|place| world.hits(place)).collect();
        // Two hours of a request every two seconds.
        for _ in 0..3_600 {
            world.ask("eth_call");
            world.pass(secs(2));
        }
        for (place, before) in before.into_iter().enumerate() {
            prop_assert!(world.hits(place) > before, "{} of {}", place, count);
        }
    }

    #[test]
    fn any_gap_is_passed_in_one_step(gaps in prop::collection::vec(any::<u64>(), 1..20)) {
        let mut world = World::new(3);
        for gap in gaps {
            let call = world.call("eth_call");
            let now = world.now;
            let Some(handle) = world.router.begin(now, call) else { continue };
            if let Step::Send { attempt, .. } = world.router.next(now, handle) {
                world.router.complete(now, handle, attempt, Outcome::Timeout);
            }
            world.router.release(handle);
            world.now = now.after(Duration::from_micros(gap));
        }
        prop_assert_eq!(world.router.open_requests(), 0);
    }
}
