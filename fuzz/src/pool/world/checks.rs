//! What holds after every step.

use mac_core::{OriginId, Protocols, Stats};

use super::super::model::{Conn, Origin, State};
use super::World;

impl World {
    /// What holds after every step.
    pub(super) fn check(&self) {
        let model = &self.model;
        let stats = self.pool.stats();
        let all: Vec<&Conn> = model.conns.values().collect();
        check_stats(&stats.all, &all, model.waiters.len());
        assert_eq!(stats.origins, model.origins.len());
        let certain = model.failures - model.doubtful;
        let failures = certain..=model.failures;
        assert!(failures.contains(&stats.all.counts.failed_dials), "failed dials: {failures:?}");
        for (id, origin) in &model.origins {
            let conns: Vec<&Conn> = model.of(*id).map(|(_, conn)| conn).collect();
            let stats = self.pool.origin_stats(*id).expect("known");
            check_stats(&stats, &conns, model.waiting(*id).len());
            assert!(stats.idle <= origin.config.max_idle, "too many idle");
            let is_over = model.draining && model.waiting(*id).is_empty();
            let left = stats.dialing + stats.idle;
            assert!(!is_over || left == 0, "a drain leaves what nobody waits for");
            self.check_waiting(*id, origin);
            if let Some(lifetime) = origin.config.max_lifetime {
                let is_old = |c: &&Conn| {
                    c.state == State::Open && c.opened + lifetime * 11 / 10 <= model.now
                };
                assert_eq!(conns.iter().copied().find(is_old).map(|_| ()), None, "too old");
            }
        }
        assert!(stats.all.idle <= self.max_idle, "too many idle in all");
        if self.pool.is_drained() {
            assert!(model.waiters.is_empty() && all.iter().all(|c| c.state == State::Closed));
        }
        let deadlines = model.waiters.values().filter_map(|waiter| waiter.deadline);
        let hints = all.iter().filter(|conn| conn.is_idle() && conn.hinted);
        let hints = hints.filter_map(|conn| conn.idle_until);
        let patience = all.iter().filter(|conn| conn.state == State::Open);
        let patience = patience.filter_map(|conn| conn.patience);
        let first = deadlines.chain(hints).chain(patience).min();
        let timeout = self.pool.poll_timeout();
        assert!(first.is_none_or(|first| timeout.is_some_and(|timeout| timeout <= first)), "late");
    }

    /// Nobody waits without reason.
    pub(super) fn check_waiting(&self, id: OriginId, origin: &Origin) {
        let model = &self.model;
        let waiting = model.waiting(id);
        for (_, waiter) in &waiting {
            let mut free = model.of(id).filter(|(_, conn)| conn.free() > 0);
            let usable = free.find(|(_, conn)| !(waiter.fresh && conn.served));
            assert!(usable.is_none(), "{waiter:?} waits although there is {usable:?}");
        }
        if waiting.is_empty() {
            return;
        }
        let dialing = model.dialing(id);
        let is_patient =
            model.of(id).any(|(_, conn)| conn.state == State::Open && conn.patience.is_some());
        let counted = model.counted(id);
        let at_limit = counted >= model.limit(id) && counted > 0;
        let at_total = model.max_connections.is_some_and(|most| model.counted_in_all() >= most);
        let may_back_off = origin.config.backoff.is_some() && self.pool.poll_timeout().is_some();
        assert!(
            dialing > 0 || is_patient || at_limit || at_total || may_back_off,
            "stranded: {waiting:?}"
        );
        // No idle connection stands in the way of a dial.
        if at_total && dialing == 0 && !is_patient && !at_limit && !may_back_off {
            assert!(!model.conns.values().any(Conn::is_idle), "idle ones keep a caller waiting");
        }
        let fans_out = origin.config.protocols == Protocols::Http1
            && origin.config.backoff.is_none()
            && !at_limit
            && !at_total;
        if fans_out {
            let wanted = (waiting.len() as u32).min(origin.config.max_dialing);
            assert!(dialing >= wanted, "too few dials for those who wait");
        }
    }
}

fn check_stats(stats: &Stats, conns: &[&Conn], waiters: usize) {
    let count = |is: &dyn Fn(&Conn) -> bool| conns.iter().filter(|conn| is(conn)).count() as u32;
    assert_eq!(
        stats.dialing,
        count(&|conn| conn.state == State::Dialing || conn.is_pending()),
        "dialing"
    );
    assert_eq!(stats.idle, count(&|conn| conn.is_idle()), "idle");
    let in_use = count(&|conn| conn.state == State::Open && conn.leases > 0);
    assert_eq!(stats.in_use, in_use, "in use");
    let draining = count(&|conn| matches!(conn.state, State::Draining(_)));
    assert_eq!(stats.draining, draining, "draining");
    let closing = count(&|conn| matches!(conn.state, State::Closing | State::Cancelled));
    assert_eq!(stats.closing, closing, "closing");
    assert_eq!(stats.streams, conns.iter().map(|conn| conn.leases).sum::<u32>(), "streams");
    assert_eq!(stats.waiters as usize, waiters, "waiters");
}
