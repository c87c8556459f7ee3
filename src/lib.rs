//! Waypost sends each JSON-RPC request to the best of several blockchain providers.
//!
//! The crate has two parts. [`engine`] is pure: it takes the time and what happened, and returns decisions.
//! `js`, compiled for wasm32 only, exports it to JavaScript as one class whose methods are all
//! synchronous. The typed shell around it, which has the `fetch`, the timers and the abort signals, is in
//! `pkg/src`; most users want that: `npm install waypost`.
//!
//! # Example
//!
//! ```
//! use waypost::engine::config::{EndpointConfig, Settings};
//! use waypost::engine::outcome::Outcome;
//! use waypost::engine::request::{Call, Conclusion, Step};
//! use waypost::engine::router::Router;
//! use waypost::engine::time::Timestamp;
//!
//! let mut router = Router::new(42);
//! let profile = router.add_profile(Settings::default());
//! let pool = router.add_pool(profile, "default", "ethereum");
//! router.add_endpoint(pool, "a", EndpointConfig { id: "a".into(), ..Default::default() });
//! router.add_endpoint(pool, "b", EndpointConfig { id: "b".into(), ..Default::default() });
//!
//! let method = router.method("eth_blockNumber");
//! let mut now = Timestamp::from_millis(1_000);
//! let handle = router.begin(now, Call::new(pool, method)).unwrap();
//!
//! // The first provider breaks, the second answers.
//! for outcome in [Outcome::BadBody, Outcome::Success] {
//!     let Step::Send { attempt, .. } = router.next(now, handle) else { unreachable!() };
//!     now = Timestamp::from_millis(1_050);
//!     router.complete(now, handle, attempt, outcome);
//! }
//! assert_eq!(router.next(now, handle), Step::End(Conclusion::Answer(1)));
//! router.release(handle);
//! ```

#![cfg_attr(all(feature = "panic-handler", target_arch = "wasm32"), no_std)]

extern crate alloc;

pub mod engine;
#[cfg(target_arch = "wasm32")]
pub mod js;
