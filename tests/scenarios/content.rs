//! Requests that bring their gateways with them.

use std::time::Duration;

use waypost::engine::breaker::Circuit;
use waypost::engine::outcome::Outcome;
use waypost::engine::request::{Call, Conclusion};
use waypost::engine::strategy::Strategy;

use crate::world::{World, answer, hang, limited, ms, refused, secs, status};

fn all(count: usize) -> Vec<usize> {
    (0..count).collect()
}

fn fetch(world: &mut World, known: &[usize]) -> (Vec<usize>, Conclusion, Duration) {
    let run = world.start_content("GET", known);
    let ending = world.finish(run);
    (world.asked(run), ending.conclusion, ending.took)
}

fn pick(world: &mut World, strategy: Strategy, places: &[usize]) -> Option<usize> {
    let call = world.call("GET");
    let now = world.now;
    world.router.pick(now, Call { strategy: Some(strategy), ..call }, places)
}

#[test]
fn the_preferred_gateway_is_asked_and_nobody_else() {
    let mut world = World::of_gateways(5);
    for first in 0..5 {
        let mut known = all(5);
        known.swap(0, first);
        let (asked, conclusion, _) = fetch(&mut world, &known);
        assert_eq!((asked, conclusion), (vec![first], Conclusion::Answer(0)));
    }
}

#[test]
fn each_gateway_is_asked_once_before_the_request_gives_up() {
    let mut world = World::of_gateways(20);
    world.serve_all(|_| status(502));
    let (mut asked, conclusion, _) = fetch(&mut world, &all(20));
    assert_eq!(asked[0], 0);
    asked.sort_unstable();
    assert_eq!(asked, all(20));
    assert!(matches!(conclusion, Conclusion::Exhausted { .. }), "{conclusion:?}");
}

#[test]
fn a_request_without_gateways_ends_at_once() {
    let mut world = World::of_gateways(2);
    let (asked, conclusion, took) = fetch(&mut world, &[]);
    assert!(asked.is_empty() && took.is_zero());
    assert!(matches!(conclusion, Conclusion::Exhausted { .. }), "{conclusion:?}");
}

#[test]
fn the_good_one_of_twenty_serves_whatever_is_wrong_with_the_others() {
    for reply in [hang(), refused(), status(503), limited(Some(secs(600)))] {
        for good in [1, 7, 19] {
            let mut world = World::of_gateways(20);
            world.serve_all(move |_| reply);
            world.serve(good, |_| answer(80));
            let (_, conclusion, took) = fetch(&mut world, &all(20));
            assert!(matches!(conclusion, Conclusion::Answer(_)), "{reply:?} {good} {conclusion:?}");
            assert!(took < secs(45), "{took:?}");
        }
    }
}

#[test]
fn beside_a_gateway_that_hangs_the_next_is_asked_after_three_seconds() {
    let mut world = World::of_gateways(2);
    world.serve(0, |_| hang());
    let (asked, conclusion, took) = fetch(&mut world, &[0, 1]);
    assert_eq!((asked, conclusion), (vec![0, 1], Conclusion::Answer(1)));
    assert_eq!(took, ms(3_050));
    assert!(world.is_quiet(), "the loser is stopped");
}

#[test]
fn a_gateway_that_is_named_while_another_hangs_is_asked_beside_it() {
    let mut world = World::of_gateways(2);
    world.serve(0, |_| hang());
    let run = world.start_content("GET", &[0]);
    assert_eq!(world.sent[0].backup_after, Some(secs(3)), "somebody else may be known by then");
    world.pass(secs(2));
    world.router.prefer(world.now, world.handle(run), 1);
    assert_eq!(world.finish(run).took, ms(3_050));
}

#[test]
fn a_slow_gateway_still_wins_if_it_answers_first() {
    let mut world = World::of_gateways(2);
    world.serve(0, |_| answer(4_000));
    world.serve(1, |_| answer(6_000));
    let (asked, conclusion, took) = fetch(&mut world, &[0, 1]);
    assert_eq!((asked, conclusion, took), (vec![0, 1], Conclusion::Answer(0), secs(4)));
}

#[test]
fn a_gateway_alone_has_its_full_time() {
    let mut world = World::of_gateways(1);
    world.serve(0, |_| answer(14_000));
    assert_eq!(fetch(&mut world, &[0]).1, Conclusion::Answer(0));
}

#[test]
fn a_failure_beside_a_young_attempt_waits_for_it() {
    let mut world = World::of_gateways(4);
    world.serve(0, |_| hang());
    world.serve(1, |_| status(500));
    world.serve(2, |_| status(500));
    let run = world.start_content("GET", &all(4));
    world.pass(secs(12));
    let ending = world.ending(run).expect("the fourth has answered");
    assert!(matches!(ending.conclusion, Conclusion::Answer(_)));
    assert!(ending.took < secs(4), "those that fail at once cost no patience: {:?}", ending.took);
}

