//! Round robin, and a draw for each request.

use waypost::engine::rng::Rng;

use super::{Choice, Policy, View};

/// The next in turn that may be asked.
#[derive(Default)]
pub(crate) struct RoundRobin(usize);

impl Policy for RoundRobin {
    fn choose(&mut self, view: &View<'_>, _rng: &mut Rng) -> Choice {
        let turn = self.0;
        let next = view.among.iter().copied().find(|provider| *provider >= turn);
        let provider = next.unwrap_or(view.among[0]);
        self.0 = (provider + 1) % view.world.scenario.providers.len();
        Choice::Send(provider)
    }
}

/// Any, with the same chance.
pub(crate) struct Random;

impl Policy for Random {
    fn choose(&mut self, view: &View<'_>, rng: &mut Rng) -> Choice {
        Choice::Send(super::smallest(view.among, |_| rng.unit()))
    }
}
