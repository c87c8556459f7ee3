//! What was measured of one endpoint, per method and over all methods.
//!
//! **Why.** Latency differs more between methods than between providers, so it is kept per method; a
//! method never called falls back to the endpoint's latency over all of them.
//!
//! **How.** A ring of the last 32 outcomes, each with its time, gives fresh calls, success rate and
//! percentiles; an exponentially weighted mean of the successes (weight 1/8, as Lasso's) gives the latency:
//! one slow answer does not move it far, three do. Failures count in the rate and never touch the latency.
//!
//! **Cold start** no latency. **Idle** outcomes older than ten minutes are dropped, and with the last of
//! them the mean. **Ties and clock steps** equal timestamps all count; time does not go back here.
//! **Cost** constant per outcome; a percentile sorts at most 32 numbers.

use core::time::Duration;

use super::method::{METHOD_CAPACITY, MethodId};
use super::sort::sort_by;
use super::time::{Timestamp, micros};

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
const FAILED: u32 = u32::MAX;

/// One remembered outcome: eight bytes, since there are many.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    at: u32,
    micros: u32,
}

/// Outcomes of one endpoint with one method.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    ring: [Outcome; RING],
    next: u8,
    len: u8,
    successes: u8,
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
        self.push(now, taken);
        let sample = f64::from(taken);
        self.mean_micros =
            Some(self.mean_micros.map_or(sample, |mean| mean + (sample - mean) * EWMA_WEIGHT));
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
        self.push(now, FAILED);
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
                (calls + 1, successes + u32::from(outcome.micros != FAILED))
            })
        };
        let rate = if calls == 0 { 0.0 } else { f64::from(successes) / f64::from(calls) };
        let latency = self.mean_micros.filter(|_| successes > 0).map(|mean| mean / 1000.0);
        Reading { calls, success_rate: rate, latency_ms: latency }
    }

    /// The latency that `share` (0 to 1) of the recent successes did not exceed.
    #[must_use]
    pub fn percentile_at(&self, now: Timestamp, share: f64) -> Option<Duration> {
        let mut latencies: Vec<u32> = self
            .fresh(now)
            .map(|outcome| outcome.micros)
            .filter(|taken| *taken != FAILED)
            .collect();
        sort_by(&mut latencies, u32::cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 32"
        )]
        let rank = (latencies.len() as f64 * share).ceil().max(1.0) as usize;
        latencies.get(rank - 1).map(|taken| Duration::from_micros(u64::from(*taken)))
    }

    /// The outcomes of the last ten minutes as age and latency (`None` for a failure), oldest first.
    pub fn samples_at(&self, now: Timestamp) -> impl Iterator<Item = (Duration, Option<Duration>)> {
        let fresh = self.fresh(now);
        let now = tick(now);
        fresh.map(move |outcome| {
            let age = Duration::from_micros(u64::from(now.saturating_sub(outcome.at)) << TICK_BITS);
            let taken = (outcome.micros != FAILED)
                .then(|| Duration::from_micros(u64::from(outcome.micros)));
            (age, taken)
        })
    }

    fn touch(&mut self, now: Timestamp) {
        let silence = self.last_used.map_or(Duration::MAX, |last| now.since(last));
        if silence > STALE_AFTER {
            self.mean_micros = None;
        }
        self.last_used = Some(now);
        self.total = self.total.saturating_add(1);
    }

    fn push(&mut self, now: Timestamp, taken: u32) {
        let slot = usize::from(self.next);
        if let Some(outcome) = self.ring.get_mut(slot) {
            if usize::from(self.len) == RING {
                self.successes -= u8::from(outcome.micros != FAILED);
            } else {
                self.len += 1;
            }
            *outcome = Outcome { at: tick(now), micros: taken };
            self.successes += u8::from(taken != FAILED);
        }
        self.next = (self.next + 1) % RING_LEN;
    }

    fn oldest(&self) -> Option<&Outcome> {
        let first = (usize::from(self.next) + RING - usize::from(self.len)) % RING;
        self.ring.get(first).filter(|_| self.len > 0)
    }

    /// Fresh outcomes, oldest first.
    fn fresh(&self, now: Timestamp) -> impl Iterator<Item = &Outcome> {
        let len = usize::from(self.len);
        let first = (usize::from(self.next) + RING - len) % RING;
        let oldest = tick(now.before(STALE_AFTER));
        (first..first + len)
            .filter_map(|slot| self.ring.get(slot % RING))
            .skip_while(move |outcome| outcome.at < oldest)
    }
}

