//! What survives its page: export, time in storage, import.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that goes wrong must stop"
)]

mod world;

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};
use waypost::engine::breaker::Circuit;
use waypost::engine::config::Settings;
use waypost::engine::outcome::Outcome;
use waypost::engine::request::Conclusion;
use waypost::engine::state::{BreakerState, CellState, EndpointState, Scope};
use waypost::engine::strategy::Strategy as Ranking;
use waypost::engine::time::{HostClock, Timestamp};

use world::{START, World, answer, config, limited, ms, refused, secs, status};

const METHODS: [&str; 3] = ["eth_call", "eth_getBalance", "eth_getLogs"];

/// In a page that has just been opened.
fn fresh() -> Timestamp {
    HostClock::default().at(12.5)
}

fn pool(strategy: Ranking, count: usize, now: Timestamp) -> World {
    let mut world = World::empty(7, now);
    let profile = world.router.add_profile(Settings { strategy, ..Settings::default() });
    let pool = world.router.add_pool(profile, "default", "ethereum");
    for place in 0..count {
        world.add(pool, &place.to_string(), config(place));
    }
    for method in METHODS {
        world.call(method);
    }
    world
}

/// Takes everything over into a page whose clock says `now`, after `elapsed` in storage.
fn moved(world: &World, strategy: Ranking, now: Timestamp, elapsed: Duration) -> World {
    let mut other = pool(strategy, world.endpoints(), now);
    for place in 0..world.endpoints() {
        let state = world.router.export(world.now, place, Scope::All).expect("known");
        other.router.import(now, place, &state, elapsed);
    }
    other
}

fn until(world: &World, place: usize) -> Duration {
    let opening = world.router.endpoint(place).expect("known").breaker.opening.expect("open");
    opening.until.since(world.now)
}

/// The first endpoint has just opened.
fn broken(count: usize) -> World {
    let mut world = pool(Ranking::Priority, count, START);
    world.serve(0, |_| refused());
    while world.circuit(0) == Circuit::Closed {
        world.ask("eth_call");
    }
    world
}

fn serve(world: &mut World) {
    for place in 0..world.endpoints() {
        let latency = 40 + 30 * u64::try_from(place).expect("small");
        world.serve(place, move |ask| match (place, ask.method) {
            (1, "eth_getLogs") => status(503),
            (2, _) => limited(None),
            (3, _) => refused(),
            _ => answer(latency),
        });
    }
}

#[test]
fn after_a_move_the_next_hundred_decisions_are_the_same() {
    let strategies =
        [Ranking::LoadBalanced, Ranking::Fastest, Ranking::LatencyWeighted, Ranking::Priority];
    for strategy in strategies {
        for now in [Timestamp::from_millis(1_000_000_000), START, fresh()] {
            let mut here = pool(strategy, 6, START);
            serve(&mut here);
            for number in 0..200 {
                here.ask(METHODS[number % 3]);
                here.pass(ms(300));
            }
            here.settle();
            let mut there = moved(&here, strategy, now, Duration::ZERO);
            serve(&mut there);
            here.router.reseed(99);
            there.router.reseed(99);
            for number in 0..100 {
                let method = METHODS[number % 3];
                assert_eq!(here.path(method), there.path(method), "{strategy:?} {now:?} {number}");
                here.pass(ms(700));
                there.pass(ms(700));
            }
        }
    }
}

#[test]
fn what_is_imported_is_exported_again() {
    let mut world = broken(3);
    serve(&mut world);
    (0..50).for_each(|_| {
        world.ask("eth_call");
    });
    world.settle();
    let other = moved(&world, Ranking::Priority, Timestamp::from_millis(99_999_000), ms(0));
    for place in 0..3 {
        let (mine, theirs) = (
            world.router.export(world.now, place, Scope::All),
            other.router.export(other.now, place, Scope::All),
        );
        let (mine, theirs) = (mine.expect("known"), theirs.expect("known"));
        assert_eq!((mine.breaker, mine.limited_for), (theirs.breaker, theirs.limited_for));
        assert_eq!(mine.all.samples.len(), theirs.all.samples.len());
        assert_eq!(mine.methods.len(), theirs.methods.len());
    }
}

