//! Bringing the tools: each is installed when it is missing or of another version, and left alone otherwise.

use std::path::{Path, PathBuf};

use crate::shell::{Outcome, cargo, copy, find, program, read};

pub const WASM: &str = "wasm32-unknown-unknown";

const OLDEST_NODE: u32 = 20;
const NPM_STAMP: &str = "node_modules/.installed-lock.json";
const CHROMIUM: &str = "\
    Chromium and chromedriver are not on the PATH. Install them (Debian: apt-get install chromium \
    chromium-driver; macOS: brew install chromium chromedriver), or set CHROMIUM and CHROMEDRIVER \
    to the paths of the two programs.";
const FIREFOX: &str = "\
    Firefox is not on the PATH. Install it (Debian: apt-get install firefox-esr; macOS: brew install \
    firefox), or set FIREFOX to the path of the program.";
const WEBKIT: &str = "\
    WebKitWebDriver, xvfb-run and timeout are not all on the PATH. Install them (Debian: apt-get \
    install webkit2gtk-driver xvfb xauth), or set WEBKITDRIVER to the path of the first one; \
    where there is no WebKitGTK, `cargo xtask test` runs all other tests.";
const VALGRIND: &str = "\
    valgrind is not on the PATH. Install it (Debian: apt-get install valgrind; Fedora: dnf install \
    valgrind).";

/// The compiler's parts that are not in every installation.
pub fn rust(component: &str) -> Outcome {
    if cargo(&[component, "--version"]).output().is_ok() {
        return Ok(());
    }
    let name = if component == "fmt" { "rustfmt" } else { component };
    println!("adding {name}");
    program("rustup").args(["component", "add", name]).run()
}

/// The standard library for wasm.
pub fn wasm_target() -> Outcome {
    let sysroot = sysroot()?;
    if Path::new(&sysroot).join("lib/rustlib").join(WASM).is_dir() {
        return Ok(());
    }
    println!("adding the target {WASM}");
    program("rustup").args(["target", "add", WASM]).run()
}

/// The folder of the compiler in use.
pub fn sysroot() -> Outcome<String> {
    program("rustc").args(["--print", "sysroot"]).output()
}

/// The maker of the JavaScript glue, whose version must be the library's.
pub fn wasm_bindgen() -> Outcome {
    let lock = String::from_utf8_lossy(&read("Cargo.lock")?).into_owned();
    let version = locked(&lock, "wasm-bindgen").ok_or("Cargo.lock has no wasm-bindgen")?;
    // Without its default features it has no TLS to build, which it needs for nothing here; and the lock
    // file it was published with names crates that not every mirror has.
    installed("wasm-bindgen", "wasm-bindgen-cli", version, &["--no-default-features"])
}

/// The checker of licences and duplicates among the dependencies.
pub fn cargo_deny() -> Outcome {
    // Reading lock files is not worth the time of an optimised build.
    let options = ["--locked", "--debug", "--no-default-features"];
    installed("cargo-deny", "cargo-deny", "0.20.2", &options)
}

/// The program that steers Firefox.
pub fn geckodriver() -> Outcome<PathBuf> {
    installed("geckodriver", "geckodriver", "0.37.1", &["--locked", "--debug"])?;
    find("geckodriver").ok_or_else(|| "geckodriver is not on the PATH".into())
}

fn installed(file: &str, package: &str, version: &str, options: &[&str]) -> Outcome {
    let present = program(file).args(["--version"]).output();
    // Some add more lines about themselves.
    if present.is_ok_and(|text| text.lines().next() == Some(&format!("{file} {version}"))) {
        return Ok(());
    }
    println!("installing {package} {version}; this takes a few minutes, once");
    cargo(&["install", package, "--version", version]).args(options).run()
}

/// The version of a package in a lock file of cargo.
fn locked<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name).skip(1);
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')
}

