//! The example of a Worker, in the runtime that Workers have.

use crate::package;
use crate::shell::{Outcome, node};

/// Serves it, with mock providers, until it is interrupted.
pub fn serve(options: &[&str]) -> Outcome {
    package::build()?;
    node("xtask/worker.mjs").args(options).replace()
}
