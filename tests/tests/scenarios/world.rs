//! A pool, and what the steps of a scenario do to it.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mac_core::pool::{ConnState, DrainWaiters};
use mac_core::{
    Action, Checkout, ConnId, DialError, Lease, OriginId, Pool, PoolConfig, Reuse, WaiterId,
};
use mac_tests::scenario::{self, Outcome};

use crate::words;

/// More answers than any scenario takes to come to rest.
const MAX_ANSWERS: u32 = 100_000;

/// A pool, with the names that a scenario gives to what is in it.
pub(crate) struct World {
    pool: Pool<String>,
    start: Instant,
    now: Instant,
    origins: BTreeMap<String, OriginId>,
    /// C1, C2 … in the order of their dials.
    conns: Vec<ConnId>,
    /// R1, R2 … in the order of their checkouts.
    callers: Vec<Caller>,
    waiting: BTreeMap<WaiterId, usize>,
    leased: BTreeSet<usize>,
    /// What a call came to, and the actions after it.
    outcomes: Vec<String>,
    actions: Vec<String>,
    ignored: u64,
    drained: bool,
}

#[derive(Default)]
struct Caller {
    /// Kept when it is over, for what comes late.
    waiter: Option<WaiterId>,
    lease: Option<Lease>,
}

impl World {
    pub(crate) fn new() -> Self {
        // Far enough from the clock's first instant to let time go back.
        let start = Instant::now() + Duration::from_secs(24 * 60 * 60);
        Self {
            pool: Pool::new(PoolConfig::default()),
            start,
            now: start,
            origins: BTreeMap::new(),
            conns: Vec::new(),
            callers: Vec::new(),
            waiting: BTreeMap::new(),
            leased: BTreeSet::new(),
            outcomes: Vec::new(),
            actions: Vec::new(),
            ignored: 0,
            drained: false,
        }
    }

    pub(crate) fn step(&mut self, step: &str) -> Outcome {
        let (briefly, step) = match step.strip_prefix("briefly ") {
            Some(step) => (true, step),
            None => (false, step),
        };
        self.call(&step.split_whitespace().collect::<Vec<_>>())?;
        let (mut outcomes, actions) = (mem::take(&mut self.outcomes), mem::take(&mut self.actions));
        outcomes.extend(actions);
        Ok(if briefly { scenario::tally(&outcomes) } else { scenario::runs(outcomes) })
    }

