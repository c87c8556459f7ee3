//! The comparison with the packages that ours stands in for. It needs the npm registry, so it is no part of CI.

use std::fs;
use std::path::Path;

use crate::package;
use crate::shell::{Outcome, copy, find, node, program, read, root};

const COMPARED: &str = "compat";
const GATEWAY: &str = "compat/arlocal";
const STAMP: &str = "node_modules/.installed-package.json";

/// Runs the same scenarios on both packages, then serves a posted transaction from a real gateway.
pub fn run() -> Outcome {
    package::build()?;
    let compared =
        install(COMPARED, || Ok(())).and_then(|()| node("tests/compat/side-by-side.mjs").run());
    let served = install(GATEWAY, build_sqlite)
        .map_err(|error| format!("arlocal cannot be installed here: {error}"))
        .and_then(|()| node("tests/compat/arlocal.mjs").run());
    let failures: Vec<String> = [compared, served].into_iter().filter_map(Result::err).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Installs what a folder of tests names into the folder of the same name in target. No lock file is kept:
/// it would hold the address of the registry, and the versions that matter are exact.
fn install(name: &str, finish: fn() -> Outcome) -> Outcome {
    let wanted = format!("tests/{name}/package.json");
    let folder = format!("target/{name}");
    let stamp = format!("{folder}/{STAMP}");
    if read(&stamp).is_ok_and(|installed| read(&wanted).is_ok_and(|wanted| wanted == installed)) {
        return Ok(());
    }
    println!("installing the packages of {wanted}");
    fs::create_dir_all(root().join(&folder))
        .map_err(|error| format!("cannot create {folder}: {error}"))?;
    copy(&wanted, format!("{folder}/package.json"))?;
    program("npm")
        .args(["install", "--prefix", &folder, "--package-lock=false", "--ignore-scripts"])
        .args(["--no-audit", "--no-fund", "--loglevel", "error"])
        .run()?;
    finish()?;
    copy(wanted, stamp)
}

/// The database of arlocal is compiled here: its ready-made one is not in the npm registry.
fn build_sqlite() -> Outcome {
    println!("compiling sqlite3; this takes a few minutes, once");
    let command = program("npm")
        .args(["rebuild", "sqlite3", "--prefix", &format!("target/{GATEWAY}")])
        .args(["--build-from-source", "--loglevel", "error"]);
    // With the headers of this Node at hand none are downloaded.
    let node = find("node").and_then(|file| file.canonicalize().ok());
    match node.as_deref().and_then(Path::parent).and_then(Path::parent) {
        Some(prefix) if prefix.join("include/node").is_dir() => {
            command.env("npm_config_nodedir", prefix).run()
        }
        _ => command.run(),
    }
}
