//! A world for the engine: scripted servers, a clock that moves only when told to, and a driver that plays
//! the shell's loop as `pkg/src/run.ts` does.

#![allow(dead_code, unused_imports, reason = "each test binary uses a part of it")]

mod content;
mod server;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use waypost::engine::breaker::Circuit;
use waypost::engine::classify::ErrorClass;
use waypost::engine::config::{EndpointConfig, Settings};
use waypost::engine::method::MethodId;
use waypost::engine::outcome::Outcome;
use waypost::engine::request::{Call, Conclusion, Step};
use waypost::engine::router::Router;
use waypost::engine::strategy::Strategy;
use waypost::engine::time::Timestamp;

pub(crate) use server::{
    Ask, Reply, What, answer, bad_body, error, hang, limited, ms, offline, opaque, refused, secs,
    status,
};

/// Room for "before".
pub(crate) const START: Timestamp = Timestamp::from_millis(3_600_000);

type Script = Box<dyn FnMut(Ask) -> Reply>;
/// Due time, and a number that keeps those of one time in order.
type Key = (Timestamp, u64);

#[derive(Clone, Copy, Debug)]
enum Event {
    Reply { run: usize, attempt: usize },
    Wake { run: usize },
    Backup { run: usize },
}

/// One attempt as it was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Timestamp,
    pub(crate) run: usize,
    pub(crate) attempt: usize,
    pub(crate) endpoint: usize,
    pub(crate) timeout: Duration,
    pub(crate) backup_after: Option<Duration>,
}

/// How a request ended, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ending {
    pub(crate) conclusion: Conclusion,
    pub(crate) at: Timestamp,
    pub(crate) took: Duration,
}

struct Flight {
    reply: Key,
    what: What,
    is_trial: bool,
}

/// One request as the shell drives it.
struct Run {
    handle: u32,
    method: &'static str,
    started: Timestamp,
    under_way: BTreeMap<usize, Flight>,
    timer: Option<Key>,
    ending: Option<Ending>,
}

struct Server {
    script: Script,
    hits: usize,
}

pub(crate) struct World {
    pub(crate) router: Router,
    pub(crate) now: Timestamp,
    pub(crate) sent: Vec<Sent>,
    /// Every decision and every outcome, one a line.
    pub(crate) trace: String,
    servers: Vec<Server>,
    runs: Vec<Run>,
    queue: BTreeMap<Key, Event>,
    keys: u64,
    names: BTreeMap<MethodId, &'static str>,
}

impl World {
    /// One profile and one pool of `count` endpoints, asked in their order, that answer after 50 ms.
    pub(crate) fn new(count: usize) -> Self {
        Self::with(Settings { strategy: Strategy::Priority, ..Settings::default() }, count)
    }

    pub(crate) fn with(settings: Settings, count: usize) -> Self {
        let mut world = Self::empty(42, START);
        let profile = world.router.add_profile(settings);
        let pool = world.router.add_pool(profile, "default", "ethereum");
        for place in 0..count {
            world.add(pool, &format!("origin {place}"), config(place));
        }
        world
    }

