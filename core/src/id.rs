//! Ids: small copyable handles that are never reused, and the [`Slab`] that hands them out.
//!
//! A place in a slab is reused, its id is not: each carries a generation. An id of something that is
//! gone therefore finds nothing, however late it comes, and a place whose generations are used up is
//! retired.

use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;

/// What an id is made of: a place, and how often the place has been used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RawId {
    index: u32,
    generation: NonZeroU32,
}

impl fmt::Debug for RawId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for RawId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

/// A known origin, within the selector or pool that named it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OriginId(pub(crate) RawId);

/// A connection, from its dial on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub(crate) RawId);

/// A caller that waits for a stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaiterId(pub(crate) RawId);

impl OriginId {
    /// Names no origin: a place that no slab has.
    pub(crate) const NOBODY: Self = Self(RawId { index: u32::MAX, generation: NonZeroU32::MAX });
}

impl fmt::Debug for OriginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OriginId({})", self.0)
    }
}

impl fmt::Debug for ConnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnId({})", self.0)
    }
}

impl fmt::Debug for WaiterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WaiterId({})", self.0)
    }
}

/// An empty slab keeps the memory of this many places, so that few values that come and go cost no
/// allocation.
const KEPT_PLACES: usize = 64;

/// An arena of values under generational ids. All calls are O(1) amortised.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Place<T>>,
    /// The head of the list of free places.
    free: Option<u32>,
    len: usize,
    /// The generation of a new place: above all that were given out before memory was returned.
    first: NonZeroU32,
    /// The greatest generation given out.
    greatest: NonZeroU32,
}

#[derive(Debug)]
struct Place<T> {
    generation: NonZeroU32,
    content: Content<T>,
}

#[derive(Debug)]
enum Content<T> {
    Used(T),
    Free { next: Option<u32> },
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: None,
            len: 0,
            first: NonZeroU32::MIN,
            greatest: NonZeroU32::MIN,
        }
    }
}

impl<T> Slab<T> {
    /// How many values it holds.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Puts `value` in and names it.
    ///
    /// # Panics
    ///
    /// With 2³² values alive, which no machine's memory holds.
    pub(crate) fn insert(&mut self, value: T) -> RawId {
        self.len += 1;
        if let Some(index) = self.free
            && let Some(place) = self.places.get_mut(to_usize(index))
            && let Content::Free { next } = place.content
        {
            self.free = next;
            place.content = Content::Used(value);
            return RawId { index, generation: place.generation };
        }
        let index = u32::try_from(self.places.len()).expect("fewer than 2^32 values alive");
        let generation = self.first;
        self.places.push(Place { generation, content: Content::Used(value) });
        RawId { index, generation }
    }

    /// Takes the value of `id` out, if it is still there.
    pub(crate) fn remove(&mut self, id: RawId) -> Option<T> {
        self.get(id)?;
        let place = self.places.get_mut(to_usize(id.index))?;
        let Content::Used(value) =
            core::mem::replace(&mut place.content, Content::Free { next: self.free })
        else {
            return None;
        };
        self.len -= 1;
        // A place at its last generation stays out of the free list for good.
        if let Some(generation) = place.generation.checked_add(1) {
            place.generation = generation;
            self.greatest = self.greatest.max(generation);
            self.free = Some(id.index);
        }
        self.return_memory();
        Some(value)
    }

    /// Gives the memory of many places back once all are free.
    fn return_memory(&mut self) {
        if self.len == 0
            && self.places.len() > KEPT_PLACES
            && let Some(first) = self.greatest.checked_add(1)
        {
            *self = Self { first, greatest: first, ..Self::default() };
        }
    }

    /// All values with their ids. For commands about everything at once, and for views.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (RawId, &T)> {
        (0_u32..).zip(&self.places).filter_map(|(index, place)| match &place.content {
            Content::Used(value) => Some((RawId { index, generation: place.generation }, value)),
            Content::Free { .. } => None,
        })
    }

    /// The value of `id`, if it is still there.
    #[inline]
    pub(crate) fn get(&self, id: RawId) -> Option<&T> {
        let place = self.places.get(to_usize(id.index))?;
        match &place.content {
            Content::Used(value) if place.generation == id.generation => Some(value),
            Content::Used(_) | Content::Free { .. } => None,
        }
    }

    /// The value of `id`, if it is still there, to change.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: RawId) -> Option<&mut T> {
        let place = self.places.get_mut(to_usize(id.index))?;
        match &mut place.content {
            Content::Used(value) if place.generation == id.generation => Some(value),
            Content::Used(_) | Content::Free { .. } => None,
        }
    }
}

#[inline]
#[expect(clippy::as_conversions, reason = "every supported target has pointers of 32 bits or more")]
fn to_usize(index: u32) -> usize {
    index as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_something_gone_finds_nothing_although_its_place_is_used_again() {
        let mut slab = Slab::default();
        let first = slab.insert("first");
        assert_eq!(slab.remove(first), Some("first"));
        let second = slab.insert("second");

        assert_eq!(second.index, first.index);
        assert_ne!(second, first);
        assert_eq!(slab.get(first), None);
        assert_eq!(slab.get_mut(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.get(second), Some(&"second"));
        assert_eq!(slab.len(), 1);
    }

    #[test]
    fn a_place_whose_generations_are_used_up_is_retired() {
        let mut slab = Slab::default();
        let id = slab.insert(1);
        slab.places.first_mut().unwrap().generation = NonZeroU32::MAX;
        let last = RawId { generation: NonZeroU32::MAX, ..id };
        assert_eq!(slab.remove(last), Some(1));
        assert_eq!(slab.remove(last), None);

        assert_ne!(slab.insert(2).index, id.index);
        assert_eq!(slab.get(last), None);
    }

    #[test]
    fn memory_goes_back_when_all_are_gone_and_ids_stay_unique() {
        let mut slab = Slab::default();
        let fill = |slab: &mut Slab<usize>| (0..=KEPT_PLACES).map(|n| slab.insert(n)).collect();
        let first: Vec<RawId> = fill(&mut slab);
        for id in &first {
            slab.remove(*id).unwrap();
        }
        assert_eq!(slab.places.capacity(), 0);

        let second: Vec<RawId> = fill(&mut slab);
        assert!(first.iter().all(|id| !second.contains(id) && slab.get(*id).is_none()));
    }

    #[test]
    fn an_optional_id_takes_no_more_room_than_an_id() {
        assert_eq!(size_of::<Option<RawId>>(), 8);
    }
}
