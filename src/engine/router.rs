//! The machine: joins the policies, which know nothing of each other.
//!
//! # Contract
//!
//! *Complete every attempt, complete none twice, hand in `now` as it is.*
//!
//! [`Router::begin`] opens a request; [`Router::next`] says what to do: send, wait, or stop. Every attempt
//! that `next` or [`Router::backup`] opened is closed by [`Router::complete`], in any order; then `next` is
//! asked again. When the request has ended and the caller has read what it needs, [`Router::release`] lets
//! it go. Nothing waits here and nothing else has to be called: a request whose host vanished expires by
//! itself.
//!
//! `now` is expected not to go back (see [`HostClock`](super::time::HostClock)); an earlier one counts as
//! the latest seen.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::breaker::Circuit;
use super::config::Settings;
use super::endpoint::{Endpoint, Standing};
use super::limit::Limit;
use super::method::{MethodId, Methods, Safety};
use super::request::{Attempt, AttemptEnd, Call, Request, Role, Step};
use super::requests::Requests;
use super::rng::Rng;
use super::setup::Pool;
use super::time::Timestamp;

/// Default bounds of attempts per request.
const ATTEMPTS: (usize, usize) = (4, 16);
/// Default bound for content: each gateway is asked once, and the deadline ends it.
const CONTENT_ATTEMPTS: usize = 64;
/// A request that ended this long ago and was never released belongs to a host that vanished.
const LOST_AFTER: Duration = Duration::from_mins(1);
/// News kept for observers who do not look.
const NEWS_CAPACITY: usize = 256;

/// Something that observers may want to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum News {
    /// A breaker changed its state.
    Circuit {
        /// Place of the endpoint.
        endpoint: usize,
        /// The new state.
        circuit: Circuit,
    },
    /// A provider asked for fewer requests.
    Limited {
        /// Place of the endpoint that said so.
        endpoint: usize,
        /// For how long.
        span: Duration,
    },
}

/// The routing engine.
#[derive(Clone, Debug)]
pub struct Router {
    pub(super) settings: Vec<Settings>,
    pub(super) pools: Vec<Pool>,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) limits: Vec<Limit>,
    pub(super) groups: Vec<(usize, String)>,
    pub(super) methods: Methods,
    pub(super) requests: Requests,
    /// Each purpose has draws of its own, so that a new jitter moves no ranking.
    pub(super) ranking: Rng,
    pub(super) timing: Rng,
    naming: Rng,
    news: VecDeque<News>,
    latest: Timestamp,
}

