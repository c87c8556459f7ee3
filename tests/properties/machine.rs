//! Plays any script of operations, sensible or not, on two routers at once, and says what went wrong.
//!
//! The second router is watched: its news are drained, those of the first never. Both must decide alike.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use waypost::engine::breaker::Circuit;
use waypost::engine::classify::ErrorClass;
use waypost::engine::config::{Budget, HedgeConfig, Settings};
use waypost::engine::outcome::Outcome;
use waypost::engine::request::{AttemptEnd, Call, Conclusion, Step};
use waypost::engine::router::Router;
use waypost::engine::strategy::Strategy as Ranking;
use waypost::engine::time::Timestamp;

use crate::world::{
    START, What, bad_body, config, error, limited, ms, offline, opaque, refused, secs, status,
};

const ENDPOINTS: usize = 4;
const METHODS: [&str; 5] =
    ["eth_call", "eth_getLogs", "eth_sendTransaction", "eth_sendRawTransaction", "debug_x"];

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Begin { method: usize, ranking: usize, deadline: Option<u64>, only: Option<usize> },
    Next(usize),
    Backup(usize),
    Ride(usize, usize),
    Complete { request: usize, attempt: usize, outcome: usize },
    Abort(usize),
    Release(usize),
    Pass(u64),
    Back(u64),
}

/// Mostly what a host does, and now and then what none should.
pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let request = || prop_oneof![4 => 0_usize..4, 1 => 0_usize..64];
    let micros = prop_oneof![
        2 => Just(0),
        6 => 0_u64..300_000,
        4 => 0_u64..20_000_000,
        1 => 0_u64..4_000_000_000,
    ];
    let op = prop_oneof![
        6 => (
            0..METHODS.len(),
            0_usize..6,
            prop::option::weighted(0.3, 0_u64..20_000),
            prop::option::weighted(0.25, 0..ENDPOINTS + 1),
        )
            .prop_map(|(method, ranking, deadline, only)| Op::Begin { method, ranking, deadline, only }),
        12 => request().prop_map(Op::Next),
        2 => request().prop_map(Op::Backup),
        1 => (request(), 0..ENDPOINTS).prop_map(|(request, place)| Op::Ride(request, place)),
        12 => (request(), 0_usize..4, 0_usize..17)
            .prop_map(|(request, attempt, outcome)| Op::Complete { request, attempt, outcome }),
        1 => request().prop_map(Op::Abort),
        2 => request().prop_map(Op::Release),
        6 => micros.prop_map(Op::Pass),
        1 => (0_u64..10_000_000).prop_map(Op::Back),
    ];
    prop::collection::vec(op, 1..250)
}

