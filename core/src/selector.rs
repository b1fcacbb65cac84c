//! From a request to the entry of its origin, in memory that is bounded.
//!
//! An entry is busy while its owner says so (it has connections or callers that wait), else idle. Idle
//! entries are forgotten after a grace period, and earlier, least recently used first, when room is
//! needed for another origin.
//!
//! The table is open to strangers, who choose the hosts: its hash is seeded ([`HashSeed`]), nothing
//! iterates over it, and every call is O(1) amortised.
//!
//! [`HashSeed`]: crate::HashSeed

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::fmt;

use hashbrown::HashTable;
use http::Uri;
use http::header::HeaderValue;
use http::request::Parts;

use crate::id::{OriginId, RawId};
use crate::memory::Memory;
use crate::request_target::{self, HostField, RequestTarget};
use crate::time::{Clock, Duration, Instant};
use crate::url_key::{Partition, UrlKey, UrlKeyConfig, UrlKeyError, UrlKeyRef};

/// An empty table keeps room for this many origins.
const KEPT_ROOM: usize = 64;

/// The bounds of a [`Selector`] and how it reads URLs.
#[derive(Debug, Clone, Copy)]
pub struct SelectorConfig {
    /// How URLs become keys.
    pub keys: UrlKeyConfig,
    /// The most origins it knows at a time. Default: 65 536.
    pub max_origins: usize,
    /// How long an idle origin is remembered. Default: 5 min, so that what was learned about it
    /// outlives its connections, but not for so long that a crawler fills the table.
    pub origin_ttl: Duration,
}

impl Default for SelectorConfig {
    fn default() -> Self {
        Self {
            keys: UrlKeyConfig::default(),
            max_origins: 65_536,
            origin_ttl: Duration::from_secs(300),
        }
    }
}

/// Why a request was not given an origin. The request is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectError {
    /// The URL names no origin.
    Url(UrlKeyError),
    /// The request carries more than one `Host` (RFC 9112 s3.2).
    DuplicateHost,
    /// As many origins as are allowed are busy.
    TooManyOrigins,
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(error) => error.fmt(f),
            Self::DuplicateHost => f.write_str("the request has more than one Host header"),
            Self::TooManyOrigins => f.write_str("too many origins are in use"),
        }
    }
}

impl core::error::Error for SelectError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Url(error) => Some(error),
            Self::DuplicateHost | Self::TooManyOrigins => None,
        }
    }
}

impl From<UrlKeyError> for SelectError {
    fn from(error: UrlKeyError) -> Self {
        Self::Url(error)
    }
}

/// Where a request goes, and how it is sent there.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The request's origin.
    pub origin: OriginId,
    /// Its request target and `Host`.
    pub target: RequestTarget,
}

/// An origin that the selector knows no more.
#[derive(Debug)]
pub struct Forgotten<T> {
    /// The id, which finds nothing any more.
    pub origin: OriginId,
    /// The key.
    pub key: UrlKey,
    /// The value.
    pub value: T,
}

/// Finds the entry of a request's origin, and holds a `T` for each.
///
/// Time comes in as the last parameter; a smaller `now` than seen before counts as the greatest seen.
#[derive(Debug)]
pub struct Selector<T> {
    keys: UrlKeyConfig,
    clock: Clock,
    table: HashTable<Known>,
    entries: Memory<Entry<T>>,
    forgotten: VecDeque<Forgotten<T>>,
}

/// The key of an entry: in the table, where a lookup compares it without another step.
#[derive(Debug)]
struct Known {
    key: UrlKey,
    id: RawId,
}

#[derive(Debug)]
struct Entry<T> {
    /// Where its key is in the table.
    hash: u64,
    /// The `Host` that the last URL asked for.
    host: Arc<HostField>,
    value: T,
}

impl<T> Selector<T> {
    /// A selector that knows no origin yet.
    #[must_use]
    pub fn new(config: SelectorConfig) -> Self {
        let SelectorConfig { keys, max_origins, origin_ttl } = config;
        Self {
            keys,
            clock: Clock::default(),
            table: HashTable::new(),
            entries: Memory::new(max_origins, origin_ttl),
            forgotten: VecDeque::new(),
        }
    }

