//! The engine as a client.

use std::time::Duration;

use waypost::engine::classify::Failure;
use waypost::engine::config::{EndpointConfig, Settings};
use waypost::engine::method::MethodId;
use waypost::engine::outcome::Outcome;
use waypost::engine::request::{Attempt, Call, Conclusion, Request, Step};
use waypost::engine::router::Router;
use waypost::engine::time::{Timestamp, from_millis};

use crate::client::{Action, Client};
use crate::scenario::Scenario;
use crate::world::{Micros, What, World};

/// The engine's time when the simulation begins.
const START: Micros = 86_400_000_000;

pub(crate) struct EngineClient {
    router: Router,
    pool: usize,
    methods: Vec<MethodId>,
}

impl EngineClient {
    /// An engine for a scenario. `settings` are the profile's, but for times and attempts, which the scenario
    /// names.
    pub(crate) fn new(scenario: &Scenario, settings: &Settings, seed: u64) -> Self {
        let mut router = Router::new(seed);
        let timeout = from_millis(scenario.timeout_ms);
        let profile = router.add_profile(Settings {
            attempt_timeout: Some(timeout),
            deadline: Some(timeout * scenario.max_attempts),
            max_attempts: Some(scenario.max_attempts),
            ..settings.clone()
        });
        let pool = router.add_pool(profile, "default", "ethereum");
        for provider in &scenario.providers {
            let id = provider.id.clone();
            router.add_endpoint(pool, &id, EndpointConfig { id: id.clone(), ..Default::default() });
        }
        let methods = scenario.methods.iter().map(|method| router.method(&method.name));
        let methods = methods.collect();
        Self { router, pool, methods }
    }

    fn action(step: Step) -> Action {
        match step {
            Step::Send { attempt, endpoint, timeout, backup_after } => Action::Send {
                attempt,
                provider: endpoint,
                timeout: span(timeout),
                backup_after: backup_after.map(span),
            },
            Step::Wait(until) => Action::Wait(until.as_micros() - START),
            Step::Pending => Action::Pending,
            Step::End(conclusion) => {
                Action::End { is_answered: matches!(conclusion, Conclusion::Answer(_)) }
            }
        }
    }
}

impl Client for EngineClient {
    fn begin(&mut self, now: Micros, method: usize) -> u32 {
        let call = Call::new(self.pool, self.methods[method]);
        self.router.begin(at(now), call).expect("there is a place for a request")
    }

    fn next(&mut self, now: Micros, request: u32, _world: &World<'_>) -> Action {
        Self::action(self.router.next(at(now), request))
    }

    fn backup(&mut self, now: Micros, request: u32, _world: &World<'_>) -> Option<Action> {
        self.router.backup(at(now), request).map(Self::action)
    }

    fn complete(&mut self, now: Micros, request: u32, attempt: usize, what: Option<What>) {
        let outcome = match what {
            Some(What::Answer) => Outcome::Success,
            Some(What::Status { status, retry_after_s }) => Outcome::Error {
                failure: Failure { status, ..Failure::default() },
                retry_after: retry_after_s.map(|seconds| from_millis(seconds * 1e3)),
            },
            Some(What::Reset) => Outcome::Network { opaque: false },
            Some(What::Hang) => Outcome::Timeout,
            None => Outcome::Abandoned,
        };
        self.router.complete(at(now), request, attempt, outcome);
    }

    fn runs_on(&self, request: u32, attempt: usize) -> bool {
        let attempts = self.router.request(request).map(Request::attempts);
        attempts.and_then(|attempts| attempts.get(attempt)).is_some_and(Attempt::runs_on)
    }

    fn release(&mut self, request: u32) {
        self.router.release(request);
        while self.router.poll_news().is_some() {}
    }
}

fn at(now: Micros) -> Timestamp {
    Timestamp::from_micros(START + now)
}

fn span(span: Duration) -> Micros {
    waypost::engine::time::micros(span)
}
