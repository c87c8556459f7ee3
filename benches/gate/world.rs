//! An engine with endpoints, and a clock.

use std::hint::black_box;
use std::time::Duration;

use waypost::engine::config::{EndpointConfig, Settings};
use waypost::engine::method::MethodId;
use waypost::engine::outcome::Outcome;
use waypost::engine::request::{Call, Step};
use waypost::engine::router::Router;
use waypost::engine::state::{CellState, EndpointState};
use waypost::engine::strategy::Strategy;
use waypost::engine::time::Timestamp;

const METHODS: [&str; 5] =
    ["eth_getBalance", "eth_call", "eth_blockNumber", "eth_getLogs", "eth_chainId"];
/// Fills an endpoint's window of outcomes.
const SAMPLES: u64 = 32;

/// One chain, all of whose endpoints are healthy.
#[derive(Clone)]
pub struct World {
    pub router: Router,
    pub now: Timestamp,
    pub size: usize,
    pool: usize,
    methods: [MethodId; METHODS.len()],
}

impl World {
    /// Nothing is known of any endpoint.
    pub fn new(size: usize) -> Self {
        let mut router = Router::new(42);
        let profile = router.add_profile(Settings::default());
        let pool = router.add_pool(profile, "default", "ethereum");
        for place in 0..size {
            let id = place.to_string();
            let config = EndpointConfig { id: id.clone(), ..EndpointConfig::default() };
            router.add_endpoint(pool, &id, config);
        }
        let methods = METHODS.map(|name| router.method(name));
        Self { router, now: Timestamp::from_millis(1_000_000), size, pool, methods }
    }

    /// Every endpoint has full windows, with latencies from 40 to 200 ms in no order, and has answered here.
    pub fn warm(size: usize) -> Self {
        let mut world = Self::new(size);
        // Importing them is quick; asking a thousand endpoints this often is not.
        let states: Vec<_> = world.places().map(|place| world.learnt(place)).collect();
        world.import(&states);
        for place in world.places() {
            world.send(Call { only: Some(place), ..world.call() }, &[Outcome::Success]);
        }
        world
    }

    pub fn places(&self) -> impl Iterator<Item = usize> + use<> {
        0..self.size
    }

    fn latency(&self, place: usize) -> Duration {
        let position = place * 7_919 % self.size;
        Duration::from_micros(40_000 + (160_000 * position / self.size) as u64)
    }

    fn learnt(&self, place: usize) -> EndpointState {
        let latency = self.latency(place);
        let ages = (1..=SAMPLES).rev().map(Duration::from_secs);
        let cell = CellState {
            samples: ages.map(|age| (age, Some(latency))).collect(),
            ..CellState::default()
        };
        let methods = self.methods.iter().map(|method| (*method, cell.clone())).collect();
        EndpointState { all: cell, methods, ..EndpointState::default() }
    }

    /// Takes over one state for each endpoint.
    pub fn import(&mut self, states: &[EndpointState]) {
        for (place, state) in states.iter().enumerate() {
            self.router.import(self.now, place, state, Duration::ZERO);
        }
    }

    fn call(&self) -> Call {
        let [method, ..] = self.methods;
        Call::new(self.pool, method)
    }

    /// One request from beginning to end, whose attempts end like this.
    pub fn request(&mut self, strategy: Option<Strategy>, outcomes: &[Outcome<'_>]) {
        self.send(Call { strategy, ..self.call() }, outcomes);
    }

    fn send(&mut self, call: Call, outcomes: &[Outcome<'_>]) {
        let Some(handle) = self.router.begin(self.now, call) else {
            unreachable!("there is a place for a request")
        };
        for outcome in outcomes {
            let step = self.router.next(self.now, handle);
            let Step::Send { attempt, endpoint, .. } = step else {
                unreachable!("all are healthy, but the engine says {step:?}")
            };
            self.now = self.now.after(self.latency(endpoint));
            self.router.complete(self.now, handle, attempt, *outcome);
        }
        let step = self.router.next(self.now, handle);
        assert!(
            matches!(black_box(step), Step::End(_)),
            "it has an answer, but the engine says {step:?}"
        );
        self.router.release(handle);
    }
}
