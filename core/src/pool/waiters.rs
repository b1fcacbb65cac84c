//! Callers that wait: one queue of an origin, in the order of tickets.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use super::action::Claim;
use crate::id::{OriginId, RawId, Slab, WaiterId};
use crate::list::{Links, List};

/// A caller in a queue.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) origin: OriginId,
    pub(crate) claim: Claim,
    /// Whether it came back to the place of its ticket.
    pub(crate) returned: bool,
    /// Its place in the queue, if it did not come back.
    queue: Links,
    /// Its place among the deadlines of one duration, if it is there.
    pub(crate) deadline: Links,
}

impl Waiter {
    pub(crate) fn new(origin: OriginId, claim: Claim, returned: bool) -> Self {
        let (queue, deadline) = Default::default();
        Self { origin, claim, returned, queue, deadline }
    }
}

/// A queue in the order of tickets.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Who came in the order of tickets.
    came: List,
    /// Who came back. Few if any, and none in a pool whose connections do not die.
    #[expect(clippy::box_collection, reason = "an origin without any takes less room")]
    returned: Option<Box<BTreeMap<u64, WaiterId>>>,
    len: u32,
}

impl Queue {
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Who is to be served next, with its ticket.
    pub(crate) fn front(&self, waiters: &Slab<Waiter>) -> Option<(u64, WaiterId)> {
        let came = self
            .came
            .front()
            .and_then(|id| waiters.get(id).map(|waiter| (waiter.claim.ticket, WaiterId(id))));
        let returned = self.returned.as_deref().and_then(BTreeMap::first_key_value);
        let returned = returned.map(|(ticket, id)| (*ticket, *id));
        match (came, returned) {
            (Some(came), Some(returned)) => Some(came.min(returned)),
            (one, None) | (None, one) => one,
        }
    }

    pub(crate) fn push(&mut self, waiters: &mut Slab<Waiter>, id: RawId) {
        let Some(waiter) = waiters.get(id) else { return };
        self.len += 1;
        if waiter.returned {
            let returned = self.returned.get_or_insert_default();
            returned.insert(waiter.claim.ticket, WaiterId(id));
        } else {
            self.came.push_back(waiters, id, |waiter| &mut waiter.queue);
        }
    }

    pub(crate) fn remove(&mut self, waiters: &mut Slab<Waiter>, id: RawId) {
        let Some(waiter) = waiters.get(id) else { return };
        self.len -= 1;
        if waiter.returned {
            if let Some(returned) = &mut self.returned {
                returned.remove(&waiter.claim.ticket);
                if returned.is_empty() {
                    self.returned = None;
                }
            }
        } else {
            self.came.remove(waiters, id, |waiter| &mut waiter.queue);
        }
    }
}
