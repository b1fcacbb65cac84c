//! What a connection speaks.

/// What a connection speaks, as far as the core has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/1.0 or HTTP/1.1 to the origin itself, also through a tunnel.
    Http1,
    /// HTTP/1.0 or HTTP/1.1 to a forward proxy, for `http` origins.
    Http1Proxy,
    /// HTTP/2 to the origin itself, also through a tunnel.
    Http2,
}
