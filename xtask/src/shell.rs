//! Running other programs, always from the root of the repository.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A sentence for whoever started the command.
pub type Outcome<T = ()> = Result<T, String>;

/// The root of the repository.
pub fn root() -> PathBuf {
    // Asked for at run time: the folder may have moved since this was compiled.
    let here = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// The user's folder.
pub fn home() -> Option<PathBuf> {
    env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from)
}

/// The folder in which cargo keeps its registry and installs programs.
pub fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(home()?.join(".cargo")))
}

/// A program that is about to run.
pub struct Run {
    command: Command,
    shown: String,
}

/// The cargo that runs this program.
pub fn cargo(arguments: &[&str]) -> Run {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Run::new(&cargo, "cargo").args(arguments)
}

/// A script under Node.
pub fn node(script: &str) -> Run {
    program("node").args([script])
}

/// Any other program.
pub fn program(name: &str) -> Run {
    // On Windows npm is a batch file, which is only found by its full name.
    let file = if cfg!(windows) && name == "npm" { "npm.cmd" } else { name };
    Run::new(OsStr::new(file), name)
}

impl Run {
    fn new(file: &OsStr, name: &str) -> Self {
        let mut command = Command::new(file);
        command.current_dir(root()).env("PATH", search_path());
        Self { command, shown: name.into() }
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        for argument in arguments {
            self.shown.push(' ');
            self.shown.push_str(&argument.as_ref().to_string_lossy());
            self.command.arg(argument);
        }
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it to its end; its output is the user's.
    pub fn run(mut self) -> Outcome {
        let status = self.command.status().map_err(|error| self.not_started(&error))?;
        if status.success() { Ok(()) } else { Err(format!("`{}` failed: {status}", self.shown)) }
    }

    /// Runs it to its end and returns what it printed.
    pub fn output(mut self) -> Outcome<String> {
        let output = self.command.output().map_err(|error| self.not_started(&error))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).trim().into())
        } else {
            let text = String::from_utf8_lossy(&output.stderr);
            Err(format!("`{}` failed: {}\n{text}", self.shown, output.status))
        }
    }

    /// Runs it in the place of this process, so that whoever stops the one stops the other.
    #[cfg(unix)]
    pub fn replace(mut self) -> Outcome {
        let error = std::os::unix::process::CommandExt::exec(&mut self.command);
        Err(self.not_started(&error))
    }

    #[cfg(not(unix))]
    pub fn replace(self) -> Outcome {
        self.run()
    }

    fn not_started(&self, error: &std::io::Error) -> String {
        format!("`{}` did not start: {error}", self.shown)
    }
}

/// Where programs are looked for: what was just installed by cargo comes first.
fn search_path() -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let installed = cargo_home().map(|home| home.join("bin"));
    let folders = installed.into_iter().chain(env::split_paths(&path));
    env::join_paths(folders).unwrap_or(path)
}

/// The file of a program on the search path.
pub fn find(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&search_path()).map(|folder| folder.join(&file)).find(|path| path.is_file())
}

/// Reads a file of the repository.
pub fn read(path: impl AsRef<Path>) -> Outcome<Vec<u8>> {
    let path = root().join(path);
    std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Copies a file of the repository.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Outcome {
    let (from, to) = (root().join(from), root().join(to));
    std::fs::copy(&from, &to)
        .map(drop)
        .map_err(|error| format!("cannot copy {} to {}: {error}", from.display(), to.display()))
}

/// The files of a folder of the repository, sorted; none if it does not exist.
pub fn files(folder: &str, suffix: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root().join(folder)) else {
        return Vec::new();
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> = names
        .filter(|name| name.ends_with(suffix))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    found.sort();
    found
}