impl Router {
    /// An engine without endpoints, all of whose random choices follow from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        Self {
            settings: Vec::new(),
            pools: Vec::new(),
            endpoints: Vec::new(),
            limits: Vec::new(),
            groups: Vec::new(),
            methods: Methods::default(),
            requests: Requests::default(),
            ranking: rng.fork(),
            timing: rng.fork(),
            naming: rng.fork(),
            news: VecDeque::new(),
            latest: Timestamp::ZERO,
        }
    }

    /// Starts all random choices again from `seed`.
    pub fn reseed(&mut self, seed: u64) {
        let mut rng = Rng::new(seed);
        self.ranking = rng.fork();
        self.timing = rng.fork();
        self.naming = rng.fork();
    }

    /// The id of a method name.
    pub fn method(&mut self, name: &str) -> MethodId {
        self.methods.intern(name)
    }

    /// The name of a method.
    #[must_use]
    pub fn method_name(&self, method: MethodId) -> &str {
        self.methods.get(method).map_or("", |method| &method.name)
    }

    /// Whether a method may be repeated.
    #[must_use]
    pub fn is_safe(&self, method: MethodId) -> bool {
        self.methods.get(method).is_some_and(|method| method.safety == Safety::Safe)
    }

    /// Opens a request and returns its handle; `None` for an unknown pool, or if far too many are open.
    pub fn begin(&mut self, now: Timestamp, call: Call) -> Option<u32> {
        let now = self.observe(now);
        self.expire_lost(now);
        let request = self.open_request(now, call)?;
        self.save_for_hedges(request.profile, call.pool);
        self.requests.insert(request)
    }

    /// A request as it begins.
    pub(super) fn open_request(&mut self, now: Timestamp, call: Call) -> Option<Request> {
        let pool = self.pools.get(call.pool)?;
        let is_content = pool.is_content;
        let profile = pool.profile_place;
        let settings = self.settings.get(profile)?;
        let method = self.methods.get(call.method)?;
        let strategy = call.strategy.unwrap_or(settings.strategy);
        let span = call.deadline.or(settings.deadline).unwrap_or(method.deadline);
        let (fewest, most) = ATTEMPTS;
        Some(Request {
            call,
            profile,
            safety: method.safety,
            strategy,
            deadline: now.after(span),
            hint: settings.attempt_timeout.unwrap_or(method.hint),
            max_attempts: match settings.max_attempts {
                Some(configured) => configured as usize,
                None if is_content => CONTENT_ATTEMPTS,
                None => pool.endpoints.len().clamp(fewest, most),
            },
            offered: is_content.then(Vec::new),
            ranks: self.rank(now, &call),
            attempts: Vec::new(),
            round_start: 0,
            rounds: 0,
            pause_until: None,
            probe: None,
            hedge_at: None,
            hedges: 0,
            doubtful: None,
            reserved: None,
            silent: Vec::new(),
            conclusion: None,
            released: false,
        })
    }

    /// What to do next for a request. A handle that is not known has ended.
    pub fn next(&mut self, now: Timestamp, handle: u32) -> Step {
        let now = self.observe(now);
        self.with_request(handle, |router, request| router.advance(now, request))
            .unwrap_or(Step::End(super::request::Conclusion::Aborted))
    }

    /// A second attempt beside one that is slow; `None` if there is nobody to ask.
    pub fn backup(&mut self, now: Timestamp, handle: u32) -> Option<Step> {
        let now = self.observe(now);
        self.with_request(handle, |router, request| {
            if request.has_stand_in() {
                router.open_backup(now, request)
            } else {
                router.open_second(now, request)
            }
        })
        .flatten()
    }

    /// Lets a request share an attempt that another one has opened on `endpoint`, as the members of a
    /// batch do. It counts for this request's own budget and decisions, not for the endpoint's breaker and
    /// metrics. `None` if the request may not go there.
    pub fn ride(&mut self, now: Timestamp, handle: u32, endpoint: usize) -> Option<usize> {
        let now = self.observe(now);
        self.with_request(handle, |router, request| router.open_ride(now, request, endpoint))
            .flatten()
    }

    /// The caller does not want the answer any more: nobody is blamed.
    pub fn abort(&mut self, now: Timestamp, handle: u32) {
        let now = self.observe(now);
        self.with_request(handle, |router, request| router.end_aborted(now, request));
    }

    /// Lets a request go once its last attempt is completed.
    pub fn release(&mut self, handle: u32) {
        self.with_request(handle, |_, request| request.released = true);
    }

    /// The request of a handle.
    #[must_use]
    pub fn request(&self, handle: u32) -> Option<&Request> {
        self.requests.get(handle)
    }

    /// A random name for a request: 32 hexadecimal digits.
    pub fn request_id(&mut self) -> String {
        let bits = (u128::from(self.naming.next_u64()) << 64) | u128::from(self.naming.next_u64());
        (0..32_u32)
            .filter_map(|digit| char::from_digit(((bits >> (digit * 4)) & 15) as u32, 16))
            .collect()
    }

    /// Number of requests under way.
    #[must_use]
    pub fn open_requests(&self) -> usize {
        self.requests.len()
    }

    /// The endpoint at a place.
    #[must_use]
    pub fn endpoint(&self, place: usize) -> Option<&Endpoint> {
        self.endpoints.get(place)
    }

    /// The next news, oldest first.
    pub fn poll_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Notes the highest block that an endpoint has shown.
    pub fn note_head(&mut self, endpoint: usize, head: u64) {
        if let Some(endpoint) = self.endpoints.get_mut(endpoint) {
            endpoint.head = endpoint.head.max(Some(head));
        }
    }

    pub(super) fn tell(&mut self, news: News) {
        if self.news.len() == NEWS_CAPACITY {
            self.news.pop_front();
        }
        self.news.push_back(news);
    }

    pub(super) fn observe(&mut self, now: Timestamp) -> Timestamp {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Takes the request out while it is worked on, so that router and request can both be changed.
    pub(super) fn with_request<T>(
        &mut self,
        handle: u32,
        work: impl FnOnce(&mut Self, &mut Request) -> T,
    ) -> Option<T> {
        let mut request = self.requests.take(handle)?;
        let answer = work(self, &mut request);
        if request.released && !request.is_in_flight() {
            self.requests.remove(handle);
        } else {
            self.requests.put(handle, request);
        }
        Some(answer)
    }

    pub(super) fn standing(&self, place: usize, now: Timestamp) -> Option<Standing> {
        let endpoint = self.endpoints.get(place)?;
        Some(Standing::read(endpoint, self.limits.get(endpoint.group), now))
    }

    /// Looks at one request and frees it if its host vanished: bounded work per call, and no leak.
    fn expire_lost(&mut self, now: Timestamp) {
        let Some(handle) = self.requests.patrol() else {
            return;
        };
        let is_lost = self
            .requests
            .get(handle)
            .is_some_and(|request| now > request.deadline.after(LOST_AFTER));
        if is_lost {
            self.with_request(handle, |router, request| {
                router.end_aborted(now, request);
                request.released = true;
            });
        }
    }

    /// Records an attempt that is about to be sent.
    pub(super) fn open_attempt(
        &mut self,
        now: Timestamp,
        request: &mut Request,
        place: usize,
        timeout: Duration,
        counts: bool,
    ) -> usize {
        let mut attempt = Attempt {
            endpoint: place,
            started: now,
            timeout,
            had_full_time: timeout >= request.hint,
            overdue_at: now.after(timeout.min(request.patience(now))),
            is_trial: false,
            role: Role::Main,
            had_no_room: false,
            counts,
            generation: 0,
            end: AttemptEnd::InFlight,
        };
        let group = self.endpoints.get(place).map(|endpoint| endpoint.group);
        if let Some(limit) = group.and_then(|group| self.limits.get_mut(group)).filter(|_| counts) {
            attempt.had_no_room = limit.capacity.send(now);
        }
        if let Some(endpoint) = self.endpoints.get_mut(place) {
            endpoint.open(now, request.call.method);
            let circuit = endpoint.breaker.circuit_at(now);
            if counts && circuit != Circuit::Closed {
                attempt.is_trial = true;
                if endpoint.breaker.begin_trial(now, now.after(timeout)) {
                    self.tell(News::Circuit { endpoint: place, circuit: Circuit::HalfOpen });
                }
            }
        }
        if let Some(endpoint) = self.endpoints.get(place) {
            attempt.generation = endpoint.breaker.generation();
        }
        request.attempts.push(attempt);
        request.attempts.len() - 1
    }
}
