//! For whom a rule denies, and for whom it only watches.
//!
//! A rule that is brought in with `enforce_percent: 10` denies for ten of a hundred callers, always the same ones: a
//! caller's **place** among the hundred follows from the rule and the caller alone, so it is the same on every
//! gateway, after every restart and in every version. Raising the percentage only adds callers. Each rule has its
//! own order, so that no caller is the first to feel all of them.
//!
//! The place is FNV-1a (64 bits) over the store's key of rule and caller, finished by the mixer of MurmurHash3
//! (`fmix64`) and scaled to 100 by its high bits. A caller who can choose its name can choose its place; that buys
//! nothing that the next step of the rollout does not take back.

use weir_wire::{Subject, Tag, key::store_key};

/// Whether a rule denies for a caller when it does for `percent` of a hundred.
#[must_use]
pub fn is_enforced(percent: u8, rule: &str, tag: Option<&Tag>, subject: &Subject) -> bool {
    match (percent, tag) {
        (0, _) => false,
        (100.., _) => true,
        (_, Some(tag)) => place(&store_key(rule, tag, subject)) < percent,
        // A gateway as a whole is refused a percentage when it is compiled.
        (_, None) => true,
    }
}

/// A caller's place, 0 to 99; `key` is the store's.
#[must_use]
pub fn place(key: &str) -> u8 {
    const OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01B3;
    let hash = key.bytes().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    let mixed = mixed ^ (mixed >> 33);
    u8::try_from((u128::from(mixed) * 100) >> 64).unwrap_or(0)
}