    /// Commands and facts. Those about several are one after the other.
    fn call(&mut self, words: &[&str]) -> Result<(), String> {
        let now = self.now;
        match *words {
            ["pool", ref options @ ..] => self.pool = Pool::new(words::pool_config(options)?),
            ["origin", name, ref options @ ..] => self.insert_origin(name, options)?,
            ["checkout", name, ref how @ ..] => self.checkout_some(name, how)?,
            ["cancel", callers] => self.each(words::list('R', callers)?, Self::cancel)?,
            ["checkin", callers, ref how @ ..] => {
                let reuse = words::reuse(how)?;
                self.each(words::list('R', callers)?, |world, caller| {
                    world.checkin(caller, reuse)
                })?;
            }
            ["again", callers] => self.each(words::list('R', callers)?, Self::checkout_again)?,
            ["prewarm", name, count] => {
                self.pool.prewarm(self.origin(name)?, words::number(count)?, now);
            }
            ["dialed", conns, ref how @ ..] => {
                let (protocol, streams) = words::protocol(how)?;
                self.facts(conns, |pool, conn| pool.handle_dialed(conn, protocol, streams, now))?;
            }
            ["dial-failed", conns, ref why @ ..] => {
                let error = DialError::new(why.join(" "));
                self.facts(conns, |pool, conn| pool.handle_dial_failed(conn, error.clone(), now))?;
            }
            ["progress", conns] => {
                self.facts(conns, |pool, conn| pool.handle_dial_progress(conn, now))?;
            }
            ["streams", conns, streams] => {
                let streams = words::number(streams)?;
                self.facts(conns, |pool, conn| pool.handle_streams(conn, streams, now))?;
            }
            ["goaway", conns] => self.facts(conns, |pool, conn| pool.handle_goaway(conn, now))?,
            ["closed", conns] => self.facts(conns, |pool, conn| pool.handle_closed(conn, now))?,
            ["drain-origin", name] => self.pool.drain_origin(self.origin(name)?, now),
            ["close-idle"] => self.pool.close_idle(now),
            ["drain", "in", after, "serve"] => self.drain(after, DrainWaiters::Serve)?,
            ["drain", "in", after, "fail"] => self.drain(after, DrainWaiters::Fail)?,
            ["drain-now"] => self.pool.drain_now(now),
            ["limits", ref options @ ..] => {
                let limits = words::pool_config(options)?;
                let (most, waiters) = (limits.max_connections, limits.max_waiters);
                self.pool.set_limits(most, limits.max_idle, waiters, now);
            }
            ["serve-all", ref how @ ..] => self.serve_all(how)?,
            ["stats", ref name @ ..] => self.outcomes.push(self.stats(name)?),
            ["counts"] => self.outcomes.push(words::counts(&self.pool.stats())),
            ["next"] => self.outcomes.push(match self.pool.poll_timeout() {
                Some(next) => format!("at {:?}", next - self.start),
                None => "never".to_owned(),
            }),
            // The pool is not told.
            ["late", after] => self.now += words::time(after.trim_start_matches('+'))?,
            [step] if step.starts_with('+') => self.pass_time(step)?,
            [step] if step.starts_with('-') => {
                self.now -= words::time(step.trim_start_matches('-'))?;
            }
            _ => return Err("means nothing".to_owned()),
        }
        self.take_actions("");
        Ok(())
    }

    fn each(
        &mut self,
        numbers: impl Iterator<Item = usize>,
        mut call: impl FnMut(&mut Self, usize) -> Result<(), String>,
    ) -> Result<(), String> {
        for number in numbers {
            call(self, number)?;
            self.take_actions("");
        }
        Ok(())
    }

    fn facts(
        &mut self,
        conns: &str,
        mut fact: impl FnMut(&mut Pool<String>, ConnId),
    ) -> Result<(), String> {
        self.each(words::list('C', conns)?, |world, index| {
            let conn = *world.conns.get(index).ok_or_else(|| format!("no C{}", index + 1))?;
            fact(&mut world.pool, conn);
            Ok(())
        })
    }

    fn origin(&self, name: &str) -> Result<OriginId, String> {
        self.origins.get(name).copied().ok_or_else(|| format!("no origin {name}"))
    }

    fn insert_origin(&mut self, name: &str, options: &[&str]) -> Result<(), String> {
        let config = Arc::new(words::origin_config(options)?);
        match self.pool.insert_origin(name.to_owned(), config, self.now) {
            Ok(origin) => {
                self.origins.insert(name.to_owned(), origin);
            }
            Err(_) => self.outcomes.push("refused: all origins are busy".to_owned()),
        }
        Ok(())
    }

    /// `checkout a`, `checkout a fresh`, `checkout a x50`.
    fn checkout_some(&mut self, name: &str, how: &[&str]) -> Result<(), String> {
        let origin = self.origin(name)?;
        let (fresh, times) = match *how {
            [] => (false, 1),
            ["fresh"] => (true, 1),
            [times] => (false, words::number(times.trim_start_matches('x'))?),
            ["fresh", times] => (true, words::number(times.trim_start_matches('x'))?),
            _ => return Err("checks out as nobody can".to_owned()),
        };
        self.each(0..times, |world, _| {
            world.callers.push(Caller::default());
            let caller = world.callers.len();
            match world.pool.checkout(origin, fresh, world.now) {
                Ok(checkout) => world.checked_out(caller - 1, checkout),
                Err(error) => {
                    world.outcomes.push(format!("R{caller} is refused: {}", words::why(&error)));
                }
            }
            Ok(())
        })
    }

