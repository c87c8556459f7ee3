//! What a provider's rate limit seems to be, learnt from its refusals.
//!
//! **Why.** A provider that refuses at fifteen requests a second serves fourteen for ever. Whoever stays away
//! for half a minute after each refusal wastes most of what it would give, and whoever does not is refused
//! again and again.
//!
//! **How.** Most limits are token buckets, or act like one. This is a model of it: a rate, a depth, and what
//! is left. A refusal says that the bucket is empty; what the model had left in it is the model's error. The
//! error is split between rate and depth as a Kalman filter does it: since the model last knew the level
//! (empty, at a refusal; full, when it ran over) the rate's error has grown with time, and the depth's
//! counts if the level was full. While the limit binds the rate grows, slowly at first, then faster, so
//! that a limit that was raised, is shared with others who left, or is gone is found out, as CUBIC does.
//!
//! Refusals in a row are no matter of tokens: the first one's lesson is taken back, and the pauses double.
//!
//! **Cold start** nothing is limited. **Shared** buckets look like shallow ones of the own share. **Cost** constant.

use core::time::Duration;

use super::math::pow;
use super::time::{Timestamp, from_millis, micros};

/// Growth of the rate per second in which the limit binds, right after a refusal.
const GROWTH: f64 = 0.0005;
/// After this many such seconds it is twice that, then three times, and so on.
const GROWTH_AGE: f64 = 5.0;
/// Growth of a first guess.
const GUESS_GROWTH: f64 = 0.1;
/// The limit binds while there is room for no more than this.
const BINDING: f64 = 2.0;
/// Seconds over which demand is counted, from which the first guess is made.
const DEMAND: f64 = 2.0;
/// How far rate and depth may be wrong, as a part of them.
const DOUBT: (f64, f64) = (0.2, 0.4);
/// Weight of an outcome in the share of refusals, how large a share is tolerated, and what becomes of the rate
/// with each refusal beyond: others take from the same bucket.
const REFUSED_WEIGHT: f64 = 1.0 / 32.0;
const TOLERATED: f64 = 0.05;
const CUT: f64 = 0.8;
/// Seconds in which half of a refusal is forgotten.
const REMEMBERED: f64 = 60.0;
/// What becomes of the rate when something was served that should have been refused.
const SURPRISE: f64 = 0.05;
/// Pause after the first refusal in a row; doubles with each.
const PAUSE_MS: f64 = 100.0;

/// Rate per second and depth of a bucket.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// 0 while nothing was ever refused.
    rate: f64,
    depth: f64,
}

/// The model of one quota group.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capacity {
    bucket: Bucket,
    /// Whether it is a first guess.
    is_guess: bool,
    /// What it was before the last lesson.
    before: Bucket,
    tokens: f64,
    /// When this was last brought up to date.
    at: Timestamp,
    /// When the level was last known, and whether it was full then.
    known_at: Timestamp,
    was_full: bool,
    /// When it was last found to be empty.
    empty_at: Timestamp,
    /// Seconds since then in which the limit was binding.
    bound: f64,
    /// Requests of the last seconds, fading.
    demand: f64,
    /// Refusals in a row.
    refusals: u32,
    /// Share of refusals, the latest most.
    refused: f64,
}

impl Capacity {
    /// Milliseconds until there is room for one more request; 0 if there is room, or no limit is known.
    #[must_use]
    pub fn wait_ms(&self, now: Timestamp) -> f64 {
        let Bucket { rate, depth } = self.bucket;
        if rate <= 0.0 {
            return 0.0;
        }
        let room = (self.tokens + seconds(now, self.at) * rate).min(depth);
        ((1.0 - room) / rate * 1e3).max(0.0)
    }

    /// Whether it has refused and served nothing since.
    #[must_use]
    pub fn is_refusing(&self) -> bool {
        self.refusals > 0
    }

    /// When it last refused.
    #[must_use]
    pub fn refused_at(&self) -> Option<Timestamp> {
        (self.bucket.rate > 0.0).then_some(self.empty_at)
    }

    /// How likely it is to refuse, by what it did lately.
    #[must_use]
    pub fn refusing(&self, now: Timestamp) -> f64 {
        let halves = seconds(now, self.empty_at) / REMEMBERED;
        if self.refused > 0.0 { (self.refused * 4.0).min(1.0) * pow(0.5, halves) } else { 0.0 }
    }