    pub(crate) fn empty(seed: u64, now: Timestamp) -> Self {
        Self {
            router: Router::new(seed),
            now,
            sent: Vec::new(),
            trace: String::new(),
            servers: Vec::new(),
            runs: Vec::new(),
            queue: BTreeMap::new(),
            keys: 0,
            names: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, pool: usize, group: &str, config: EndpointConfig) -> usize {
        self.servers.push(Server { script: Box::new(|_| answer(50)), hits: 0 });
        self.router.add_endpoint(pool, group, config)
    }

    pub(crate) fn serve(&mut self, endpoint: usize, script: impl FnMut(Ask) -> Reply + 'static) {
        self.servers[endpoint].script = Box::new(script);
    }

    pub(crate) fn serve_all(&mut self, script: impl FnMut(Ask) -> Reply + Clone + 'static) {
        (0..self.servers.len()).for_each(|place| self.serve(place, script.clone()));
    }

    /// A call of the first pool.
    pub(crate) fn call(&mut self, method: &'static str) -> Call {
        self.call_to(0, method)
    }

    pub(crate) fn call_to(&mut self, pool: usize, method: &'static str) -> Call {
        let id = self.router.method(method);
        self.names.insert(id, method);
        Call::new(pool, id)
    }

    /// Asks and waits for the end.
    pub(crate) fn ask(&mut self, method: &'static str) -> Ending {
        let call = self.call(method);
        self.ask_with(call)
    }

    pub(crate) fn ask_with(&mut self, call: Call) -> Ending {
        let run = self.start(call);
        self.finish(run)
    }

    /// Asks, and returns the endpoints that were asked with how it ended.
    pub(crate) fn path(&mut self, method: &'static str) -> (Vec<usize>, Conclusion) {
        let call = self.call(method);
        self.path_with(call)
    }

    pub(crate) fn path_with(&mut self, call: Call) -> (Vec<usize>, Conclusion) {
        let run = self.start(call);
        let ending = self.finish(run);
        (self.asked(run), ending.conclusion)
    }

    /// Opens a request and lets time stand.
    pub(crate) fn start(&mut self, call: Call) -> usize {
        let run = self.open(call);
        self.advance(run);
        run
    }

    fn open(&mut self, call: Call) -> usize {
        let handle = self.router.begin(self.now, call).expect("the pool is known");
        let method = self.names[&call.method];
        let run = self.runs.len();
        self.note(&format!("r{run} begin {method}"));
        self.runs.push(Run {
            handle,
            method,
            started: self.now,
            under_way: BTreeMap::new(),
            timer: None,
            ending: None,
        });
        run
    }

    /// Lets time go on until a request has ended.
    pub(crate) fn finish(&mut self, run: usize) -> Ending {
        loop {
            if let Some(ending) = self.runs[run].ending {
                return ending;
            }
            assert!(self.turn(Timestamp::MAX), "request {run} waits for nothing");
        }
    }

    pub(crate) fn pass(&mut self, span: Duration) {
        let until = self.now.after(span);
        while self.turn(until) {}
        self.now = until;
    }

    /// Time goes on and nothing happens in it, as in a tab in the background: what was due comes late.
    pub(crate) fn freeze(&mut self, span: Duration) {
        self.now = self.now.after(span);
    }

    /// Lets everything under way end.
    pub(crate) fn settle(&mut self) {
        while self.turn(Timestamp::MAX) {}
    }

    /// The caller's signal.
    pub(crate) fn abort(&mut self, run: usize) {
        if self.runs[run].ending.is_none() {
            self.note(&format!("r{run} abort"));
            self.router.abort(self.now, self.runs[run].handle);
            self.end(run, Conclusion::Aborted, true);
        }
    }

    pub(crate) fn asked(&self, run: usize) -> Vec<usize> {
        self.sent.iter().filter(|sent| sent.run == run).map(|sent| sent.endpoint).collect()
    }

    pub(crate) fn ending(&self, run: usize) -> Option<Ending> {
        self.runs[run].ending
    }

    pub(crate) fn handle(&self, run: usize) -> u32 {
        self.runs[run].handle
    }

    pub(crate) fn endpoints(&self) -> usize {
        self.servers.len()
    }

    pub(crate) fn hits(&self, endpoint: usize) -> usize {
        self.servers[endpoint].hits
    }

    pub(crate) fn circuit(&self, endpoint: usize) -> Circuit {
        let endpoint = self.router.endpoint(endpoint).expect("the endpoint is known");
        endpoint.breaker.circuit_at(self.now)
    }

    pub(crate) fn consecutive(&self, endpoint: usize) -> u32 {
        self.router.endpoint(endpoint).expect("the endpoint is known").breaker.consecutive
    }

    /// Whether nothing is under way and nothing was forgotten.
    pub(crate) fn is_quiet(&self) -> bool {
        let in_flight = (0..self.endpoints())
            .filter_map(|place| self.router.endpoint(place))
            .any(|endpoint| endpoint.in_flight > 0 || endpoint.breaker.is_on_trial_at(self.now));
        self.queue.is_empty() && !in_flight && self.router.open_requests() == 0
    }

    /// Makes one thing happen, if one is due by `until`.
    pub(crate) fn turn(&mut self, until: Timestamp) -> bool {
        let Some((key, event)) = self.queue.first_key_value().map(|(key, event)| (*key, *event))
        else {
            return false;
        };
        if key.0 > until {
            return false;
        }
        self.queue.remove(&key);
        self.now = self.now.max(key.0);
        match event {
            Event::Reply { run, attempt } => self.receive(run, attempt),
            Event::Wake { run } => self.advance(run),
            Event::Backup { run } => {
                if let Some(step) = self.router.backup(self.now, self.runs[run].handle) {
                    self.send(run, step);
                }
            }
        }
        true
    }

    fn advance(&mut self, run: usize) {
        let step = self.router.next(self.now, self.runs[run].handle);
        match step {
            Step::Send { .. } => self.send(run, step),
            Step::Wait(until) => {
                assert!(until > self.now, "a wait leads forward");
                self.note(&format!("r{run} wait {}", until.as_micros()));
                self.later(run, until, Event::Wake { run });
            }
            Step::Pending => {
                assert!(!self.runs[run].under_way.is_empty(), "request {run} waits for nothing");
            }
            Step::End(conclusion) => self.end(run, conclusion, false),
        }
    }

    fn send(&mut self, run: usize, step: Step) {
        let Step::Send { attempt, endpoint, timeout, backup_after } = step else {
            panic!("{step:?} is nothing to send");
        };
        let at = self.now;
        self.note(&format!("r{run}#{attempt} send {endpoint} {timeout:?} {backup_after:?}"));
        self.sent.push(Sent { at, run, attempt, endpoint, timeout, backup_after });
        let method = self.runs[run].method;
        let server = &mut self.servers[endpoint];
        let reply = (server.script)(Ask { at, nth: server.hits, method });
        server.hits += 1;
        let hangs = matches!(reply.what, What::Hang) || reply.after >= timeout;
        let (after, what) = if hangs { (timeout, What::Hang) } else { (reply.after, reply.what) };
        let key = self.schedule(at.after(after), Event::Reply { run, attempt });
        let attempts = self.router.request(self.runs[run].handle).expect("under way").attempts();
        let flight = Flight { reply: key, what, is_trial: attempts[attempt].runs_on() };
        self.runs[run].under_way.insert(attempt, flight);
        if let Some(delay) = backup_after {
            self.later(run, at.after(delay), Event::Backup { run });
        }
    }

    fn receive(&mut self, run: usize, attempt: usize) {
        let flight = self.runs[run].under_way.remove(&attempt).expect("the attempt is under way");
        self.complete(run, attempt, flight.what.outcome());
        if self.runs[run].ending.is_none() {
            self.stop_timer(run);
            self.advance(run);
        }
    }

    fn complete(&mut self, run: usize, attempt: usize, outcome: Outcome<'_>) -> Option<ErrorClass> {
        let class = self.router.complete(self.now, self.runs[run].handle, attempt, outcome);
        self.note(&format!("r{run}#{attempt} came {class:?}"));
        class
    }

    /// A trial that lost against its backup goes on, so that the engine learns how it ends.
    fn end(&mut self, run: usize, conclusion: Conclusion, stop_trials: bool) {
        self.note(&format!("r{run} end {conclusion:?}"));
        self.stop_timer(run);
        let (at, took) = (self.now, self.now.since(self.runs[run].started));
        self.runs[run].ending = Some(Ending { conclusion, at, took });
        let flights = &self.runs[run].under_way;
        let losers = flights.iter().filter(|(_, flight)| stop_trials || !flight.is_trial);
        let losers: Vec<(usize, Key)> =
            losers.map(|(attempt, flight)| (*attempt, flight.reply)).collect();
        for (attempt, key) in losers {
            self.queue.remove(&key);
            self.runs[run].under_way.remove(&attempt);
            self.complete(run, attempt, Outcome::Abandoned);
        }
        self.router.release(self.runs[run].handle);
    }

    fn later(&mut self, run: usize, at: Timestamp, event: Event) {
        self.stop_timer(run);
        self.runs[run].timer = Some(self.schedule(at, event));
    }

    fn stop_timer(&mut self, run: usize) {
        if let Some(key) = self.runs[run].timer.take() {
            self.queue.remove(&key);
        }
    }

    fn schedule(&mut self, at: Timestamp, event: Event) -> Key {
        self.keys += 1;
        let key = (at, self.keys);
        self.queue.insert(key, event);
        key
    }

    fn note(&mut self, line: &str) {
        writeln!(self.trace, "{} {line}", self.now.as_micros()).expect("a string takes all");
    }
}

/// Settings of the endpoint at a place: named `a`, `b` and so on, and asked in that order.
pub(crate) fn config(place: usize) -> EndpointConfig {
    let letter = char::from(b'a' + u8::try_from(place % 26).expect("less than 26"));
    EndpointConfig { id: letter.into(), priority: place as f64, ..EndpointConfig::default() }
}
