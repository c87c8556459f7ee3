//! Every check, one after the other; a failed one does not stop the rest.

use std::time::Instant;

use crate::shell::{Outcome, Run, cargo, files, node, program, read, root};
use crate::{package, tools};

const TEST_SCRIPT: &str = ".test.mjs";

/// A check that ran, or the reason why there was nothing to run.
type Checked = Outcome<Option<&'static str>>;
type Check = (&'static str, fn() -> Checked);

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
            Ok(None) => {
                passed += 1;
                println!("   {name}: ok, {seconds:.1} s");
            }
            Ok(Some(reason)) => println!("   {name}: skipped, {reason}"),
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

fn ran(outcome: Outcome) -> Checked {
    outcome.map(|()| None)
}

fn format() -> Checked {
    tools::rust("fmt")?;
    ran(cargo(&["fmt", "--all", "--check"]).run())
}

fn lints() -> Checked {
    tools::rust("clippy")?;
    let words = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    ran(cargo(&words).run())
}

fn wasm_lints() -> Checked {
    tools::wasm_target()?;
    let words = ["clippy", "--quiet", "--lib", "--target", tools::WASM, "--", "-D", "warnings"];
    ran(cargo(&words).run())
}

fn native_tests() -> Checked {
    ran(cargo(&["test", "--quiet", "--workspace"]).run())
}

fn documentation() -> Checked {
    let words = ["doc", "--quiet", "--no-deps", "--document-private-items"];
    ran(cargo(&words).env("RUSTDOCFLAGS", "-D warnings").run())
}

fn package_build() -> Checked {
    ran(package::build())
}

fn size() -> Checked {
    if !root().join("size-budget.json").exists() {
        return Ok(Some("no size-budget.json: cargo xtask size --update writes it"));
    }
    ran(node("xtask/size.mjs").run())
}

fn dependencies() -> Checked {
    tools::cargo_deny()?;
    ran(cargo(&["deny", "--log-level", "warn", "check", "bans", "licenses", "sources"]).run())
}

fn own_types() -> Checked {
    ran(typecheck("."))
}

fn public_types() -> Checked {
    if files("tests/types", ".ts").is_empty() {
        return Ok(Some("no tests/types/*.ts"));
    }
    ran(typecheck("tests/types"))
}

fn typecheck(project: &str) -> Outcome {
    tools::node_modules()?;
    node("node_modules/typescript/bin/tsc").args(["-p", project]).run()
}

fn wasm_tests_in_node() -> Checked {
    wasm_tests(false, Ok)
}

fn wasm_tests_in_chromium() -> Checked {
    wasm_tests(true, |run| Ok(run.env("CHROMEDRIVER", tools::chromium()?.driver)))
}

/// A file of tests says by itself whether it is for wasm, and whether for a browser.
fn wasm_tests(in_browser: bool, prepare: impl FnOnce(Run) -> Outcome<Run>) -> Checked {
    let mut options = Vec::new();
    for path in files("tests", ".rs") {
        let text = String::from_utf8_lossy(&read(&path)?).into_owned();
        let is_for_browser =
            text.contains("run_in_browser") || text.contains("run_in_dedicated_worker");
        if text.contains("wasm_bindgen_test") && is_for_browser == in_browser {
            let name = path.trim_start_matches("tests/").trim_end_matches(".rs");
            options.extend(["--test".to_owned(), name.to_owned()]);
        }
    }
    if options.is_empty() {
        return Ok(Some("no such file in tests/"));
    }
    tools::wasm_target()?;
    tools::wasm_bindgen()?;
    // The runner is named in .cargo/config.toml. wasm-pack would do the same, but builds all the native
    // tests for wasm first.
    let tests = cargo(&["test", "--target", tools::WASM]).args(options);
    ran(prepare(tests)?.run())
}

fn node_tests() -> Checked {
    tools::node_modules()?;
    let tests = files("tests/node", TEST_SCRIPT);
    if tests.is_empty() {
        return Ok(Some("no tests/node/*.test.mjs"));
    }
    ran(node_test_runner(tests).run())
}

fn browser_tests() -> Checked {
    let tests = files("tests/browser", TEST_SCRIPT);
    if tests.is_empty() {
        return Ok(Some("no tests/browser/*.test.mjs"));
    }
    tools::node_modules()?;
    ran(node_test_runner(tests).env("CHROMIUM", tools::chromium()?.browser).run())
}

/// The files are named one by one: what a bare folder means differs between versions of Node.
fn node_test_runner(tests: Vec<String>) -> Run {
    program("node").args(["--test", "--test-reporter=spec", "--test-timeout=300000"]).args(tests)
}
