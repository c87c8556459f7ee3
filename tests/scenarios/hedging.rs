//! Second attempts beside slow ones.

use waypost::engine::config::{HedgeConfig, Settings};
use waypost::engine::outcome::Outcome;
use waypost::engine::request::{Conclusion, Step};
use waypost::engine::strategy::Strategy;

use crate::world::{World, answer, config, hang, limited, ms, secs, status};

fn hedged(hedge: Option<HedgeConfig>, latencies: &[u64]) -> World {
    let settings = Settings { strategy: Strategy::Priority, hedge, ..Settings::default() };
    let mut world = World::with(settings, latencies.len());
    for (place, latency) in latencies.iter().copied().enumerate() {
        world.serve(place, move |_| answer(latency));
    }
    world
}

fn by_default(latencies: &[u64]) -> World {
    hedged(Some(HedgeConfig::default()), latencies)
}

fn warm_up(world: &mut World) {
    for _ in 0..50 {
        world.ask("eth_call");
    }
}

#[test]
fn nobody_is_hedged_who_has_not_asked_for_it() {
    for hedge in [None, Some(HedgeConfig { budget: 0.0, ..HedgeConfig::default() })] {
        let mut world = hedged(hedge, &[50, 50]);
        world.serve(0, |_| hang());
        assert_eq!(world.ask("eth_call").took, ms(5_050));
    }
}

#[test]
fn a_slow_attempt_has_company_after_what_most_answers_take() {
    let mut world = by_default(&[50, 60, 70]);
    warm_up(&mut world);
    assert_eq!(world.sent.len(), 50, "nobody was slow");
    world.serve(0, |_| answer(900));
    let ending = world.ask("eth_call");
    assert!(ending.took > ms(110) && ending.took < ms(190), "{ending:?}");
    assert_eq!(ending.conclusion, Conclusion::Answer(1));
    world.settle();
    assert!(world.is_quiet(), "the loser was stopped");
}

#[test]
fn the_loser_s_time_is_remembered_as_the_least_that_it_would_have_taken() {
    let mut world = by_default(&[50, 60]);
    warm_up(&mut world);
    world.serve(0, |_| hang());
    for _ in 0..6 {
        world.ask("eth_call");
    }
    let gauge = world.router.endpoint(0).expect("known").metrics.all().gauge;
    assert!(gauge.usual_ms() > Some(100.0), "{gauge:?}");
}

#[test]
fn second_attempts_keep_to_their_budget() {
    let mut world = by_default(&[50, 60]);
    warm_up(&mut world);
    let mut n = 0;
    world.serve(0, move |_| {
        n += 1;
        answer(if n % 2 == 0 { 50 } else { 900 })
    });
    for _ in 0..1_000 {
        world.ask("eth_call");
    }
    let extra = world.hits(1);
    assert!(
        (40..=70).contains(&extra),
        "{extra} of 1000: a twentieth, and twenty that were saved up"
    );
}

#[test]
fn unsafe_requests_have_none_and_raw_transactions_have_to_be_named() {
    let mut world = by_default(&[900, 60]);
    for method in ["eth_sendTransaction", "eth_sendRawTransaction", "vendor_x"] {
        assert_eq!(world.path(method).0, [0], "{method}");
    }
    let raw = world.router.method("eth_sendRawTransaction");
    let hedge = HedgeConfig { methods: vec![raw], ..HedgeConfig::default() };
    world.router.settings_mut(0).expect("known").hedge = Some(hedge);
    assert_eq!(world.path("eth_call").0, [0], "only the named ones");
    world.serve(0, |_| hang());
    assert!(world.ask("eth_sendRawTransaction").took < secs(3));
}

#[test]
fn a_second_attempt_goes_to_another_origin_or_nowhere() {
    let settings = Settings {
        strategy: Strategy::Priority,
        hedge: Some(HedgeConfig::default()),
        ..Settings::default()
    };
    let mut world = World::with(settings, 0);
    for (place, origin) in ["a", "a", "b"].into_iter().enumerate() {
        world.add(0, origin, config(place));
    }
    world.serve(0, |_| answer(900));
    assert_eq!(world.path("eth_call").0, [0, 2]);
    world.serve(2, |_| limited(Some(secs(60))));
    world.path("eth_call");
    assert_eq!(world.path("eth_call").0, [0], "the only other origin is limited");
}

#[test]
fn a_second_attempt_that_fails_is_replaced_at_once() {
    let mut world = by_default(&[50, 60, 70]);
    warm_up(&mut world);
    world.serve(0, |_| hang());
    world.serve(1, |_| status(503));
    let call = world.call("eth_call");
    let run = world.start(call);
    let ending = world.finish(run);
    assert_eq!(world.asked(run), [0, 1, 2]);
    assert!(ending.took < ms(250), "{ending:?}");
}

#[test]
fn the_first_to_fail_is_replaced_as_ever() {
    let mut world = by_default(&[50, 60, 70]);
    warm_up(&mut world);
    world.serve(0, |_| status(503).within(200));
    world.serve(1, |_| answer(500));
    let (asked, conclusion) = world.path("eth_call");
    assert_eq!(asked, [0, 1]);
    assert_eq!(conclusion, Conclusion::Answer(1));
}

#[test]
fn a_doubtful_answer_waits_for_a_better_one_and_is_the_answer_if_there_is_none() {
    for better in [Outcome::Success, Outcome::Timeout, Outcome::Doubtful] {
        let mut world = by_default(&[50, 60]);
        let (now, call) = (world.now, world.call("eth_call"));
        let handle = world.router.begin(now, call).expect("a handle");
        let Step::Send { backup_after: Some(delay), .. } = world.router.next(now, handle) else {
            panic!("it may be hedged");
        };
        let later = now.after(delay);
        let step = world.router.backup(later, handle).expect("another is well");
        assert!(matches!(step, Step::Send { attempt: 1, endpoint: 1, .. }), "{step:?}");
        world.router.complete(later, handle, 1, Outcome::Doubtful);
        assert_eq!(world.router.next(later, handle), Step::Pending);
        world.router.complete(later, handle, 0, better);
        let first = usize::from(!matches!(better, Outcome::Success));
        assert_eq!(
            world.router.next(later, handle),
            Step::End(Conclusion::Answer(first)),
            "{better:?}"
        );
        world.router.release(handle);
        assert!(world.is_quiet());
    }
}
