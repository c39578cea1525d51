//! Whoever is somebody else is counted apart, and nobody is counted twice, whatever the names.

use crate::caller::{Caller, at_once, counts, tally};
use crate::policy::{limit, still_bucket};
use crate::witness::Witness;
use weir_testkit::Stack;
use weir_testkit::stack::{Plan, Store};

on_both_stores!(names_that_try_to_be_each_other_have_each_their_own_bucket);

/// Tenant and user, and how both are spelled in keys. Each pair is some other's if separators, hash tags or escapes are
/// taken at their word.
const NAMES: [(&str, &str, &str, &str); 18] = [
    ("a:b", "c", "a%3Ab", "c"),
    ("a", "b:c", "a", "b%3Ac"),
    ("a%3Ab", "c", "a%253Ab", "c"),
    ("a", "b%3Ac", "a", "b%253Ac"),
    ("a", "jwt:b", "a", "jwt%3Ab"),
    ("a", "b", "a", "b"),
    ("A", "b", "A", "b"),
    ("a", "b ", "a", "b%20"),
    ("a}", "b", "a%7D", "b"),
    ("{a", "b", "%7Ba", "b"),
    ("a}:P-READ:jwt:b", "b", "a%7D%3AP-READ%3Ajwt%3Ab", "b"),
    ("{t:a}", "b", "%7Bt%3Aa%7D", "b"),
    ("ip:127.0.0.1", "127.0.0.1", "ip%3A127.0.0.1", "127.0.0.1"),
    ("127.0.0.1", "::1", "127.0.0.1", "%3A%3A1"),
    ("café", "Ünal", "caf%C3%A9", "%C3%9Cnal"),
    // The same to the eye: composed and not.
    ("cafe\u{301}", "Ünal", "cafe%CC%81", "%C3%9Cnal"),
    ("北京", "😀", "%E5%8C%97%E4%BA%AC", "%F0%9F%98%80"),
    ("*", "?[a-z]*", "%2A", "%3F%5Ba-z%5D%2A"),
];

fn plan(store: Store) -> Plan {
    Stack::plan(store).unwrap().patience_ms(5_000).policy(|policy| {
        limit(policy, "P-READ", &still_bucket(3));
        limit(policy, "P-TENANT", &still_bucket(1_000));
    })
}

async fn names_that_try_to_be_each_other_have_each_their_own_bucket(store: Store) {
    let stack = plan(store).start().unwrap();
    let caller = Caller::of(&stack.envoy);
    let requests = NAMES.iter().flat_map(|(tenant, user, ..)| {
        let user = caller.user(tenant, user);
        (0..5).map(move |_| user.catalog())
    });
    let answers = at_once(requests).await;
    assert_eq!(tally(&answers), counts([("200", 3 * NAMES.len()), ("429 P-READ", 2 * NAMES.len())]));
}

#[tokio::test]
async fn each_name_has_its_own_keys_and_every_key_expires() {
    let mut stack = plan(Store::Redis).start().unwrap();
    let mut redis = Witness::of(stack.redis());
    let caller = Caller::of(&stack.envoy);
    let requests = NAMES.iter().flat_map(|(tenant, user, ..)| (0..2).map(|_| caller.user(tenant, user).catalog()));
    assert_eq!(tally(&at_once(requests).await), counts([("200", 2 * NAMES.len())]));

    let mut expected: Vec<String> = NAMES
        .iter()
        .flat_map(|(_, _, tenant, user)| [format!("w:{{t:{tenant}}}:P-READ:jwt:{user}"), format!("w:{{t:{tenant}}}:P-TENANT")])
        .collect();
    expected.sort();
    // The users of `a` have its tenant's key in common.
    expected.dedup();
    assert_eq!(redis.keys(), expected);

    for (.., tenant, user) in NAMES {
        assert_eq!(redis.spent_of_bucket(&format!("w:{{t:{tenant}}}:P-READ:jwt:{user}")), 2, "{tenant} {user}");
    }
    let of_a = NAMES.iter().filter(|(tenant, ..)| *tenant == "a").count();
    assert_eq!(redis.spent_of_bucket("w:{t:a}:P-TENANT"), 2 * u64::try_from(of_a).unwrap());
    for key in redis.keys() {
        // Two units, or those of one tenant together, at one an hour; and a second's slack.
        let ttl_ms = redis.ttl_ms(&key);
        assert!((1..=10 * 3_600_000 + 1_000).contains(&ttl_ms), "{key} lives for {ttl_ms} ms");
    }
}
