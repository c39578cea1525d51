//! The store's keys: nobody shares a key with somebody else, and a check's keys share a slot.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_wire::key::store_key;
use weir_wire::{Principal, Subject, Tag};

fn tenant(name: &str) -> Tag {
    Tag::Tenant(name.into())
}

fn jwt(sub: &str) -> Principal {
    Principal::Jwt(sub.into())
}

fn mtls(uri: &str) -> Principal {
    Principal::Mtls(uri.into())
}

/// What Redis Cluster hashes: the text between the first `{` and the next `}`.
fn hash_tag(key: &str) -> &str {
    let (_, rest) = key.split_once('{').expect("a hash tag begins");
    rest.split_once('}').expect("a hash tag ends").0
}

#[test]
fn keys_are_spelled_as_documented() {
    let table = [
        ("P-READ", tenant("atlas"), Subject::Principal(jwt("U-17")), "w:{t:atlas}:P-READ:jwt:U-17"),
        ("P-TENANT", tenant("atlas"), Subject::Whole, "w:{t:atlas}:P-TENANT"),
        ("P-READ", Tag::Principal(jwt("U-17")), Subject::Whole, "w:{p:jwt:U-17}:P-READ"),
        ("P-ANON", Tag::Ip("192.0.2.7".into()), Subject::Whole, "w:{ip:192.0.2.7}:P-ANON"),
        ("P-ANON", Tag::Ip("2001:db8::/64".into()), Subject::Whole, "w:{ip:2001%3Adb8%3A%3A%2F64}:P-ANON"),
        (
            "P-READ",
            tenant("default"),
            Subject::Principal(mtls("spiffe://mesh/ns/default/sa/web")),
            "w:{t:default}:P-READ:mtls:spiffe%3A%2F%2Fmesh%2Fns%2Fdefault%2Fsa%2Fweb",
        ),
        ("P-TENANT", tenant("größe ~%"), Subject::Whole, "w:{t:gr%C3%B6%C3%9Fe%20~%25}:P-TENANT"),
        ("P-TENANT", tenant(""), Subject::Whole, "w:{t:}:P-TENANT"),
    ];
    for (rule, tag, subject, key) in table {
        assert_eq!(store_key(rule, &tag, &subject), key);
    }
}

#[test]
fn look_alikes_never_share_a_key() {
    let whole = || Subject::Whole;
    let by = Subject::Principal;
    let ip = |address: &str| Tag::Ip(address.into());
    let callers = [
        // Separators inside of names.
        ("R", tenant("a:b"), by(jwt("c"))),
        ("R", tenant("a"), by(jwt("b:c"))),
        ("R", tenant("a:R:jwt:c"), whole()),
        ("R", tenant("a"), by(jwt("c"))),
        // Names that would close or open a hash tag.
        ("R", tenant("a}"), by(jwt("c"))),
        ("R", tenant("{a}"), by(jwt("c"))),
        ("R", tenant("a}:R:jwt:c"), whole()),
        ("R", tenant("a"), whole()),
        ("R", tenant("a%7D"), by(jwt("c"))),
        // A token's subject, an address and a certificate that read the same.
        ("R", Tag::Principal(jwt("192.0.2.7")), whole()),
        ("R", tenant("192.0.2.7"), whole()),
        ("R", ip("192.0.2.7"), whole()),
        ("R", Tag::Principal(jwt("spiffe://mesh/ns/a/sa/c")), whole()),
        ("R", Tag::Principal(mtls("spiffe://mesh/ns/a/sa/c")), whole()),
        ("R", tenant("spiffe://mesh/ns/a/sa/c"), whole()),
        ("R", tenant("a"), by(jwt("spiffe://mesh/ns/a/sa/c"))),
        ("R", tenant("a"), by(mtls("spiffe://mesh/ns/a/sa/c"))),
        ("R", tenant("a"), by(jwt("mtls:x"))),
        ("R", tenant("a"), by(mtls("x"))),
        // Two rules, one subject; case; the empty name.
        ("R2", tenant("a"), by(jwt("c"))),
        ("R", tenant("A"), by(jwt("c"))),
        ("R", tenant("a"), by(jwt(""))),
        ("R", tenant(""), whole()),
        ("R", tenant("p:jwt:c"), whole()),
        ("R", Tag::Principal(jwt("c")), whole()),
    ];
    let mut keys: Vec<String> = callers.iter().map(|(rule, tag, subject)| store_key(rule, tag, subject)).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), callers.len(), "{keys:#?}");
}