#[test]
fn a_loser_that_was_overdue_is_asked_last_for_a_while_and_a_young_one_is_not() {
    let mut world = World::of_gateways(3);
    world.serve(0, |_| hang());
    fetch(&mut world, &[0, 1]);
    assert_eq!([world.router.tier(world.now, 0), world.router.tier(world.now, 1)], [2, 1]);
    world.serve(0, |_| answer(50));
    assert_eq!(fetch(&mut world, &[0, 1]).0, [1], "its rest outranks the preference");
    world.pass(secs(10));
    assert_eq!(world.router.tier(world.now, 0), 1);

    world.serve(0, |_| answer(3_500));
    world.serve(1, |_| answer(800));
    let (asked, conclusion, _) = fetch(&mut world, &[0, 1]);
    assert_eq!((asked, conclusion), (vec![0, 1], Conclusion::Answer(0)));
    assert_eq!(world.router.tier(world.now, 1), 1, "it had half a second");
}

#[test]
fn an_open_breaker_puts_a_gateway_last_and_does_not_exclude_it() {
    let mut world = World::of_gateways(2);
    world.serve(0, |_| refused());
    for _ in 0..3 {
        fetch(&mut world, &[0, 1]);
    }
    assert_eq!((world.circuit(0), world.router.tier(world.now, 0)), (Circuit::Open, 5));
    assert_eq!(fetch(&mut world, &[0, 1]).0, [1]);
    world.serve(0, |_| answer(50));
    assert_eq!(
        fetch(&mut world, &[0]).1,
        Conclusion::Answer(0),
        "a list of one is the user's wish"
    );
    assert!(world.is_quiet());
}

#[test]
fn a_recovered_gateway_gets_its_trial_and_returns() {
    let mut world = World::of_gateways(2);
    world.serve(0, |_| refused());
    for _ in 0..3 {
        fetch(&mut world, &[0, 1]);
    }
    world.serve(0, |_| answer(50));
    world.pass(secs(11));
    for _ in 0..2 {
        assert_eq!(fetch(&mut world, &[1, 0]).0, [0], "the trial goes first");
    }
    assert_eq!(world.circuit(0), Circuit::Closed);
}

#[test]
fn an_answer_that_there_is_no_content_proves_health_and_no_speed() {
    let mut world = World::of_gateways(2);
    let run = world.start_content("GET", &[0]);
    let handle = world.handle(run);
    let now = world.now.after(ms(2));
    world.router.complete(now, handle, 0, Outcome::Declined);
    let request = world.router.request(handle).expect("not released");
    assert_eq!(request.conclusion(), Some(Conclusion::Answer(0)));
    let endpoint = world.router.endpoint(0).expect("known");
    assert_eq!(endpoint.metrics.all().read_at(now).latency_ms, None);
    assert_eq!(endpoint.answered_at, Some(now));
    let call = world.call("GET");
    for _ in 0..3 {
        world.router.note(now, 1, call.method, Some(ms(40)), false);
    }
    assert_eq!(
        pick(&mut world, Strategy::Fastest, &[0, 1]),
        Some(1),
        "a quick refusal wins nothing"
    );
}

#[test]
fn a_short_limit_is_waited_for_and_a_long_one_is_not() {
    for (limit, wait) in [(4, 4), (120, 0)] {
        let mut world = World::of_gateways(1);
        world.serve(0, move |_| limited(Some(secs(limit))));
        fetch(&mut world, &[0]);
        world.serve(0, |_| answer(50));
        let (_, conclusion, took) = fetch(&mut world, &[0]);
        assert_eq!(conclusion, Conclusion::Answer(0));
        assert_eq!(took.as_secs(), wait, "{took:?}");
    }
}

#[test]
fn a_request_that_is_not_safe_to_repeat_is_sent_once() {
    let mut world = World::of_gateways(3);
    world.serve(0, |_| hang());
    let run = world.start_content("POST", &all(3));
    let ending = world.finish(run);
    assert_eq!(world.asked(run), [0]);
    assert_eq!(ending.conclusion, Conclusion::Indeterminate(0));
}

