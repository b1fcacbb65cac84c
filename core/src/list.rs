//! Lists threaded through the values of a [`Slab`]: all calls are O(1), none allocates.

use crate::id::{RawId, Slab};

/// What a value holds to be in one list.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Links {
    before: Option<RawId>,
    after: Option<RawId>,
}

/// The ends of a list. Who takes a value out of the slab takes it out of its lists first.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct List {
    front: Option<RawId>,
    back: Option<RawId>,
}

impl List {
    /// The value that has been in the list for the longest.
    #[inline]
    pub(crate) fn front(&self) -> Option<RawId> {
        self.front
    }

    /// The value that came into the list last.
    #[inline]
    pub(crate) fn back(&self) -> Option<RawId> {
        self.back
    }

    /// All values, in order.
    pub(crate) fn ids<'a, T>(
        &self,
        slab: &'a Slab<T>,
        links: impl Fn(&T) -> &Links + 'a,
    ) -> impl Iterator<Item = RawId> + 'a {
        core::iter::successors(self.front, move |id| {
            slab.get(*id).and_then(|value| links(value).after)
        })
    }

    /// Puts `id`, which is in no such list, behind all others.
    pub(crate) fn push_back<T>(
        &mut self,
        slab: &mut Slab<T>,
        id: RawId,
        links: impl Fn(&mut T) -> &mut Links,
    ) {
        let before = self.back.replace(id);
        if let Some(value) = slab.get_mut(id) {
            *links(value) = Links { before, after: None };
        }
        match before.and_then(|before| slab.get_mut(before)) {
            Some(value) => links(value).after = Some(id),
            None => self.front = Some(id),
        }
    }

    /// Takes `id`, which is in this list, out.
    pub(crate) fn remove<T>(
        &mut self,
        slab: &mut Slab<T>,
        id: RawId,
        links: impl Fn(&mut T) -> &mut Links,
    ) {
        let Some(value) = slab.get_mut(id) else { return };
        let Links { before, after } = core::mem::take(links(value));
        match before.and_then(|before| slab.get_mut(before)) {
            Some(value) => links(value).after = after,
            None => self.front = after,
        }
        match after.and_then(|after| slab.get_mut(after)) {
            Some(value) => links(value).before = before,
            None => self.back = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn links(links: &mut Links) -> &mut Links {
        links
    }

    fn ids(list: &List, slab: &Slab<Links>) -> Vec<RawId> {
        list.ids(slab, |links| links).collect()
    }

    #[test]
    fn values_leave_from_any_place_and_the_order_of_the_others_stays() {
        for leaving in 0..3 {
            let (mut slab, mut list) = (Slab::default(), List::default());
            let mut left: Vec<RawId> = (0..3).map(|_| slab.insert(Links::default())).collect();
            for id in &left {
                list.push_back(&mut slab, *id, links);
            }
            let id = left.remove(leaving);
            list.remove(&mut slab, id, links);
            assert_eq!(ids(&list, &slab), left);

            list.push_back(&mut slab, id, links);
            left.push(id);
            assert_eq!(ids(&list, &slab), left);

            for id in left {
                list.remove(&mut slab, id, links);
            }
            assert_eq!((list.front, list.back), (None, None));
        }
    }
}
