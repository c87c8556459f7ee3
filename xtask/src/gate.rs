//! The gate against slower code: instructions, allocations and crossings of a request, against a budget.
//!
//! Seconds would measure the machine and who else is using it; these are the same in every run.

use crate::shell::{Outcome, node};
use crate::tools;

/// Compares with benches/gate/budget.json, or writes it anew. The package must have been built.
pub fn run(update: bool) -> Outcome {
    // Elsewhere there is no valgrind, and the script leaves out what needs it.
    if cfg!(target_os = "linux") {
        tools::valgrind()?;
    }
    let options: &[&str] = if update { &["--update"] } else { &[] };
    node("benches/gate/run.mjs").args(options).run()
}
