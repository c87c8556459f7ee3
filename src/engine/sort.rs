//! Sorting short lists.

use core::cmp::Ordering;

/// Stable insertion sort. The library's sort is quicker from some fifty items on and weighs 13 KB of wasm;
/// what is sorted here are percentile windows and reports.
pub(super) fn sort_by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    for end in 1..items.len() {
        let mut at = end;
        // Neither an index nor `swap`: each has a panic that would be linked.
        while let Some([before, item]) =
            items.get_mut(at.wrapping_sub(1)..=at).and_then(<[T]>::as_mut_array)
            && compare(before, item).is_gt()
        {
            core::mem::swap(before, item);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rng::Rng;

    #[test]
    fn sorts_as_the_library_does_and_keeps_equal_items_in_order() {
        let mut rng = Rng::new(3);
        for length in 0..40 {
            let mut ours: Vec<(u64, usize)> =
                (0..length).map(|index| (rng.next_u64() % 8, index)).collect();
            let mut theirs = ours.clone();
            sort_by(&mut ours, |a, b| a.0.cmp(&b.0));
            theirs.sort_by_key(|item| item.0);
            assert_eq!(ours, theirs);
        }
    }
}
