//! What the simulation asks of whoever routes.

use crate::world::{Micros, What, World};

/// What to do next for a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Send {
        attempt: usize,
        provider: usize,
        timeout: Micros,
        /// Ask [`Client::backup`] if there is no answer by then.
        backup_after: Option<Micros>,
    },
    Wait(Micros),
    Pending,
    End {
        is_answered: bool,
    },
}

/// One client: an engine, or a policy of the literature.
pub(crate) trait Client {
    fn begin(&mut self, now: Micros, method: usize) -> u32;
    fn next(&mut self, now: Micros, request: u32, world: &World<'_>) -> Action;
    fn backup(&mut self, now: Micros, request: u32, world: &World<'_>) -> Option<Action>;
    /// `what` is nothing if the attempt was stopped, because another was quicker.
    fn complete(&mut self, now: Micros, request: u32, attempt: usize, what: Option<What>);
    /// Whether an attempt that lost goes on, to be learnt from.
    fn runs_on(&self, _request: u32, _attempt: usize) -> bool {
        false
    }
    fn release(&mut self, request: u32);
    /// How often it pings all providers.
    fn ping_interval(&self) -> Option<Micros> {
        None
    }
    /// A ping that came back, or did not (`None`).
    fn pinged(&mut self, _provider: usize, _latency: Micros, _is_answered: bool) {}
}
