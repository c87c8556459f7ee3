//! Moving on, and knowing when not to.

use waypost::engine::breaker::Circuit;
use waypost::engine::request::{Call, Conclusion};

use crate::world::{
    World, answer, bad_body, error, hang, limited, ms, offline, refused, secs, status,
};

#[test]
fn a_good_first_answer_asks_nobody_else() {
    let mut world = World::new(3);
    assert_eq!(world.path("eth_call"), (vec![0], Conclusion::Answer(0)));
    assert!(world.is_quiet());
}

#[test]
fn every_failure_of_the_transport_moves_a_read_on() {
    for reply in [refused(), offline(), status(500), status(401), limited(None), bad_body(), hang()]
    {
        let mut world = World::new(2);
        world.serve(0, move |_| reply);
        assert_eq!(world.path("eth_call"), (vec![0, 1], Conclusion::Answer(1)), "{reply:?}");
        assert!(world.is_quiet());
    }
}

#[test]
fn a_revert_or_the_caller_s_own_fault_is_asked_for_once() {
    for (code, message) in
        [(3, "execution reverted"), (-32602, "invalid argument 0"), (-32000, "nonce too low")]
    {
        let mut world = World::new(3);
        world.serve(0, move |_| error(code, message));
        assert_eq!(world.path("eth_call"), (vec![0], Conclusion::Error(0)), "{message}");
        assert_eq!(world.consecutive(0), 0);
    }
}

#[test]
fn any_number_of_hanging_endpoints_takes_no_longer_than_the_deadline() {
    for count in 1..=12 {
        for method in ["eth_call", "eth_getBalance", "eth_sendTransaction", "eth_unheardOf"] {
            let mut world = World::new(count);
            world.serve_all(|_| hang());
            let ending = world.ask(method);
            assert!(ending.took <= secs(10), "{count} endpoints, {method}: {ending:?}");
            assert!(world.is_quiet());
        }
    }
}

#[test]
fn one_good_endpoint_among_hanging_ones_is_reached_before_the_deadline() {
    for count in 2..=12 {
        let mut world = World::new(count);
        (0..count - 1).for_each(|place| world.serve(place, |_| hang()));
        let ending = world.ask("eth_call");
        assert_eq!(ending.conclusion, Conclusion::Answer(count - 1), "{count} endpoints");
    }
}

#[test]
fn a_deadline_of_the_call_wins_over_all_others() {
    let mut world = World::new(3);
    world.serve_all(|_| hang());
    let call = Call { deadline: Some(ms(700)), ..world.call("eth_getLogs") };
    let ending = world.ask_with(call);
    assert_eq!(ending.took, ms(700));
    assert!(matches!(ending.conclusion, Conclusion::Deadline { .. }));
}

#[test]
fn a_request_that_all_refuse_ends_with_its_attempts_spent() {
    let mut world = World::new(2);
    world.serve_all(|_| status(503));
    let (path, conclusion) = world.path("eth_call");
    assert_eq!(path, [0, 1, 0, 1], "nobody twice while another is left");
    assert!(matches!(conclusion, Conclusion::Exhausted { .. }));
}

#[test]
fn a_second_round_comes_after_a_pause() {
    let mut world = World::new(1);
    world.serve(0, |ask| if ask.nth == 0 { status(503) } else { answer(50) });
    assert_eq!(world.ask("eth_call").conclusion, Conclusion::Answer(1));
    let pause = world.sent[1].at.since(world.sent[0].at.after(ms(20)));
    assert!(pause >= ms(100) && pause <= ms(150), "{pause:?}");
}

#[test]
fn three_providers_that_cannot_are_believed() {
    let mut world = World::new(5);
    world.serve_all(|_| error(-32000, "missing trie node"));
    assert_eq!(world.path("eth_call"), (vec![0, 1, 2], Conclusion::Error(0)));
    assert!((0..5).all(|place| world.consecutive(place) == 0));
}

#[test]
fn two_providers_with_an_error_that_says_nothing_are_believed() {
    let mut world = World::new(5);
    world.serve_all(|_| error(-32000, "computer says no"));
    assert_eq!(world.path("eth_call"), (vec![0, 1], Conclusion::Error(0)));
}

