//! Bounded memory of origins: busy ones stay, idle ones are forgotten after a grace period, and
//! earlier, least recently used first, when room is needed.

use crate::id::{RawId, Slab};
use crate::list::{Links, List};
use crate::time::{self, Duration, Instant};

/// Values for origins, by id.
#[derive(Debug)]
pub(crate) struct Memory<T> {
    slots: Slab<Slot<T>>,
    /// Idle ones, the least recently used one at the front.
    idle: List,
    most: usize,
    grace: Duration,
}

#[derive(Debug)]
struct Slot<T> {
    state: State,
    links: Links,
    value: T,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Busy,
    Idle { since: Instant },
}

impl<T> Memory<T> {
    /// Room for `most` origins; idle ones are kept for `grace`.
    pub(crate) fn new(most: usize, grace: Duration) -> Self {
        Self { slots: Slab::default(), idle: List::default(), most, grace }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.most
    }

    #[inline]
    pub(crate) fn get(&self, id: RawId) -> Option<&T> {
        self.slots.get(id).map(|slot| &slot.value)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: RawId) -> Option<&mut T> {
        self.slots.get_mut(id).map(|slot| &mut slot.value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (RawId, &T)> {
        self.slots.iter().map(|(id, slot)| (id, &slot.value))
    }

    /// Takes `value` in, as idle. Does not look whether there is room.
    pub(crate) fn insert(&mut self, value: T, now: Instant) -> RawId {
        let slot = Slot { state: State::Idle { since: now }, links: Links::default(), value };
        let id = self.slots.insert(slot);
        self.idle.push_back(&mut self.slots, id, |slot| &mut slot.links);
        id
    }

    pub(crate) fn remove(&mut self, id: RawId) -> Option<T> {
        self.mark_busy(id);
        self.slots.remove(id).map(|slot| slot.value)
    }

    /// Keeps it from being forgotten.
    #[inline]
    pub(crate) fn mark_busy(&mut self, id: RawId) {
        if let Some(Slot { state: state @ State::Idle { .. }, .. }) = self.slots.get_mut(id) {
            *state = State::Busy;
            self.idle.remove(&mut self.slots, id, |slot| &mut slot.links);
        }
    }

    /// Lets it be forgotten after the grace period, which begins now.
    pub(crate) fn mark_idle(&mut self, id: RawId, now: Instant) {
        self.mark_busy(id);
        if let Some(slot) = self.slots.get_mut(id) {
            slot.state = State::Idle { since: now };
            self.idle.push_back(&mut self.slots, id, |slot| &mut slot.links);
        }
    }

    /// Lets it be forgotten after the grace period, which goes on if it had begun.
    pub(crate) fn settle_idle(&mut self, id: RawId, now: Instant) {
        if let Some(State::Busy) = self.slots.get(id).map(|slot| slot.state) {
            self.mark_idle(id, now);
        }
    }

    /// Lets the grace period of an idle one begin anew.
    pub(crate) fn touch(&mut self, id: RawId, now: Instant) {
        if let Some(State::Idle { .. }) = self.slots.get(id).map(|slot| slot.state) {
            self.mark_idle(id, now);
        }
    }

    /// The least recently used idle one.
    pub(crate) fn oldest_idle(&self) -> Option<RawId> {
        self.idle.front()
    }

    /// When [`oldest_idle`](Self::oldest_idle) is to be forgotten.
    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self.slots.get(self.idle.front()?)?.state {
            State::Busy => None,
            State::Idle { since } => time::deadline(since, self.grace),
        }
    }
}
