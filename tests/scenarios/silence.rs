//! Failures that say nothing: whose fault they are, and whose they are not.

use waypost::engine::breaker::Circuit;
use waypost::engine::request::{Call, Conclusion};

use crate::world::{World, answer, error, hang, ms, offline, opaque, refused, secs, status};

fn rest(world: &World, endpoint: usize) -> Option<std::time::Duration> {
    let until = world.router.endpoint(endpoint).expect("known").rest.until;
    until.map(|until| until.since(world.now)).filter(|span| !span.is_zero())
}

#[test]
fn when_all_are_silent_together_nobody_is_blamed() {
    for reply in [opaque(), offline()] {
        let mut world = World::new(3);
        world.serve_all(move |_| reply);
        for _ in 0..10 {
            assert!(!matches!(world.ask("eth_call").conclusion, Conclusion::Answer(_)));
        }
        assert!((0..3).all(|place| world.consecutive(place) == 0), "{reply:?}");
        world.serve_all(|_| answer(50));
        assert_eq!(world.path("eth_call"), (vec![0], Conclusion::Answer(0)));
    }
}

#[test]
fn who_is_silent_while_others_answer_is_blamed() {
    let mut world = World::new(3);
    world.serve(0, |_| opaque());
    for _ in 0..3 {
        world.ask("eth_call");
    }
    assert_eq!(world.circuit(0), Circuit::Open);
}

#[test]
fn who_is_silent_is_blamed_when_others_broke_in_words() {
    let mut world = World::new(3);
    world.serve_all(|_| opaque());
    world.serve(0, |_| status(503));
    world.ask("eth_call");
    assert!(world.consecutive(1) > 0 && world.consecutive(2) > 0);
}

#[test]
fn a_trial_that_fails_in_silence_after_its_backup_answered_is_blamed() {
    let mut world = World::new(2);
    world.serve(0, |_| opaque());
    for _ in 0..3 {
        world.ask("eth_call");
    }
    world.serve(0, |_| opaque().within(1_000));
    world.pass(secs(11));
    world.ask("eth_call");
    world.settle();
    assert_eq!(world.circuit(0), Circuit::Open);
    assert!(world.is_quiet());
}

#[test]
fn silence_after_a_recent_answer_brings_a_rest_of_two_to_five_seconds() {
    let mut world = World::new(2);
    world.ask("eth_call");
    world.serve(0, |_| opaque());
    assert_eq!(world.path("eth_call").0, [0, 1]);
    let span = rest(&world, 0).expect("a rest");
    assert!(span > ms(1_900) && span <= secs(5), "{span:?}");
    assert_eq!(world.circuit(0), Circuit::Closed);
    assert_eq!(world.path("eth_call").0, [1], "it is asked last");
    world.pass(secs(5));
    assert_eq!(world.path("eth_call").0, [0, 1], "and no longer than that");
    assert_eq!(rest(&world, 0), None, "the second silence follows no answer");
}

#[test]
fn a_timeout_that_was_cut_short_never_counts() {
    let mut world = World::new(2);
    world.serve(0, |_| hang());
    let call = Call { deadline: Some(secs(2)), ..world.call("eth_call") };
    for _ in 0..20 {
        assert_eq!(world.path_with(call), (vec![0, 1], Conclusion::Answer(1)));
        world.pass(secs(61));
    }
    assert_eq!((world.circuit(0), world.consecutive(0)), (Circuit::Closed, 0));
}

#[test]
fn attempts_that_were_cut_short_make_an_endpoint_rest_longer_and_longer() {
    let mut world = World::new(2);
    world.serve(0, |_| hang());
    let call = Call { deadline: Some(secs(2)), ..world.call("eth_call") };
    // Ten minutes of a request a second: no breaker opens, so the rests have to do its work.
    for _ in 0..600 {
        world.ask_with(call);
        world.pass(ms(900));
    }
    assert!(world.hits(0) <= 20, "{} users waited", world.hits(0));
}

#[test]
fn a_full_timeout_counts_and_two_open() {
    let mut world = World::new(2);
    world.serve(0, |_| hang());
    world.ask("eth_call");
    assert_eq!(world.consecutive(0), 1);
    world.ask("eth_call");
    assert_eq!(world.circuit(0), Circuit::Open);
}

#[test]
fn a_frozen_tab_blames_nobody_for_what_its_timers_say() {
    for reply in [hang(), refused(), opaque()] {
        let mut world = World::new(2);
        world.serve_all(move |_| reply);
        for _ in 0..5 {
            let call = world.call("eth_call");
            let run = world.start(call);
            world.freeze(secs(3_600));
            let ending = world.finish(run);
            assert!(matches!(ending.conclusion, Conclusion::Deadline { .. }), "{ending:?}");
        }
        assert_eq!((world.consecutive(0), world.circuit(0)), (0, Circuit::Closed), "{reply:?}");
        assert!(world.is_quiet());
    }
}

#[test]
fn a_frozen_tab_s_answers_say_nothing_about_latency() {
    for reply in [answer(50), error(3, "execution reverted")] {
        let mut world = World::new(1);
        world.ask("eth_call");
        world.serve(0, move |_| reply);
        let call = world.call("eth_call");
        let run = world.start(call);
        world.freeze(secs(3_600));
        world.finish(run);
        world.serve(0, |_| answer(50));
        world.ask("eth_call");
        let reading = world.router.endpoint(0).expect("known").metrics.all().read_at(world.now);
        assert_eq!(reading.latency_ms, Some(50.0), "{reply:?}");
    }
}

#[test]
fn a_clock_that_steps_back_counts_as_one_that_stands() {
    let mut world = World::new(3);
    world.serve(0, |_| refused());
    world.serve(1, |ask| if ask.nth == 0 { answer(50) } else { refused() });
    for _ in 0..3 {
        world.ask("eth_call");
    }
    let opening = |world: &World, place| {
        world.router.endpoint(place).expect("known").breaker.opening.expect("open")
    };
    let (first, latest) = (opening(&world, 0), world.now);
    world.now = world.now.before(secs(600));
    while world.circuit(1) == Circuit::Closed {
        assert_eq!(world.path("eth_call").1, Conclusion::Answer(1));
    }
    assert_eq!(opening(&world, 0), first);
    assert_eq!(opening(&world, 1).at, latest, "no time passed, and none was gained");
}
