//! Providers that want fewer requests, and budgets that their user has set.

use waypost::engine::breaker::Circuit;
use waypost::engine::config::{Budget, EndpointConfig, Settings};
use waypost::engine::request::{Call, Conclusion};
use waypost::engine::strategy::Strategy;
use waypost::engine::time::Timestamp;

use crate::world::{START, World, answer, config, error, limited, ms, refused, secs, status};

fn budgeted(world: &mut World, place: usize, rps: f64, burst: u32) {
    let budget = Some(Budget { rps, burst });
    world.add(0, &format!("budget {place}"), EndpointConfig { budget, ..config(place) });
}

/// Most requests that `endpoint` got in any span of this length.
fn most_within(world: &World, endpoint: usize, span: std::time::Duration) -> usize {
    let sent = world.sent.iter().filter(|sent| sent.endpoint == endpoint);
    let times: Vec<Timestamp> = sent.map(|sent| sent.at).collect();
    let within = |first: usize| times[first..].partition_point(|at| at.since(times[first]) < span);
    (0..times.len()).map(within).max().unwrap_or(0)
}

#[test]
fn a_limited_provider_is_left_alone_for_as_long_as_it_asked() {
    let mut world = World::new(2);
    world.serve(0, |_| limited(Some(secs(7))));
    assert_eq!(world.path("eth_call").0, [0, 1]);
    for _ in 0..69 {
        world.pass(ms(50));
        assert_eq!(world.path("eth_call").0, [1]);
    }
    world.pass(ms(200));
    assert_eq!(world.path("eth_call").0, [0, 1]);
    assert_eq!(world.circuit(0), Circuit::Closed);
    assert_eq!(world.consecutive(0), 0);
}

#[test]
fn any_number_of_limits_opens_no_breaker() {
    for reply in [limited(None), error(-32005, "rate limit exceeded")] {
        let mut world = World::new(2);
        world.serve(0, move |_| reply);
        for _ in 0..20 {
            world.ask("eth_call");
            world.pass(secs(31));
        }
        assert_eq!((world.hits(0), world.circuit(0)), (20, Circuit::Closed), "{reply:?}");
    }
}

#[test]
fn a_hint_in_the_error_s_text_is_kept_to() {
    let mut world = World::new(2);
    world.serve(0, |_| error(-32005, "rate limit exceeded, retry in 3s"));
    world.ask("eth_call");
    world.pass(ms(2_800));
    assert_eq!(world.path("eth_call").0, [1]);
    world.pass(ms(200));
    assert_eq!(world.path("eth_call").0, [0, 1]);
}

#[test]
fn when_all_are_limited_a_request_waits_for_the_first_that_is_free() {
    let mut world = World::new(2);
    let reply = |millis| {
        move |ask: crate::world::Ask| {
            if ask.nth == 0 { limited(Some(ms(millis))) } else { answer(50) }
        }
    };
    world.serve(0, reply(4_000));
    world.serve(1, reply(1_500));
    let (path, conclusion) = world.path("eth_call");
    assert_eq!((path, conclusion), (vec![0, 1, 1], Conclusion::Answer(2)));
    assert!(world.sent[2].at >= world.sent[1].at.after(ms(1_500)));
}

#[test]
fn when_all_are_limited_for_too_long_a_request_fails_at_once_and_says_when() {
    let mut world = World::new(2);
    world.serve(0, |_| limited(Some(secs(60))));
    world.serve(1, |_| limited(Some(secs(40))));
    let ending = world.ask("eth_call");
    let Conclusion::RateLimited { retry_at: Some(at) } = ending.conclusion else {
        panic!("{ending:?}");
    };
    assert!(ending.took < ms(500), "{ending:?}");
    // And it is true: at that time one may be asked, and not before.
    world.serve_all(|_| answer(50));
    world.pass(at.before(secs(11)).since(world.now));
    assert!(matches!(world.ask("eth_call").conclusion, Conclusion::RateLimited { .. }));
    world.pass(at.since(world.now));
    assert_eq!(world.path("eth_call"), (vec![1], Conclusion::Answer(0)));
}

