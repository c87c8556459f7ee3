//! Making the npm package: Rust to wasm, glue, optimiser, bundles, declarations.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::shell::{Outcome, cargo, cargo_home, copy, files, home, node, program, read, root};
use crate::tools;

const GENERATED: &str = "pkg/gen";
const PANICKING: &str = "target/panicking";
const MODULE: &str = "pkg/gen/waypost_bg.wasm";
/// The compiler's output that `MODULE` was made from.
const SOURCE: &str = "pkg/gen/source.wasm";

/// Builds `pkg/dist`.
pub fn build() -> Outcome {
    tools::wasm_target()?;
    tools::wasm_bindgen()?;
    tools::node_modules()?;
    let compiled = compile("panic-handler")?;
    // The optimiser takes longer than all the rest; nothing depends on more than the compiled bytes.
    if read(SOURCE).ok() != Some(read(&compiled)?) || read(MODULE).is_err() {
        bind(&compiled, GENERATED)?;
        optimise()?;
        copy(&compiled, SOURCE)?;
    }
    refuse_machine_paths(&read(MODULE)?)?;
    empty("pkg/dist")?;
    copy(MODULE, "pkg/dist/waypost.wasm")?;
    for license in files(".", "").iter().filter(|name| name.starts_with("./LICENSE")) {
        copy(license, Path::new("pkg").join(license))?;
    }
    node("xtask/bundle.mjs").run()?;
    node("node_modules/typescript/bin/tsc").args(["-p", "pkg"]).run()
}

/// Builds a module that panics when it is told to, for tests: `target/panicking`.
pub fn build_panicking() -> Outcome {
    tools::wasm_target()?;
    tools::wasm_bindgen()?;
    let compiled = compile("panic-handler,forced-panic")?;
    bind(&compiled, PANICKING)
}

fn compile(features: &str) -> Outcome<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let target = root().join(target);
    // Before the flags: on a fresh machine there are no folders of registries to remap yet.
    cargo(&["fetch", "--quiet", "--target", tools::WASM]).run()?;
    let flags = remapping()?.join("\x1f");
    cargo(&["build", "--release", "--lib", "--package", "waypost", "--target", tools::WASM])
        .args(["--features", features])
        .args(["--target-dir".as_ref(), target.as_os_str()])
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        .run()?;
    Ok(target.join(tools::WASM).join("release/waypost.wasm"))
}

/// Panic messages hold the paths of source files: those of this machine are nobody's business, and would
/// make the module differ from one machine to the next.
fn remapping() -> Outcome<Vec<String>> {
    let sysroot = PathBuf::from(tools::sysroot()?);
    let mut pairs = vec![
        (root(), "."),
        (sysroot.clone(), "/rust"),
        (sysroot.join("lib/rustlib/src/rust"), "/rust"),
    ];
    if let Some(home) = cargo_home() {
        pairs.push((home.clone(), "/cargo"));
        // One folder for each registry, named after its host.
        let registries = fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten();
        pairs.extend(registries.map(|folder| (folder.path(), "/cargo")));
    }
    Ok(pairs
        .iter()
        .map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()))
        .collect())
}

fn bind(compiled: &Path, folder: &str) -> Outcome {
    empty(folder)?;
    program("wasm-bindgen")
        .args([compiled])
        .args(["--target", "web", "--omit-default-module-path"])
        .args(["--remove-name-section", "--remove-producers-section"])
        .args(["--out-dir", folder, "--out-name", "waypost"])
        .run()
}

fn optimise() -> Outcome {
    let optimiser = "node_modules/binaryen/bin/wasm-opt";
    if !root().join(optimiser).is_file() {
        println!("no wasm-opt in node_modules: the module stays a little larger");
        return Ok(());
    }
    // Two rounds over flattened code, and the functions that are called most get the shortest numbers: 2 %
    // less than one round.
    let passes = ["--flatten", "--rereloop", "-Oz", "-Oz", "--converge", "--reorder-functions"];
    node(optimiser).args(passes).args([MODULE, "-o", MODULE]).run()
}

fn refuse_machine_paths(module: &[u8]) -> Outcome {
    let sysroot = PathBuf::from(tools::sysroot()?);
    for folder in [Some(root()), cargo_home(), Some(sysroot), home()].into_iter().flatten() {
        let text = folder.display().to_string();
        // A home of `/` is in every path.
        if text.len() > 1 && contains(module, text.as_bytes()) {
            return Err(format!(
                "{MODULE} contains the path {text}: `remapping` in xtask/src/package.rs misses it"
            ));
        }
    }
    Ok(())
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

fn empty(folder: &str) -> Outcome {
    let path = root().join(folder);
    let removed = if path.exists() { fs::remove_dir_all(&path) } else { Ok(()) };
    removed
        .and_then(|()| fs::create_dir_all(&path))
        .map_err(|error| format!("cannot empty {folder}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::contains;

    #[test]
    fn a_path_inside_bytes_is_found() {
        assert!(contains(b"\0\x01/users/ann/x.rs\xff", b"/users/ann"));
        assert!(!contains(b"/users/an", b"/users/ann"));
    }
}
