//! Discrete events: the clock jumps from one to the next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use waypost::engine::math::ln;
use waypost::engine::rng::Rng;

use crate::client::{Action, Client};
use crate::scenario::{Process, Scenario};
use crate::stats::Tally;
use crate::world::{Micros, What, World, draw, micros, millis};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive,
    Reply { run: usize, attempt: usize },
    Timer { run: usize, token: u32, is_backup: bool },
    Ping { client: usize },
    Pong { client: usize, provider: usize, after: Micros, is_answered: bool },
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    attempt: usize,
    what: What,
}

/// One request.
struct Run {
    client: usize,
    handle: u32,
    method: usize,
    started: Micros,
    /// The timer that counts; earlier ones were stopped.
    token: u32,
    flights: Vec<Flight>,
    is_over: bool,
    /// Providers asked so far.
    asked: Vec<usize>,
}

struct Simulation<'a, 'b> {
    world: World<'a>,
    clients: &'b mut [Box<dyn Client>],
    queue: BinaryHeap<Reverse<(Micros, u64, Event)>>,
    order: u64,
    runs: Vec<Run>,
    tally: Tally,
    arrivals: Rng,
    until: Micros,
    pings: u64,
}

/// Plays a scenario with these clients.
pub(crate) fn play(scenario: &Scenario, clients: &mut [Box<dyn Client>], seed: u64) -> Tally {
    let mut simulation = Simulation {
        world: World::new(scenario, seed),
        clients,
        queue: BinaryHeap::new(),
        order: 0,
        runs: Vec::new(),
        tally: Tally { sent: vec![0; scenario.providers.len()], ..Tally::default() },
        arrivals: draw(seed, [u64::MAX; 3]),
        until: micros(scenario.duration_s * 1e3),
        pings: 0,
    };
    simulation.play();
    simulation.tally
}

impl Simulation<'_, '_> {
    fn play(&mut self) {
        for client in 0..self.clients.len() {
            if self.clients[client].ping_interval().is_some() {
                self.later(0, Event::Ping { client });
            }
        }
        let first = self.interval();
        self.later(first, Event::Arrive);
        while let Some(Reverse((now, _, event))) = self.queue.pop() {
            match event {
                Event::Arrive => self.arrive(now),
                Event::Reply { run, attempt } => self.reply(now, run, attempt),
                Event::Timer { run, token, is_backup } => self.wake(now, run, token, is_backup),
                Event::Ping { client } => self.ping(now, client),
                Event::Pong { client, provider, after, is_answered } => {
                    self.clients[client].pinged(provider, after, is_answered);
                }
            }
        }
    }

    fn later(&mut self, at: Micros, event: Event) {
        self.order += 1;
        self.queue.push(Reverse((at, self.order, event)));
    }

    fn interval(&mut self) -> Micros {
        let arrivals = &self.world.scenario.arrivals;
        let mean = 1e3 / arrivals.rps;
        match arrivals.process {
            Process::Poisson => micros(-ln(self.arrivals.unit()) * mean),
            Process::Uniform => micros(mean),
        }
    }

    fn arrive(&mut self, now: Micros) {
        if now >= self.until {
            return;
        }
        let scenario = self.world.scenario;
        let client = below(&mut self.arrivals, self.clients.len());
        let all: f64 = scenario.methods.iter().map(|method| method.share).sum();
        let mut left = self.arrivals.unit() * all;
        let method = scenario.methods.iter().position(|method| {
            left -= method.share;
            left <= 0.0
        });
        let method = method.unwrap_or(0);
        let interval = self.interval();
        self.later(now + interval, Event::Arrive);
        let handle = self.clients[client].begin(now, method);
        self.runs.push(Run {
            client,
            handle,
            method,
            started: now,
            token: 0,
            flights: Vec::new(),
            is_over: false,
            asked: Vec::new(),
        });
        self.advance(now, self.runs.len() - 1);
    }

