//! Selector and pool together: from a request to a lease on a connection to its origin.
//!
//! The rules of [`pool`](crate::pool) hold here too. What runs connections, and gives actions and facts
//! their effect, is the application's.

use alloc::sync::Arc;
use core::fmt;

use http::request::Parts;

use crate::id::{ConnId, OriginId, WaiterId};
use crate::pool::{
    Action, Checkout, CheckoutError, ConnView, DialError, DrainWaiters, Event, Lease, OriginConfig,
    Pool, PoolConfig, PoolStats, Reuse, Stats,
};
use crate::protocol::Protocol;
use crate::request_target::RequestTarget;
use crate::selector::{SelectError, Selector, SelectorConfig};
use crate::time::{Duration, Instant};
use crate::url_key::{UrlKey, UrlKeyConfig};

/// Where a request goes, and how it is sent there.
#[derive(Debug, Clone)]
pub struct Route {
    /// The request's origin: for [`ClientState::checkout`].
    pub origin: OriginId,
    /// Its request target and `Host`.
    pub target: RequestTarget,
}

/// All that a client decides about origins, connections and callers.
pub struct ClientState {
    /// From a key to the pool's id.
    selector: Selector<OriginId>,
    /// From the pool's id to the selector's.
    pool: Pool<OriginId>,
}

impl fmt::Debug for ClientState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientState").field("stats", &self.pool.stats()).finish_non_exhaustive()
    }
}

impl ClientState {
    /// A client that knows no origin yet.
    #[must_use]
    pub fn new(keys: UrlKeyConfig, pool: PoolConfig) -> Self {
        // The pool decides for how long an origin is known: the selector keeps what it is told.
        let config = SelectorConfig { keys, max_origins: usize::MAX, origin_ttl: Duration::MAX };
        Self { selector: Selector::new(config), pool: Pool::new(pool) }
    }

    /// The origin of a request with an absolute URI, if it is known. Routing counts as use: check out
    /// in the same step, for an origin without connections and callers gives way to others.
    ///
    /// # Errors
    ///
    /// [`SelectError`] where the request names no origin. Nothing has changed then.
    pub fn route(&mut self, request: &Parts, now: Instant) -> Result<Option<Route>, SelectError> {
        let Some(selection) = self.selector.select_known(request, now)? else { return Ok(None) };
        // An origin that the pool has forgotten is known here until that action is taken.
        let origin = self.selector.get(selection.origin).copied();
        let origin = origin.filter(|origin| self.pool.touch(*origin, now));
        Ok(origin.map(|origin| Route { origin, target: selection.target }))
    }

    /// The same, where an origin that is not known is made known, with the configuration that `config`
    /// gives for its key.
    ///
    /// # Errors
    ///
    /// [`SelectError`]; as many origins as are allowed may be busy.
    pub fn route_with(
        &mut self,
        request: &Parts,
        config: impl FnOnce(&UrlKey) -> Arc<OriginConfig>,
        now: Instant,
    ) -> Result<Route, SelectError> {
        if let Some(route) = self.route(request, now)? {
            return Ok(route);
        }
        // The pool names the origin below.
        let selection = self.selector.select(request, |_| OriginId::NOBODY, now)?;
        let config = self.selector.key(selection.origin).map(config).unwrap_or_default();
        let inserted = self.pool.insert_origin(selection.origin, config, now);
        let Ok(origin) = inserted else {
            self.selector.remove(selection.origin);
            return Err(SelectError::TooManyOrigins);
        };
        self.selector.mark_busy(selection.origin);
        if let Some(value) = self.selector.get_mut(selection.origin) {
            *value = origin;
        }
        Ok(Route { origin, target: selection.target })
    }

    /// The key of an origin.
    #[must_use]
    pub fn key(&self, origin: OriginId) -> Option<&UrlKey> {
        self.selector.key(*self.pool.key(origin)?)
    }

    /// Asks for a stream: see [`Pool::checkout`].
    ///
    /// # Errors
    ///
    /// [`CheckoutError`], at once, where the caller may not even wait.
    pub fn checkout(
        &mut self,
        origin: OriginId,
        fresh: bool,
        now: Instant,
    ) -> Result<Checkout, CheckoutError> {
        self.pool.checkout(origin, fresh, now)
    }

    /// Gives up waiting: see [`Pool::cancel`].
    pub fn cancel(&mut self, waiter: WaiterId, now: Instant) -> bool {
        self.pool.cancel(waiter, now)
    }

    /// Gives a lease back: see [`Pool::checkin`].
    pub fn checkin(&mut self, lease: Lease, reuse: Reuse, now: Instant) {
        self.pool.checkin(lease, reuse, now);
    }

    /// Gives a lease on a dead connection back and asks for another: see [`Pool::checkout_again`].
    pub fn checkout_again(&mut self, lease: Lease, now: Instant) -> Checkout {
        self.pool.checkout_again(lease, now)
    }

