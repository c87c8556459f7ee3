//! Every check, one after the other; a failed one does not stop the rest.

use std::time::Instant;

use crate::shell::{Outcome, Run, cargo, files, node, program};
use crate::{package, tools};

type Check = (&'static str, fn() -> Outcome);

const QUICK: &[Check] = &[
    ("format", format),
    ("lints, native", lints),
    ("lints, wasm", wasm_lints),
    ("tests, native", native_tests),
    ("documentation", documentation),
];

const FULL: &[Check] = &[
    ("package", package_build),
    ("size", size),
    ("dependencies", dependencies),
    ("types of pages and scripts", own_types),
    ("types as users see them", public_types),
    ("tests, wasm in Node", wasm_tests_in_node),
    ("tests, wasm in Chromium", wasm_tests_in_chromium),
    ("tests, package in Node and workerd", node_tests),
    ("tests, pages in Chromium", browser_tests),
];

/// Runs the checks and prints how many passed.
pub fn run(is_quick: bool) -> Outcome {
    let more = if is_quick { &[] } else { FULL };
    let mut passed = 0;
    let mut failures = Vec::new();
    for (name, check) in QUICK.iter().chain(more) {
        println!("== {name}");
        let start = Instant::now();
        let outcome = check();
        let seconds = start.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => {
                passed += 1;
                println!("   {name}: ok, {seconds:.1} s");
            }
            Err(message) => {
                println!("   {name}: FAILED, {seconds:.1} s");
                failures.push(format!("{name}: {message}"));
            }
        }
    }
    println!();
    for failure in &failures {
        println!("FAILED {failure}");
    }
    println!("{passed} passed, {} failed", failures.len());
    if failures.is_empty() { Ok(()) } else { Err("not everything passed".into()) }
}

fn format() -> Outcome {
    tools::rust("fmt")?;
    cargo(&["fmt", "--all", "--check"]).run()
}

fn lints() -> Outcome {
    tools::rust("clippy")?;
    let words = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    cargo(&words).run()
}

fn wasm_lints() -> Outcome {
    tools::wasm_target()?;
    let words = ["clippy", "--quiet", "--lib", "--target", tools::WASM, "--", "-D", "warnings"];
    cargo(&words).run()
}

fn native_tests() -> Outcome {
    cargo(&["test", "--quiet", "--workspace"]).run()
}

fn documentation() -> Outcome {
    let words = ["doc", "--quiet", "--no-deps", "--document-private-items"];
    cargo(&words).env("RUSTDOCFLAGS", "-D warnings").run()
}

fn package_build() -> Outcome {
    package::build()
}

fn size() -> Outcome {
    node("xtask/size.mjs").run()
}

fn dependencies() -> Outcome {
    tools::cargo_deny()?;
    cargo(&["deny", "--log-level", "warn", "check", "bans", "licenses", "sources"]).run()
}

fn own_types() -> Outcome {
    typecheck(".")
}

fn public_types() -> Outcome {
    typecheck("tests/types")
}

fn typecheck(project: &str) -> Outcome {
    tools::node_modules()?;
    node("node_modules/typescript/bin/tsc").args(["-p", project]).run()
}

fn wasm_tests_in_node() -> Outcome {
    wasm_tests("replay")?.run()
}

fn wasm_tests_in_chromium() -> Outcome {
    wasm_tests("web")?.env("CHROMEDRIVER", tools::chromium()?.driver).run()
}

/// One file of tests, compiled to wasm. The runner is named in .cargo/config.toml; `wasm-pack test` does the
/// same, but builds all the native tests for wasm first.
fn wasm_tests(name: &str) -> Outcome<Run> {
    tools::wasm_target()?;
    tools::wasm_bindgen()?;
    Ok(cargo(&["test", "--target", tools::WASM, "--test", name]))
}

fn node_tests() -> Outcome {
    node_test_runner("tests/node")?.run()
}

fn browser_tests() -> Outcome {
    node_test_runner("tests/browser")?.env("CHROMIUM", tools::chromium()?.browser).run()
}

/// The files are named one by one: what a bare folder means differs between versions of Node.
fn node_test_runner(folder: &str) -> Outcome<Run> {
    tools::node_modules()?;
    let tests = files(folder, ".test.mjs");
    if tests.is_empty() {
        return Err(format!("{folder} has no tests"));
    }
    Ok(program("node")
        .args(["--test", "--test-reporter=spec", "--test-timeout=300000"])
        .args(tests))
}