#[test]
fn time_in_storage_counts() {
    let mut world = broken(3);
    let left = until(&world, 0);
    world.serve(1, |_| limited(Some(secs(60))));
    world.ask("eth_call");
    for (elapsed, circuit, path) in
        [(ms(0), Circuit::Open, 2), (left, Circuit::HalfOpen, 0), (secs(61), Circuit::HalfOpen, 0)]
    {
        let mut other = moved(&world, Ranking::Priority, START, elapsed);
        assert_eq!(other.circuit(0), circuit, "{elapsed:?}");
        let run = other.call("eth_call");
        let run = other.start(run);
        assert_eq!(other.asked(run)[0], path, "{elapsed:?}");
        let limited_for = other.router.export(other.now, 1, Scope::All).expect("known").limited_for;
        assert_eq!(limited_for, secs(60).saturating_sub(ms(50)).saturating_sub(elapsed));
    }
    let other = moved(&world, Ranking::Priority, START, secs(601));
    let reading = other.router.endpoint(2).expect("known").metrics.all().read_at(other.now);
    assert_eq!((reading.calls, reading.latency_ms), (0, None), "measurements are stale");
}

#[test]
fn a_fresh_page_keeps_a_breaker_open_no_longer_than_the_old_one_would() {
    let mut world = broken(2);
    world.pass(secs(8));
    let other = moved(&world, Ranking::Priority, fresh(), Duration::ZERO);
    assert_eq!(until(&other, 0), until(&world, 0));
}

#[test]
fn measurements_do_not_grow_younger_in_a_fresh_page() {
    let mut world = pool(Ranking::Priority, 1, START);
    world.ask("eth_call");
    world.pass(secs(540));
    let mut other = moved(&world, Ranking::Priority, fresh(), Duration::ZERO);
    other.pass(secs(90));
    let reading = other.router.endpoint(0).expect("known").metrics.all().read_at(other.now);
    assert_eq!(reading.calls, 0, "ten minutes and a half are over");
}

#[test]
fn a_breaker_that_changed_more_lately_keeps_its_state() {
    let old = broken(2);
    let mut other = broken(2);
    other.pass(until(&other, 0));
    other.serve(0, |_| answer(10));
    other.ask("eth_call");
    other.ask("eth_call");
    assert_eq!(other.circuit(0), Circuit::Closed);
    let state = old.router.export(old.now, 0, Scope::All).expect("known");
    other.router.import(other.now, 0, &state, secs(60));
    assert_eq!(other.circuit(0), Circuit::Closed);
    other.pass(secs(1));
    other.router.import(other.now, 0, &state, Duration::ZERO);
    assert_eq!(other.circuit(0), Circuit::Open, "the other one is newer now");
}

#[test]
fn of_two_breakers_that_changed_together_the_worse_stands() {
    let mut world = broken(1);
    let state = world.router.export(world.now, 0, Scope::All).expect("known");
    let closed = EndpointState {
        breaker: BreakerState { changed_ago: state.breaker.changed_ago, ..Default::default() },
        ..state
    };
    world.router.import(world.now, 0, &closed, Duration::ZERO);
    assert_eq!(world.circuit(0), Circuit::Open);
}

#[test]
fn an_attempt_from_before_an_import_says_nothing_about_the_imported_breaker() {
    let state = {
        let mut world = broken(1);
        world.pass(until(&world, 0));
        world.router.export(world.now, 0, Scope::All).expect("known")
    };
    let mut world = pool(Ranking::Priority, 1, START);
    let call = world.call("eth_call");
    let early: Vec<u32> = (0..2)
        .map(|_| {
            let handle = world.router.begin(world.now, call).expect("a handle");
            world.router.next(world.now, handle);
            handle
        })
        .collect();
    world.router.import(world.now, 0, &state, Duration::ZERO);
    assert_eq!(world.circuit(0), Circuit::HalfOpen);
    for handle in early {
        world.router.complete(world.now, handle, 0, Outcome::Success);
    }
    assert_eq!(world.circuit(0), Circuit::HalfOpen, "only a trial closes it");
}

