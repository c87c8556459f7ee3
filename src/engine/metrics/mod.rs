//! What was measured of one endpoint, per method and over all methods.
//!
//! **Why.** Latency differs more between methods than between providers, so it is kept per method; a
//! method never called falls back to the endpoint's latency over all of them.
//!
//! **How.** A ring of the last 32 outcomes, each with its time, gives fresh calls, success rate and
//! percentiles; an exponentially weighted mean of the successes (weight 1/8, as Lasso's) gives the latency:
//! one slow answer does not move it far, three do. Failures count in the rate and never touch the latency.
//!
//! **Others** Outcomes of other pages and isolates can stand in the ring beside its own, marked, where its own
//! leave room: they are replaced when others tell more, and never passed on as its own.
//!
//! **Cold start** no latency. **Idle** outcomes older than ten minutes are dropped, and with the last of
//! them the mean. **Ties and clock steps** equal timestamps all count; time does not go back here.
//! **Cost** constant per outcome; a percentile sorts at most 32 numbers.

mod cell;
mod gauge;

use core::time::Duration;

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::method::{METHOD_CAPACITY, MethodId};
use super::time::Timestamp;

pub use cell::{Cell, Reading, STALE_AFTER};
pub use gauge::{Gauge, HALF_LIFE};

/// What others told of an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// The generation of the breaker that came from them.
    pub generation: Option<u32>,
    /// The end of the rate limit that came from them.
    pub limited_until: Option<Timestamp>,
}

/// All cells of one endpoint.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// What of the endpoint's breaker and limit was not seen here.
    pub told: Told,
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
        let place = self.place(method);
        if let Some(place) = place.filter(|place| place.read_at(now).calls == 0) {
            *place = cell;
        }
    }

    /// Adds what others saw to what was seen here, in the place of what they told before.
    pub fn absorb(&mut self, now: Timestamp, method: Option<MethodId>, others: &Cell) {
        if let Some(place) = self.place(method) {
            place.absorb(now, others);
        }
    }

    fn place(&mut self, method: Option<MethodId>) -> Option<&mut Cell> {
        match method {
            None => Some(&mut self.all),
            Some(method) => self.cell_mut(method),
        }
    }

    /// What is known for choosing: the method's numbers, or those over all methods where the method has
    /// none.
    #[must_use]
    pub fn read_at(&self, now: Timestamp, method: MethodId) -> Reading {
        let own = self.of(method).map(|cell| cell.read_at(now)).unwrap_or_default();
        if own.calls > 0 { own } else { self.all.read_at(now) }
    }

    /// What is usual with a method, or over all methods where nothing fresh is known of it, and since when
    /// nothing was heard.
    #[must_use]
    pub fn gauge_at(&self, now: Timestamp, method: MethodId) -> Option<(&Gauge, Duration)> {
        let fresh = |cell: &Cell| cell.last_used().is_some_and(|at| now.since(at) <= STALE_AFTER);
        let known = |cell: &&Cell| fresh(cell) && cell.gauge.usual_ms().is_some();
        let cell =
            self.of(method).filter(known).or_else(|| Some(&self.all).filter(|all| fresh(all)))?;
        Some((&cell.gauge, now.since(cell.last_used()?)))
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
    use core::time::Duration;

    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
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
}
