//! Outcomes of one endpoint with one method, and what they say.

use alloc::vec::Vec;
use core::time::Duration;

use super::gauge::Gauge;
use crate::engine::sort::sort_by;
use crate::engine::time::{Timestamp, micros};

/// Outcomes older than this count for nothing.
pub const STALE_AFTER: Duration = Duration::from_mins(10);
/// Outcomes kept per endpoint and method.
const RING_LEN: u8 = 32;
const RING: usize = RING_LEN as usize;
/// Weight of a new success in the mean.
const EWMA_WEIGHT: f64 = 1.0 / 8.0;
/// Resolution of an outcome's time.
const TICK_BITS: u32 = 14;
/// Latency that stands for a failure in the ring.
const FAILED: u32 = u32::MAX >> 1;
/// The bit of an outcome that was not seen here.
const FOREIGN: u32 = 1 << 31;

/// One remembered outcome: eight bytes, since there are many.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    at: u32,
    packed: u32,
}

impl Outcome {
    fn is_foreign(self) -> bool {
        self.packed & FOREIGN != 0
    }

    /// Microseconds of a success.
    fn taken(self) -> Option<u32> {
        Some(self.packed & !FOREIGN).filter(|micros| *micros != FAILED)
    }
}

/// Outcomes of one endpoint with one method.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// What is usual.
    pub gauge: Gauge,
    ring: [Outcome; RING],
    next: u8,
    len: u8,
    successes: u8,
    foreign: u8,
    mean_micros: Option<f64>,
    last_used: Option<Timestamp>,
    refused_at: Option<Timestamp>,
    total: u32,
}

/// A reading of a [`Cell`] at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Fresh calls, at most 32.
    pub calls: u32,
    /// Share of them that succeeded; 0 without calls.
    pub success_rate: f64,
    /// Mean latency of recent successes in milliseconds; `None` if never or not lately measured.
    pub latency_ms: Option<f64>,
}

impl Cell {
    /// Counts a success that took `latency`, or one whose latency says nothing (`None`).
    pub fn record_success(&mut self, now: Timestamp, latency: Option<Duration>) {
        self.touch(now);
        self.refused_at = None;
        let Some(latency) = latency else { return };
        let taken = u32::try_from(micros(latency)).unwrap_or(FAILED - 1).min(FAILED - 1);
        self.push(Outcome { at: tick(now), packed: taken });
        self.gauge.record(taken);
        self.average(taken);
    }

    /// Sets the mean of a restored cell that has a measured success.
    pub fn set_mean(&mut self, latency: Duration) {
        if self.successes > 0 {
            self.mean_micros = Some(micros(latency) as f64);
        }
    }

    /// Counts a failure.
    pub fn record_failure(&mut self, now: Timestamp) {
        self.touch(now);
        self.push(Outcome { at: tick(now), packed: FAILED });
        self.gauge.fail();
    }

    /// Takes note of an attempt that gave no answer for so long, and was stopped or failed.
    pub fn record_silence(&mut self, taken: Duration) {
        self.gauge.censor(u32::try_from(micros(taken)).unwrap_or(u32::MAX));
    }

    /// Remembers that the endpoint does not know the method.
    pub fn record_refusal(&mut self, now: Timestamp) {
        self.refused_at = Some(now);
    }

    /// Whether the endpoint said lately that it does not know the method.
    #[must_use]
    pub fn is_refused_at(&self, now: Timestamp) -> bool {
        self.refused_at.is_some_and(|at| now.since(at) <= STALE_AFTER)
    }

    /// When the last outcome came.
    #[must_use]
    pub fn last_used(&self) -> Option<Timestamp> {
        self.last_used
    }