#[test]
fn fresh_measurements_are_kept_and_unknown_places_passed_over() {
    let mut old = pool(Ranking::Priority, 1, START);
    old.serve(0, |_| answer(900));
    old.ask("eth_call");
    let state = old.router.export(old.now, 0, Scope::All).expect("known");
    let mut world = pool(Ranking::Priority, 1, START);
    world.ask("eth_call");
    let before = format!("{:?}", world.router);
    world.router.import(world.now, 1, &state, Duration::ZERO);
    assert_eq!(before, format!("{:?}", world.router));
    world.router.import(world.now, 0, &state, Duration::ZERO);
    let reading = world.router.endpoint(0).expect("known").metrics.all().read_at(world.now);
    assert_eq!(reading.latency_ms, Some(50.0));
}

#[test]
fn nothing_in_storage_locks_anybody_out_for_longer_than_the_settings_allow() {
    let settings = Settings::default();
    let mut world = pool(Ranking::Priority, 1, START);
    let year = secs(31_536_000);
    let state = EndpointState {
        breaker: BreakerState {
            consecutive: u32::MAX,
            reopens: u32::MAX,
            opened: Some((Duration::ZERO, year)),
            ..Default::default()
        },
        limited_for: year,
        ..Default::default()
    };
    world.router.import(START, 0, &state, Duration::ZERO);
    let longest = settings.breaker.max_recovery.mul_f64(1.0 + settings.breaker.jitter);
    assert!(until(&world, 0) <= longest, "{:?}", until(&world, 0));
    let limited_for = world.router.export(START, 0, Scope::All).expect("known").limited_for;
    assert!(limited_for <= settings.rate_limit.max, "{limited_for:?}");
}

fn spans() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::MAX),
        (0_u64..1_000_000).prop_map(ms),
        any::<u64>().prop_map(Duration::from_nanos),
        any::<u64>().prop_map(Duration::from_secs),
    ]
}

prop_compose! {
    fn cells()(
        latency in prop::option::of(spans()),
        samples in prop::collection::vec((spans(), prop::option::of(spans())), 0..50),
    ) -> CellState {
        CellState { latency, samples }
    }
}

prop_compose! {
    fn states()(
        counts: (u32, u32, u32),
        changed_ago in spans(),
        opened in prop::option::of((spans(), spans())),
        limited_for in spans(),
        all in cells(),
        of_method in cells(),
    ) -> EndpointState {
        let (consecutive, reopens, successes) = counts;
        let breaker = BreakerState { consecutive, reopens, successes, changed_ago, opened };
        let method = waypost::engine::method::MethodId::from_index(0).expect("the first");
        EndpointState { breaker, limited_for, all, methods: vec![(method, of_method)] }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        rng_seed: RngSeed::Fixed(0x5741_5950),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/properties.proptest-regressions",
        ))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_stored_numbers_leave_a_router_that_works(
        state in states(),
        elapsed in spans(),
        now in any::<u64>(),
        strategy in prop::sample::select(vec![Ranking::Fastest, Ranking::LatencyWeighted]),
    ) {
        // Room for the requests after it.
        let now = Timestamp::from_micros(now / 2);
        let mut world = pool(strategy, 2, now);
        world.router.import(now, 0, &state, elapsed);
        world.router.absorb(now, 0, &state, elapsed);
        for _ in 0..5 {
            let ending = world.ask("eth_call");
            prop_assert!(matches!(ending.conclusion, Conclusion::Answer(_)), "{:?}", ending);
        }
        world.settle();
        prop_assert!(world.is_quiet());
        prop_assert!(world.router.export(world.now, 0, Scope::All).is_some());
    }
}