    /// Has connections established beforehand: see [`Pool::prewarm`].
    pub fn prewarm(&mut self, origin: OriginId, count: u32, now: Instant) {
        self.pool.prewarm(origin, count, now);
    }

    /// Ends gracefully: see [`Pool::drain`].
    pub fn drain(&mut self, deadline: Instant, waiters: DrainWaiters, now: Instant) {
        self.pool.drain(deadline, waiters, now);
    }

    /// Ends at once: see [`Pool::drain_now`].
    pub fn drain_now(&mut self, now: Instant) {
        self.pool.drain_now(now);
    }

    /// Whether a drain has come to its end: see [`Pool::is_drained`].
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.pool.is_drained()
    }

    /// Lets the connections to an origin end: see [`Pool::drain_origin`].
    pub fn drain_origin(&mut self, origin: OriginId, now: Instant) {
        self.pool.drain_origin(origin, now);
    }

    /// Closes all that is idle: see [`Pool::close_idle`].
    pub fn close_idle(&mut self, now: Instant) {
        self.pool.close_idle(now);
    }

    /// Changes the limits of the pool as a whole: see [`Pool::set_limits`].
    pub fn set_limits(
        &mut self,
        max_connections: Option<u32>,
        max_idle: u32,
        max_waiters: Option<u32>,
        now: Instant,
    ) {
        self.pool.set_limits(max_connections, max_idle, max_waiters, now);
    }

    /// A dial succeeded: see [`Pool::handle_dialed`].
    pub fn handle_dialed(
        &mut self,
        conn: ConnId,
        protocol: Protocol,
        streams: Option<u32>,
        now: Instant,
    ) {
        self.pool.handle_dialed(conn, protocol, streams, now);
    }

    /// A dial failed: see [`Pool::handle_dial_failed`].
    pub fn handle_dial_failed(&mut self, conn: ConnId, error: DialError, now: Instant) {
        self.pool.handle_dial_failed(conn, error, now);
    }

    /// A dial made progress: see [`Pool::handle_dial_progress`].
    pub fn handle_dial_progress(&mut self, conn: ConnId, now: Instant) {
        self.pool.handle_dial_progress(conn, now);
    }

    /// The peer told how many streams it allows: see [`Pool::handle_streams`].
    pub fn handle_streams(&mut self, conn: ConnId, streams: u32, now: Instant) {
        self.pool.handle_streams(conn, streams, now);
    }

    /// The peer takes no new streams: see [`Pool::handle_goaway`].
    pub fn handle_goaway(&mut self, conn: ConnId, now: Instant) {
        self.pool.handle_goaway(conn, now);
    }

    /// A connection is closed: see [`Pool::handle_closed`].
    pub fn handle_closed(&mut self, conn: ConnId, now: Instant) {
        self.pool.handle_closed(conn, now);
    }

    /// Does what is due: see [`Pool::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        self.pool.handle_timeout(now);
    }

    /// When the next thing is due: see [`Pool::poll_timeout`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.pool.poll_timeout()
    }

    /// The next thing to do: see [`Pool::poll_action`]. A vacated origin comes with its key, unless it
    /// has been made known again before this was taken.
    pub fn poll_action(&mut self) -> Option<Action<Option<UrlKey>>> {
        Some(match self.pool.poll_action()? {
            Action::Dial { origin, conn } => Action::Dial { origin, conn },
            Action::CancelDial { conn } => Action::CancelDial { conn },
            Action::Grant { waiter, lease } => Action::Grant { waiter, lease },
            Action::Fail { waiter, error } => Action::Fail { waiter, error },
            Action::Close { conn, reason } => Action::Close { conn, reason },
            Action::Vacate { origin, key } => {
                // The entry may have been given a new origin before this was taken.
                let key = match self.selector.get(key) == Some(&origin) {
                    true => self.selector.remove(key).map(|forgotten| forgotten.key),
                    false => None,
                };
                Action::Vacate { origin, key }
            }
        })
    }

    /// The next thing that was done: see [`Pool::poll_event`].
    pub fn poll_event(&mut self) -> Option<Event> {
        self.pool.poll_event()
    }

    /// What is there now, and what has happened: see [`Pool::stats`].
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.pool.stats()
    }

    /// The same of one origin: see [`Pool::origin_stats`].
    #[must_use]
    pub fn origin_stats(&self, origin: OriginId) -> Option<Stats> {
        self.pool.origin_stats(origin)
    }

    /// All connections of an origin: see [`Pool::connections`].
    pub fn connections(&self, origin: OriginId) -> impl Iterator<Item = (ConnId, ConnView)> {
        self.pool.connections(origin)
    }

    /// All origins with their keys and statistics. It looks at each: for people and metrics.
    pub fn snapshot(&self) -> impl Iterator<Item = (&UrlKey, Stats)> {
        let origins = self.pool.snapshot();
        origins.filter_map(|(_, entry, stats)| Some((self.selector.key(*entry)?, stats)))
    }
}