    /// Outcomes ever counted.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Calls, success rate and latency as of `now`.
    #[must_use]
    pub fn read_at(&self, now: Timestamp) -> Reading {
        // Outcomes are in order of time: where the oldest is fresh all are, and none has to be counted.
        let oldest = tick(now.before(STALE_AFTER));
        let all_fresh = self.oldest().is_none_or(|outcome| outcome.at >= oldest);
        let (calls, successes) = if all_fresh {
            (u32::from(self.len), u32::from(self.successes))
        } else {
            self.fresh(now).fold((0, 0), |(calls, successes), outcome| {
                (calls + 1, successes + u32::from(outcome.taken().is_some()))
            })
        };
        let rate = if calls == 0 { 0.0 } else { f64::from(successes) / f64::from(calls) };
        let latency = self.mean_micros.filter(|_| successes > 0).map(|mean| mean / 1000.0);
        Reading { calls, success_rate: rate, latency_ms: latency }
    }

    /// The latency that `share` (0 to 1) of the recent successes did not exceed.
    #[must_use]
    pub fn percentile_at(&self, now: Timestamp, share: f64) -> Option<Duration> {
        let mut latencies: Vec<u32> = self.fresh(now).filter_map(Outcome::taken).collect();
        sort_by(&mut latencies, u32::cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 32"
        )]
        let rank = libm::ceil(latencies.len() as f64 * share).max(1.0) as usize;
        latencies.get(rank - 1).map(|taken| Duration::from_micros(u64::from(*taken)))
    }

    /// The outcomes of the last ten minutes as age and latency (`None` for a failure), oldest first; only
    /// those seen here if it `is_own`.
    pub fn samples_at(
        &self,
        now: Timestamp,
        is_own: bool,
    ) -> impl Iterator<Item = (Duration, Option<Duration>)> {
        let fresh = self.fresh(now).filter(move |outcome| !(is_own && outcome.is_foreign()));
        let now = tick(now);
        fresh.map(move |outcome| {
            let age = Duration::from_micros(u64::from(now.saturating_sub(outcome.at)) << TICK_BITS);
            (age, outcome.taken().map(|taken| Duration::from_micros(u64::from(taken))))
        })
    }

    /// Whether something in it was not seen here.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        self.foreign > 0
    }

    /// Marks everything in it as seen elsewhere.
    pub fn mark_foreign(&mut self) {
        self.foreign = self.len;
        self.ring.iter_mut().for_each(|outcome| outcome.packed |= FOREIGN);
    }

    /// Puts what others saw in the place of what they told before, as far as its own outcomes leave room.
    /// The mean is then that of all, one after the other.
    pub fn absorb(&mut self, now: Timestamp, others: &Self) {
        let mut outcomes: Vec<Outcome> =
            self.fresh(now).filter(|outcome| !outcome.is_foreign()).collect();
        let theirs: Vec<Outcome> = others.fresh(now).collect();
        let too_many = (outcomes.len() + theirs.len()).saturating_sub(RING);
        if too_many >= theirs.len() && !self.is_mixed() {
            return;
        }
        outcomes.extend(theirs.iter().skip(too_many));
        sort_by(&mut outcomes, |a, b| a.at.cmp(&b.at));
        *self = Self {
            last_used: self.last_used.max(others.last_used),
            refused_at: self.refused_at,
            total: self.total,
            gauge: if self.gauge.usual_ms().is_some() { self.gauge } else { others.gauge },
            ..Self::default()
        };
        for outcome in outcomes {
            self.push(outcome);
            outcome.taken().into_iter().for_each(|taken| self.average(taken));
        }
    }

    fn average(&mut self, taken: u32) {
        let sample = f64::from(taken);
        self.mean_micros =
            Some(self.mean_micros.map_or(sample, |mean| mean + (sample - mean) * EWMA_WEIGHT));
    }

    fn touch(&mut self, now: Timestamp) {
        let silence = self.last_used.map_or(Duration::MAX, |last| now.since(last));
        if silence > STALE_AFTER {
            self.mean_micros = None;
            self.gauge = Gauge::default();
        } else {
            self.gauge.wake(silence);
        }
        self.last_used = Some(now);
        self.total = self.total.saturating_add(1);
    }

    fn push(&mut self, outcome: Outcome) {
        if usize::from(self.len) == RING && self.is_mixed() {
            self.give_up_foreign();
        }
        let slot = usize::from(self.next);
        if let Some(place) = self.ring.get_mut(slot) {
            if usize::from(self.len) == RING {
                self.successes -= u8::from(place.taken().is_some());
                self.foreign -= u8::from(place.is_foreign());
            } else {
                self.len += 1;
            }
            *place = outcome;
            self.successes += u8::from(outcome.taken().is_some());
            self.foreign += u8::from(outcome.is_foreign());
        }
        self.next = (self.next + 1) % RING_LEN;
    }

    /// Moves the oldest outcome of others to the front of a full ring, where it is overwritten next: what was
    /// seen here is not given up for it.
    fn give_up_foreign(&mut self) {
        let slot = |age: usize| (usize::from(self.next) + age) % RING;
        let is_foreign = |age: &usize| self.ring.get(slot(*age)).is_some_and(|it| it.is_foreign());
        let oldest = (0..RING).find(is_foreign).unwrap_or(0);
        let first = usize::from(self.next);
        let mut carried = self.ring.get(slot(oldest)).copied().unwrap_or_default();
        for age in 0..=oldest {
            if let Some(place) = self.ring.get_mut((first + age) % RING) {
                core::mem::swap(place, &mut carried);
            }
        }
    }

    fn oldest(&self) -> Option<&Outcome> {
        let first = (usize::from(self.next) + RING - usize::from(self.len)) % RING;
        self.ring.get(first).filter(|_| self.len > 0)
    }

    /// Fresh outcomes, oldest first.
    fn fresh(&self, now: Timestamp) -> impl Iterator<Item = Outcome> {
        let len = usize::from(self.len);
        let first = (usize::from(self.next) + RING - len) % RING;
        let oldest = tick(now.before(STALE_AFTER));
        (first..first + len)
            .filter_map(|slot| self.ring.get(slot % RING).copied())
            .skip_while(move |outcome| outcome.at < oldest)
    }
}

