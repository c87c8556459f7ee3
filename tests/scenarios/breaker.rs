//! Dead endpoints, trials, recovery.

use waypost::engine::breaker::Circuit;
use waypost::engine::outcome::Outcome;
use waypost::engine::request::{Call, Conclusion, Step};
use waypost::engine::router::News;

use crate::world::{Ask, Reply, START, World, answer, hang, limited, ms, refused, secs, status};

/// Asks until the breaker of the first endpoint is open.
fn open_first(world: &mut World) {
    world.serve(0, |_| refused());
    trip_first(world);
}

fn trip_first(world: &mut World) {
    for _ in 0..3 {
        world.ask("eth_call");
    }
    assert_eq!(world.circuit(0), Circuit::Open);
}

fn out_until(seconds: u64) -> impl FnMut(Ask) -> Reply + Clone {
    move |ask| if ask.at < START.after(secs(seconds)) { refused() } else { answer(50) }
}

#[test]
fn a_dead_first_endpoint_is_asked_until_its_breaker_opens_and_then_by_trials_only() {
    let mut world = World::new(2);
    world.serve(0, |_| refused());
    // One request a second for five minutes; trials after 10, 20, 40, 80, 160 s.
    for _ in 0..300 {
        assert!(matches!(world.ask("eth_call").conclusion, Conclusion::Answer(_)));
        world.pass(ms(945));
    }
    assert_eq!(world.hits(0), 3 + 4);
}

#[test]
fn three_calls_a_minute_are_enough_to_open() {
    let mut world = World::new(2);
    world.serve(0, |_| refused());
    for _ in 0..3 {
        assert_eq!(world.circuit(0), Circuit::Closed);
        world.ask("eth_call");
        world.pass(secs(20));
    }
    assert_eq!(world.circuit(0), Circuit::HalfOpen);
    assert_eq!(world.hits(0), 3);
}

#[test]
fn a_recovered_endpoint_gets_trials_with_a_backup_and_closes_after_two() {
    let mut world = World::new(2);
    world.serve(0, out_until(5));
    trip_first(&mut world);
    world.pass(secs(11));
    for trials in 1..=2 {
        assert_eq!(world.circuit(0), Circuit::HalfOpen);
        assert_eq!(world.path("eth_call"), (vec![0], Conclusion::Answer(0)));
        let trial = world.sent.last().expect("a trial");
        // The 95th percentile of the endpoint behind.
        assert_eq!(trial.backup_after, Some(ms(50)), "trial {trials}");
    }
    assert_eq!(world.circuit(0), Circuit::Closed);
    assert_eq!(world.path("eth_call").0, [0]);
    assert_eq!(world.sent.last().expect("a request").backup_after, None);
    let news: Vec<Circuit> = std::iter::from_fn(|| world.router.poll_news())
        .filter_map(|news| match news {
            News::Circuit { endpoint: 0, circuit } => Some(circuit),
            _ => None,
        })
        .collect();
    assert_eq!(news, [Circuit::Open, Circuit::HalfOpen, Circuit::Closed]);
}

#[test]
fn a_trial_that_hangs_costs_its_user_no_more_than_the_backup_s_delay() {
    let mut world = World::new(2);
    open_first(&mut world);
    world.serve(0, |_| hang());
    world.pass(secs(11));
    let call = world.call("eth_call");
    let run = world.start(call);
    let ending = world.finish(run);
    assert_eq!(world.asked(run), [0, 1]);
    assert_eq!(ending.took, ms(50 + 50));
    // The trial goes on without its user, and its end is learnt from.
    world.settle();
    assert_eq!(world.circuit(0), Circuit::Open);
    assert!(world.is_quiet());
}

