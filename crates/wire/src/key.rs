//! The store's key of a rule and a subject: `w:{t:<tenant>}:<rule>:<kind>:<principal>`.
//!
//! What is inside the braces is the hash tag, so all keys of a check fall into one slot. Each part is
//! percent-encoded outside `[A-Za-z0-9._~-]`: no subject can forge a separator, close the hash tag, or
//! spell another subject. Distinct `(rule, tag, subject)` have distinct keys, because the separators are
//! never part of an encoded text and each form has its own marker.

use crate::subject::{Principal, Subject, Tag};

/// The key under which `rule` counts `subject` within `tag`.
#[must_use]
pub fn store_key(rule: &str, tag: &Tag, subject: &Subject) -> String {
    let mut key = String::with_capacity(64);
    key.push_str("w:{");
    match tag {
        Tag::Tenant(tenant) => push_part(&mut key, "t:", tenant),
        Tag::Principal(principal) => {
            key.push_str("p:");
            push_principal(&mut key, principal);
        }
        Tag::Ip(address) => push_part(&mut key, "ip:", address),
    }
    key.push('}');
    push_part(&mut key, ":", rule);
    if let Subject::Principal(principal) = subject {
        key.push(':');
        push_principal(&mut key, principal);
    }
    key
}

fn push_principal(key: &mut String, principal: &Principal) {
    match principal {
        Principal::Jwt(sub) => push_part(key, "jwt:", sub),
        Principal::Mtls(uri) => push_part(key, "mtls:", uri),
    }
}

fn push_part(key: &mut String, marker: &str, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    key.push_str(marker);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"._~-".contains(&byte) {
            key.push(char::from(byte));
        } else {
            key.push('%');
            for nibble in [byte >> 4, byte & 0x0F] {
                key.push(HEX.get(usize::from(nibble)).copied().map_or('0', char::from));
            }
        }
    }
}