    /// A request goes out. Returns whether there was no room for it.
    pub fn send(&mut self, now: Timestamp) -> bool {
        self.update(now);
        self.demand += 1.0;
        self.tokens -= 1.0;
        self.bucket.rate > 0.0 && self.tokens < 0.0
    }

    /// A request was served, although there was no room for it or as expected.
    pub fn serve(&mut self, had_no_room: bool) {
        self.refusals = 0;
        if had_no_room {
            // The model expected a refusal.
            self.bucket.rate *= 1.0 + SURPRISE;
            self.tokens = self.tokens.max(0.0);
        }
        self.refused -= self.refused * REFUSED_WEIGHT;
    }

    /// A request that was sent at `sent_at` was refused.
    pub fn refuse(&mut self, now: Timestamp, sent_at: Timestamp) {
        self.update(now);
        // Those that were under way when the first was refused say nothing new.
        if sent_at >= self.empty_at {
            self.refusals = self.refusals.saturating_add(1);
            self.refused += (1.0 - self.refused) * REFUSED_WEIGHT;
            self.learn(sent_at);
            (self.empty_at, self.known_at, self.was_full) = (now, now, false);
            self.bound = 0.0;
        }
        self.tokens = 0.0;
    }

    /// How long nothing should be sent after a refusal that names no time.
    #[must_use]
    pub fn pause(&self) -> Duration {
        let doublings = self.refusals.saturating_sub(1).min(16);
        from_millis(PAUSE_MS * f64::from(1_u32 << doublings))
    }

    fn learn(&mut self, sent_at: Timestamp) {
        let Bucket { rate, depth } = self.bucket;
        if rate <= 0.0 {
            let depth = (self.demand / 2.0).max(1.0);
            self.bucket = Bucket { rate: depth * 2.0 / DEMAND, depth };
            (self.before, self.is_guess) = (self.bucket, true);
            return;
        }
        if self.refusals > 1 {
            // A token must have come in the meantime: this is no matter of tokens.
            if seconds(sent_at, self.empty_at) * rate > 2.0 {
                self.bucket = self.before;
            }
            return;
        }
        self.before = self.bucket;
        self.is_guess = false;
        // The one that was refused took a token from the model and none from the bucket.
        let excess = self.tokens + 0.5;
        if excess <= 0.0 {
            return;
        }
        let passed = seconds(sent_at, self.known_at);
        let (rate_doubt, depth_doubt) = (rate * DOUBT.0, depth * DOUBT.1);
        let by_rate = passed * rate_doubt * rate_doubt;
        let by_depth = if self.was_full { depth_doubt * depth_doubt } else { 0.0 };
        let gain = excess / (by_depth + passed * by_rate + 1.0);
        let most = if self.refused > TOLERATED { CUT } else { 1.0 };
        self.bucket = Bucket {
            rate: (rate - by_rate * gain).max(rate / 2.0).min(rate * most),
            depth: (depth - by_depth * gain).max(depth / 2.0).max(1.0),
        };
    }

    fn update(&mut self, now: Timestamp) {
        let passed = seconds(now, self.at);
        self.at = now;
        self.demand *= (1.0 - passed / DEMAND).max(0.0);
        if self.bucket.rate <= 0.0 {
            return;
        }
        if self.tokens < BINDING {
            self.bound += passed;
            let aged = GROWTH * (1.0 + self.bound / GROWTH_AGE);
            let growth = 1.0 + if self.is_guess { GUESS_GROWTH } else { aged } * passed;
            self.bucket.rate *= growth;
            self.bucket.depth *= growth;
        }
        self.tokens += passed * self.bucket.rate;
        if self.tokens >= self.bucket.depth {
            (self.tokens, self.known_at, self.was_full) = (self.bucket.depth, now, true);
        }
    }
}