/// What was broken, by name.
pub(crate) type Faults = Vec<(&'static str, String)>;

struct Machine {
    router: Router,
    watched: Router,
    now: Timestamp,
    /// The latest time that the routers have seen.
    latest: Timestamp,
    /// The one kind of fault that is looked for where looking is dear.
    wanted: &'static str,
    /// All handles ever given, each with its deadline.
    requests: Vec<(u32, Call, Timestamp)>,
    faults: Faults,
}

/// Plays a script and returns the faults of one kind.
pub(crate) fn faults(wanted: &'static str, seed: u64, ops: &[Op]) -> Faults {
    let router = pool(seed);
    let mut machine = Machine {
        watched: router.clone(),
        router,
        now: START,
        latest: START,
        wanted,
        requests: Vec::new(),
        faults: Vec::new(),
    };
    for op in ops {
        machine.perform(op);
        machine.inspect();
    }
    machine.end();
    machine.faults.retain(|fault| fault.0 == wanted);
    machine.faults
}

fn pool(seed: u64) -> Router {
    let mut router = Router::new(seed);
    let hedge = seed.is_multiple_of(2).then(HedgeConfig::default);
    let profile = router.add_profile(Settings { hedge, ..Settings::default() });
    let pool = router.add_pool(profile, "default", "ethereum");
    for place in 0..ENDPOINTS {
        let mut config = config(place);
        config.budget = (place == 1).then_some(Budget { rps: 2.0, burst: 2 });
        let group = if place < 3 { place.to_string() } else { "2".into() };
        router.add_endpoint(pool, &group, config);
    }
    for name in METHODS {
        router.method(name);
    }
    router
}

/// What an attempt brought; `None` if the host stopped it.
fn what(number: usize) -> Option<What> {
    let replies = [
        refused(),
        refused(),
        opaque(),
        opaque(),
        offline(),
        status(503),
        status(401),
        limited(None),
        limited(Some(secs(2))),
        bad_body(),
        error(-32601, "no such method"),
        error(-32000, "header not found"),
    ];
    match number {
        0..12 => Some(replies[number].what),
        12..15 => Some(What::Answer),
        15 => Some(What::Hang),
        _ => None,
    }
}

impl Machine {
    fn fault(&mut self, name: &'static str, what: String) {
        self.faults.push((name, what));
    }

    fn pick(&self, number: usize) -> Option<(u32, Call, Timestamp)> {
        let newest = self.requests.len().checked_sub(1)?;
        newest.checked_sub(number % self.requests.len()).map(|index| self.requests[index])
    }

    fn perform(&mut self, op: &Op) {
        let now = self.now;
        match *op {
            Op::Begin { method, ranking, deadline, only } => {
                let id = self.router.method(METHODS[method]);
                let strategy = [
                    Ranking::LoadBalanced,
                    Ranking::Fastest,
                    Ranking::LatencyWeighted,
                    Ranking::Priority,
                    Ranking::Adaptive,
                ]
                .get(ranking)
                .copied();
                let call = Call { strategy, only, deadline: deadline.map(ms), ..Call::new(0, id) };
                let handle = self.router.begin(now, call);
                if handle != self.watched.begin(now, call) {
                    self.fault("watching", format!("begin {call:?}"));
                }
                let span = call
                    .deadline
                    .unwrap_or_else(|| secs(if matches!(method, 1 | 4) { 60 } else { 10 }));
                let deadline = self.latest.after(span);
                self.requests.extend(handle.map(|handle| (handle, call, deadline)));
            }
            Op::Next(number) => self.next(number),
            Op::Backup(number) => {
                let Some((handle, ..)) = self.pick(number) else { return };
                let step = self.router.backup(now, handle);
                if step != self.watched.backup(now, handle) {
                    self.fault("watching", format!("{step:?}"));
                }
                self.check_unsafe(handle);
            }
            Op::Ride(number, place) => {
                let Some((handle, ..)) = self.pick(number) else { return };
                self.router.ride(now, handle, place);
                self.watched.ride(now, handle, place);
            }
            Op::Complete { request, attempt, outcome } => self.complete(request, attempt, outcome),
            Op::Abort(number) => {
                let Some((handle, ..)) = self.pick(number) else { return };
                self.router.abort(now, handle);
                self.watched.abort(now, handle);
            }
            Op::Release(number) => {
                let Some((handle, ..)) = self.pick(number) else { return };
                self.router.release(handle);
                self.watched.release(handle);
            }
            Op::Pass(micros) => {
                self.now = self.latest.after(Duration::from_micros(micros));
                self.latest = self.now;
                self.router.next(self.now, u32::MAX);
                self.watched.next(self.now, u32::MAX);
            }
            Op::Back(micros) => self.now = self.now.before(Duration::from_micros(micros)),
        }
    }

    fn next(&mut self, number: usize) {
        let Some((handle, call, deadline)) = self.pick(number) else { return };
        let (now, latest) = (self.now, self.latest);
        let circuits = circuits(&self.router, latest);
        let known = self.router.request(handle);
        let is_over = known.is_none_or(|request| request.conclusion().is_some());
        let step = self.router.next(now, handle);
        if step != self.watched.next(now, handle) {
            self.fault("watching", format!("{step:?}"));
        }
        match step {
            Step::Send { attempt, endpoint, timeout, .. } => {
                let left = deadline.since(latest);
                if timeout > left || timeout.is_zero() {
                    self.fault("deadline", format!("{timeout:?} of {left:?}"));
                }
                if attempt >= ENDPOINTS {
                    self.fault("attempts", format!("attempt {attempt}"));
                }
                let someone_closed = circuits.contains(&Circuit::Closed);
                if attempt == 0
                    && call.only.is_none()
                    && someone_closed
                    && circuits[endpoint] == Circuit::Open
                {
                    self.fault("open", format!("{endpoint} of {circuits:?}"));
                }
                self.check_unsafe(handle);
            }
            Step::Wait(until) => {
                if until <= latest || until > deadline {
                    self.fault("deadline", format!("wait {until:?} at {latest:?}"));
                }
            }
            Step::End(Conclusion::RateLimited { retry_at }) if !is_over => {
                self.try_later(call, retry_at);
            }
            Step::Pending | Step::End(_) => {}
        }
    }

    /// A request refused for a limit is not refused for it at the time that it was told.
    fn try_later(&mut self, call: Call, retry_at: Option<Timestamp>) {
        let latest = self.latest;
        let Some(at) = retry_at.filter(|at| *at > latest) else {
            return self.fault("retry_at", format!("{retry_at:?} at {latest:?}"));
        };
        let call = Call { deadline: Some(secs(10)), ..call };
        let mut later = self.router.clone();
        if let Some(handle) = later.begin(at, call) {
            let step = later.next(at, handle);
            if matches!(step, Step::End(Conclusion::RateLimited { .. })) {
                self.fault("retry_at", format!("{step:?} at {at:?}"));
            }
        }
    }

    /// An unsafe request is sent again only after it was surely not executed.
    fn check_unsafe(&mut self, handle: u32) {
        let Some((_, call, _)) = self.requests.iter().rev().find(|known| known.0 == handle) else {
            return;
        };
        let is_unsafe = METHODS[call.method.index()] == "eth_sendTransaction";
        let Some(request) = self.router.request(handle).filter(|_| is_unsafe) else { return };
        let Some((_, earlier)) = request.attempts().split_last() else { return };
        let refused = |end| matches!(end, AttemptEnd::Failed { not_executed: true, .. });
        if !earlier.iter().all(|attempt| refused(attempt.end)) {
            let ends: Vec<AttemptEnd> = earlier.iter().map(|attempt| attempt.end).collect();
            self.fault("unsafe", format!("sent again after {ends:?}"));
        }
    }

    fn complete(&mut self, number: usize, attempt: usize, outcome: usize) {
        let Some((handle, ..)) = self.pick(number) else { return };
        let outcome = what(outcome).map_or(Outcome::Abandoned, What::outcome);
        let known = self.router.request(handle).and_then(|request| request.attempts().get(attempt));
        let is_open = known.is_some_and(|attempt| attempt.end == AttemptEnd::InFlight);
        let now = self.now;
        let before = (!is_open && self.wanted == "twice").then(|| format!("{:?}", self.router));
        let class: Option<ErrorClass> = self.router.complete(now, handle, attempt, outcome);
        if class != self.watched.complete(now, handle, attempt, outcome) {
            self.fault("watching", format!("{class:?}"));
        }
        if before.is_some_and(|before| before != format!("{:?}", self.router)) {
            self.fault("twice", format!("attempt {attempt} of {handle}: {class:?}"));
        }
    }

    fn inspect(&mut self) {
        let latest = self.latest;
        while self.watched.poll_news().is_some() {}
        let handles: BTreeSet<u32> = self.requests.iter().map(|known| known.0).collect();
        let requests: Vec<_> =
            handles.iter().filter_map(|handle| self.router.request(*handle)).collect();
        let attempts = || requests.iter().flat_map(|request| request.attempts());
        let mut faults = Faults::new();
        for place in 0..ENDPOINTS {
            let under_way =
                || attempts().filter(move |a| a.endpoint == place && a.end == AttemptEnd::InFlight);
            let Some(endpoint) = self.router.endpoint(place) else { continue };
            let (counted, seen) = (endpoint.in_flight as usize, under_way().count());
            if counted != seen {
                faults.push(("in flight", format!("{counted} counted, {seen} seen")));
            }
            let trials =
                under_way().filter(|a| a.is_trial && latest < a.started.after(a.timeout)).count();
            if trials > 1 {
                faults.push(("trials", format!("{trials} at {place}")));
            }
            let reading = endpoint.metrics.all().read_at(latest);
            let is_sound = (0.0..=1.0).contains(&reading.success_rate)
                && reading.latency_ms.is_none_or(|latency| latency.is_finite() && latency >= 0.0);
            if !is_sound {
                faults.push(("numbers", format!("{reading:?}")));
            }
        }
        self.faults.extend(faults);
    }

    /// Completes and releases everything: nothing may be left.
    fn end(&mut self) {
        let now = self.latest;
        for (handle, ..) in self.requests.clone() {
            let count = self.router.request(handle).map_or(0, |request| request.attempts().len());
            for attempt in 0..count {
                self.router.complete(now, handle, attempt, What::Hang.outcome());
            }
            self.router.release(handle);
        }
        let in_flight: u32 = (0..ENDPOINTS)
            .filter_map(|place| self.router.endpoint(place))
            .map(|e| e.in_flight)
            .sum();
        if in_flight > 0 || self.router.open_requests() > 0 {
            let open = self.router.open_requests();
            self.fault("in flight", format!("{in_flight} attempts, {open} requests at the end"));
        }
    }
}

fn circuits(router: &Router, now: Timestamp) -> Vec<Circuit> {
    let endpoints = (0..ENDPOINTS).filter_map(|place| router.endpoint(place));
    endpoints.map(|endpoint| endpoint.breaker.circuit_at(now)).collect()
}
