//! Who is asked first.

use waypost::engine::config::{EndpointConfig, Settings};
use waypost::engine::outcome::Outcome;
use waypost::engine::request::{Call, Conclusion, Step};
use waypost::engine::strategy::Strategy;

use crate::world::{World, answer, config, error, hang, ms, opaque, refused, secs, status};

fn ranked(strategy: Strategy, latencies: &[u64]) -> World {
    let mut world = World::with(Settings { strategy, ..Settings::default() }, latencies.len());
    for (place, latency) in latencies.iter().copied().enumerate() {
        world.serve(place, move |_| answer(latency));
    }
    world
}

/// Share of the next `count` requests that each endpoint was asked first for.
fn shares(world: &mut World, method: &'static str, count: u32) -> Vec<f64> {
    let mut firsts = vec![0.0; world.endpoints()];
    for _ in 0..count {
        let call = world.call(method);
        let run = world.start(call);
        firsts[world.asked(run)[0]] += 1.0 / f64::from(count);
        world.finish(run);
    }
    firsts
}

#[test]
fn priority_keeps_to_the_configured_order() {
    let mut world = World::new(0);
    for (place, priority) in [(0, 30.0), (1, 10.0), (2, 20.0)] {
        world.add(0, &place.to_string(), EndpointConfig { priority, ..config(place) });
    }
    world.serve_all(|_| status(503));
    assert_eq!(world.path("eth_call").0[..3], [1, 2, 0]);
}

#[test]
fn load_balanced_spreads_evenly() {
    let mut world = ranked(Strategy::LoadBalanced, &[10, 50, 400, 900]);
    let shares = shares(&mut world, "eth_call", 4_000);
    assert!(shares.iter().all(|share| (share - 0.25).abs() < 0.03), "{shares:?}");
}

#[test]
fn fastest_measures_everyone_and_then_keeps_to_the_fastest() {
    let mut world = ranked(Strategy::Fastest, &[120, 40, 300]);
    shares(&mut world, "eth_call", 6);
    assert_eq!([0, 1, 2].map(|place| world.hits(place)), [2, 2, 2], "a cold start goes round");
    shares(&mut world, "eth_call", 300);
    let measured = [0, 1, 2].map(|place| world.hits(place));
    assert!(measured[0] >= 3 && measured[2] >= 3 && measured[1] > 290, "{measured:?}");
    shares(&mut world, "eth_call", 100);
    assert_eq!(world.hits(1), measured[1] + 100);
    world.serve(1, |_| status(503));
    assert_eq!(world.path("eth_call").0, [1, 0], "and moves on to the second");
}

#[test]
fn fastest_goes_by_the_method_at_hand() {
    let mut world = ranked(Strategy::Fastest, &[0, 0]);
    world.serve(0, |ask| answer(if ask.method == "eth_call" { 20 } else { 500 }));
    world.serve(1, |ask| answer(if ask.method == "eth_call" { 90 } else { 100 }));
    for _ in 0..80 {
        world.ask("eth_call");
        world.ask("eth_getLogs");
    }
    assert_eq!(world.path("eth_getLogs").0, [1]);
    assert_eq!(world.path("eth_call").0, [0]);
}

#[test]
fn latency_weighted_prefers_the_quick_and_starves_nobody() {
    let mut world = ranked(Strategy::LatencyWeighted, &[50, 100, 800]);
    shares(&mut world, "eth_call", 200);
    let shares = shares(&mut world, "eth_call", 5_000);
    // Weights 1, 1/8 and the floor of 0.05 times the confidence of the first.
    assert!((0.74..0.84).contains(&shares[0]), "{shares:?}");
    assert!((0.08..0.14).contains(&shares[1]), "{shares:?}");
    assert!((0.06..0.11).contains(&shares[2]), "{shares:?}");
}

#[test]
fn the_unproven_go_first_in_less_than_a_tenth_of_the_reads_and_never_for_what_cannot_be_undone() {
    for strategy in [Strategy::Fastest, Strategy::LatencyWeighted] {
        let mut world = ranked(strategy, &[50, 50]);
        for _ in 0..10 {
            let call = Call { only: Some(0), ..world.call("eth_call") };
            world.ask_with(call);
        }
        let mut firsts = [0, 0];
        for method in ["eth_call", "eth_sendRawTransaction", "eth_sendTransaction"] {
            for _ in 0..2_000 {
                // Opened and let go, so that the second stays unproven.
                let call = world.call(method);
                let handle = world.router.begin(world.now, call).expect("a handle");
                let Step::Send { endpoint, .. } = world.router.next(world.now, handle) else {
                    panic!("both are well");
                };
                firsts[usize::from(method == "eth_call" && endpoint == 1)] += 1;
                assert!(endpoint == 0 || method == "eth_call", "{method}");
                world.router.abort(world.now, handle);
                world.router.release(handle);
            }
        }
        let share = f64::from(firsts[1]) / 2_000.0;
        assert!(share > 0.05 && share < 0.1, "{strategy:?} {share}");
    }
}

#[test]
fn a_provider_that_does_not_know_a_method_is_asked_last_for_it_and_first_for_others() {
    let mut world = World::new(2);
    world.serve(0, |ask| match ask.method {
        "debug_traceCall" => error(-32601, "the method debug_traceCall does not exist"),
        _ => answer(50),
    });
    assert_eq!(world.path("debug_traceCall").0, [0, 1]);
    assert_eq!(world.path("debug_traceCall").0, [1], "remembered");
    assert_eq!(world.path("eth_call").0, [0]);
    world.serve(1, |_| status(503));
    assert_eq!(world.path("debug_traceCall").0[..2], [1, 0], "last, not never");
    world.serve(1, |_| answer(50));
    world.pass(secs(601));
    assert_eq!(world.path("debug_traceCall").0, [0, 1], "and not for ever");
}