fn seconds(now: Timestamp, before: Timestamp) -> f64 {
    micros(now.since(before)) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A real bucket, which starts full.
    struct Server {
        rate: f64,
        depth: f64,
        tokens: f64,
        at: Timestamp,
    }

    impl Server {
        fn admits(&mut self, now: Timestamp) -> bool {
            self.tokens = (self.tokens + seconds(now, self.at) * self.rate).min(self.depth);
            self.at = now;
            let is_admitted = self.tokens >= 1.0;
            self.tokens -= f64::from(u8::from(is_admitted));
            is_admitted
        }
    }

    /// Sends whenever there is room, wished for `rps` times a second, and counts what was sent and refused.
    fn drive(
        capacity: &mut Capacity,
        server: &mut Server,
        (from, until): (u64, u64),
        rps: u64,
    ) -> (u32, u32) {
        let (mut sent, mut refused) = (0, 0);
        for tick in from * rps..until * rps {
            let now = Timestamp::from_micros(1_000_000_000 + tick * 1_000_000 / rps);
            let is_resting = capacity.is_refusing()
                && capacity.refused_at().is_some_and(|at| now.since(at) < capacity.pause());
            if is_resting || capacity.wait_ms(now) > 0.0 {
                continue;
            }
            let had_no_room = capacity.send(now);
            sent += 1;
            if server.admits(now) {
                capacity.serve(had_no_room);
            } else {
                refused += 1;
                capacity.refuse(now, now);
            }
        }
        (sent, refused)
    }

    fn server(rate: f64, depth: f64) -> Server {
        Server { rate, depth, tokens: depth, at: Timestamp::from_millis(1_000_000) }
    }

    #[test]
    fn nothing_is_limited_before_the_first_refusal() {
        let mut capacity = Capacity::default();
        for n in 0..1_000 {
            let now = Timestamp::from_micros(n);
            assert!(!capacity.send(now) && capacity.wait_ms(now) <= 0.0);
        }
    }

    #[test]
    fn a_bucket_is_used_up_and_hardly_ever_overdrawn() {
        for (rate, depth) in [(15.0, 20.0), (5.0, 1.0), (3.0, 30.0), (40.0, 40.0)] {
            let (mut capacity, mut server) = (Capacity::default(), server(rate, depth));
            let (_, early) = drive(&mut capacity, &mut server, (0, 60), 100);
            let (sent, late) = drive(&mut capacity, &mut server, (60, 360), 100);
            let rps = f64::from(sent - late) / 300.0;
            assert!(early < 20, "{early} refusals while learning {rate}/{depth}");
            assert!(late < 60 && rps > rate * 0.85, "{rate}/{depth}: {rps}, {late} refusals");
        }
    }

    #[test]
    fn a_limit_that_was_raised_or_lowered_is_found_out() {
        let (mut capacity, mut server) = (Capacity::default(), server(10.0, 10.0));
        drive(&mut capacity, &mut server, (0, 60), 100);
        server.rate = 30.0;
        drive(&mut capacity, &mut server, (60, 200), 100);
        let (sent, _) = drive(&mut capacity, &mut server, (200, 260), 100);
        assert!(sent > 60 * 22, "{sent} of {}", 60 * 30);
        server.rate = 5.0;
        drive(&mut capacity, &mut server, (260, 280), 100);
        let (sent, refused) = drive(&mut capacity, &mut server, (280, 340), 100);
        assert!(refused < 15 && sent < 60 * 6, "{refused} of {sent}");
    }

    #[test]
    fn refusals_in_a_row_pause_longer_and_teach_nothing_about_the_bucket() {
        let (mut capacity, mut server) = (Capacity::default(), server(15.0, 20.0));
        drive(&mut capacity, &mut server, (0, 100), 100);
        let learnt = capacity.bucket.rate;
        server.rate = 0.0;
        let (sent, _) = drive(&mut capacity, &mut server, (100, 200), 100);
        assert!(sent < 45, "{sent} tries, of which twenty were served");
        assert!(capacity.pause() >= Duration::from_secs(20), "{:?}", capacity.pause());
        assert!(capacity.bucket.rate > learnt * 0.75, "{} {learnt}", capacity.bucket.rate);
    }

    #[test]
    fn what_was_under_way_at_a_refusal_is_one_refusal() {
        let mut capacity = Capacity::default();
        let sent_at = Timestamp::from_millis(5_000);
        for _ in 0..10 {
            capacity.send(sent_at);
        }
        (0..10).for_each(|n| capacity.refuse(Timestamp::from_millis(5_020 + n), sent_at));
        assert_eq!(capacity.pause(), Duration::from_millis(100));
    }
}
