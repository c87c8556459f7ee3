//! All scenarios, all routers, many seeds: a Markdown table.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::router::Router;
use crate::scenario::Scenario;
use crate::stats::{Summary, Tally};
use waypost::engine::math::ln;

/// Plays every scenario with every router. What comes of the seeds is thrown together before percentiles are
/// taken.
pub(crate) fn tallies(
    scenarios: &[Scenario],
    routers: &[(String, Router)],
    seeds: u64,
) -> Vec<Vec<Tally>> {
    let pairs: Vec<(&Scenario, &Router)> = scenarios
        .iter()
        .flat_map(|scenario| routers.iter().map(move |(_, router)| (scenario, router)))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done: Vec<(usize, Tally)> = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some((scenario, router)) = pairs.get(place) else { return done };
            let mut sum = Tally::default();
            (1..=seeds).for_each(|seed| sum.add(&router.play(scenario, seed)));
            done.push((place, sum));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<(usize, Tally)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect()
    });
    done.sort_by_key(|(place, _)| *place);
    let mut tallies = done.into_iter().map(|(_, tally)| tally);
    scenarios.iter().map(|_| tallies.by_ref().take(routers.len()).collect()).collect()
}

/// The table, with ratios to the hedged oracle, which has to be among the routers.
pub(crate) fn table(
    scenarios: &[Scenario],
    routers: &[(String, Router)],
    tallies: &[Vec<Tally>],
) -> String {
    let mut text = String::from(
        "| scenario | policy | mean | p99 | p99.9 | mean ÷ oracle | p99 ÷ | p99.9 ÷ | 429/req | attempts/req | hedges/req | failed |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for (scenario, row) in scenarios.iter().zip(tallies) {
        let oracle = routers.iter().position(|(name, _)| name == "oracle_hedged");
        let bound = oracle.and_then(|place| row.get(place)).map(Tally::summary).unwrap_or_default();
        for ((name, _), tally) in routers.iter().zip(row) {
            let it = tally.summary();
            let line = writeln!(
                text,
                "| {} | {name} | {:.1} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} | {:.4} | {:.3} | {:.3} | {:.4} |",
                scenario.name,
                it.mean,
                it.p99,
                it.p999,
                it.mean / bound.mean,
                it.p99 / bound.p99,
                it.p999 / bound.p999,
                tally.share(tally.limited),
                tally.share(tally.attempts),
                tally.share(tally.hedges),
                tally.share(tally.failed),
            );
            debug_assert!(line.is_ok());
        }
    }
    text
}

/// Scenarios that are named where a router is furthest behind.
const WORST: usize = 12;

/// What many scenarios say of each router: the mean ratios to the hedged oracle, how often it is the best, and
/// how much slower than the best of all others it is where it is furthest behind; there a failure counts with
/// its whole deadline.
pub(crate) fn digest(
    scenarios: &[Scenario],
    routers: &[(String, Router)],
    tallies: &[Vec<Tally>],
) -> String {
    let mut text = String::from(
        "| policy | mean ÷ oracle | p99 ÷ | p99.9 ÷ | 429/req | attempts/req | failed | behind the best by > 5 % | furthest behind |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---|\n",
    );
    let is_oracle = |place: usize| routers[place].0.starts_with("oracle");
    let oracle = routers.iter().position(|(name, _)| name == "oracle_hedged").unwrap_or(0);
    let summaries: Vec<Vec<Summary>> =
        tallies.iter().map(|row| row.iter().map(Tally::summary).collect()).collect();
    let count = scenarios.len() as f64;
    for (place, (name, _)) in routers.iter().enumerate() {
        let average = |of: &dyn Fn(&Summary) -> f64| {
            let logs = summaries.iter().map(|row| ln(of(&row[place]) / of(&row[oracle])));
            libm::exp(logs.sum::<f64>() / count)
        };
        let per_request = |of: &dyn Fn(&Tally) -> u64| {
            tallies.iter().map(|row| row[place].share(of(&row[place]))).sum::<f64>() / count
        };
        let mut behind: Vec<(f64, &str)> = Vec::new();
        for (scenario, row) in scenarios.iter().zip(tallies) {
            let deadline = scenario.timeout_ms * f64::from(scenario.max_attempts);
            let mean = |place: usize| row[place].punished_mean(deadline);
            let others = (0..routers.len()).filter(|it| *it != place && !is_oracle(*it));
            let best = others.map(mean).fold(f64::INFINITY, f64::min);
            behind.push((mean(place) / best, &scenario.name));
        }
        let often = behind.iter().filter(|(ratio, _)| *ratio > 1.05).count();
        behind.sort_by(|a, b| b.0.total_cmp(&a.0));
        let worst: Vec<String> =
            behind.iter().take(WORST).map(|(ratio, at)| format!("{at} {ratio:.2}")).collect();
        let worst = worst.join(", ");
        let line = writeln!(
            text,
            "| {name} | {:.3} | {:.3} | {:.3} | {:.4} | {:.3} | {:.4} | {often} | {worst} |",
            average(&|it| it.mean),
            average(&|it| it.p99),
            average(&|it| it.p999),
            per_request(&|it| it.limited),
            per_request(&|it| it.attempts),
            per_request(&|it| it.failed),
        );
        debug_assert!(line.is_ok());
    }
    text
}