    fn checked_out(&mut self, caller: usize, checkout: Checkout) {
        match checkout {
            Checkout::Ready(lease) => {
                let (conn, use_) = (self.conn(lease.conn()), words::use_of(&lease));
                self.outcomes.push(format!("R{} gets {conn} at once ({use_})", caller + 1));
                self.hand_over(caller, lease);
            }
            Checkout::Waiting(waiter) => {
                self.outcomes.push(format!("R{} waits", caller + 1));
                self.waiting.insert(waiter, caller);
                if let Some(caller) = self.callers.get_mut(caller) {
                    caller.waiter = Some(waiter);
                }
            }
        }
    }

    fn hand_over(&mut self, caller: usize, lease: Lease) {
        self.leased.insert(caller);
        if let Some(caller) = self.callers.get_mut(caller) {
            caller.lease = Some(lease);
        }
    }

    fn lease_of(&mut self, caller: usize) -> Result<Lease, String> {
        self.leased.remove(&caller);
        let lease = self.callers.get_mut(caller).and_then(|caller| caller.lease.take());
        lease.ok_or_else(|| format!("R{} has no lease", caller + 1))
    }

    fn cancel(&mut self, caller: usize) -> Result<(), String> {
        let waiter = self.callers.get(caller).and_then(|caller| caller.waiter);
        let waiter = waiter.ok_or_else(|| format!("R{} never waited", caller + 1))?;
        if !self.pool.cancel(waiter, self.now) {
            self.outcomes.push("too late".to_owned());
        }
        Ok(())
    }

    fn checkin(&mut self, caller: usize, reuse: Reuse) -> Result<(), String> {
        let lease = self.lease_of(caller)?;
        self.pool.checkin(lease, reuse, self.now);
        Ok(())
    }

    fn checkout_again(&mut self, caller: usize) -> Result<(), String> {
        let lease = self.lease_of(caller)?;
        let checkout = self.pool.checkout_again(lease, self.now);
        self.checked_out(caller, checkout);
        Ok(())
    }

    fn drain(&mut self, after: &str, waiters: DrainWaiters) -> Result<(), String> {
        self.pool.drain(self.now + words::time(after)?, waiters, self.now);
        Ok(())
    }

    /// `+5s`, or `+next` until something is done. Each deadline is met.
    fn pass_time(&mut self, step: &str) -> Result<(), String> {
        let end = match step {
            "+next" => None,
            step => Some(self.now + words::time(step.trim_start_matches('+'))?),
        };
        while let Some(next) =
            self.pool.poll_timeout().filter(|next| end.is_none_or(|end| *next < end))
        {
            self.now = self.now.max(next);
            self.pool.handle_timeout(self.now);
            match end {
                Some(_) => self.take_actions(&format!("at {:?}: ", next - self.start)),
                None => self.take_actions(""),
            }
            if end.is_none() && !self.actions.is_empty() {
                return Ok(());
            }
            if self.pool.poll_timeout().is_some_and(|again| again <= next) {
                return Err("the pool has not done what was due".to_owned());
            }
        }
        self.now = end.ok_or("nothing is due")?;
        self.pool.handle_timeout(self.now);
        Ok(())
    }

