//! What one routed request costs the engine, by number of endpoints and strategy.
//!
//! `request` is a whole one: begin, next, complete with a success, next (which says that it has ended),
//! release. `pick` is its first half, up to the decision where to send; `complete` is the rest.

use std::cell::{LazyCell, RefCell};
use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Bencher, BenchmarkId, Criterion, SamplingMode, Throughput};
use waypost::engine::config::{EndpointConfig, Settings};
use waypost::engine::method::MethodId;
use waypost::engine::outcome::Outcome;
use waypost::engine::request::{Call, Step};
use waypost::engine::router::Router;
use waypost::engine::strategy::Strategy;
use waypost::engine::time::Timestamp;

const SIZES: [u64; 4] = [3, 10, 100, 1_000];
const STRATEGIES: [(&str, Strategy); 4] = [
    ("load_balanced", Strategy::LoadBalanced),
    ("fastest", Strategy::Fastest),
    ("latency_weighted", Strategy::LatencyWeighted),
    ("adaptive", Strategy::Adaptive),
];
/// Calls that fill an endpoint's window of outcomes.
const WARM_CALLS: u64 = 32;
/// Requests open at the same time while one half is timed alone: enough that reading the clock is cheap
/// against them, few enough that they stay in the cache.
const OPEN: BatchSize = BatchSize::NumIterations(64);

/// A pool whose endpoints all have a full window of outcomes.
struct Bench {
    router: Router,
    pool: usize,
    method: MethodId,
    strategy: Strategy,
    micros: u64,
}

impl Bench {
    fn new(endpoints: u64, strategy: Strategy) -> Self {
        let mut router = Router::new(42);
        let profile = router.add_profile(Settings::default());
        let pool = router.add_pool(profile, "default", "ethereum");
        for index in 0..endpoints {
            let id = index.to_string();
            let config = EndpointConfig { id: id.clone(), ..Default::default() };
            router.add_endpoint(pool, &id, config);
        }
        let method = router.method("eth_getBalance");
        let mut bench = Self { router, pool, method, strategy, micros: 1_000_000 };
        for _ in 0..WARM_CALLS {
            bench.warm_up(endpoints);
        }
        bench
    }

    /// One success of every endpoint, with latencies from 40 to 200 ms in no order.
    fn warm_up(&mut self, endpoints: u64) {
        let started = Timestamp::from_micros(self.micros);
        let opened: Vec<_> = (0..endpoints)
            .filter_map(|index| usize::try_from(index * 7_919 % endpoints).ok())
            .map(|place| self.open(started, Call { only: Some(place), ..self.call() }))
            .collect();
        for (count, opened) in (0..).zip(opened) {
            self.micros = started.as_micros() + 40_000 + 160_000 * count / endpoints;
            self.complete(opened);
        }
    }

    fn call(&self) -> Call {
        Call { strategy: Some(self.strategy), ..Call::new(self.pool, self.method) }
    }

    fn open(&mut self, now: Timestamp, call: Call) -> (u32, usize) {
        let Some(handle) = self.router.begin(now, call) else {
            unreachable!("there is a place for a request")
        };
        match self.router.next(now, handle) {
            Step::Send { attempt, .. } => (handle, attempt),
            step => unreachable!("all are healthy, but the engine says {step:?}"),
        }
    }

    /// Ten microseconds pass between any two steps, so that nothing goes stale during a run.
    fn now(&mut self) -> Timestamp {
        self.micros += 10;
        Timestamp::from_micros(self.micros)
    }

    fn pick(&mut self) -> (u32, usize) {
        let now = self.now();
        self.open(now, self.call())
    }

    fn complete(&mut self, (handle, attempt): (u32, usize)) {
        let now = self.now();
        self.router.complete(now, handle, attempt, Outcome::Success);
        black_box(self.router.next(now, handle));
        self.router.release(handle);
    }
}

/// An open request that is completed when criterion drops it, outside of the measured time.
struct Open<'a>(&'a RefCell<Bench>, (u32, usize));

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.borrow_mut().complete(self.1);
    }
}

fn each(criterion: &mut Criterion, part: &str, run: impl Fn(&mut Bencher<'_>, &RefCell<Bench>)) {
    for (name, strategy) in STRATEGIES {
        let mut group = criterion.benchmark_group(format!("{part}_{name}"));
        for size in SIZES {
            // Warming a large pool takes a while: not for benchmarks that a filter leaves out.
            let bench = LazyCell::new(|| RefCell::new(Bench::new(size, strategy)));
            group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(size));
            group.bench_function(BenchmarkId::from_parameter(size), |bencher| run(bencher, &bench));
        }
        group.finish();
    }
}

fn request(criterion: &mut Criterion) {
    each(criterion, "request", |bencher, bench| {
        let mut bench = bench.borrow_mut();
        bencher.iter(|| {
            let opened = bench.pick();
            bench.complete(opened);
        });
    });
}

fn pick(criterion: &mut Criterion) {
    each(criterion, "pick", |bencher, bench| {
        let routine = |()| Open(bench, bench.borrow_mut().pick());
        bencher.iter_batched(|| (), routine, OPEN);
    });
}

fn complete(criterion: &mut Criterion) {
    each(criterion, "complete", |bencher, bench| {
        let routine = |opened| bench.borrow_mut().complete(opened);
        bencher.iter_batched(|| bench.borrow_mut().pick(), routine, OPEN);
    });
}

/// Many short samples: the median of such does not move with what else the machine does.
fn quick() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300))
        .sample_size(100)
        .nresamples(2_000)
}

fn main() {
    let mut criterion = quick().configure_from_args();
    request(&mut criterion);
    pick(&mut criterion);
    complete(&mut criterion);
    criterion.final_summary();
}
