//! Gateways in the world.

use waypost::engine::config::Settings;
use waypost::engine::request::Call;

use super::{START, Server, World, answer};

impl World {
    /// A content pool, and `count` gateways that answer after 50 ms.
    pub(crate) fn of_gateways(count: usize) -> Self {
        let mut world = Self::empty(42, START);
        let profile = world.router.add_profile(Settings::default());
        let pool = world.router.add_content_pool(profile);
        for _ in 0..count {
            world.servers.push(Server { script: Box::new(|_| answer(50)), hits: 0 });
            world.router.add_gateway(pool);
        }
        world
    }

    /// Opens a request for content that knows of these gateways and prefers the first.
    pub(crate) fn start_content(&mut self, method: &'static str, known: &[usize]) -> usize {
        let call = self.call(method);
        self.start_content_with(call, known)
    }

    pub(crate) fn start_content_with(&mut self, call: Call, known: &[usize]) -> usize {
        let run = self.open(call);
        let handle = self.runs[run].handle;
        self.router.offer(self.now, handle, known);
        if let Some(first) = known.first() {
            self.router.prefer(self.now, handle, *first);
        }
        self.advance(run);
        run
    }
}