    /// From now on the world behaves: dials succeed, what is to be closed is closed, and leases come
    /// back, the oldest first, until nothing is left to answer.
    fn serve_all(&mut self, how: &[&str]) -> Result<(), String> {
        let (reuse, how) = match *how {
            [ref how @ .., "close"] => (Reuse::Close, how),
            _ => (Reuse::Keep { hint: None }, how),
        };
        let (protocol, streams) = words::protocol(how)?;
        let (mut most, mut most_streams) = (0, 0);
        for _ in 0..MAX_ANSWERS {
            self.take_actions("");
            let all = self.pool.stats().all;
            most = most.max(all.dialing + all.idle + all.in_use + all.draining);
            most_streams = most_streams.max(all.streams);
            let unanswered = self.unanswered();
            match (unanswered, self.leased.first()) {
                (Some((conn, ConnState::Dialing)), _) => {
                    self.pool.handle_dialed(conn, protocol, streams, self.now);
                }
                (Some((conn, ConnState::Cancelled)), _) => {
                    self.pool.handle_dial_failed(conn, DialError::new("given up"), self.now);
                }
                (Some((conn, _)), _) => self.pool.handle_closed(conn, self.now),
                (None, Some(caller)) => self.checkin(*caller, reuse)?,
                (None, None) => {
                    self.actions = scenario::tally(&self.actions);
                    self.outcomes
                        .push(format!("at most {most} connections, {most_streams} streams in use"));
                    return Ok(());
                }
            }
        }
        Err("does not come to rest".to_owned())
    }

    /// A connection about which the pool has yet to hear.
    fn unanswered(&self) -> Option<(ConnId, ConnState)> {
        let conns = self.origins.values().flat_map(|origin| self.pool.connections(*origin));
        conns.map(|(id, conn)| (id, conn.state)).find(|(_, state)| {
            matches!(state, ConnState::Dialing | ConnState::Cancelled | ConnState::Closing)
        })
    }

    /// Writes down what the pool wants done, each with `at` before it.
    fn take_actions(&mut self, at: &str) {
        while let Some(action) = self.pool.poll_action() {
            let line = match action {
                Action::Dial { origin, conn } => {
                    self.conns.push(conn);
                    format!("dial {} to {}", self.conn(conn), self.key(origin))
                }
                Action::CancelDial { conn } => format!("cancel dial {}", self.conn(conn)),
                Action::Grant { waiter, lease } => {
                    let line = format!(
                        "grant {} on {} ({})",
                        self.caller(waiter),
                        self.conn(lease.conn()),
                        words::use_of(&lease),
                    );
                    if let Some(caller) = self.waiting.get(&waiter) {
                        self.hand_over(*caller, lease);
                    }
                    line
                }
                Action::Fail { waiter, error } => {
                    format!("fail {}: {}", self.caller(waiter), words::why(&error))
                }
                Action::Close { conn, reason } => {
                    format!("close {}: {}", self.conn(conn), words::close_reason(reason))
                }
                Action::Vacate { key, .. } => format!("vacate {key}"),
            };
            self.actions.push(format!("{at}{line}"));
        }
        let ignored = self.pool.stats().ignored_facts;
        if mem::replace(&mut self.ignored, ignored) != ignored {
            self.actions.push("ignored".to_owned());
        }
        let drained = self.pool.is_drained();
        match (mem::replace(&mut self.drained, drained), drained) {
            (false, true) => self.actions.push(format!("{at}drained")),
            (true, false) => self.actions.push("not drained any more".to_owned()),
            (false, false) | (true, true) => {}
        }
    }

    fn conn(&self, conn: ConnId) -> String {
        // The latest are asked for most.
        match self.conns.iter().rposition(|other| *other == conn) {
            Some(index) => format!("C{}", index + 1),
            None => "a connection that was never dialed".to_owned(),
        }
    }

    fn caller(&self, waiter: WaiterId) -> String {
        match self.waiting.get(&waiter) {
            Some(index) => format!("R{}", index + 1),
            None => "a caller that never waited".to_owned(),
        }
    }

    fn key(&self, origin: OriginId) -> &str {
        self.pool.key(origin).map_or("an origin that is gone", String::as_str)
    }

    fn stats(&self, name: &[&str]) -> Result<String, String> {
        let stats = match *name {
            [] => self.pool.stats().all,
            [name, ..] => self.pool.origin_stats(self.origin(name)?).ok_or("it is gone")?,
        };
        Ok(words::stats(&stats))
    }
}