    /// How many origins it knows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it knows no origin.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of an origin.
    #[must_use]
    pub fn get(&self, origin: OriginId) -> Option<&T> {
        self.entries.get(origin.0).map(|entry| &entry.value)
    }

    /// The value of an origin, to change.
    pub fn get_mut(&mut self, origin: OriginId) -> Option<&mut T> {
        self.entries.get_mut(origin.0).map(|entry| &mut entry.value)
    }

    /// The key of an origin.
    #[must_use]
    pub fn key(&self, origin: OriginId) -> Option<&UrlKey> {
        let hash = self.entries.get(origin.0)?.hash;
        self.table.find(hash, |known| known.id == origin.0).map(|known| &known.key)
    }

    /// Selects the origin of a request with an absolute URI, and how to send the request there. An
    /// origin met for the first time gets the value that `init` makes, and is idle.
    ///
    /// For a known origin this allocates nothing, unless the URL spells its host in another way than
    /// the last one did. A [`Partition`] is taken from the request's extensions.
    ///
    /// # Errors
    ///
    /// [`SelectError`]; the selector is then unchanged.
    pub fn select(
        &mut self,
        request: &Parts,
        init: impl FnOnce(&UrlKey) -> T,
        now: Instant,
    ) -> Result<Selection, SelectError> {
        let (key, caller_host) = self.read(request)?;
        let now = self.clock.advance(now);
        let (origin, host) = match self.known(&key, now)? {
            Some(known) => known,
            None => {
                key.check()?;
                self.insert(&key, init, now)?
            }
        };
        Ok(Selection { origin, target: RequestTarget::new(&key, host, caller_host) })
    }

    /// The same, but an origin that is not known stays so.
    ///
    /// # Errors
    ///
    /// [`SelectError`]; the selector is then unchanged.
    pub fn select_known(
        &mut self,
        request: &Parts,
        now: Instant,
    ) -> Result<Option<Selection>, SelectError> {
        let (key, caller_host) = self.read(request)?;
        let now = self.clock.advance(now);
        let Some((origin, host)) = self.known(&key, now)? else {
            key.check()?;
            return Ok(None);
        };
        let target = RequestTarget::new(&key, host, caller_host);
        Ok(Some(Selection { origin, target }))
    }

    /// The origin that a URI names, if it is a known one.
    ///
    /// # Errors
    ///
    /// [`UrlKeyError`] where the URI names no origin.
    #[inline]
    pub fn find_uri(&self, uri: &Uri) -> Result<Option<OriginId>, UrlKeyError> {
        let usual = UrlKeyRef::of_name_alone(uri, &self.keys);
        match usual.and_then(|key| self.find(&key)) {
            None => self.find_any_uri(uri),
            found => Ok(found),
        }
    }

    /// Apart from [`find_uri`](Self::find_uri), so that a usual hit pays for nothing else.
    #[inline(never)]
    fn find_any_uri(&self, uri: &Uri) -> Result<Option<OriginId>, UrlKeyError> {
        UrlKeyRef::new(uri, &self.keys).map(|key| self.find(&key))
    }

    /// The known origin of `key`, which must have been made with this selector's configuration.
    #[inline]
    #[must_use]
    pub fn find(&self, key: &UrlKeyRef<'_>) -> Option<OriginId> {
        let hash = key.hash_value();
        self.table
            .find(hash, |known| known.key.hash_value() == hash && known.key == *key)
            .map(|known| OriginId(known.id))
    }

    /// Says that an origin has something that must not be forgotten.
    pub fn mark_busy(&mut self, origin: OriginId) {
        self.entries.mark_busy(origin.0);
    }

    /// Says that an origin may be forgotten after the grace period, which begins now.
    pub fn mark_idle(&mut self, origin: OriginId, now: Instant) {
        let now = self.clock.advance(now);
        self.entries.mark_idle(origin.0, now);
    }

