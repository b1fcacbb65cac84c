//! What a step did, for metrics.

use super::action::CloseReason;
use crate::id::{ConnId, OriginId, WaiterId};
use crate::protocol::Protocol;
use crate::time::Duration;

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A dial began.
    Dialing {
        /// Where to.
        origin: OriginId,
        /// The connection to be.
        conn: ConnId,
    },
    /// A dial succeeded.
    Dialed {
        /// The connection.
        conn: ConnId,
        /// What it speaks.
        protocol: Protocol,
    },
    /// A dial failed.
    DialFailed {
        /// The connection that did not come to be.
        conn: ConnId,
    },
    /// A caller has to wait.
    Waiting {
        /// The caller.
        waiter: WaiterId,
    },
    /// A stream was leased.
    Granted {
        /// The connection.
        conn: ConnId,
        /// How long the caller waited.
        waited: Duration,
        /// Whether the connection had served before.
        reused: bool,
    },
    /// A connection is being closed.
    Closed {
        /// The connection.
        conn: ConnId,
        /// Why.
        reason: CloseReason,
    },
}
