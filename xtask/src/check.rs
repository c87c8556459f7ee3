//! Every check, one after the other; a failed one does not stop the rest.

use std::time::Instant;

use crate::shell::{Outcome, Run, cargo, files, node, program};
use crate::{gate, package, tools};

type Check = (&'static str, fn() -> Outcome);

/// How much is checked; each extent includes those before it.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub enum Extent {
    /// What needs only Rust.
    Quick,
    /// What has to pass before a change goes in.
    Usual,
    /// All browsers, runtimes and bundlers.
    Full,
}

const LEVELS: &[(Extent, &[Check])] =
    &[(Extent::Quick, QUICK), (Extent::Usual, USUAL), (Extent::Full, FULL)];

const QUICK: &[Check] = &[
    ("format", format),
    ("lints, native", lints),
    ("lints, wasm", wasm_lints),
    ("tests, native", native_tests),
    ("documentation", documentation),
];

const USUAL: &[Check] = &[
    ("package", package_build),
    ("size", size),
    ("cost of a request", cost),
    ("dependencies", dependencies),
    ("types of pages and scripts", own_types),
    ("types as users see them", public_types),
    ("API reference", api_reference),
    ("tests, wasm in Node", wasm_tests_in_node),
    ("tests, wasm in Chromium", wasm_tests_in_chromium),
    ("tests, package in Node and workerd", node_tests),
    ("tests, pages in Chromium", pages_in_chromium),
    ("tests, packed package, quick ones", quick_packaging),
];

const FULL: &[Check] = &[
    ("tests, pages in Firefox", pages_in_firefox),
    ("tests, pages in WebKit", pages_in_webkit),
    ("tests, wasm in Firefox", wasm_tests_in_firefox),
    ("tests, wasm in WebKit", wasm_tests_in_webkit),
    ("tests, packed package in everything", packaging_matrix),
];

const PAGES: &str = "tests/browser";
/// Seconds.
const WEBKIT_LIMIT: &str = "900";

/// Runs the checks and prints how many passed.
pub fn run(extent: Extent) -> Outcome {
    let levels = LEVELS.iter().filter(|(level, _)| *level <= extent);
    let mut passed = 0;
    let mut failures = Vec::new();
    for (name, check) in levels.flat_map(|(_, checks)| *checks) {
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
    let words =
        ["clippy", "--quiet", "--lib", "--target", tools::WASM, "--features", "panic-handler"];
    cargo(&words).args(["--", "-D", "warnings"]).run()
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

fn cost() -> Outcome {
    gate::run(false)
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

fn api_reference() -> Outcome {
    node("xtask/docs.mjs").args(["--check"]).run()
}

fn typecheck(project: &str) -> Outcome {
    tools::node_modules()?;
    node("node_modules/typescript/bin/tsc").args(["-p", project]).run()
}

fn wasm_tests_in_node() -> Outcome {
    wasm_tools()?;
    cargo(&wasm_tests("replay")).run()
}

fn wasm_tests_in_chromium() -> Outcome {
    wasm_tools()?;
    cargo(&wasm_tests("web")).env("CHROMEDRIVER", tools::chromium()?.driver).run()
}

fn wasm_tests_in_firefox() -> Outcome {
    wasm_tools()?;
    tools::firefox()?;
    cargo(&wasm_tests("web")).env("GECKODRIVER", tools::geckodriver()?).run()
}

fn wasm_tests_in_webkit() -> Outcome {
    wasm_tools()?;
    // The runner knows WebKit's driver as Safari's, and waits for ever for one that is stuck.
    program("timeout")
        .args([WEBKIT_LIMIT, "xvfb-run", "-a", "cargo"])
        .args(wasm_tests("web"))
        .env("SAFARIDRIVER", tools::webkit()?)
        .run()
}

fn wasm_tools() -> Outcome {
    tools::wasm_target()?;
    tools::wasm_bindgen()
}

/// One file of tests, compiled to wasm. The runner is named in .cargo/config.toml; `wasm-pack test` does the
/// same, but builds all the native tests for wasm first.
const fn wasm_tests(name: &str) -> [&str; 5] {
    ["test", "--target", tools::WASM, "--test", name]
}

fn node_tests() -> Outcome {
    package::build_panicking()?;
    node_tests_of("tests/node", program("node"))
}

fn quick_packaging() -> Outcome {
    node_tests_of("tests/packaging", program("node").env("CHROMIUM", tools::chromium()?.browser))
}

fn pages_in_chromium() -> Outcome {
    let node = program("node").env("CHROMIUM", tools::chromium()?.browser);
    node_tests_of(PAGES, node.env("BROWSER", "chromium"))
}

fn pages_in_firefox() -> Outcome {
    let node = program("node").env("FIREFOX", tools::firefox()?);
    node_tests_of(PAGES, node.env("BROWSER", "firefox"))
}

fn pages_in_webkit() -> Outcome {
    let node = program("xvfb-run").args(["-a", "node"]).env("WEBKITDRIVER", tools::webkit()?);
    node_tests_of(PAGES, node.env("BROWSER", "webkit"))
}

/// The files are named one by one: what a bare folder means differs between versions of Node.
fn node_tests_of(folder: &str, node: Run) -> Outcome {
    tools::node_modules()?;
    let tests = files(folder, ".test.mjs");
    if tests.is_empty() {
        return Err(format!("{folder} has no tests"));
    }
    node.args(["--test", "--test-reporter=spec", "--test-timeout=300000"]).args(tests).run()
}

fn packaging_matrix() -> Outcome {
    tools::packaging_modules()?;
    let browser = tools::chromium()?.browser;
    node("tests/packaging/run.mjs").env("CHROMIUM", browser).run()
}