#[test]
fn a_failed_trial_doubles_the_time_to_the_next() {
    let mut world = World::new(2);
    open_first(&mut world);
    for seconds in [10, 20, 40, 80, 160, 300, 300] {
        let endpoint = world.router.endpoint(0).expect("known");
        let opening = endpoint.breaker.opening.expect("open");
        let span = opening.until.since(opening.at);
        assert!(span > secs(seconds) && span <= secs(seconds).mul_f64(1.05), "{span:?}");
        world.pass(span);
        world.ask("eth_call");
        world.settle();
    }
}

#[test]
fn half_open_admits_one_trial_under_many_requests() {
    let mut world = World::new(2);
    open_first(&mut world);
    world.serve(0, |_| answer(30));
    world.pass(secs(11));
    let before = world.hits(0);
    let call = world.call("eth_call");
    let runs: Vec<usize> = (0..9).map(|_| world.start(call)).collect();
    assert_eq!(world.hits(0), before + 1);
    for run in runs {
        world.finish(run);
    }
    assert_eq!(world.hits(0), before + 1);
}

#[test]
fn without_another_endpoint_many_requests_share_trials_and_all_are_answered() {
    let mut world = World::new(1);
    world.serve(0, out_until(3));
    world.ask("eth_call");
    world.pass(secs(3));
    assert_eq!(world.circuit(0), Circuit::Open);
    let before = world.hits(0);
    let call = world.call("eth_call");
    let runs: Vec<usize> = (0..9).map(|_| world.start(call)).collect();
    assert_eq!(world.hits(0), before + 1, "one trial at a time");
    for run in runs {
        assert!(matches!(world.finish(run).conclusion, Conclusion::Answer(_)));
    }
    assert!(world.is_quiet());
}

#[test]
fn a_neutral_end_of_a_trial_frees_the_permit_and_moves_nothing() {
    let mut world = World::new(2);
    open_first(&mut world);
    world.serve(0, |_| limited(Some(secs(1))));
    world.pass(secs(11));
    let before = world.router.endpoint(0).expect("known").breaker.reopens;
    assert_eq!(world.path("eth_call").0, [0, 1]);
    assert_eq!(world.circuit(0), Circuit::HalfOpen);
    assert_eq!(world.router.endpoint(0).expect("known").breaker.reopens, before);
    assert_eq!(world.path("eth_call").0, [1], "no trial before its limit ends");
    world.serve(0, |_| answer(10));
    world.pass(secs(2));
    assert_eq!(world.path("eth_call").0, [0], "another trial is admitted");
}

#[test]
fn an_abort_frees_the_trial_s_permit() {
    let mut world = World::new(2);
    open_first(&mut world);
    world.serve(0, |_| answer(30));
    world.pass(secs(11));
    let call = world.call("eth_call");
    let run = world.start(call);
    world.abort(run);
    assert_eq!(world.circuit(0), Circuit::HalfOpen);
    assert_eq!(world.path("eth_call").0, [0]);
}

#[test]
fn a_lost_trial_expires_with_its_time() {
    let mut world = World::new(2);
    open_first(&mut world);
    world.pass(secs(11));
    let (now, call) = (world.now, world.call("eth_call"));
    let lost = world.router.begin(now, call).expect("a handle");
    let Step::Send { endpoint: 0, timeout, .. } = world.router.next(now, lost) else {
        panic!("the trial is due");
    };
    world.serve(0, |_| answer(30));
    world.pass(timeout.saturating_sub(ms(200)));
    assert_eq!(world.path("eth_call").0, [1], "the permit is taken");
    world.pass(ms(200));
    assert_eq!(world.path("eth_call").0, [0]);
}

#[test]
fn the_late_end_of_a_lost_trial_leaves_the_next_one_its_permit() {
    let mut world = World::new(2);
    open_first(&mut world);
    world.pass(secs(11));
    let (now, call) = (world.now, world.call("eth_call"));
    let lost = world.router.begin(now, call).expect("a handle");
    let Step::Send { timeout, .. } = world.router.next(now, lost) else {
        panic!("the trial is due");
    };
    world.pass(timeout);
    world.serve(0, |_| hang());
    let second = world.start(call);
    assert_eq!(world.asked(second), [0]);
    world.router.complete(world.now, lost, 0, Outcome::Abandoned);
    let third = world.start(call);
    assert_eq!(world.asked(third), [1], "the second trial is still under way");
}

