//! Stories: what a router does for its users, one behaviour each, in a [`world`] of scripted servers.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a story that goes wrong must stop"
)]

mod world;

#[path = "scenarios/adaptive.rs"]
mod adaptive;
#[path = "scenarios/breaker.rs"]
mod breaker;
#[path = "scenarios/content.rs"]
mod content;
#[path = "scenarios/failover.rs"]
mod failover;
#[path = "scenarios/hedging.rs"]
mod hedging;
#[path = "scenarios/limits.rs"]
mod limits;
#[path = "scenarios/ranking.rs"]
mod ranking;
#[path = "scenarios/silence.rs"]
mod silence;
#[path = "scenarios/unsafe_requests.rs"]
mod unsafe_requests;