/// Time in units of 2^14 microseconds (16 ms), which 32 bits hold for two years of one page or isolate.
fn tick(at: Timestamp) -> u32 {
    u32::try_from(at.as_micros() >> TICK_BITS).unwrap_or(u32::MAX)
}

/// All cells of one endpoint.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    all: Cell,
    by_method: Vec<Option<Box<Cell>>>,
}

impl Metrics {
    /// Over all methods.
    #[must_use]
    pub fn all(&self) -> &Cell {
        &self.all
    }

    /// With one method, if it was ever used.
    #[must_use]
    pub fn of(&self, method: MethodId) -> Option<&Cell> {
        self.by_method.get(method.index())?.as_deref()
    }

    /// Every method with an outcome.
    pub fn methods(&self) -> impl Iterator<Item = (MethodId, &Cell)> {
        let cells = self.by_method.iter().enumerate();
        cells.filter_map(|(index, cell)| Some((MethodId::from_index(index)?, cell.as_deref()?)))
    }

    /// Calls `record` on the cell of the method and on the one over all methods.
    pub fn record(&mut self, method: MethodId, record: impl Fn(&mut Cell)) {
        record(&mut self.all);
        if let Some(cell) = self.cell_mut(method) {
            record(cell);
        }
    }

    /// Remembers that the endpoint does not know the method.
    pub fn record_refusal(&mut self, now: Timestamp, method: MethodId) {
        if let Some(cell) = self.cell_mut(method) {
            cell.record_refusal(now);
        }
    }

    /// Puts a restored cell in its place, unless something fresh is there.
    pub fn restore(&mut self, now: Timestamp, method: Option<MethodId>, cell: Cell) {
        let place = match method {
            None => Some(&mut self.all),
            Some(method) => self.cell_mut(method),
        };
        if let Some(place) = place.filter(|place| place.read_at(now).calls == 0) {
            *place = cell;
        }
    }

    /// What is known for choosing: the method's numbers, or those over all methods where the method has
    /// none.
    #[must_use]
    pub fn read_at(&self, now: Timestamp, method: MethodId) -> Reading {
        let own = self.of(method).map(|cell| cell.read_at(now)).unwrap_or_default();
        if own.calls > 0 { own } else { self.all.read_at(now) }
    }

    fn cell_mut(&mut self, method: MethodId) -> Option<&mut Cell> {
        let index = method.index().min(METHOD_CAPACITY - 1);
        if self.by_method.len() <= index {
            self.by_method.resize_with(index + 1, || None);
        }
        self.by_method.get_mut(index).map(|cell| cell.get_or_insert_default().as_mut())
    }
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

    #[test]
    fn a_method_without_calls_takes_the_numbers_over_all_methods() {
        let mut metrics = Metrics::default();
        let (call, logs) = (MethodId::from_index(1).unwrap(), MethodId::from_index(2).unwrap());
        metrics.record(call, |cell| cell.record_success(at(1), Some(ms(40))));
        assert_eq!(metrics.read_at(at(1), logs).latency_ms, Some(40.0));
        metrics.record(logs, |cell| cell.record_success(at(1), Some(ms(400))));
        assert_eq!(metrics.read_at(at(1), logs).latency_ms, Some(400.0));
        assert_eq!(metrics.read_at(at(1), call).latency_ms, Some(40.0));
    }

    #[test]
    fn a_cell_stays_small() {
        assert!(size_of::<Cell>() <= 384, "{}", size_of::<Cell>());
    }
}