    /// Forgets an origin, busy or idle, and returns what it held.
    pub fn remove(&mut self, origin: OriginId) -> Option<Forgotten<T>> {
        let Entry { hash, value, .. } = self.entries.remove(origin.0)?;
        let known = self.table.find_entry(hash, |known| known.id == origin.0).ok()?;
        let (Known { key, .. }, _) = known.remove();
        if self.table.is_empty() && self.table.capacity() > KEPT_ROOM {
            self.table = HashTable::new();
        }
        Some(Forgotten { origin, key, value })
    }

    /// When the next origin is due to be forgotten.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.entries.poll_timeout()
    }

    /// Forgets the idle origins whose grace period has ended. They are told by
    /// [`poll_forgotten`](Self::poll_forgotten).
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.clock.advance(now);
        while self.poll_timeout().is_some_and(|deadline| deadline <= now) {
            self.forget_oldest();
        }
    }

    /// The next origin that was forgotten, because its time was over or its place was needed.
    pub fn poll_forgotten(&mut self) -> Option<Forgotten<T>> {
        let next = self.forgotten.pop_front();
        if next.is_none() && self.forgotten.capacity() > KEPT_ROOM {
            self.forgotten = VecDeque::new();
        }
        next
    }

    /// The key of a request, which may be no valid one, and the `Host` that its caller set.
    fn read<'a>(
        &self,
        request: &'a Parts,
    ) -> Result<(UrlKeyRef<'a>, Option<HeaderValue>), SelectError> {
        let caller_host = request_target::caller_host(&request.headers)
            .map_err(|_| SelectError::DuplicateHost)?;
        let mut key = UrlKeyRef::unchecked(&request.uri, &self.keys)?;
        if let Some(partition) = request.extensions.get::<Partition>() {
            key = key.with_partition(*partition);
        }
        Ok((key, caller_host))
    }

    /// A known origin, which is used now, and the `Host` that the URL of `key` asks for.
    fn known(
        &mut self,
        key: &UrlKeyRef<'_>,
        now: Instant,
    ) -> Result<Option<(OriginId, Arc<HostField>)>, UrlKeyError> {
        let Some(origin) = self.find(key) else { return Ok(None) };
        self.entries.touch(origin.0, now);
        Ok(Some((origin, self.host_field(origin, key)?)))
    }

    fn insert(
        &mut self,
        key: &UrlKeyRef<'_>,
        init: impl FnOnce(&UrlKey) -> T,
        now: Instant,
    ) -> Result<(OriginId, Arc<HostField>), SelectError> {
        let host = Arc::new(HostField::new(key).ok_or(UrlKeyError::InvalidHost)?);
        if self.entries.is_full() && !self.forget_oldest() {
            return Err(SelectError::TooManyOrigins);
        }
        let key = key.to_key();
        let value = init(&key);
        let hash = key.hash_value();
        let id = self.entries.insert(Entry { hash, host: Arc::clone(&host), value }, now);
        self.table.insert_unique(hash, Known { key, id }, |known| known.key.hash_value());
        Ok((OriginId(id), host))
    }

    /// The `Host` that the URL of `key` asks for: the last one if the text is the same.
    fn host_field(
        &mut self,
        origin: OriginId,
        key: &UrlKeyRef<'_>,
    ) -> Result<Arc<HostField>, UrlKeyError> {
        let entry = self.entries.get_mut(origin.0).ok_or(UrlKeyError::InvalidHost)?;
        if !entry.host.is_of(key) {
            entry.host = Arc::new(HostField::new(key).ok_or(UrlKeyError::InvalidHost)?);
        }
        Ok(Arc::clone(&entry.host))
    }

    /// Forgets the least recently used idle origin; says whether there was one.
    fn forget_oldest(&mut self) -> bool {
        let Some(forgotten) = self.entries.oldest_idle().and_then(|id| self.remove(OriginId(id)))
        else {
            return false;
        };
        self.forgotten.push_back(forgotten);
        true
    }
}

#[cfg(test)]
mod tests;