/// Node, and the development tools of package.json.
pub fn node_modules() -> Outcome {
    let version = program("node").args(["--version"]).output().map_err(|error| {
        format!("{error}\nNode {OLDEST_NODE} or later with npm is needed: https://nodejs.org")
    })?;
    if major(&version).is_none_or(|major| major < OLDEST_NODE) {
        return Err(format!("Node is {version}, but {OLDEST_NODE} or later is needed"));
    }
    npm_ci("")
}

/// What the lock file of a folder names; the folder is empty, the root, or ends in a slash.
fn npm_ci(folder: &str) -> Outcome {
    let wanted = format!("{folder}package-lock.json");
    let stamp = format!("{folder}{NPM_STAMP}");
    let lock = read(&wanted)?;
    if read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    println!("installing the tools of {folder}package.json");
    let place = format!("./{folder}");
    program("npm").args(["ci", "--prefix", &place, "--loglevel", "error"]).run()?;
    copy(wanted, stamp)
}

/// The tools of the packaging matrix.
pub fn packaging_modules() -> Outcome {
    npm_ci("tests/packaging/")
}

fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// A browser, and the program that steers it.
pub struct Chromium {
    pub browser: PathBuf,
    pub driver: PathBuf,
}

/// The browser for tests.
pub fn chromium() -> Outcome<Chromium> {
    provided(present_chromium, &["chromium", "chromium-driver"], CHROMIUM)
}

/// The second browser.
pub fn firefox() -> Outcome<PathBuf> {
    provided(present_firefox, &["firefox-esr"], FIREFOX)
}

/// The program that starts and steers `WebKitGTK`, the third one. Without a display it never answers.
pub fn webkit() -> Outcome<PathBuf> {
    provided(present_webkit, &["webkit2gtk-driver", "xvfb", "xauth"], WEBKIT)
}

/// The program that counts instructions; there is none for macOS and Windows.
pub fn valgrind() -> Outcome<PathBuf> {
    provided(|| find("valgrind"), &["valgrind"], VALGRIND)
}

/// What `look` finds, after installing `packages` if it finds nothing.
fn provided<T>(look: fn() -> Option<T>, packages: &[&str], advice: &str) -> Outcome<T> {
    if let Some(found) = look() {
        return Ok(found);
    }
    // Only root may install, and asking for a password would stop an unattended run.
    if find("apt-get").is_some() && program("id").args(["-u"]).output().is_ok_and(|id| id == "0") {
        println!("installing {}", packages.join(" "));
        let apt = |words: &[&str]| {
            program("apt-get").args(words).env("DEBIAN_FRONTEND", "noninteractive").run()
        };
        apt(&["update", "-qq"])?;
        apt(&[&["install", "-y", "-qq", "--no-install-recommends"], packages].concat())?;
    }
    look().ok_or_else(|| advice.into())
}

fn present_chromium() -> Option<Chromium> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let browser = named("CHROMIUM").or_else(|| names.iter().find_map(|name| find(name)))?;
    let driver = named("CHROMEDRIVER").or_else(|| find("chromedriver"))?;
    Some(Chromium { browser, driver })
}

fn present_firefox() -> Option<PathBuf> {
    named("FIREFOX").or_else(|| ["firefox-esr", "firefox"].iter().find_map(|name| find(name)))
}

fn present_webkit() -> Option<PathBuf> {
    let driver = named("WEBKITDRIVER").or_else(|| find("WebKitWebDriver"))?;
    ["xvfb-run", "xauth", "timeout"].iter().all(|name| find(name).is_some()).then_some(driver)
}

fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::{locked, major};

    const LOCK: &str = "[[package]]\nname = \"wasm-bindgen-macro\"\nversion = \"0.1.0\"\n\n\
                        [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\n";

    #[test]
    fn a_locked_version_is_that_of_the_whole_name() {
        assert_eq!(locked(LOCK, "wasm-bindgen"), Some("0.2.130"));
        assert_eq!(locked(LOCK, "wasm"), None);
    }

    #[test]
    fn the_major_version_of_node() {
        assert_eq!(major("v20.20.2"), Some(20));
        assert_eq!(major("20"), None);
    }
}