#[test]
fn what_the_settings_say_is_unsupported_is_asked_last() {
    let mut world = World::new(0);
    let unsupported_methods = vec!["debug_*".to_owned()];
    world.add(0, "a", EndpointConfig { unsupported_methods, ..config(0) });
    world.add(0, "b", EndpointConfig { max_block_range: Some(1_000), ..config(1) });
    world.add(0, "c", config(2));
    assert_eq!(world.path("debug_traceCall").0, [1]);
    let logs =
        |world: &mut World, span| Call { block_span: Some(span), ..world.call("eth_getLogs") };
    world.serve(0, |_| status(503));
    let call = logs(&mut world, 1_000);
    assert_eq!(world.path_with(call).0, [0, 1]);
    let call = logs(&mut world, 1_001);
    assert_eq!(world.path_with(call).0, [0, 2]);
    world.serve(2, |_| status(503));
    let call = logs(&mut world, 1_001);
    assert_eq!(world.path_with(call).0, [0, 2, 1], "last, not never");
}

#[test]
fn the_members_of_a_batch_count_once() {
    for (outcome, consecutive, total) in [
        (Outcome::Network { opaque: false }, 1, 1),
        (Outcome::Timeout, 1, 1),
        (Outcome::BadBody, 1, 1),
        (Outcome::Success, 0, 1),
    ] {
        let mut world = World::new(2);
        let (now, call) = (world.now, world.call("eth_call"));
        let leader = world.router.begin(now, call).expect("a handle");
        let Step::Send { endpoint, timeout, .. } = world.router.next(now, leader) else {
            panic!("both are well");
        };
        let mut members = vec![(leader, 0)];
        for _ in 0..9 {
            let rider = world.router.begin(now, call).expect("a handle");
            members.push((rider, world.router.ride(now, rider, endpoint).expect("a seat")));
        }
        world.now = now.after(timeout);
        for (handle, attempt) in &members {
            world.router.complete(world.now, *handle, *attempt, outcome);
        }
        assert_eq!(world.consecutive(0), consecutive, "{outcome:?}");
        let endpoint = world.router.endpoint(0).expect("known");
        assert_eq!(endpoint.metrics.all().total(), total, "{outcome:?}");
        for (handle, _) in members {
            let step = world.router.next(world.now, handle);
            let is_over = step == Step::End(Conclusion::Answer(0));
            assert_eq!(is_over, consecutive == 0, "each decides for itself: {step:?}");
            world.router.abort(world.now, handle);
            world.router.release(handle);
        }
        assert!(world.is_quiet());
    }
}

#[test]
fn the_members_of_a_batch_that_was_cut_short_make_one_rest() {
    let mut world = World::new(2);
    let call = Call { deadline: Some(secs(2)), ..world.call("eth_call") };
    let now = world.now;
    let leader = world.router.begin(now, call).expect("a handle");
    let Step::Send { timeout, .. } = world.router.next(now, leader) else {
        panic!("both are well");
    };
    let mut members = vec![(leader, 0)];
    for _ in 0..9 {
        let rider = world.router.begin(now, call).expect("a handle");
        members.push((rider, world.router.ride(now, rider, 0).expect("a seat")));
    }
    let end = now.after(timeout);
    for (handle, attempt) in members {
        world.router.complete(end, handle, attempt, Outcome::Timeout);
    }
    let rest = world.router.endpoint(0).expect("known").rest.until.expect("a rest").since(end);
    assert!(rest >= secs(2) && rest <= secs(5), "{rest:?}");
}

#[test]
fn a_rider_does_not_take_the_trial_s_permit_nor_end_it() {
    let mut world = World::new(2);
    world.serve(0, |_| refused());
    for _ in 0..3 {
        world.ask("eth_call");
    }
    world.pass(secs(11));
    world.serve(0, |_| hang());
    let call = world.call("eth_call");
    let trial = world.start(call);
    assert_eq!(world.asked(trial), [0]);
    let rider = world.router.begin(world.now, call).expect("a handle");
    let seat = world.router.ride(world.now, rider, 0).expect("a seat");
    world.router.complete(world.now, rider, seat, Outcome::Network { opaque: true });
    let other = world.start(call);
    assert_eq!(world.asked(other), [1]);
    world.router.abort(world.now, rider);
    world.router.release(rider);
    world.settle();
    assert!(world.is_quiet());
}

#[test]
fn a_cold_pool_with_one_endpoint_works_with_every_strategy() {
    for strategy in [
        Strategy::LoadBalanced,
        Strategy::Fastest,
        Strategy::LatencyWeighted,
        Strategy::Priority,
        Strategy::Adaptive,
    ] {
        let mut world = ranked(strategy, &[5]);
        assert_eq!(world.path("eth_call"), (vec![0], Conclusion::Answer(0)));
        world.serve(0, |_| opaque());
        let ending = world.ask("eth_call");
        assert!(matches!(ending.conclusion, Conclusion::Exhausted { .. }), "{ending:?}");
        assert!(ending.took < ms(2_000));
    }
}
