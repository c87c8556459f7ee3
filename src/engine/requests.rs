//! The requests under way.

use alloc::vec::Vec;

use super::request::Request;

/// The requests under way, by handle. A handle names a place and its generation, so that a stale one is
/// refused instead of reaching another request.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    slots: Vec<Slot>,
    free: Vec<usize>,
    cursor: usize,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    generation: u32,
    request: Option<Request>,
}

/// Bits of a handle that name the place.
const PLACE_BITS: u32 = 18;

impl Requests {
    /// Takes a request in; `None` if a quarter of a million are under way.
    pub(super) fn insert(&mut self, request: Request) -> Option<u32> {
        let place = self.free.pop().unwrap_or(self.slots.len());
        if place >> PLACE_BITS != 0 {
            return None;
        }
        if place == self.slots.len() {
            self.slots.push(Slot::default());
        }
        let slot = self.slots.get_mut(place)?;
        slot.request = Some(request);
        Some(u32::try_from(place).ok()? | (slot.generation << PLACE_BITS))
    }

    /// The request of a handle.
    #[must_use]
    pub fn get(&self, handle: u32) -> Option<&Request> {
        let slot = self.slots.get(place(handle))?;
        slot.request.as_ref().filter(|_| is_current(slot, handle))
    }

    /// Takes a request out to work on it; [`Requests::put`] brings it back.
    pub(super) fn take(&mut self, handle: u32) -> Option<Request> {
        let slot = self.slots.get_mut(place(handle)).filter(|slot| is_current(slot, handle))?;
        slot.request.take()
    }

    pub(super) fn put(&mut self, handle: u32, request: Request) {
        if let Some(slot) = self.slots.get_mut(place(handle)) {
            slot.request = Some(request);
        }
    }

    /// Frees the place of a request.
    pub(super) fn remove(&mut self, handle: u32) {
        if let Some(slot) = self.slots.get_mut(place(handle))
            && is_current(slot, handle)
        {
            slot.request = None;
            slot.generation = slot.generation.wrapping_add(1);
            self.free.push(place(handle));
        }
    }

    /// Number of requests under way.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether none is under way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The handle of the next place in turn, for finding lost requests a little at a time.
    pub(super) fn patrol(&mut self) -> Option<u32> {
        self.cursor = if self.cursor < self.slots.len() { self.cursor } else { 0 };
        let place = self.cursor;
        self.cursor += 1;
        let slot = self.slots.get(place).filter(|slot| slot.request.is_some())?;
        Some(u32::try_from(place).ok()? | (slot.generation << PLACE_BITS))
    }
}

fn place(handle: u32) -> usize {
    (handle & ((1 << PLACE_BITS) - 1)) as usize
}

fn is_current(slot: &Slot, handle: u32) -> bool {
    (slot.generation << PLACE_BITS) >> PLACE_BITS == handle >> PLACE_BITS
}
