//! The policies of the literature and of the peers, to be compared with.
//!
//! A [`Policy`] chooses among providers. What surrounds it is the same for all: a number of attempts, each
//! provider once as long as there are others, and if asked for a cooldown after 429 and a hedge.

mod c3;
mod lasso;
mod oracle;
mod peak_ewma;
mod simple;
mod thompson;
mod viem_rank;

use waypost::engine::rng::Rng;

use crate::client::{Action, Client};
use crate::scenario::Scenario;
use crate::stats::percentile;
use crate::world::{Micros, What, World, micros};

/// What a policy may look at when it chooses.
pub(crate) struct View<'a> {
    pub(crate) now: Micros,
    pub(crate) method: usize,
    /// The providers to choose from: never empty.
    pub(crate) among: &'a [usize],
    /// For the oracle.
    pub(crate) world: &'a World<'a>,
}

pub(crate) enum Choice {
    Send(usize),
    Wait(Micros),
}

pub(crate) trait Policy {
    fn choose(&mut self, view: &View<'_>, rng: &mut Rng) -> Choice;
    /// Chooses for a second attempt beside a slow one.
    fn choose_backup(&mut self, view: &View<'_>, rng: &mut Rng) -> Choice {
        self.choose(view, rng)
    }
    fn sent(&mut self, _now: Micros, _provider: usize) {}
    /// An attempt ended after `took`. Abandoned ones end without a word.
    fn ended(&mut self, _now: Micros, _provider: usize, _took: Micros, _what: Option<What>) {}
    fn ping_interval(&self) -> Option<Micros> {
        None
    }
    fn pinged(&mut self, _provider: usize, _latency: Micros, _is_answered: bool) {}
}

/// Names of all policies, the oracles last.
pub(crate) const NAMES: [&str; 12] = [
    "plain_round_robin",
    "random",
    "lasso_formula",
    "viem_rank",
    "c3",
    "thompson",
    "peak_ewma",
    "peak_ewma_cooldown",
    "peak_ewma_hedged",
    "latency_weighted_hedged",
    "oracle",
    "oracle_hedged",
];

/// After a 429 that names no time, for those that cool down.
const COOLDOWN: Micros = 5_000_000;
const HEDGE_QUANTILE: f64 = 0.95;
const HEDGE_WINDOW: usize = 200;
const HEDGE_SHARE: f64 = 0.1;

/// A client that routes by a policy; `None` for a name that is not known.
pub(crate) fn client(
    name: &str,
    scenario: &Scenario,
    seed: u64,
    hedged: bool,
) -> Option<Box<dyn Client>> {
    let count = scenario.providers.len();
    let (policy, cools, always): (Box<dyn Policy>, bool, bool) = match name {
        "plain_round_robin" => (Box::new(simple::RoundRobin::default()), false, false),
        "random" => (Box::new(simple::Random), false, false),
        "lasso_formula" => (Box::new(lasso::Formula::new(count)), false, false),
        "latency_weighted_hedged" => (Box::new(lasso::Relative::new(count)), true, true),
        "viem_rank" => (Box::new(viem_rank::ViemRank::new(count)), false, false),
        "c3" => (Box::new(c3::C3::new(count, scenario.clients)), true, false),
        "thompson" => (Box::new(thompson::Thompson::new(count)), true, false),
        "peak_ewma" => (Box::new(peak_ewma::PeakEwma::new(count)), false, false),
        "peak_ewma_cooldown" => (Box::new(peak_ewma::PeakEwma::new(count)), true, false),
        "peak_ewma_hedged" => (Box::new(peak_ewma::PeakEwma::new(count)), true, true),
        "oracle" => (Box::new(oracle::Oracle), false, false),
        "oracle_hedged" => (Box::new(oracle::Oracle), false, true),
        _ => return None,
    };
    Some(Box::new(PolicyClient {
        policy,
        cooldown: cools.then_some(COOLDOWN),
        cool_until: vec![0; count],
        hedge: (hedged || always).then(Hedge::default),
        timeout: micros(scenario.timeout_ms),
        max_attempts: scenario.max_attempts as usize,
        requests: Vec::new(),
        free: Vec::new(),
        rng: Rng::new(seed),
    }))
}

#[derive(Default)]
struct Hedge {
    window: Vec<f64>,
    next: usize,
    requests: u64,
    hedges: u64,
    quantile: Option<Micros>,
}

impl Hedge {
    fn answered(&mut self, took: Micros) {
        let took = took as f64;
        if self.window.len() < HEDGE_WINDOW {
            self.window.push(took);
        } else {
            self.window[self.next] = took;
        }
        self.next = (self.next + 1) % HEDGE_WINDOW;
        if self.window.len() >= 20 && self.next.is_multiple_of(10) {
            let mut sorted = self.window.clone();
            sorted.sort_by(f64::total_cmp);
            self.quantile = Some(micros(percentile(&sorted, HEDGE_QUANTILE) / 1e3));
        }
    }
}

#[derive(Clone, Copy)]
struct Attempt {
    provider: usize,
    started: Micros,
    is_open: bool,
}

#[derive(Clone, Default)]
struct Request {
    method: usize,
    started: Micros,
    attempts: Vec<Attempt>,
    is_answered: bool,
}

struct PolicyClient {
    policy: Box<dyn Policy>,
    cooldown: Option<Micros>,
    cool_until: Vec<Micros>,
    hedge: Option<Hedge>,
    timeout: Micros,
    max_attempts: usize,
    requests: Vec<Request>,
    free: Vec<u32>,
    rng: Rng,
}

impl PolicyClient {
    /// Those not asked yet (or all, if there are none), and of these the ones that do not cool down (or the
    /// one that is ready first).
    fn among(&self, now: Micros, request: &Request) -> Vec<usize> {
        let all = 0..self.cool_until.len();
        let is_asked = |provider: &usize| request.attempts.iter().any(|a| a.provider == *provider);
        let mut among: Vec<usize> = all.clone().filter(|provider| !is_asked(provider)).collect();
        if among.is_empty() {
            among = all.collect();
        }
        if self.cooldown.is_some() {
            let ready: Vec<usize> =
                among.iter().copied().filter(|it| self.cool_until[*it] <= now).collect();
            let soonest = || among.iter().copied().min_by_key(|it| self.cool_until[*it]);
            among = if ready.is_empty() { soonest().into_iter().collect() } else { ready };
        }
        among
    }