#[test]
fn an_override_to_a_limited_provider_says_when_that_one_is_free() {
    let mut world = World::new(2);
    world.serve(0, |_| limited(Some(secs(60))));
    world.ask("eth_call");
    let free = START.after(ms(20)).after(secs(60));
    let call = Call { only: Some(0), ..world.call("eth_call") };
    let ending = world.ask_with(call);
    assert_eq!(ending.conclusion, Conclusion::RateLimited { retry_at: Some(free) });
}

#[test]
fn retry_after_zero_means_now() {
    let mut world = World::new(1);
    world.serve(0, |ask| if ask.nth == 0 { limited(Some(secs(0))) } else { answer(50) });
    let ending = world.ask("eth_call");
    assert_eq!(ending.conclusion, Conclusion::Answer(1));
    assert!(ending.took < ms(400), "{ending:?}");
}

#[test]
fn a_limited_provider_is_asked_when_all_others_broke_and_it_cannot_be_waited_for() {
    let mut world = World::new(2);
    world.serve(0, |ask| if ask.nth == 0 { limited(Some(secs(60))) } else { answer(50) });
    world.ask("eth_call");
    world.serve(1, |_| refused());
    assert_eq!(world.path("eth_call"), (vec![1, 0], Conclusion::Answer(1)));
}

#[test]
fn a_budget_sends_to_the_others_first_and_then_makes_requests_queue() {
    let mut world = World::empty(42, START);
    let profile =
        world.router.add_profile(Settings { strategy: Strategy::Priority, ..Settings::default() });
    let pool = world.router.add_pool(profile, "default", "ethereum");
    budgeted(&mut world, 0, 2.0, 2);
    world.add(pool, "free", config(1));
    let call = world.call("eth_call");
    let runs: Vec<usize> = (0..6).map(|_| world.start(call)).collect();
    let first: Vec<usize> = runs.iter().map(|run| world.asked(*run)[0]).collect();
    assert_eq!(first, [0, 0, 1, 1, 1, 1]);
}