/// Time in units of 2^14 microseconds (16 ms), which 32 bits hold for two years of one page or isolate.
fn tick(at: Timestamp) -> u32 {
    u32::try_from(at.as_micros() >> TICK_BITS).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_mean_gives_an_eighth_to_each_new_success() {
        let mut cell = Cell::default();
        cell.record_success(at(1), Some(ms(10)));
        cell.record_success(at(1), Some(ms(1000)));
        assert_eq!(cell.read_at(at(1)).latency_ms, Some(133.75));

        let mut cell = Cell::default();
        (0..8).for_each(|_| cell.record_success(at(1), Some(ms(100))));
        (0..8).for_each(|_| cell.record_success(at(1), Some(ms(20))));
        let latency = cell.read_at(at(1)).latency_ms.unwrap();
        assert!((latency - 47.488_713_265).abs() < 1e-6, "{latency}");
    }

    #[test]
    fn failures_lower_the_rate_and_leave_the_latency() {
        let mut cell = Cell::default();
        cell.record_success(at(1), Some(ms(50)));
        cell.record_failure(at(2));
        let reading = cell.read_at(at(2));
        assert_eq!(reading, Reading { calls: 2, success_rate: 0.5, latency_ms: Some(50.0) });
    }

    #[test]
    fn the_window_holds_the_last_thirty_two() {
        let mut cell = Cell::default();
        (0..32).for_each(|_| cell.record_failure(at(1)));
        (0..24).for_each(|_| cell.record_success(at(2), Some(ms(5))));
        let reading = cell.read_at(at(2));
        assert_eq!((reading.calls, reading.success_rate), (32, 0.75));
        assert_eq!(cell.total(), 56);
    }

    #[test]
    fn outcomes_older_than_ten_minutes_count_for_nothing() {
        let mut cell = Cell::default();
        cell.record_success(at(0), Some(ms(5)));
        cell.record_success(at(300), Some(ms(5)));
        assert_eq!(cell.read_at(at(600)).calls, 2);
        assert_eq!(cell.read_at(at(601)).calls, 1);
        assert_eq!(cell.read_at(at(901)), Reading::default());
        cell.record_success(at(2000), Some(ms(90)));
        assert_eq!(cell.read_at(at(2000)).latency_ms, Some(90.0), "the old mean is forgotten");
    }

    #[test]
    fn percentiles_are_of_fresh_successes() {
        let mut cell = Cell::default();
        assert_eq!(cell.percentile_at(at(0), 0.95), None);
        (1..=20).for_each(|n| cell.record_success(at(1), Some(ms(n))));
        cell.record_failure(at(1));
        assert_eq!(cell.percentile_at(at(1), 0.95), Some(ms(19)));
        assert_eq!(cell.percentile_at(at(1), 0.5), Some(ms(10)));
        assert_eq!(cell.percentile_at(at(1), 0.0), Some(ms(1)));
    }

    fn latencies(cell: &Cell, is_own: bool) -> Vec<u128> {
        let samples = cell.samples_at(at(900), is_own);
        samples.filter_map(|(_, taken)| Some(taken?.as_millis())).collect()
    }

    fn seen_elsewhere(samples: impl IntoIterator<Item = (u64, u64)>) -> Cell {
        let mut cell = Cell::default();
        for (second, latency) in samples {
            cell.record_success(at(second), Some(ms(latency)));
        }
        cell.mark_foreign();
        cell
    }

    #[test]
    fn what_others_saw_stands_between_its_own_and_is_replaced_by_what_they_tell_next() {
        let mut cell = Cell::default();
        cell.record_success(at(800), Some(ms(10)));
        cell.record_failure(at(802));
        cell.absorb(at(900), &seen_elsewhere([(801, 90), (803, 91)]));
        let reading = cell.read_at(at(900));
        assert_eq!((reading.calls, reading.success_rate), (4, 0.75));
        assert_eq!(latencies(&cell, false), [10, 90, 91]);
        cell.absorb(at(900), &seen_elsewhere([(804, 70)]));
        assert_eq!(latencies(&cell, false), [10, 70]);
        assert_eq!(latencies(&cell, true), [10]);
        assert_eq!(cell.read_at(at(900)).latency_ms, Some(17.5));
        assert_eq!(cell.total(), 2);
        cell.absorb(at(900), &Cell::default());
        assert_eq!((latencies(&cell, false), cell.is_mixed()), (vec![10], false));
    }

    #[test]
    fn its_own_outcomes_are_not_given_up_for_those_of_others() {
        let mut cell = Cell::default();
        (0..20).for_each(|n| cell.record_success(at(800 + n), Some(ms(n))));
        cell.absorb(at(900), &seen_elsewhere((0..64).map(|n| (805, 100 + n))));
        assert_eq!(latencies(&cell, true), (0..20).collect::<Vec<_>>());
        assert_eq!(latencies(&cell, false).len(), 32);
        (20..32).for_each(|n| cell.record_success(at(800 + n), Some(ms(n))));
        assert_eq!(latencies(&cell, false), (0..32).collect::<Vec<_>>());
        cell.record_success(at(832), Some(ms(32)));
        cell.absorb(at(900), &seen_elsewhere([(833, 100)]));
        assert_eq!(latencies(&cell, false), (1..33).collect::<Vec<_>>());
        assert_eq!(cell.read_at(at(900)).calls, 32);
    }

    #[test]
    fn a_cell_stays_small() {
        assert_eq!(size_of::<[Outcome; RING]>(), 256);
        assert!(size_of::<Cell>() <= 384, "{}", size_of::<Cell>());
    }
}