#[test]
fn a_late_answer_from_before_the_trip_changes_nothing() {
    let mut world = World::new(2);
    let (now, call) = (world.now, world.call("eth_call"));
    let late: Vec<u32> = (0..3)
        .map(|_| {
            let handle = world.router.begin(now, call).expect("a handle");
            assert!(matches!(world.router.next(now, handle), Step::Send { endpoint: 0, .. }));
            handle
        })
        .collect();
    open_first(&mut world);
    let opening = world.router.endpoint(0).expect("known").breaker.opening;
    for (handle, outcome) in
        late.into_iter().zip([Outcome::Success, Outcome::Success, Outcome::BadBody])
    {
        world.router.complete(world.now, handle, 0, outcome);
    }
    let breaker = &world.router.endpoint(0).expect("known").breaker;
    assert_eq!((breaker.opening, breaker.reopens, breaker.successes), (opening, 0, 0));
}

#[test]
fn with_all_open_the_last_resort_is_one_at_a_time_spaced_and_at_most_thirty_seconds_away() {
    let mut world = World::new(2);
    world.serve_all(|_| status(503));
    while world.circuit(0) != Circuit::Open || world.circuit(1) != Circuit::Open {
        world.ask("eth_call");
    }
    let before = world.sent.len();
    // Four requests at any time for ten minutes.
    let call = world.call("eth_call");
    for _ in 0..600 {
        (0..4).for_each(|_| {
            world.start(call);
        });
        world.pass(secs(1));
    }
    for place in 0..2 {
        let times: Vec<_> =
            world.sent[before..].iter().filter(|s| s.endpoint == place).map(|s| s.at).collect();
        let gaps: Vec<_> = times.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        assert!(gaps.iter().all(|gap| *gap >= secs(1) && *gap <= secs(31)), "{gaps:?}");
        let doubled = gaps.windows(2).take(3).all(|pair| pair[1] > pair[0]);
        assert!(doubled && gaps.len() < 30, "{gaps:?}");
    }
}

#[test]
fn with_all_open_a_request_is_answered_as_soon_as_one_recovers() {
    let mut world = World::new(2);
    world.serve_all(out_until(10));
    while world.now < START.after(secs(10)) {
        world.ask("eth_call");
        world.pass(ms(500));
    }
    assert!(world.circuit(0) != Circuit::Closed && world.circuit(1) != Circuit::Closed);
    let ending = world.ask("eth_call");
    assert!(matches!(ending.conclusion, Conclusion::Answer(_)), "{ending:?}");
}

#[test]
fn failures_at_one_timestamp_all_count() {
    let mut world = World::new(1);
    let (now, call) = (world.now, world.call("eth_call"));
    for _ in 0..3 {
        let handle = world.router.begin(now, call).expect("a handle");
        world.router.next(now, handle);
        world.router.complete(now, handle, 0, Outcome::Network { opaque: false });
        world.router.abort(now, handle);
        world.router.release(handle);
    }
    assert_eq!(world.circuit(0), Circuit::Open);
    assert!(world.is_quiet());
}

#[test]
fn a_trial_that_was_cut_short_is_not_made_again_at_once() {
    let mut world = World::new(2);
    open_first(&mut world);
    world.serve(0, |_| hang());
    world.pass(secs(11));
    let call = Call { deadline: Some(secs(2)), ..world.call("eth_call") };
    let before = world.hits(0);
    // Each such trial makes its user wait for the backup.
    for _ in 0..20 {
        world.ask_with(call);
        world.settle();
    }
    assert!(world.hits(0) - before <= 8, "{} trials in 40 s", world.hits(0) - before);
}
