//! The routing engine: pure decisions.
//!
//! It has no clock, no entropy, no I/O and no JavaScript in it: `now` and a seed come in, decisions go out,
//! and the same script gives the same trace natively and as wasm.
//!
//! | module | what it is |
//! |---|---|
//! | [`router`] | the machine: requests, attempts, endpoints; the only place where policies meet |
//! | [`setup`] | what it routes between |
//! | `survey`, `advance`, [`outcome`], `conclusion` | its parts: how the endpoints stand, what to do next, what an answer means for them, and for the request |
//! | [`content`] | requests that bring their endpoints with them |
//! | [`request`], [`requests`], [`endpoint`] | the state of each |
//! | [`strategy`] | ranking |
//! | `adapt`, `hedge` | what `adaptive` sees and probes; second attempts beside slow ones |
//! | [`breaker`], [`limit`], [`capacity`], [`metrics`] | health, quota told and learnt, measurement |
//! | [`classify`] | who is at fault |
//! | [`method`], [`raw_tx`] | what is known of a request |
//! | [`config`] | settings and their ranges |
//! | [`explain`], [`state`] | what is known, for people and for storage |
//! | [`time`], [`rng`], [`math`], `sort` | deterministic ground |

mod adapt;
mod advance;
pub mod breaker;
pub mod capacity;
pub mod classify;
mod conclusion;
pub mod config;
pub mod content;
pub mod endpoint;
pub mod explain;
mod hedge;
pub mod limit;
pub mod math;
pub mod method;
pub mod metrics;
pub mod outcome;
mod ranking;
pub mod raw_tx;
pub mod request;
pub mod requests;
pub mod rng;
pub mod router;
pub mod setup;
mod sort;
pub mod state;
pub mod strategy;
mod survey;
pub mod time;
pub(crate) mod words;
