//! The engine as JavaScript sees it.
//!
//! Every export is synchronous and speaks in integers and short strings: an asynchronous export costs ten to
//! fifty times a plain call, leaves its promise unsettled when it panics, and in Workers may be polled in
//! the context of another request. Whatever waits is in the shell, `pkg/src`.

mod alloc;
mod content;
mod engine;
#[cfg(feature = "panic-handler")]
mod panic;
mod report;
mod setup;

pub use engine::Engine;