#[test]
fn a_pick_is_the_strategys_among_the_healthiest() {
    let mut world = World::of_gateways(4);
    let call = world.call("GET");
    for (place, latency) in [(0, 90), (1, 20), (2, 50)] {
        world.router.note(world.now, place, call.method, Some(ms(latency)), false);
        world.router.note(world.now, place, call.method, Some(ms(latency)), false);
        world.router.note(world.now, place, call.method, Some(ms(latency)), false);
    }
    assert_eq!(pick(&mut world, Strategy::Fastest, &[0, 1, 2, 3]), Some(1));
    assert_eq!(pick(&mut world, Strategy::Priority, &[3, 2, 1]), Some(3), "the list is the order");
    for _ in 0..5 {
        world.router.note(world.now, 1, call.method, None, false);
    }
    assert_eq!(world.circuit(1), Circuit::Open);
    assert_eq!(pick(&mut world, Strategy::Fastest, &[0, 1, 2]), Some(2));
    assert_eq!(pick(&mut world, Strategy::Fastest, &[1]), Some(1));
    assert_eq!(pick(&mut world, Strategy::Fastest, &[]), None);
    assert_eq!(pick(&mut world, Strategy::Fastest, &[99]), None, "an unknown place");
}

#[test]
fn a_probe_measures_and_moves_no_breaker() {
    let mut world = World::of_gateways(1);
    let call = world.call("HEAD");
    for _ in 0..4 {
        world.router.note(world.now, 0, call.method, None, false);
    }
    world.router.note(world.now, 0, call.method, Some(ms(5)), true);
    assert_eq!(world.consecutive(0), 4, "a probe that is answered forgives nothing");
    for _ in 0..9 {
        world.router.note(world.now, 0, call.method, None, true);
    }
    assert_eq!(world.circuit(0), Circuit::Closed);
}

#[test]
fn a_gateway_is_forgotten_with_all_that_was_known_of_it_but_not_in_flight() {
    let mut world = World::of_gateways(2);
    world.serve(0, |_| limited(Some(secs(60))));
    fetch(&mut world, &[0]);
    assert_eq!(world.router.tier(world.now, 0), 2);
    assert!(world.router.forget_gateway(0));
    assert_eq!(world.router.tier(world.now, 0), 1);
    let run = world.start_content("GET", &[1]);
    assert!(!world.router.forget_gateway(1));
    world.finish(run);
    assert!(world.router.forget_gateway(1));
    assert!(!world.router.forget_gateway(99), "an unknown place");
}

#[test]
fn an_offer_has_a_bound_and_unknown_places_are_left_out() {
    let mut world = World::of_gateways(2);
    let run = world.start_content("GET", &[7, 1, 99]);
    assert_eq!(world.finish(run).conclusion, Conclusion::Answer(0));
    assert_eq!(world.asked(run), [1]);
}

#[test]
fn a_choice_is_trusted_until_an_answer_of_it_is_bad() {
    let mut world = World::of_gateways(2);
    assert!(world.router.is_trusted(world.now, 0), "nothing speaks against it");
    world.serve(0, |_| status(503));
    fetch(&mut world, &[0, 1]);
    assert!(!world.router.is_trusted(world.now, 0) && world.router.is_trusted(world.now, 1));
    assert_eq!(world.router.tier(world.now, 0), 1, "one failure is not an illness");
    world.serve(0, |_| answer(50));
    fetch(&mut world, &[0]);
    assert!(world.router.is_trusted(world.now, 0));
    assert!(!world.router.is_trusted(world.now, 99), "an unknown place");
}

#[test]
fn the_unproven_get_their_share_of_picks() {
    let mut world = World::of_gateways(3);
    let call = world.call("GET");
    for _ in 0..3 {
        world.router.note(world.now, 2, call.method, Some(ms(300)), false);
    }
    for strategy in [Strategy::Fastest, Strategy::Adaptive] {
        let mut picks = [0; 3];
        for _ in 0..1_000 {
            picks[pick(&mut world, strategy, &[0, 1, 2]).expect("three are healthy")] += 1;
        }
        assert!(picks[0] > 20 && picks[1] > 20 && picks[2] > 900, "{strategy:?} {picks:?}");
    }
}

#[test]
fn a_short_deadline_leaves_time_for_others() {
    for deadline in [800, 3_000] {
        let mut world = World::of_gateways(2);
        world.serve(0, |_| hang());
        let call = world.call("GET");
        let run = world.start_content_with(Call { deadline: Some(ms(deadline)), ..call }, &[0, 1]);
        let ending = world.finish(run);
        assert_eq!(ending.conclusion, Conclusion::Answer(1), "{deadline} ms");
    }
}

#[test]
fn bodies_that_break_in_a_row_open_the_breaker_though_their_headers_were_good() {
    let mut world = World::of_gateways(1);
    let call = world.call("GET");
    let breaks = |world: &mut World, is_whole| {
        fetch(world, &[0]);
        world.router.end_body(world.now, 0, call.method, is_whole);
    };
    for _ in 0..4 {
        breaks(&mut world, false);
    }
    breaks(&mut world, true);
    for _ in 0..4 {
        breaks(&mut world, false);
    }
    assert_eq!(world.circuit(0), Circuit::Closed);
    breaks(&mut world, false);
    assert_eq!(world.circuit(0), Circuit::Open);
}
