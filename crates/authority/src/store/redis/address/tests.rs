use super::*;

fn node(host: &str, port: u16) -> Node {
    Node { host: host.to_owned(), port }
}

fn parsed(text: &str) -> Address {
    Address::parse(text).unwrap().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn every_form_is_read() {
    for (text, place, tls, database) in [
        ("redis://h", Place::One(node("h", 6379)), false, 0),
        ("rediss://h:1/15", Place::One(node("h", 1)), true, 15),
        ("redis://[::1]:7/", Place::One(node("::1", 7)), false, 0),
        ("redis+unix:///run/redis.sock", Place::Socket("/run/redis.sock".into()), false, 0),
        ("unix:///r", Place::Socket("/r".into()), false, 0),
        ("redis+cluster://a:1,b,[::1]", Place::Cluster(vec![node("a", 1), node("b", 6379), node("::1", 6379)]), false, 0),
        ("rediss+cluster://a:1/0", Place::Cluster(vec![node("a", 1)]), true, 0),
        (
            "redis+sentinel://a,b:1/my%20master/3",
            Place::Sentinel { sentinels: vec![node("a", 26379), node("b", 1)], master: "my master".to_owned() },
            false,
            3,
        ),
    ] {
        assert_eq!(parsed(text), Address { place, tls, credentials: Credentials::default(), database }, "{text}");
    }
}

#[test]
fn credentials_are_decoded_and_never_shown() {
    for (text, user, password) in [
        ("redis://weir@h", Some("weir"), None),
        ("redis://:secret@h", None, Some("secret")),
        ("redis://we%3Air:s%40cr%2Fet%25@h", Some("we:ir"), Some("s@cr/et%")),
        ("redis://weir:p@ss/word?#:@h:1/0", Some("weir"), Some("p@ss/word?#:")),
        ("redis+cluster://weir:secret@h,i", Some("weir"), Some("secret")),
    ] {
        let address = parsed(text);
        let expected = Credentials { user: user.map(str::to_owned), password: password.map(str::to_owned) };
        assert_eq!(address.credentials, expected, "{text}");
        assert!(!format!("{address:?}").contains("secret"));
    }
}

#[test]
fn each_mistake_is_told_with_its_remedy_and_without_what_may_be_a_password() {
    for (text, remedy) in [
        ("redis://", "host is missing"),
        ("redis://weir:secret@", "host is missing"),
        ("redis://:6379", "host is missing"),
        ("redis://weir:secret", "not a port"),
        ("redis://h:0", "not a port"),
        ("redis://h:65536", "not a port"),
        ("redis://::1:6379", "in brackets"),
        ("redis://[::1", "without its `]`"),
        ("redis://[h]:1", "IPv6"),
        ("redis://[::1]6379", "follow the `]`"),
        ("redis://h/secret", "redis://host:port/0"),
        ("redis://h/-1", "redis://host:port/0"),
        ("redis://h?db=secret", "`?`"),
        ("redis://u:%zzsecret@h", "%25"),
        ("redis://u:secret%+1@h", "%25"),
        ("redis://a,b", "redis+cluster://"),
        ("redis+cluster://a,", "host is missing"),
        ("redis+cluster://a/1", "no database but 0"),
        ("redis+cluster://a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a", "more than 16"),
        ("redis+sentinel://a,b", "master's name is missing"),
        ("redis+sentinel://a/m/secret", "number of a database"),
        ("redis+unix://relative", "absolute path"),
    ] {
        let error = Address::parse(text).unwrap().unwrap_err();
        assert!(error.contains(remedy) && !error.contains("secret"), "{text}: {error}");
    }
    assert!(Address::parse("memcached://h").is_none());
}

#[test]
fn what_a_cluster_tells_is_read_beside_who_tells_it() {
    let by = node("10.0.0.1", 1);
    for (text, told) in [
        ("10.0.0.2:7", Some(node("10.0.0.2", 7))),
        (":7", Some(node("10.0.0.1", 7))),
        ("?:7", Some(node("10.0.0.1", 7))),
        ("::1:7", Some(node("::1", 7))),
        ("redis-2.internal:7", Some(node("redis-2.internal", 7))),
        ("h", None),
        ("h:0", None),
    ] {
        assert_eq!(Node::told(text, &by), told, "{text}");
    }
}
