//! Scenarios that nobody has tuned anything to: providers, faults, limits and traffic by lot.

use waypost::engine::math::ln;
use waypost::engine::rng::Rng;

use crate::scenario::{
    Arrivals, Episode, Method, Process, Provider, RateLimit, Scenario, Straggler,
};

/// Requests of one scenario, about.
const REQUESTS: f64 = 6_000.0;

struct Dice(Rng);

impl Dice {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.unit()
    }

    /// Evenly over the orders of magnitude.
    fn scale(&mut self, low: f64, high: f64) -> f64 {
        libm::exp(self.between(ln(low), ln(high)))
    }

    fn is(&mut self, chance: f64) -> bool {
        self.0.unit() <= chance
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]
    fn count(&mut self, low: usize, high: usize) -> usize {
        self.between(low as f64, high as f64 + 0.999) as usize
    }
}

/// The scenario of a number.
pub(crate) fn scenario(number: u64) -> Scenario {
    let mut dice = Dice(Rng::new(number ^ 0x5CE7_A210));
    let rps = dice.scale(0.3, 60.0);
    let duration = (REQUESTS / rps).clamp(120.0, 3_600.0);
    let clients = if dice.is(0.3) { dice.count(2, 60) } else { 1 };
    let count = dice.count(2, 8);
    let methods = if dice.is(0.3) { methods(&mut dice) } else { Vec::new() };
    let is_limited = dice.is(0.6);
    let mut providers: Vec<Provider> =
        (0..count).map(|place| provider(&mut dice, place, duration, &methods)).collect();
    if is_limited {
        // Enough for everybody together, so that it is a matter of routing.
        let total = rps * dice.between(1.3, 4.0);
        for provider in &mut providers {
            if dice.is(0.8) {
                provider.rate_limit = Some(limit(&mut dice, total / count as f64));
            }
        }
    }
    let mut scenario = Scenario {
        name: format!("random:{number}"),
        duration_s: duration,
        arrivals: Arrivals { rps, process: Process::Poisson },
        timeout_ms: dice.between(1_500.0, 5_000.0),
        max_attempts: 4,
        clients,
        methods,
        providers,
    };
    if dice.is(0.15) {
        outage(&mut dice, &mut scenario);
    }
    scenario.completed()
}

fn provider(dice: &mut Dice, place: usize, duration: f64, methods: &[Method]) -> Provider {
    let episodes = if dice.is(0.5) { dice.count(1, 3) } else { 0 };
    let own = methods.iter().filter(|_| dice.is(0.3)).map(|method| method.name.clone());
    let own: Vec<String> = own.collect();
    Provider {
        id: format!("p{place}"),
        median_ms: dice.scale(25.0, 500.0),
        sigma: dice.between(0.1, 0.8),
        straggler: dice
            .is(0.7)
            .then(|| Straggler { share: dice.scale(0.002, 0.03), factor: dice.between(3.0, 15.0) }),
        rate_limit: None,
        episodes: (0..episodes).map(|_| episode(dice, duration)).collect(),
        methods: own.into_iter().map(|name| (name, dice.scale(0.3, 8.0))).collect(),
    }
}

fn limit(dice: &mut Dice, share: f64) -> RateLimit {
    let rps = share * dice.scale(0.4, 2.5);
    RateLimit {
        rps,
        burst: Some((rps * dice.scale(0.5, 5.0)).max(1.0).floor()),
        reject_ms: [15.0, 20.0],
        retry_after_s: dice.is(0.3).then(|| dice.between(0.0, 3.0).round()),
    }
}

fn episode(dice: &mut Dice, duration: f64) -> Episode {
    let from = dice.between(0.0, duration);
    let mut episode = Episode {
        from_s: from,
        to_s: from + dice.scale(duration / 60.0, duration / 3.0),
        latency_factor: None,
        status: None,
        hang: false,
        reset: false,
        after_ms: None,
        retry_after_s: None,
        share: if dice.is(0.3) { dice.between(0.1, 0.9) } else { 1.0 },
        methods: None,
    };
    match dice.count(0, 6) {
        0..=2 => episode.latency_factor = Some(dice.scale(2.0, 20.0)),
        3 => episode.status = Some(429),
        4 => episode.status = Some(503),
        5 => episode.hang = true,
        _ => episode.reset = true,
    }
    if dice.is(0.3) {
        episode.after_ms = Some([20.0, 200.0]);
    }
    episode
}

/// Most providers fail together.
fn outage(dice: &mut Dice, scenario: &mut Scenario) {
    let mut shared = episode(dice, scenario.duration_s);
    shared.share = 1.0;
    for provider in scenario.providers.iter_mut().skip(1) {
        provider.episodes.push(shared.clone());
    }
}

fn methods(dice: &mut Dice) -> Vec<Method> {
    let names = ["eth_call", "eth_getLogs", "eth_getBalance", "eth_blockNumber"];
    let method = |name: &&str| Method {
        name: (*name).to_owned(),
        share: dice.scale(0.05, 1.0),
        latency_factor: dice.scale(0.4, 8.0),
    };
    names.iter().map(method).collect()
}
