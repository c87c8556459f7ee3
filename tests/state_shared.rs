//! What engines tell each other while they are at work.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that goes wrong must stop"
)]

mod world;

use std::time::Duration;

use waypost::engine::breaker::Circuit;
use waypost::engine::config::Settings;
use waypost::engine::state::{CellState, EndpointState, Scope};
use waypost::engine::strategy::Strategy as Ranking;

use world::{START, World, answer, config, limited, ms, refused, secs};

fn pool(count: usize) -> World {
    let mut world = World::empty(7, START);
    let settings = Settings { strategy: Ranking::Priority, ..Settings::default() };
    let profile = world.router.add_profile(settings);
    let pool = world.router.add_pool(profile, "default", "ethereum");
    for place in 0..count {
        world.add(pool, &place.to_string(), config(place));
    }
    world.call("eth_call");
    world
}

fn until(world: &World, place: usize) -> Duration {
    let opening = world.router.endpoint(place).expect("known").breaker.opening.expect("open");
    opening.until.since(world.now)
}

/// The first endpoint has just opened.
fn broken(count: usize) -> World {
    let mut world = pool(count);
    world.serve(0, |_| refused());
    while world.circuit(0) == Circuit::Closed {
        world.ask("eth_call");
    }
    world
}

/// Tells `to` what `from` saw itself; the news is on its way for `way`.
fn tell(from: &World, to: &mut World, way: Duration) {
    let now = to.now.after(way);
    to.now = now;
    for place in 0..from.endpoints() {
        let state = from.router.export(from.now, place, Scope::Own).expect("known");
        to.router.absorb(now, place, &state, Duration::ZERO);
    }
}

fn calls(world: &World, place: usize) -> u32 {
    world.router.endpoint(place).expect("known").metrics.all().read_at(world.now).calls
}

#[test]
fn what_engines_tell_each_other_is_counted_once_however_often_it_is_told() {
    let mut worlds: Vec<World> = (0..3).map(|_| pool(1)).collect();
    for round in 1..=5 {
        for world in &mut worlds {
            world.ask("eth_call");
            world.settle();
        }
        for here in 0..3 {
            // Each hears all the others, as from one place where they meet.
            let mut theirs: Vec<(Duration, Option<Duration>)> = Vec::new();
            for (there, world) in worlds.iter().enumerate() {
                let state = world.router.export(world.now, 0, Scope::Own).expect("known");
                assert_eq!(state.all.samples.len(), round);
                if there != here {
                    theirs.extend(state.all.samples);
                }
            }
            theirs.sort_by_key(|(age, _)| core::cmp::Reverse(*age));
            let state = EndpointState {
                all: CellState { latency: None, samples: theirs },
                ..EndpointState::default()
            };
            let world = &mut worlds[here];
            world.router.absorb(world.now, 0, &state, Duration::ZERO);
            assert_eq!(calls(world, 0) as usize, 3 * round);
        }
    }
    let status = worlds[0].router.status(worlds[0].now, 0).expect("known");
    assert_eq!(status.total, 5, "what others did is not among its own work");
}

#[test]
fn an_opening_that_was_told_is_not_told_again_and_ends_in_time() {
    let (here, mut there) = (broken(2), pool(2));
    tell(&here, &mut there, ms(200));
    assert_eq!(there.circuit(0), Circuit::Open);
    let end = until(&there, 0);
    let own = there.router.export(there.now, 0, Scope::Own).expect("known");
    assert_eq!((own.breaker.opened, own.breaker.consecutive), (None, 0));
    let all = there.router.export(there.now, 0, Scope::All).expect("known");
    assert!(all.breaker.opened.is_some(), "its own next page needs it");
    let generation = there.router.endpoint(0).expect("known").breaker.generation();
    tell(&here, &mut there, ms(300));
    assert_eq!(until(&there, 0), end.saturating_sub(ms(300)));
    assert_eq!(there.router.endpoint(0).expect("known").breaker.generation(), generation);
    let mut back = here;
    let before = until(&back, 0);
    tell(&there, &mut back, ms(200));
    assert_eq!(until(&back, 0), before.saturating_sub(ms(200)));
}

#[test]
fn whoever_closes_a_breaker_that_was_told_tells_all_of_it() {
    let (mut here, mut there) = (broken(2), pool(2));
    tell(&here, &mut there, ms(0));
    let wait = until(&there, 0);
    there.pass(wait);
    here.pass(wait + secs(1));
    there.serve(0, |_| answer(10));
    there.ask("eth_call");
    there.ask("eth_call");
    assert_eq!(there.circuit(0), Circuit::Closed);
    there.pass(secs(1));
    tell(&there, &mut here, ms(100));
    assert_eq!(here.circuit(0), Circuit::Closed);
}

#[test]
fn counts_of_failures_that_opened_nothing_are_each_its_own() {
    let mut world = pool(2);
    world.serve(0, |_| refused());
    world.ask("eth_call");
    let consecutive = |world: &World| world.router.endpoint(0).expect("known").breaker.consecutive;
    let before = consecutive(&world);
    assert!(before > 0);
    let state = pool(2).router.export(START, 0, Scope::Own).expect("known");
    world.router.absorb(world.now, 0, &state, Duration::ZERO);
    assert_eq!(consecutive(&world), before);
}

#[test]
fn a_limit_that_was_told_is_not_told_again_but_its_own_later_one_is() {
    let mut here = pool(2);
    here.serve(0, |_| limited(Some(secs(20))));
    here.ask("eth_call");
    let mut there = pool(2);
    tell(&here, &mut there, ms(100));
    let limit = |scope| there.router.export(there.now, 0, scope).expect("known").limited_for;
    assert!(limit(Scope::All) > secs(19));
    assert_eq!(limit(Scope::Own), Duration::ZERO);
    there.serve(0, |_| limited(Some(secs(60))));
    there.pass(secs(20));
    there.ask("eth_call");
    let own = there.router.export(there.now, 0, Scope::Own).expect("known");
    assert!(own.limited_for > secs(50), "{:?}", own.limited_for);
}
