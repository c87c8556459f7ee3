//! `adaptive`: who is asked, who is probed, who is left.

use waypost::engine::breaker::Circuit;
use waypost::engine::config::Settings;
use waypost::engine::request::Call;
use waypost::engine::strategy::Strategy;

use crate::world::{World, answer, hang, limited, ms, refused, secs, status};

fn adaptive(latencies: &[u64]) -> World {
    let settings = Settings { strategy: Strategy::Adaptive, ..Settings::default() };
    let mut world = World::with(settings, latencies.len());
    for (place, latency) in latencies.iter().copied().enumerate() {
        world.serve(place, move |_| answer(latency));
    }
    world
}

/// Requests one after the other, a tenth of a second apart; how many of them each endpoint was asked first for.
fn firsts(world: &mut World, count: usize) -> Vec<usize> {
    let mut firsts = vec![0; world.endpoints()];
    for _ in 0..count {
        let call = world.call("eth_call");
        let run = world.start(call);
        firsts[world.asked(run)[0]] += 1;
        world.finish(run);
        world.pass(ms(100));
    }
    firsts
}

#[test]
fn everybody_is_measured_and_nobody_waits_for_it() {
    let mut world = adaptive(&[300, 50, 900, 120]);
    for n in 0..12 {
        let took = world.ask("eth_call").took;
        world.pass(ms(100));
        assert!(n < 3 || took <= ms(50), "request {n} took {took:?}");
    }
    world.settle();
    for place in 0..4 {
        let latency = world.router.endpoint(place).expect("known").metrics.all().gauge.usual_ms();
        let expected = [300.0, 50.0, 900.0, 120.0][place];
        assert_eq!(latency, Some(expected), "{place}: a probe that lost goes on");
    }
    assert_eq!(firsts(&mut world, 50), [0, 50, 0, 0]);
    world.settle();
    assert!(world.is_quiet());
}

#[test]
fn probes_are_few() {
    let mut world = adaptive(&[50, 80, 120, 200]);
    firsts(&mut world, 1_000);
    let probes = world.sent.len() - 1_000;
    assert!((20..45).contains(&probes), "{probes}");
}

#[test]
fn a_degraded_endpoint_is_left_within_ten_requests_and_taken_back_within_two_half_lives() {
    for slow in [answer(600), hang(), status(503), refused(), limited(None)] {
        let mut world = adaptive(&[50, 80, 120]);
        firsts(&mut world, 50);
        world.serve(0, move |_| slow);
        let during = firsts(&mut world, 100);
        assert!(during[0] <= 10, "{slow:?} {during:?}");
        world.serve(0, |_| answer(50));
        // An open breaker and a limit have times of their own.
        world.pass(secs(120));
        firsts(&mut world, 20);
        let after = firsts(&mut world, 50);
        assert!(after[0] >= 45, "{slow:?} {after:?}");
    }
    let mut world = adaptive(&[50, 80, 120]);
    firsts(&mut world, 50);
    world.serve(0, |_| answer(600));
    firsts(&mut world, 100);
    world.serve(0, |_| answer(50));
    firsts(&mut world, 125);
    assert!(firsts(&mut world, 20)[0] >= 18, "twenty seconds later");
}

#[test]
fn many_requests_at_once_are_told_by_those_under_way() {
    let mut world = adaptive(&[50, 80]);
    firsts(&mut world, 50);
    world.serve(0, |_| hang());
    let call = world.call("eth_call");
    let runs: Vec<usize> = (0..30)
        .map(|_| {
            let run = world.start(call);
            world.pass(ms(30));
            run
        })
        .collect();
    let stuck = runs.iter().filter(|run| world.asked(**run)[0] == 0).count();
    assert!(stuck <= 8, "{stuck} of 30");
    world.settle();
    assert!(world.is_quiet());
}

#[test]
fn a_trial_goes_beside_a_request() {
    let mut world = adaptive(&[50, 80]);
    firsts(&mut world, 20);
    world.serve(0, |_| refused());
    let call = Call { only: Some(0), ..world.call("eth_call") };
    for _ in 0..3 {
        world.ask_with(call);
    }
    assert_eq!(world.circuit(0), Circuit::Open);
    world.serve(0, |_| hang());
    world.pass(secs(11));
    let before = world.hits(0);
    assert_eq!(world.ask("eth_call").took, ms(80));
    assert_eq!(world.hits(0), before + 1);
    world.settle();
    world.serve(0, |_| answer(50));
    world.pass(secs(60));
    firsts(&mut world, 4);
    assert_eq!(world.circuit(0), Circuit::Closed);
}

#[test]
fn what_must_not_be_repeated_is_neither_probed_nor_explored() {
    let mut world = adaptive(&[50, 80, 120]);
    for method in ["eth_sendTransaction", "eth_sendRawTransaction", "vendor_x"] {
        for _ in 0..20 {
            assert_eq!(world.path(method).0.len(), 1, "{method}");
        }
    }
}

#[test]
fn a_refusal_without_a_time_is_short_the_first_time_and_the_default_at_most() {
    let mut world = adaptive(&[50, 400]);
    firsts(&mut world, 30);
    let mut hits = world.hits(0);
    world.serve(0, |_| limited(None));
    assert_eq!(world.path("eth_call").0[..2], [0, 1]);
    world.pass(ms(150));
    world.serve(0, |_| answer(50));
    assert_eq!(world.path("eth_call").0[0], 0, "a tenth of a second");
    world.serve(0, |_| limited(None));
    hits += 2;
    firsts(&mut world, 1_200);
    let tries = world.hits(0) - hits;
    assert!((20..34).contains(&tries), "{tries} in ten minutes");
    // Those who name a time are believed.
    world.pass(secs(31));
    world.serve(0, |_| limited(Some(secs(20))));
    firsts(&mut world, 1);
    let hits = world.hits(0);
    firsts(&mut world, 30);
    assert_eq!(world.hits(0), hits);
}