    fn select(&mut self, now: Micros, handle: u32, world: &World<'_>) -> Choice {
        let request = &self.requests[handle as usize];
        let among = self.among(now, request);
        let view = View { now, method: request.method, among: &among, world };
        if request.attempts.iter().any(|attempt| attempt.is_open) {
            self.policy.choose_backup(&view, &mut self.rng)
        } else {
            self.policy.choose(&view, &mut self.rng)
        }
    }

    fn send(&mut self, now: Micros, handle: u32, provider: usize) -> Action {
        self.policy.sent(now, provider);
        let request = &mut self.requests[handle as usize];
        request.attempts.push(Attempt { provider, started: now, is_open: true });
        let attempt = request.attempts.len() - 1;
        let is_first = attempt == 0;
        let delay = self.hedge.as_ref().and_then(|hedge| hedge.quantile);
        let backup_after = delay.filter(|_| is_first);
        Action::Send { attempt, provider, timeout: self.timeout, backup_after }
    }
}

impl Client for PolicyClient {
    fn begin(&mut self, now: Micros, method: usize) -> u32 {
        let request = Request { method, started: now, ..Request::default() };
        if let Some(hedge) = &mut self.hedge {
            hedge.requests += 1;
        }
        if let Some(handle) = self.free.pop() {
            self.requests[handle as usize] = request;
            return handle;
        }
        self.requests.push(request);
        u32::try_from(self.requests.len() - 1).unwrap_or(u32::MAX)
    }

    fn next(&mut self, now: Micros, handle: u32, world: &World<'_>) -> Action {
        let request = &self.requests[handle as usize];
        if request.is_answered {
            return Action::End { is_answered: true };
        }
        if request.attempts.iter().any(|attempt| attempt.is_open) {
            return Action::Pending;
        }
        if request.attempts.len() >= self.max_attempts {
            return Action::End { is_answered: false };
        }
        match self.select(now, handle, world) {
            Choice::Send(provider) => self.send(now, handle, provider),
            Choice::Wait(until) => Action::Wait(until),
        }
    }

    fn backup(&mut self, now: Micros, handle: u32, world: &World<'_>) -> Option<Action> {
        let has_room = self.requests[handle as usize].attempts.len() < self.max_attempts;
        let hedge = self.hedge.as_mut()?;
        let is_allowed = hedge.hedges as f64 <= hedge.requests as f64 * HEDGE_SHARE;
        if !has_room || !is_allowed {
            return None;
        }
        let Choice::Send(provider) = self.select(now, handle, world) else { return None };
        if let Some(hedge) = &mut self.hedge {
            hedge.hedges += 1;
        }
        Some(self.send(now, handle, provider))
    }

    fn complete(&mut self, now: Micros, handle: u32, attempt: usize, what: Option<What>) {
        let request = &mut self.requests[handle as usize];
        let Attempt { provider, started, .. } = request.attempts[attempt];
        request.attempts[attempt].is_open = false;
        self.policy.ended(now, provider, now - started, what);
        match what {
            Some(What::Answer) => {
                request.is_answered = true;
                let took = now - request.started;
                if let Some(hedge) = &mut self.hedge {
                    hedge.answered(took);
                }
            }
            Some(What::Status { status: 429, retry_after_s }) => {
                let named = retry_after_s.map(|seconds| micros(seconds * 1e3));
                if let Some(cooldown) = self.cooldown {
                    self.cool_until[provider] = now + named.unwrap_or(cooldown);
                }
            }
            _ => {}
        }
    }

    fn release(&mut self, handle: u32) {
        self.free.push(handle);
    }

    fn ping_interval(&self) -> Option<Micros> {
        self.policy.ping_interval()
    }

    fn pinged(&mut self, provider: usize, latency: Micros, is_answered: bool) {
        self.policy.pinged(provider, latency, is_answered);
    }
}

/// The one of `among` with the smallest score; of equal ones the first.
fn smallest(among: &[usize], mut score: impl FnMut(usize) -> f64) -> usize {
    let scored = among.iter().map(|provider| (score(*provider), *provider));
    scored.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, provider)| provider)
}
