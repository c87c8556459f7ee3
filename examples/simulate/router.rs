//! Names of routers, and the clients that they stand for.

use waypost::engine::config::{AdaptiveParts, HedgeConfig, Settings};
use waypost::engine::strategy::Strategy;

use crate::client::Client;
use crate::engine::EngineClient;
use crate::policy;
use crate::run::play;
use crate::scenario::Scenario;
use crate::stats::Tally;
use crate::world::draw;

/// The engine's own strategies.
pub(crate) const STRATEGIES: [&str; 5] =
    ["load_balanced", "fastest", "latency_weighted", "priority", "adaptive"];

/// What routes.
#[derive(Clone, Debug)]
pub(crate) enum Router {
    Engine(Box<Settings>),
    Policy { name: &'static str, hedged: bool },
}

impl Router {
    /// The router of a name as a user writes it.
    pub(crate) fn named(name: &str, hedged: bool) -> Option<Self> {
        let plain = name.replace('-', "_");
        let hedged = hedged || plain.ends_with("+hedge");
        // What follows a tilde is left out of `adaptive`, to see what it is worth.
        let mut parts = plain.trim_end_matches("+hedge").split('~');
        let (plain, without) = (parts.next()?, parts);
        if let Some(name) = policy::NAMES.into_iter().find(|known| *known == plain) {
            return Some(Self::Policy { name, hedged });
        }
        let strategy = match plain {
            "load_balanced" | "round_robin" => Strategy::LoadBalanced,
            "fastest" => Strategy::Fastest,
            "latency_weighted" => Strategy::LatencyWeighted,
            "priority" => Strategy::Priority,
            "adaptive" => Strategy::Adaptive,
            _ => return None,
        };
        let hedge = hedged.then(HedgeConfig::default);
        let mut adaptive = AdaptiveParts::default();
        for part in without {
            *part_of(&mut adaptive, part)? = false;
        }
        Some(Self::Engine(Box::new(Settings { strategy, hedge, adaptive, ..Settings::default() })))
    }

    /// Plays a scenario with one seed.
    pub(crate) fn play(&self, scenario: &Scenario, seed: u64) -> Tally {
        let client = |index: usize| -> Box<dyn Client> {
            let seed = draw(seed, [u64::MAX, index as u64, 1]).next_u64();
            match self {
                Self::Engine(settings) => Box::new(EngineClient::new(scenario, settings, seed)),
                Self::Policy { name, hedged } => policy::client(name, scenario, seed, *hedged)
                    .expect("names of policies were looked up"),
            }
        };
        let mut clients: Vec<Box<dyn Client>> = (0..scenario.clients).map(client).collect();
        play(scenario, &mut clients, seed)
    }
}

fn part_of<'a>(parts: &'a mut AdaptiveParts, name: &str) -> Option<&'a mut bool> {
    match name {
        "gauge" => Some(&mut parts.gauge),
        "overdue" => Some(&mut parts.overdue),
        "capacity" => Some(&mut parts.capacity),
        "pauses" => Some(&mut parts.pauses),
        "probes" => Some(&mut parts.probes),
        _ => None,
    }
}
