//! Requests that must not be executed twice.

use waypost::engine::outcome::Outcome;
use waypost::engine::request::{Call, Conclusion};

use crate::world::{
    Reply, World, answer, bad_body, error, hang, limited, ms, offline, opaque, refused, secs,
    status,
};

const UNSAFE: &str = "eth_sendTransaction";
const RAW: &str = "eth_sendRawTransaction";

#[test]
fn an_unsafe_request_moves_on_only_when_it_was_certainly_not_executed() {
    for reply in [
        limited(None),
        status(401),
        status(403),
        error(-32601, "the method does not exist"),
        error(-32005, "daily request count exceeded, request rate limited"),
    ] {
        let mut world = World::new(2);
        world.serve(0, move |_| reply);
        assert_eq!(world.path(UNSAFE), (vec![0, 1], Conclusion::Answer(1)), "{reply:?}");
    }
}

#[test]
fn an_unsafe_request_never_moves_on_while_its_fate_is_unknown() {
    let lost: [Reply; 8] = [
        refused(),
        opaque(),
        offline(),
        hang(),
        status(500),
        status(502),
        bad_body(),
        answer(20_000),
    ];
    for reply in lost {
        let mut world = World::new(3);
        world.serve(0, move |_| reply);
        assert_eq!(world.path(UNSAFE), (vec![0], Conclusion::Indeterminate(0)), "{reply:?}");
        assert!(world.is_quiet());
    }
}

#[test]
fn an_unsafe_request_shows_the_error_that_an_endpoint_answered_with() {
    for (code, message) in [(-32603, "internal error"), (-32000, "computer says no")] {
        let mut world = World::new(2);
        world.serve(0, move |_| error(code, message));
        assert_eq!(world.path(UNSAFE), (vec![0], Conclusion::Error(0)), "{message}");
    }
}

#[test]
fn an_unsafe_request_has_no_backup_and_gets_all_the_time_there_is() {
    let mut world = World::new(4);
    world.serve(0, |_| answer(9_900));
    assert_eq!(world.path(UNSAFE), (vec![0], Conclusion::Answer(0)));
    assert_eq!(world.sent[0].timeout, ms(10_000));
    let call = world.call(UNSAFE);
    let run = world.start(call);
    assert_eq!(world.router.backup(world.now, world.handle(run)), None);
}

#[test]
fn an_unsafe_attempt_that_the_host_stopped_is_not_sent_again() {
    let mut world = World::new(2);
    let call = world.call(UNSAFE);
    let run = world.start(call);
    let (now, handle) = (world.now, world.handle(run));
    world.router.complete(now, handle, 0, Outcome::Abandoned);
    let step = world.router.next(now, handle);
    assert!(matches!(step, waypost::engine::request::Step::End(_)), "{step:?}");
}

#[test]
fn a_raw_transaction_moves_on_whatever_happened() {
    for reply in [refused(), opaque(), hang(), status(500), limited(None), bad_body()] {
        let mut world = World::new(2);
        world.serve(0, move |_| reply);
        assert_eq!(world.path(RAW), (vec![0, 1], Conclusion::Answer(1)), "{reply:?}");
    }
}

#[test]
fn already_known_after_our_own_attempt_is_a_success() {
    for spelling in ["already known", "ALREADY_EXISTS: already known", "known transaction"] {
        let mut world = World::new(3);
        world.serve(0, |_| hang());
        world.serve(1, move |_| error(-32000, spelling));
        assert_eq!(world.path(RAW), (vec![0, 1], Conclusion::AlreadyKnown(1)), "{spelling}");
    }
}

#[test]
fn a_used_nonce_after_our_own_attempt_is_left_to_the_chain_to_decide() {
    let mut world = World::new(3);
    world.serve(0, |_| hang());
    world.serve(1, |_| error(-32000, "nonce too low: next nonce 3, tx nonce 2"));
    assert_eq!(world.path(RAW), (vec![0, 1], Conclusion::Unconfirmed(1)));
    world.serve(2, |_| error(-32000, "nonce too low"));
    let call = Call { first: Some(2), ..world.call(RAW) };
    assert_eq!(world.path_with(call), (vec![2], Conclusion::Error(0)), "it was not ours");
}

#[test]
fn already_known_as_the_first_answer_is_an_error() {
    let mut world = World::new(2);
    world.serve(0, |_| error(-32000, "already known"));
    assert_eq!(world.path(RAW), (vec![0], Conclusion::Error(0)));
}

#[test]
fn already_known_after_an_attempt_that_was_surely_refused_is_an_error() {
    let mut world = World::new(2);
    world.serve(0, |_| limited(None));
    world.serve(1, |_| error(-32000, "already known"));
    assert_eq!(world.path(RAW), (vec![0, 1], Conclusion::Error(1)));
}

#[test]
fn a_raw_transaction_makes_no_second_round() {
    let mut world = World::new(2);
    world.serve_all(|_| status(503));
    assert_eq!(world.path(RAW).0, [0, 1]);
}

#[test]
fn a_raw_transaction_that_nobody_answers_may_have_been_executed() {
    let mut world = World::new(3);
    world.serve(0, |_| limited(None));
    world.serve(1, |_| hang());
    world.serve(2, |_| status(503));
    assert_eq!(world.path(RAW), (vec![0, 1, 2], Conclusion::Indeterminate(1)));
    world.pass(secs(60));
    world.serve_all(|_| limited(Some(secs(60))));
    let conclusion = world.ask(RAW).conclusion;
    assert!(matches!(conclusion, Conclusion::RateLimited { .. }), "{conclusion:?}");
}
