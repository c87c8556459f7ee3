//! The commands of this repository. Each brings the tools that it needs.

mod check;
mod compat;
mod gate;
mod package;
mod shell;
mod tools;
mod worker;

use std::process::ExitCode;

use check::Extent;
use shell::{Outcome, cargo, node};

const HELP: &str = "\
cargo xtask build              make the npm package: pkg/dist
cargo xtask demo [--port N]    build, then serve the demo page with its mock providers
cargo xtask worker [--port N]  build, then serve examples/worker in the Workers runtime with mock providers
cargo xtask test               every check and every test that has to pass before a change goes in
cargo xtask test --quick       the native ones only
cargo xtask test --full        also all browsers, runtimes and bundlers
cargo xtask bench              build, then run the benchmarks
cargo xtask compat             build, then compare with @ar.io/wayfinder-core and serve from arlocal
cargo xtask docs [--check]     build, then write docs/api, or say whether it is up to date
cargo xtask release --dry-run   build, then rehearse a release; nothing is published
cargo xtask gate [--update]    build, then compare the cost of a request with benches/gate/budget.json, or rewrite it
cargo xtask size [--update]    build, then compare the sizes with size-budget.json, or rewrite it
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(words: &[&str]) -> Outcome {
    match words {
        [] | ["help" | "-h" | "--help"] => {
            print!("{HELP}");
            Ok(())
        }
        ["build"] => package::build(),
        ["demo", rest @ ..] => {
            package::build()?;
            node("www/serve.mjs").args(rest).replace()
        }
        ["test"] => check::run(Extent::Usual),
        ["test", "--quick"] => check::run(Extent::Quick),
        ["test", "--full"] => check::run(Extent::Full),
        ["bench"] => {
            package::build()?;
            cargo(&["bench"]).run()?;
            node("benches/live/run.mjs").args(["--write"]).run()
        }
        ["gate", rest @ ..] => {
            package::build()?;
            gate::run(rest == ["--update"])
        }
        ["compat"] => compat::run(),
        ["docs", rest @ ..] => {
            package::build()?;
            node("xtask/docs.mjs").args(rest).run()
        }
        ["release", rest @ ..] => {
            package::build()?;
            node("xtask/release.mjs").args(rest).run()
        }
        ["worker", rest @ ..] => worker::serve(rest),
        ["size", rest @ ..] => {
            package::build()?;
            node("xtask/size.mjs").args(rest).run()
        }
        _ => Err(format!("`{}` is not a command here. There are:\n\n{HELP}", words.join(" "))),
    }
}
