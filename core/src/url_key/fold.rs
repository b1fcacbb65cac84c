//! Host names eight octets at a time: folding of ASCII case, and the seeded hash.
//!
//! A name is read as little-endian words, the last one padded with zeros, so that no octet is looked
//! at alone. Upper and lower case take the same instructions.

use crate::random::Random;

/// A word whose octets are all `byte`.
const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Hands each word of `bytes` to `visit`.
#[inline(always)]
pub(super) fn for_each_word(bytes: &[u8], mut visit: impl FnMut(u64)) {
    let (chunks, rest) = bytes.as_chunks::<8>();
    for chunk in chunks {
        visit(u64::from_le_bytes(*chunk));
    }
    if !rest.is_empty() {
        visit(last_word(bytes, rest));
    }
}

/// The last word of `bytes`, of which `rest` (1 to 7 octets) is left.
#[inline(always)]
fn last_word(bytes: &[u8], rest: &[u8]) -> u64 {
    if let Some(last) = bytes.last_chunk::<8>() {
        // Read across the end of the word before, then drop its octets.
        return u64::from_le_bytes(*last) >> (64 - 8 * rest.len());
    }
    if let (Some(low), Some(high)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        let high = u64::from(u32::from_le_bytes(*high)) << (8 * (rest.len() - 4));
        return u64::from(u32::from_le_bytes(*low)) | high;
    }
    rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The word with bit 5 of each octet set: letters in lower case, and of the other octets that a host
/// may have (see [`is_host_byte`](super::is_host_byte)) no two the same.
#[inline(always)]
pub(super) const fn fold(word: u64) -> u64 {
    word | repeat(0x20)
}

/// Not zero in the top bit of an octet where `word`, which is ASCII, has one from `:` to `@`. The
/// lower bits mean nothing: [`top_bits`] drops them, once for many words.
#[inline(always)]
pub(super) const fn colon_to_at(word: u64) -> u64 {
    word.wrapping_add(repeat(0x80 - b':')) & !word.wrapping_add(repeat(0x7f - b'@'))
}

/// The top bits of the octets of `word`.
#[inline(always)]
pub(super) const fn top_bits(word: u64) -> u64 {
    word & repeat(0x80)
}

/// Whether two hosts are the same but for ASCII case.
#[inline(always)]
pub(super) fn eq_ignore_case(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let (Some(first_a), Some(first_b)) = (a.first_chunk(), b.first_chunk()) else {
        return fold(last_word(a, a)) == fold(last_word(b, b));
    };
    let (Some(last_a), Some(last_b)) = (a.last_chunk(), b.last_chunk()) else { return false };
    // Two words that may overlap are all of most hosts.
    same_word(first_a, first_b)
        && same_word(last_a, last_b)
        && (a.len() <= 16 || same_words(a.as_chunks().0, b.as_chunks().0))
}

/// A call of its own: inlined into a table's probing it costs more registers than there are.
#[inline(never)]
fn same_words(a: &[[u8; 8]], b: &[[u8; 8]]) -> bool {
    a.iter().zip(b).all(|(a, b)| same_word(a, b))
}

#[inline(always)]
fn same_word(a: &[u8; 8], b: &[u8; 8]) -> bool {
    fold(u64::from_le_bytes(*a)) == fold(u64::from_le_bytes(*b))
}

/// The secret of a selector's hash: who does not know it cannot choose hosts that collide.
///
/// Each word of the folded name is added to a secret state and multiplied by a secret factor to 128
/// bits, whose halves are then added without carry. State and factor come from the seed by SplitMix64.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashSeed {
    state: u64,
    factor: u64,
    last: u64,
}

impl HashSeed {
    /// Derives the secret from `seed`. Take it from a random source unless runs have to be replayed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        // An odd factor keeps all bits of what it multiplies.
        Self { state: random.roll(), factor: random.roll() | 1, last: random.roll() | 1 }
    }

    #[inline]
    pub(super) const fn start(&self) -> u64 {
        self.state
    }

    #[inline]
    pub(super) fn add(&self, state: u64, word: u64) -> u64 {
        multiply_fold(state ^ word, self.factor)
    }

    #[inline]
    pub(super) fn finish(&self, state: u64, rest: u64) -> u64 {
        // Twice: what differs in the last octets alone, as consecutive ports do, is spread too.
        multiply_fold(multiply_fold(state ^ rest, self.last), self.factor)
    }
}

impl core::fmt::Debug for HashSeed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("HashSeed(..)")
    }
}

#[inline]
pub(super) fn multiply_fold(a: u64, b: u64) -> u64 {
    let (low, high) = a.carrying_mul(b, 0);
    low ^ high
}