    fn advance(&mut self, now: Micros, run: usize) {
        let Run { client, handle, .. } = self.runs[run];
        match self.clients[client].next(now, handle, &self.world) {
            send @ Action::Send { .. } => self.send(now, run, send),
            Action::Wait(until) => self.set_timer(until.max(now + 1), run, false),
            Action::Pending => {
                assert!(!self.runs[run].flights.is_empty(), "a request waits for nothing");
            }
            Action::End { is_answered } => self.end(now, run, is_answered),
        }
    }

    fn send(&mut self, now: Micros, run: usize, action: Action) {
        let Action::Send { attempt, provider, timeout, backup_after } = action else { return };
        let Run { method, ref mut asked, .. } = self.runs[run];
        let nth = asked.iter().filter(|known| **known == provider).count();
        let of = (run as u64, nth as u64);
        asked.push(provider);
        let reply = self.world.ask(now, provider, method, of);
        self.tally.attempts += 1;
        self.tally.sent[provider] += 1;
        let is_late = reply.after >= timeout;
        let what = if is_late { What::Hang } else { reply.what };
        self.runs[run].flights.push(Flight { attempt, what });
        self.later(now + reply.after.min(timeout), Event::Reply { run, attempt });
        if let Some(delay) = backup_after {
            self.set_timer(now + delay, run, true);
        }
    }

    fn set_timer(&mut self, at: Micros, run: usize, is_backup: bool) {
        self.runs[run].token += 1;
        let token = self.runs[run].token;
        self.later(at, Event::Timer { run, token, is_backup });
    }

    fn wake(&mut self, now: Micros, run: usize, token: u32, is_backup: bool) {
        let Run { client, handle, token: current, is_over, .. } = self.runs[run];
        if is_over || token != current {
            return;
        }
        if !is_backup {
            return self.advance(now, run);
        }
        match self.clients[client].backup(now, handle, &self.world) {
            Some(send) => {
                self.tally.hedges += 1;
                self.send(now, run, send);
            }
            None => self.advance(now, run),
        }
    }

    fn reply(&mut self, now: Micros, run: usize, attempt: usize) {
        let Run { client, handle, ref mut flights, .. } = self.runs[run];
        let Some(place) = flights.iter().position(|flight| flight.attempt == attempt) else {
            return;
        };
        let what = flights.swap_remove(place).what;
        self.tally.limited += u64::from(what.is_limit());
        self.clients[client].complete(now, handle, attempt, Some(what));
        if !self.runs[run].is_over {
            self.runs[run].token += 1;
            self.advance(now, run);
        }
    }

    fn end(&mut self, now: Micros, run: usize, is_answered: bool) {
        let Run { client, handle, started, .. } = self.runs[run];
        self.tally.took.push(millis(now - started));
        if !is_answered {
            self.tally.failed += 1;
            self.tally.failed_ms += millis(now - started);
        }
        self.runs[run].is_over = true;
        let client = &mut self.clients[client];
        self.runs[run].flights.retain(|flight| {
            let runs_on = client.runs_on(handle, flight.attempt);
            if !runs_on {
                client.complete(now, handle, flight.attempt, None);
            }
            runs_on
        });
        client.release(handle);
    }

    /// Pings every provider with the first method.
    fn ping(&mut self, now: Micros, client: usize) {
        let Some(interval) = self.clients[client].ping_interval() else { return };
        for provider in 0..self.world.scenario.providers.len() {
            self.pings += 1;
            let reply = self.world.ask(now, provider, 0, (u64::MAX, self.pings));
            let after = reply.after.min(1_000_000);
            let is_answered = reply.what == What::Answer && after == reply.after;
            self.later(now + after, Event::Pong { client, provider, after, is_answered });
        }
        if now + interval < self.until {
            self.later(now + interval, Event::Ping { client });
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below a small number")]
fn below(rng: &mut Rng, bound: usize) -> usize {
    ((rng.unit() * bound as f64).ceil() as usize).max(1) - 1
}
