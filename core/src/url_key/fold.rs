//! Host names eight octets at a time: folding of ASCII case, and the seeded hash.
//!
//! A name is read as little-endian words, the last one padded with zeros, so that no octet is looked
//! at alone. Upper and lower case take the same instructions.

/// A word with the top bit of every octet set.
pub(super) const TOPS: u64 = repeat(0x80);

/// A word whose octets are all `byte`.
#[inline]
const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The words of `bytes`.
#[inline]
pub(super) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let last = (!rest.is_empty()).then(|| last_word(bytes, rest));
    chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).chain(last)
}

/// The last word of `bytes`, of which `rest` (1 to 7 octets) is left.
#[inline]
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

/// The word in lower case. Exact for ASCII: only `A` to `Z` change.
#[inline]
pub(super) const fn fold(word: u64) -> u64 {
    let from_a = word.wrapping_add(repeat(0x80 - b'A'));
    let above_z = word.wrapping_add(repeat(0x7f - b'Z'));
    word | ((from_a & !above_z & TOPS) >> 2)
}

/// The top bit of each octet of `word` that is `byte`. Exact where `word` is ASCII.
#[inline]
pub(super) const fn find(word: u64, byte: u8) -> u64 {
    let nonzero = (word ^ repeat(byte)).wrapping_add(repeat(0x7f));
    !nonzero & TOPS
}

/// Whether two names are the same but for ASCII case.
#[inline]
pub(super) fn eq_ignore_case(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && words(a).zip(words(b)).all(|(a, b)| fold(a) == fold(b))
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
        // An odd factor keeps all bits of what it multiplies.
        Self {
            state: split_mix(seed, 1),
            factor: split_mix(seed, 2) | 1,
            last: split_mix(seed, 3) | 1,
        }
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
        multiply_fold(state ^ rest, self.last)
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

/// The `n`th output of SplitMix64 that starts at `seed`.
const fn split_mix(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