#[test]
fn a_tags_keys_share_one_slot() {
    for name in ["atlas", "}", "{", "a}b{c", "{}", "a:b", "\u{0}", "ö"] {
        for tag in [tenant(name), Tag::Ip(name.into()), Tag::Principal(jwt(name)), Tag::Principal(mtls(name))] {
            let keys = ["P-READ", "P-TENANT", "}{"].map(|rule| store_key(rule, &tag, &Subject::Whole));
            let of_user = store_key("P-READ", &tag, &Subject::Principal(jwt("}x{")));
            for key in keys.iter().chain([&of_user]) {
                assert_eq!((key.matches('{').count(), key.matches('}').count()), (1, 1), "{key}");
                assert_eq!(hash_tag(key), hash_tag(&keys[0]));
                assert!(!hash_tag(key).is_empty(), "an empty hash tag would be none");
            }
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod properties {
    use super::{hash_tag, store_key};
    use proptest::prelude::*;
    use weir_wire::{Principal, Subject, Tag};

    /// Short texts of the characters that could forge something, so that near misses are many.
    fn nasty() -> impl Strategy<Value = String> {
        prop_oneof![3 => "[ab:{}%/ 3A7Djwtmlsip.\\-]{0,5}", 1 => any::<String>()]
    }

    fn principal() -> impl Strategy<Value = Principal> {
        prop_oneof![nasty().prop_map(Principal::Jwt), nasty().prop_map(Principal::Mtls)]
    }

    fn tag() -> impl Strategy<Value = Tag> {
        prop_oneof![nasty().prop_map(Tag::Tenant), principal().prop_map(Tag::Principal), nasty().prop_map(Tag::Ip)]
    }

    fn counter() -> impl Strategy<Value = (String, Tag, Subject)> {
        let subject = prop_oneof![Just(Subject::Whole), principal().prop_map(Subject::Principal)];
        (nasty(), tag(), subject)
    }

    fn percent_decoded(text: &str) -> Option<String> {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(if byte == b'%' {
                let hex = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&hex).ok()?, 16).ok()?
            } else {
                byte
            });
        }
        String::from_utf8(bytes).ok()
    }

    fn parse_principal(text: &str) -> Option<Principal> {
        let (kind, name) = text.split_once(':')?;
        let name = percent_decoded(name)?;
        match kind {
            "jwt" => Some(Principal::Jwt(name)),
            "mtls" => Some(Principal::Mtls(name)),
            _ => None,
        }
    }

    /// Reads a key back: possible for every key, so no two counters have the same one.
    fn parse(key: &str) -> Option<(String, Tag, Subject)> {
        let (tag, rest) = key.strip_prefix("w:{")?.split_once("}:")?;
        let tag = match tag.split_once(':')? {
            ("t", name) => Tag::Tenant(percent_decoded(name)?),
            ("ip", address) => Tag::Ip(percent_decoded(address)?),
            ("p", principal) => Tag::Principal(parse_principal(principal)?),
            _ => return None,
        };
        let (rule, subject) = match rest.split_once(':') {
            Some((rule, principal)) => (rule, Subject::Principal(parse_principal(principal)?)),
            None => (rest, Subject::Whole),
        };
        Some((percent_decoded(rule)?, tag, subject))
    }

    proptest! {
        #[test]
        fn a_key_says_whose_it_is(counter in counter()) {
            let (rule, tag, subject) = &counter;
            prop_assert_eq!(parse(&store_key(rule, tag, subject)), Some(counter));
        }

        #[test]
        fn a_key_is_plain_text_with_one_hash_tag((rule, tag, subject) in counter(), other in counter()) {
            let key = store_key(&rule, &tag, &subject);
            let plain = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~-%:{}".contains(&byte));
            prop_assert!(plain, "{}", key);
            prop_assert_eq!((key.matches('{').count(), key.matches('}').count()), (1, 1));
            let neighbour = store_key(&other.0, &tag, &other.2);
            prop_assert_eq!(hash_tag(&key), hash_tag(&neighbour));
        }
    }
}
