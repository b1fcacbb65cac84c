//! What keys of one selector have in common.

use core::num::NonZeroU16;

use super::fold::HashSeed;
use super::origin::Scheme;

/// What keys of one selector have in common.
#[derive(Debug, Clone, Copy)]
pub struct UrlKeyConfig {
    /// The port of an `http` URL that names none. Default: 80.
    pub default_http_port: NonZeroU16,
    /// The port of an `https` URL that names none. Default: 443.
    pub default_https_port: NonZeroU16,
    /// The secret of the hash. Default: one that everyone knows; where a stranger chooses the hosts,
    /// take it from a random source, so that he cannot choose hosts that collide.
    pub hash_seed: HashSeed,
}

impl Default for UrlKeyConfig {
    fn default() -> Self {
        const HTTP: NonZeroU16 = NonZeroU16::new(80).expect("not zero");
        const HTTPS: NonZeroU16 = NonZeroU16::new(443).expect("not zero");
        Self { default_http_port: HTTP, default_https_port: HTTPS, hash_seed: HashSeed::new(0) }
    }
}

impl UrlKeyConfig {
    pub(super) fn default_port(&self, scheme: Scheme) -> u16 {
        match scheme {
            Scheme::Http => self.default_http_port.get(),
            Scheme::Https => self.default_https_port.get(),
        }
    }
}
