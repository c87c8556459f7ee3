//! What a run amounts to.

/// Everything that is counted in one run, or in several of them together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Milliseconds that each request took, ended well or not.
    pub(crate) took: Vec<f64>,
    pub(crate) failed: u64,
    /// Milliseconds of these.
    pub(crate) failed_ms: f64,
    pub(crate) attempts: u64,
    pub(crate) limited: u64,
    pub(crate) hedges: u64,
    /// Attempts at each provider.
    pub(crate) sent: Vec<u64>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.took.extend(&other.took);
        self.failed += other.failed;
        self.failed_ms += other.failed_ms;
        self.attempts += other.attempts;
        self.limited += other.limited;
        self.hedges += other.hedges;
        self.sent.resize(self.sent.len().max(other.sent.len()), 0);
        self.sent.iter_mut().zip(&other.sent).for_each(|(sum, count)| *sum += count);
    }

    /// Per request.
    pub(crate) fn share(&self, count: u64) -> f64 {
        count as f64 / self.took.len().max(1) as f64
    }

    /// The mean, if each failure had taken `deadline` milliseconds: who gives up at once is not quick.
    pub(crate) fn punished_mean(&self, deadline: f64) -> f64 {
        let sum: f64 = self.took.iter().sum();
        let punished = sum - self.failed_ms + self.failed as f64 * deadline;
        punished / self.took.len().max(1) as f64
    }

    pub(crate) fn summary(&self) -> Summary {
        let mut sorted = self.took.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| percentile(&sorted, share);
        Summary {
            mean: sorted.iter().sum::<f64>() / sorted.len().max(1) as f64,
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
        }
    }
}

/// Milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) mean: f64,
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
}

/// The value that `share` of the sorted ones do not exceed; 0 of none.
pub(crate) fn percentile(sorted: &[f64], share: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small place")]
    let rank = (sorted.len() as f64 * share).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}
