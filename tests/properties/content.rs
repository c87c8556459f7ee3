//! What holds for every request that brings its gateways with it.

use std::collections::BTreeSet;

use proptest::prelude::*;
use waypost::engine::request::Conclusion;

use crate::config;
use crate::world::{
    Reply, World, answer, hang, limited, ms, offline, opaque, refused, secs, status,
};

fn replies() -> impl Strategy<Value = Reply> {
    let bad = vec![
        hang(),
        refused(),
        opaque(),
        offline(),
        status(503),
        limited(None),
        limited(Some(secs(2))),
    ];
    prop_oneof![
        2 => (0_u64..20_000).prop_map(answer),
        5 => (prop::sample::select(bad), 0_u64..4_000).prop_map(|(reply, ms)| reply.within(ms)),
    ]
}

fn gateways(most: usize) -> impl Strategy<Value = Vec<Vec<Reply>>> {
    prop::collection::vec(prop::collection::vec(replies(), 1..5), 0..most)
}

fn scripted(scripts: Vec<Vec<Reply>>) -> World {
    let mut world = World::of_gateways(scripts.len());
    for (place, script) in scripts.into_iter().enumerate() {
        world.serve(place, move |ask| script[ask.nth % script.len()]);
    }
    world
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn nobody_is_asked_twice_and_every_request_ends_in_time(
        scripts in gateways(12),
        calls in prop::collection::vec(
            (any::<prop::sample::Index>(), 0_u64..6_000, any::<bool>(), prop::option::of(0_u64..9_000)),
            1..20,
        ),
    ) {
        let count = scripts.len();
        let mut world = scripted(scripts);
        let mut runs = Vec::new();
        for (start, gap, is_read, named_after) in calls {
            let mut known: Vec<usize> = (0..count).collect();
            known.rotate_left(if count == 0 { 0 } else { start.index(count) });
            let late = if named_after.is_some() { known.pop() } else { None };
            let run = world.start_content(if is_read { "GET" } else { "POST" }, &known);
            if let (Some(after), Some(place)) = (named_after, late) {
                world.pass(ms(after));
                world.router.prefer(world.now, world.handle(run), place);
            }
            runs.push((run, is_read));
            world.pass(ms(gap));
        }
        for (run, is_read) in runs {
            let ending = world.finish(run);
            let most = if is_read { secs(45) } else { secs(10) };
            prop_assert!(ending.took <= most, "{:?}", ending);
            let asked = world.asked(run);
            let distinct: BTreeSet<usize> = asked.iter().copied().collect();
            prop_assert_eq!(asked.len(), distinct.len(), "{:?}", asked);
            prop_assert!(is_read || asked.len() <= 1 || !matches!(ending.conclusion, Conclusion::Indeterminate(0)));
        }
        world.settle();
        prop_assert!(world.is_quiet());
    }

    #[test]
    fn a_good_gateway_serves_whatever_the_others_do(
        mut scripts in gateways(19),
        good in any::<prop::sample::Index>(),
    ) {
        let good = good.index(scripts.len() + 1);
        scripts.insert(good, vec![answer(60)]);
        let known: Vec<usize> = (0..scripts.len()).collect();
        let mut world = scripted(scripts);
        for _ in 0..10 {
            let run = world.start_content("GET", &known);
            let ending = world.finish(run);
            prop_assert!(matches!(ending.conclusion, Conclusion::Answer(_)), "{:?}\n{}", ending, world.trace);
            world.pass(ms(500));
        }
    }
}
