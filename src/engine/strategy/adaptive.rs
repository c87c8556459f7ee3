//! `adaptive`: the smallest expected time, among those that have room.
//!
//! **Why.** The quickest endpoint is the right one until it refuses, fails or slows down; then the next one
//! is, at once.
//!
//! **How.** Each endpoint's expected time is what is usual for the method, longer the more is under way
//! there, and with a penalty for the share that fails or refuses. Three attempts under way that take longer than
//! they should are believed before they have ended. One whose learnt limit has no room now counts as four times as
//! slow: a refusal costs another attempt, but not as much as somebody ten times slower. A little chance keeps
//! many clients from doing the same.
//!
//! **Cold start** all are unmeasured: the one with the least under way, then by lot. **Idle** endpoints are
//! measured by probes beside other requests (`adapt`), so that nobody waits for them.

use alloc::vec::Vec;

use super::Rank;
use crate::engine::rng::Rng;

/// So many attempts under way double the expected time.
const LOAD: f64 = 16.0;
/// A failure costs so many times the best endpoint's time: another attempt, and the user's trust.
const FAILURE_COST: f64 = 3.0;
/// Asking where there is no room costs so many times the expected time.
const REFUSAL_COST: f64 = 4.0;
/// Part of the expected time that is left to chance.
const CHANCE: f64 = 0.05;
/// What slow answers in a row and attempts under way beyond their time have to count to be believed.
const BELIEVED: u32 = 5;

/// What is to be seen of an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sight {
    /// What is usual for the method; `None` if nothing was measured lately.
    pub usual_ms: Option<f64>,
    /// Share of failures, the latest most.
    pub failing: f64,
    /// Attempts under way.
    pub in_flight: u32,
    /// What slow outliers in a row and attempts under way beyond their time count.
    pub slow: u32,
    /// Age of the oldest attempt that is beyond its time.
    pub oldest_ms: f64,
    /// Milliseconds until its learnt limit has room.
    pub wait_ms: f64,
    /// How likely it is to refuse.
    pub refusing: f64,
}

impl Sight {
    /// Expected time of an answer, if it is asked alone and does not fail.
    #[must_use]
    pub fn expected_ms(&self) -> Option<f64> {
        let usual = self.usual_ms?;
        Some(if self.slow >= BELIEVED { usual.max(self.oldest_ms) } else { usual })
    }
}

/// Ranks endpoints by what is to be seen of them.
#[must_use]
pub fn rank(sights: &[Sight], rng: &mut Rng) -> Vec<Rank> {
    let ready = sights.iter().filter(|sight| sight.wait_ms <= 0.0);
    let best = ready.filter_map(Sight::expected_ms).fold(f64::INFINITY, f64::min);
    let best = if best.is_finite() { best } else { 0.0 };
    let rank = |sight: &Sight| {
        let chance = rng.unit();
        let Some(expected) = sight.expected_ms() else {
            return Rank { group: 2, score: f64::from(sight.in_flight) + chance * 0.5 };
        };
        let loaded = expected * (1.0 + f64::from(sight.in_flight) / LOAD);
        let lost = (sight.failing + sight.refusing) * FAILURE_COST * best;
        let score = (loaded + lost) * (1.0 + CHANCE * chance);
        let score = match sight.wait_ms {
            wait if wait <= 0.0 => score,
            wait => score * REFUSAL_COST + wait,
        };
        Rank { group: 1, score }
    };
    sights.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Sight = Sight {
        usual_ms: Some(50.0),
        failing: 0.0,
        in_flight: 0,
        slow: 0,
        oldest_ms: 0.0,
        wait_ms: 0.0,
        refusing: 0.0,
    };
    const SLOW: Sight = Sight { usual_ms: Some(80.0), ..QUICK };

    /// Which of two goes first, if it is always the same.
    fn first(sights: [Sight; 2]) -> Option<usize> {
        let mut rng = Rng::new(3);
        let mut firsts = (0..200).map(|_| {
            let ranks = rank(&sights, &mut rng);
            usize::from(ranks[1].compare(&ranks[0]).is_lt())
        });
        let one = firsts.next()?;
        firsts.all(|other| other == one).then_some(one)
    }

    #[test]
    fn the_quickest_goes_first_unless_something_speaks_against_it() {
        assert_eq!(first([QUICK, SLOW]), Some(0));
        for (what, sight) in [
            ("load", Sight { in_flight: 16, ..QUICK }),
            ("failures", Sight { failing: 0.3, ..QUICK }),
            ("refusals", Sight { refusing: 0.3, ..QUICK }),
            ("no room", Sight { wait_ms: 5.0, ..QUICK }),
            ("overdue", Sight { slow: 6, oldest_ms: 300.0, ..QUICK }),
            ("unmeasured", Sight { usual_ms: None, ..QUICK }),
        ] {
            assert_eq!(first([sight, SLOW]), Some(1), "{what}");
        }
    }

    #[test]
    fn two_overdue_attempts_are_not_yet_believed() {
        assert_eq!(first([Sight { slow: 4, oldest_ms: 300.0, ..QUICK }, SLOW]), Some(0));
    }

    #[test]
    fn somebody_far_slower_is_no_alternative_to_one_without_room() {
        let far = Sight { usual_ms: Some(900.0), ..QUICK };
        assert_eq!(first([Sight { wait_ms: 20.0, ..QUICK }, far]), Some(0));
    }

    #[test]
    fn equals_share_by_lot_and_a_cold_pool_spreads() {
        assert_eq!(first([QUICK, QUICK]), None);
        let cold = Sight { usual_ms: None, ..QUICK };
        assert_eq!(first([cold, cold]), None);
        assert_eq!(first([Sight { in_flight: 1, ..cold }, cold]), Some(1));
    }
}