#[test]
fn a_caller_gets_the_telling_error_when_the_others_only_broke() {
    let mut world = World::new(4);
    world.serve_all(|_| status(503));
    world.serve(2, |_| error(-32000, "missing trie node"));
    let (path, conclusion) = world.path("eth_call");
    assert_eq!((path.len(), conclusion), (4, Conclusion::Error(2)));
}

#[test]
fn a_missing_block_is_looked_for_where_the_chain_is_longest() {
    let mut world = World::new(4);
    world.serve(0, |_| error(-32000, "header not found"));
    world.router.note_head(2, 90);
    world.router.note_head(3, 110);
    assert_eq!(world.path("eth_call").0, [0, 3]);
    world.serve_all(|_| error(-32000, "header not found"));
    assert_eq!(world.path("eth_call"), (vec![0, 3, 2], Conclusion::Error(0)));
}

#[test]
fn an_abort_blames_nobody_and_asks_nobody_else() {
    let mut world = World::new(2);
    world.serve_all(|_| hang());
    for _ in 0..10 {
        let call = world.call("eth_call");
        let run = world.start(call);
        world.pass(ms(50));
        world.abort(run);
        assert_eq!(world.asked(run), [0]);
    }
    assert_eq!(world.consecutive(0), 0);
    assert_eq!(world.router.endpoint(0).map(|e| e.metrics.all().total()), Some(0));
    assert!(world.is_quiet());
}

#[test]
fn an_override_asks_that_provider_only() {
    let mut world = World::new(3);
    for reply in [refused(), status(503), limited(None), error(-32601, "no such method"), hang()] {
        world.serve(1, move |_| reply);
        let call = Call { only: Some(1), ..world.call("eth_call") };
        let (path, conclusion) = world.path_with(call);
        assert!(path.iter().all(|place| *place == 1), "{reply:?}: {path:?}");
        assert!(!matches!(conclusion, Conclusion::Answer(_)), "{reply:?}");
        world.pass(secs(400));
    }
    assert_eq!((world.hits(0), world.hits(2)), (0, 0));
}

#[test]
fn an_outside_choice_goes_first_and_the_others_follow() {
    let mut world = World::new(3);
    world.serve(2, |_| status(503));
    let call = Call { first: Some(2), ..world.call("eth_call") };
    assert_eq!(world.path_with(call), (vec![2, 0], Conclusion::Answer(1)));
}

#[test]
fn a_request_whose_host_vanished_is_forgotten() {
    let mut world = World::new(2);
    let call = world.call("eth_call");
    let now = world.now;
    let lost = world.router.begin(now, call).expect("a handle");
    world.router.next(now, lost);
    world.pass(secs(71));
    for _ in 0..3 {
        world.ask("eth_call");
    }
    assert!(world.router.request(lost).is_none());
    assert!(world.is_quiet());
}

#[test]
fn pauses_between_rounds_double() {
    let mut world = World::new(1);
    world.serve(0, |_| status(500));
    world.ask("eth_call");
    let times: Vec<_> = world.sent.iter().map(|sent| sent.at).collect();
    let pauses: Vec<_> = times.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    for (pause, least) in pauses.iter().zip([100, 200, 400]) {
        assert!((ms(least)..ms(least * 2)).contains(pause), "{pauses:?}");
    }
    assert_eq!(pauses.len(), 3);
}

#[test]
fn an_open_breaker_does_not_keep_the_others_from_another_round() {
    let mut world = World::new(3);
    world.serve(0, |_| refused());
    for _ in 0..3 {
        world.ask("eth_call");
    }
    // Its last resort is a while away after some failed trials.
    for _ in 0..6 {
        world.pass(secs(400));
        world.ask("eth_call");
    }
    assert_eq!(world.circuit(0), Circuit::Open);
    let (second, third) = (world.hits(1), world.hits(2));
    world.serve(1, move |ask| if ask.nth == second { status(503) } else { answer(50) });
    world.serve(2, move |ask| if ask.nth == third { status(503) } else { answer(50) });
    let call = Call { deadline: Some(ms(900)), ..world.call("eth_call") };
    assert_eq!(world.path_with(call), (vec![1, 2, 1], Conclusion::Answer(2)));
}
