//! The providers as they are: what comes back from them, and (for the oracle alone) how they stand.

use waypost::engine::math::ln;
use waypost::engine::rng::Rng;

use crate::scenario::{Episode, Scenario};

/// Microseconds since the beginning.
pub(crate) type Micros = u64;

/// What comes back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    Answer,
    Status {
        status: u16,
        retry_after_s: Option<f64>,
    },
    Reset,
    /// Nothing, ever.
    Hang,
}

impl What {
    pub(crate) fn is_limit(self) -> bool {
        matches!(self, Self::Status { status: 429, .. })
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub(crate) after: Micros,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at: Micros,
}

#[derive(Debug)]
pub(crate) struct World<'a> {
    pub(crate) scenario: &'a Scenario,
    buckets: Vec<Bucket>,
    seed: u64,
}

impl<'a> World<'a> {
    pub(crate) fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let full = |limit: &crate::scenario::RateLimit| limit.depth();
        let buckets = scenario.providers.iter().map(|provider| Bucket {
            tokens: provider.rate_limit.as_ref().map_or(f64::INFINITY, full),
            at: 0,
        });
        Self { scenario, buckets: buckets.collect(), seed }
    }

    /// What `provider` answers to attempt `nth` of a request. The draw belongs to these numbers, so that
    /// policies are compared under the same luck.
    pub(crate) fn ask(
        &mut self,
        now: Micros,
        provider: usize,
        method: usize,
        (request, nth): (u64, u64),
    ) -> Reply {
        let mut rng = draw(self.seed, [request, provider as u64, nth]);
        let it = &self.scenario.providers[provider];
        if let Some(limit) = &it.rate_limit {
            if self.tokens(now, provider) < 1.0 {
                let what = What::Status { status: 429, retry_after_s: limit.retry_after_s };
                return Reply { after: between(limit.reject_ms, &mut rng), what };
            }
            self.take(now, provider);
        }
        let mut factor = self.scenario.factor(provider, method);
        let mut fault: Option<&Episode> = None;
        for episode in self.episodes(now, provider, method) {
            if episode.share < 1.0 && rng.unit() > episode.share {
                continue;
            }
            if let Some(slower) = episode.latency_factor {
                factor = self.scenario.factor(provider, method) * slower;
            }
            if episode.hang || episode.reset || episode.status.is_some() {
                fault = Some(episode);
            }
        }
        match fault {
            Some(episode) if episode.hang => Reply { after: Micros::MAX / 2, what: What::Hang },
            Some(episode) if episode.reset => {
                Reply { after: between(episode.after(), &mut rng), what: What::Reset }
            }
            Some(Episode { status: Some(status), retry_after_s, after_ms, .. }) => Reply {
                after: between(after_ms.unwrap_or([15.0, 20.0]), &mut rng),
                what: What::Status { status: *status, retry_after_s: *retry_after_s },
            },
            _ => {
                let spread = libm::exp(it.sigma * normal(&mut rng));
                let straggles = it.straggler.filter(|it| rng.unit() <= it.share);
                let factor = factor * straggles.map_or(1.0, |it| it.factor);
                Reply { after: micros(it.median_ms * factor * spread), what: What::Answer }
            }
        }
    }

    /// Tokens of a provider's bucket.
    pub(crate) fn tokens(&self, now: Micros, provider: usize) -> f64 {
        let bucket = self.buckets[provider];
        let Some(limit) = &self.scenario.providers[provider].rate_limit else {
            return f64::INFINITY;
        };
        let gained = seconds(now.saturating_sub(bucket.at)) * limit.rps;
        (bucket.tokens + gained).min(limit.depth())
    }

    fn take(&mut self, now: Micros, provider: usize) {
        self.buckets[provider] = Bucket { tokens: self.tokens(now, provider) - 1.0, at: now };
    }

    fn episodes(
        &self,
        now: Micros,
        provider: usize,
        method: usize,
    ) -> impl Iterator<Item = &'a Episode> {
        let scenario = self.scenario;
        let name = &scenario.methods[method].name;
        let at = seconds(now);
        scenario.providers[provider].episodes.iter().filter(move |it| it.covers(at, name))
    }

    /// What an oracle expects of a provider now, in milliseconds; nothing if it cannot answer. It knows
    /// medians, episodes and buckets, not the single draw.
    pub(crate) fn expected_ms(&self, now: Micros, provider: usize, method: usize) -> Option<f64> {
        if self.tokens(now, provider) < 1.0 {
            return None;
        }
        let base = self.scenario.factor(provider, method);
        let (mut factor, mut good, mut lost) = (base, 1.0, 0.0);
        for episode in self.episodes(now, provider, method) {
            let share = episode.share.min(1.0);
            if let Some(slower) = episode.latency_factor {
                factor = base * slower * share + factor * (1.0 - share);
            }
            if episode.hang || episode.reset || episode.status.is_some() {
                let cost = if episode.hang { self.scenario.timeout_ms } else { episode.after()[1] };
                lost = share * cost + (1.0 - share) * lost;
                good *= 1.0 - share;
            }
        }
        let own = self.scenario.providers[provider].median_ms * factor;
        (good > 1e-9).then(|| own / good + lost)
    }

    /// When a provider that cannot answer now may be able to.
    pub(crate) fn ready_at(&self, now: Micros, provider: usize, method: usize) -> Micros {
        let missing = 1.0 - self.tokens(now, provider);
        let rps = self.scenario.providers[provider].rate_limit.map_or(1.0, |limit| limit.rps);
        let token_at = now + micros((missing.max(0.0) / rps * 1e3).min(1e9)) + 1;
        let faults = self.episodes(now, provider, method);
        let over_at = faults
            .filter(|it| it.hang || it.reset || it.status.is_some())
            .map(|it| micros(it.to_s * 1e3) + 1)
            .max();
        token_at.max(over_at.unwrap_or(0))
    }
}

/// A generator of its own for each combination of numbers.
pub(crate) fn draw(seed: u64, numbers: [u64; 3]) -> Rng {
    let mut state = seed;
    for number in numbers {
        state = Rng::new(state ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93)).next_u64();
    }
    Rng::new(state)
}

/// A standard normal number (Box and Muller).
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    let (radius, turn) = (rng.unit(), rng.unit());
    (-2.0 * ln(radius)).sqrt() * libm::cos(core::f64::consts::TAU * turn)
}

fn between([low, high]: [f64; 2], rng: &mut Rng) -> Micros {
    micros(low + (high - low) * rng.unit())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
pub(crate) fn micros(millis: f64) -> Micros {
    (millis * 1e3 + 0.5) as Micros
}

pub(crate) fn millis(micros: Micros) -> f64 {
    micros as f64 / 1e3
}

pub(crate) fn seconds(micros: Micros) -> f64 {
    micros as f64 / 1e6
}
