//! Plays scenarios with the engine's strategies and with what they are compared with, on a clock of its own.
//!
//!     cargo run --release --example simulate -- SCENARIO.json --strategy NAME [--hedge] [--seed N]
//!     cargo run --release --example simulate -- --table FOLDER [--seeds N] [--only NAME,NAME]
//!     cargo run --release --example simulate -- --random N or A..B [--seeds N] [--only NAME,NAME]
//!
//! The first prints one JSON object, the second a Markdown table of all scenarios of a folder and all
//! strategies, the third a digest of scenarios by lot; `random:7` in the place of a file is the seventh of these.
//! A name that ends in `+hedge` is hedged. DESIGN.md explains the policies; the format of a scenario is that of `scenario.rs`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a simulation that goes wrong must stop"
)]

mod client;
mod engine;
mod policy;
mod random;
mod report;
mod router;
mod run;
mod scenario;
mod stats;
mod table;
mod world;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use router::Router;
use scenario::Scenario;

const USAGE: &str = "simulate SCENARIO.json --strategy NAME [--hedge] [--seed N]\n\
                     simulate --table FOLDER [--seeds N] [--only NAME,NAME]\n\
                     simulate --random N or A..B [--seeds N] [--only NAME,NAME]";

/// What the command line says.
#[derive(Default)]
struct Options {
    file: Option<String>,
    folder: Option<String>,
    /// First and last.
    random: Option<(u64, u64)>,
    strategy: Option<String>,
    only: Option<String>,
    hedged: bool,
    seed: u64,
    seeds: u64,
}

fn options() -> Result<Options, String> {
    let mut options = Options { seed: 1, seeds: 5, ..Options::default() };
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
        match word.as_str() {
            "--strategy" => options.strategy = Some(value()?),
            "--hedge" => options.hedged = true,
            "--seed" => options.seed = number(&value()?)?,
            "--seeds" => options.seeds = number(&value()?)?,
            "--table" => options.folder = Some(value()?),
            "--random" => options.random = Some(range(&value()?)?),
            "--only" => options.only = Some(value()?),
            _ if word.starts_with('-') => return Err(format!("{word} is not known\n{USAGE}")),
            _ => options.file = Some(word),
        }
    }
    Ok(options)
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text} is not a number"))
}

/// `300`, or `201..300` with both ends.
fn range(text: &str) -> Result<(u64, u64), String> {
    match text.split_once("..") {
        Some((first, last)) => Ok((number(first)?, number(last)?)),
        None => Ok((1, number(text)?)),
    }
}

fn read(path: &str) -> Result<Scenario, String> {
    if let Some(lot) = path.strip_prefix("random:") {
        return number(lot).map(random::scenario);
    }
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    Scenario::parse(&text).map_err(|error| format!("{path}: {error}"))
}

/// Every scenario of a folder, by name of the file.
fn folder(path: &str) -> Result<Vec<Scenario>, String> {
    let files = fs::read_dir(path).map_err(|error| format!("{path}: {error}"))?;
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    let is_scenario = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
    let mut paths: Vec<PathBuf> = paths.filter(is_scenario).collect();
    paths.sort();
    paths.iter().map(|path| read(&path.to_string_lossy())).collect()
}

fn routers(only: Option<&str>) -> Result<Vec<(String, Router)>, String> {
    let all = || {
        let plain = router::STRATEGIES.iter().chain(&policy::NAMES);
        plain.map(|name| (*name).to_owned()).collect()
    };
    let names: Vec<String> =
        only.map_or_else(all, |only| only.split(',').map(str::to_owned).collect());
    names.into_iter().map(|name| named(&name, false).map(|router| (name, router))).collect()
}

fn named(name: &str, hedged: bool) -> Result<Router, String> {
    Router::named(name, hedged).ok_or_else(|| {
        let known = [&router::STRATEGIES[..], &policy::NAMES].concat().join(", ");
        format!("no strategy {name}: there are {known}")
    })
}

fn output() -> Result<String, String> {
    let options = options()?;
    if let Some((first, last)) = options.random {
        let scenarios: Vec<Scenario> = (first..=last).map(random::scenario).collect();
        let routers = routers(options.only.as_deref())?;
        let tallies = table::tallies(&scenarios, &routers, options.seeds);
        return Ok(table::digest(&scenarios, &routers, &tallies));
    }
    if let Some(path) = &options.folder {
        let scenarios = folder(path)?;
        let routers = routers(options.only.as_deref())?;
        let tallies = table::tallies(&scenarios, &routers, options.seeds);
        return Ok(table::table(&scenarios, &routers, &tallies));
    }
    let file = options.file.ok_or(USAGE)?;
    let strategy = options.strategy.ok_or(USAGE)?;
    let router = named(&strategy, options.hedged)?;
    let report = report::report(&read(&file)?, &strategy, &router, options.seed);
    Ok(format!("{report:#}\n"))
}

fn main() -> ExitCode {
    let (text, code) = match output() {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(text) => (text + "\n", ExitCode::FAILURE),
    };
    let is_good = code == ExitCode::SUCCESS;
    let written = if is_good {
        std::io::stdout().write_all(text.as_bytes())
    } else {
        std::io::stderr().write_all(text.as_bytes())
    };
    if written.is_ok() { code } else { ExitCode::FAILURE }
}