#[test]
fn a_budget_is_never_exceeded_and_the_queue_is_answered_in_its_order() {
    let mut world = World::new(0);
    budgeted(&mut world, 0, 2.0, 3);
    let call = world.call("eth_call");
    let runs: Vec<usize> = (0..40).map(|_| world.start(call)).collect();
    let ends: Vec<_> = runs.iter().map(|run| world.finish(*run)).collect();
    assert_eq!(most_within(&world, 0, secs(1)), 3 + 1);
    let answered = ends.iter().take_while(|e| matches!(e.conclusion, Conclusion::Answer(_)));
    // Three at once, then two a second for as long as the deadline leaves room.
    let answered = answered.count();
    assert!((22..=23).contains(&answered), "{answered}");
    for end in &ends[answered..] {
        assert!(matches!(end.conclusion, Conclusion::RateLimited { retry_at: Some(_) }), "{end:?}");
        assert!(end.took.is_zero(), "those who cannot be served learn it at once");
    }
    let order: Vec<usize> = world.sent.iter().map(|sent| sent.run).collect();
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn a_place_in_the_queue_is_kept_though_another_endpoint_looks_sooner() {
    let settings = Settings { strategy: Strategy::LoadBalanced, ..Settings::default() };
    let mut world = World::with(settings, 0);
    budgeted(&mut world, 0, 1.0, 1);
    budgeted(&mut world, 1, 1.0, 1);
    let call = world.call("eth_call");
    let runs: Vec<usize> = (0..18).map(|_| world.start(call)).collect();
    for (number, run) in runs.into_iter().enumerate() {
        let end = world.finish(run);
        assert!(matches!(end.conclusion, Conclusion::Answer(_)), "{number}: {end:?}");
        let turn = secs(u64::try_from(number).expect("small") / 2).saturating_add(ms(50));
        assert_eq!(end.took, turn, "request {number}");
    }
}

#[test]
fn a_budget_holds_in_the_last_resort_too() {
    let mut world = World::new(0);
    budgeted(&mut world, 0, 0.1, 1);
    world.serve(0, |_| refused());
    let call = Call { deadline: Some(secs(60)), ..world.call("eth_call") };
    for _ in 0..20 {
        world.ask_with(call);
    }
    assert_eq!(most_within(&world, 0, secs(10)), 1);
}

#[test]
fn a_provider_s_limit_holds_in_the_last_resort_too() {
    let mut world = World::new(1);
    world.serve(0, |_| refused());
    // A slow attempt learns of the limit, and others open the breaker meanwhile.
    world.serve(0, |ask| if ask.nth == 0 { limited(Some(secs(8))).within(900) } else { refused() });
    let call = world.call("eth_call");
    world.start(call);
    let runs: Vec<usize> = (0..3).map(|_| world.start(call)).collect();
    world.pass(secs(1));
    assert_eq!(world.circuit(0), Circuit::Open);
    let before = world.hits(0);
    world.pass(ms(7_500));
    assert_eq!(world.hits(0), before, "the limit ends {:?} after the start", ms(8_900));
    for run in runs {
        world.finish(run);
    }
}

#[test]
fn a_budget_holds_when_others_broke_and_the_provider_is_limited() {
    let mut world = World::new(0);
    budgeted(&mut world, 0, 0.1, 1);
    world.add(0, "free", config(1));
    world.serve(0, |_| limited(Some(secs(60))));
    world.ask("eth_call");
    world.serve(1, |_| status(503));
    world.ask("eth_call");
    assert_eq!(most_within(&world, 0, secs(10)), 1);
}

#[test]
fn a_quota_group_shares_its_limits_and_a_provider_of_its_own_does_not() {
    let mut world = World::new(1);
    for (place, group) in [(1, "shared"), (2, "shared"), (3, "own")] {
        world.add(0, group, config(place));
    }
    world.serve(0, |_| status(503));
    world.serve(1, |_| limited(Some(secs(7))));
    assert_eq!(world.path("eth_call"), (vec![0, 1, 3], Conclusion::Answer(2)));
    assert_eq!(world.hits(2), 0);
}

#[test]
fn profiles_share_nothing() {
    let mut world = World::new(1);
    let settings = Settings { strategy: Strategy::Priority, ..Settings::default() };
    let other = world.router.add_profile(settings);
    let pool = world.router.add_pool(other, "other", "ethereum");
    let twin = world.add(pool, "origin 0", config(0));
    let call = world.call_to(pool, "eth_call");

    world.serve(0, |_| limited(Some(secs(60))));
    world.ask("eth_call");
    assert_eq!(world.path_with(call), (vec![twin], Conclusion::Answer(0)), "no limit");

    world.pass(secs(61));
    world.serve(0, |_| refused());
    while world.circuit(0) == Circuit::Closed {
        world.ask("eth_call");
    }
    assert_eq!(world.circuit(twin), Circuit::Closed, "no breaker");
    let fresh = |world: &World, place| {
        world.router.endpoint(place).map(|e| e.metrics.all().read_at(world.now).success_rate)
    };
    assert_eq!((fresh(&world, 0), fresh(&world, twin)), (Some(0.0), Some(1.0)), "no metrics");
}

#[test]
fn a_place_in_a_budget_s_queue_is_given_back_when_its_request_ends() {
    let mut world = World::empty(1, START);
    let settings = Settings { strategy: Strategy::Priority, ..Settings::default() };
    let profile = world.router.add_profile(settings);
    world.router.add_pool(profile, "default", "ethereum");
    budgeted(&mut world, 0, 1.0, 1);
    let call = world.call("eth_call");
    let queued: Vec<usize> = (0..5).map(|_| world.start(call)).collect();
    for run in queued.iter().skip(1) {
        world.abort(*run);
    }
    let last = world.start(call);
    assert!(world.finish(last).took <= ms(1_100), "it waits behind one, not behind five");
}

#[test]
fn a_breaker_s_last_resort_is_not_put_off_for_a_longer_limit() {
    let mut world = World::new(2);
    world.serve(0, |ask| if ask.nth < 3 { refused() } else { answer(50) });
    while world.circuit(0) == Circuit::Closed {
        world.ask("eth_call");
    }
    world.serve(1, |_| limited(Some(secs(8))));
    let call = Call { only: Some(1), ..world.call("eth_call") };
    world.ask_with(call);
    let ending = world.ask("eth_call");
    assert!(matches!(ending.conclusion, Conclusion::Answer(_)), "{ending:?}");
    assert!(ending.took < secs(3), "{ending:?}");
}
