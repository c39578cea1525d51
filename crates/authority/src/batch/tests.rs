use super::DecideBatch;
use serde_json::{Value, json};
use weir_wire::{MAX_CHARGES, MAX_CHECKS, MAX_LIMITS};

/// A batch without a mistake.
fn good() -> Value {
    json!({
        "version": 1,
        "limits": [
            {"rule": "P-READ", "numbers": {"token_bucket": {"capacity": 20, "refill": 2, "period_ms": 1000}}},
            {"rule": "P-TENANT", "numbers": {"fixed_window": {"limit": 9_007_199_254_740_992_u64, "window_ms": 60_000}}},
        ],
        "checks": [
            {"id": 7, "hits": 2, "tag": {"tenant": "atlas"}, "charges": [
                {"limit": 0, "subject": {"principal": {"jwt": "U-17"}}, "cost": 1},
                {"limit": 1, "cost": 10},
            ]},
            {"id": 8, "hits": 1, "tag": {"ip": "192.0.2.1"}, "charges": [{"limit": 1, "cost": 1}]},
        ],
    })
}

/// The good batch with the place at a JSON pointer replaced.
fn with(pointer: &str, value: Value) -> Vec<u8> {
    let mut batch = good();
    *batch.pointer_mut(pointer).unwrap() = value;
    serde_json::to_vec(&batch).unwrap()
}

#[test]
fn a_check_has_its_keys_beside_its_charges() {
    let batch = DecideBatch::from_json(good().to_string().as_bytes()).unwrap();
    let check = &batch.checks()[0];
    assert_eq!((check.id(), check.hits()), (7, 2));
    assert_eq!(check.keys(), ["w:{t:atlas}:P-READ:jwt:U-17", "w:{t:atlas}:P-TENANT"]);
    assert_eq!(check.charges().iter().map(|charge| charge.cost).collect::<Vec<_>>(), [1, 10]);
}

#[test]
fn a_check_without_hits_is_a_question() {
    let batch = DecideBatch::from_json(&with("/checks/1/hits", json!(0))).unwrap();
    assert_eq!(batch.checks()[1].hits(), 0);
}

#[test]
fn a_charge_says_whether_its_rule_only_watches() {
    let mut watching = good();
    watching["checks"][0]["charges"][1]["shadow"] = json!(true);
    let batch = DecideBatch::from_json(watching.to_string().as_bytes()).unwrap();
    assert_eq!(batch.checks()[0].charges().iter().map(|charge| charge.shadow).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn an_empty_batch_is_a_batch() {
    assert!(DecideBatch::from_json(br#"{"version":1,"limits":[],"checks":[]}"#).unwrap().checks().is_empty());
}

#[test]
fn each_defect_is_named_with_its_path() {
    let first = "/checks/0/charges/0";
    let check = good()["checks"][1].clone();
    let charge = good()["checks"][0]["charges"][0].clone();
    let limit = good()["limits"][0].clone();
    let long = "x".repeat(257);
    let rows: Vec<(Vec<u8>, &str, &str)> = vec![
        // What serde finds.
        (b"".to_vec(), "", "EOF while parsing a value at line 1 column 0"),
        (b"[".to_vec(), "", "EOF while parsing a list at line 1 column 1"),
        (br#"{"version":1,"limits":[],"checks":[]}x"#.to_vec(), "", "trailing characters at line 1 column 38"),
        (br#"{"version":"1"}"#.to_vec(), "version", r#"invalid type: string "1", expected u32 at line 1 column 14"#),
        (br#"{"version":1,"limits":[]}"#.to_vec(), "", "missing field `checks` at line 1 column 25"),
        (
            br#"{"version":1,"limits":[],"checks":[{"id":-1}]}"#.to_vec(),
            "checks[0].id",
            "invalid value: integer `-1`, expected u32 at line 1 column 43",
        ),
        (
            br#"{"version":1,"limits":[{"rule":"R","numbers":{"gcrb":{}}}]}"#.to_vec(),
            "limits[0].numbers",
            "unknown variant `gcrb`, expected one of `fixed_window`, `calendar_month`, `sliding_window`, `sliding_log`, `gcra`, `leaky_queue`, `token_bucket` at line 1 column 52",
        ),
        (
            br#"{"version":1,"limits":[],"checks":[{"id":1,"tag":{"who":"x"}}]}"#.to_vec(),
            "checks[0].tag",
            "unknown variant `who`, expected one of `tenant`, `principal`, `ip` at line 1 column 55",
        ),
        // What does not hold together.
        (with("/version", json!(2)), "version", "version 2 is not spoken here; this authority speaks 1"),
        (br#"{"version":9,"new":{}}"#.to_vec(), "version", "version 9 is not spoken here; this authority speaks 1"),
        (with("/limits", vec![limit; MAX_LIMITS + 1].into()), "limits", "1025 are more than 1024"),
        (with("/checks", vec![check.clone(); MAX_CHECKS + 1].into()), "checks", "65 are more than 64"),
        (with("/checks", vec![check; 2].into()), "checks[1].id", "8 is the id of an earlier check too"),
        (with("/limits/1/rule", json!("P TENANT")), "limits[1].rule", "a rule's name is 1 to 64 letters, digits, '_' and '-'"),
        (with("/limits/0/numbers/token_bucket/refill", json!(0)), "limits[0].numbers", "refill must be at least 1"),
        (
            with("/limits/1/numbers/fixed_window/window_ms", json!(0)),
            "limits[1].numbers",
            "window of 0 ms is not between 1 ms and 366 days",
        ),
        (with("/checks/1/hits", json!(65)), "checks[1].hits", "65 is not between 0 and 64"),
        (with("/checks/0/tag/tenant", json!("")), "checks[0].tag.tenant", "0 bytes are not between 1 and 256"),
        (with("/checks/0/tag/tenant", json!(long)), "checks[0].tag.tenant", "257 bytes are not between 1 and 256"),
        (with("/checks/0/tag/tenant", json!("a\r\nb")), "checks[0].tag.tenant", "control characters are refused"),
        (with("/checks/1/tag/ip", json!("\u{85}")), "checks[1].tag.ip", "control characters are refused"),
        (
            with("/checks/0/tag", json!({"principal": {"mtls": ""}})),
            "checks[0].tag.principal.mtls",
            "0 bytes are not between 1 and 256",
        ),
        (
            with(&format!("{first}/subject/principal/jwt"), json!(long)),
            "checks[0].charges[0].subject.principal.jwt",
            "257 bytes are not between 1 and 256",
        ),
        (with("/checks/0/charges", json!([])), "checks[0].charges", "a check charges at least one rule"),
        (with("/checks/0/charges", vec![charge.clone(); MAX_CHARGES + 1].into()), "checks[0].charges", "17 are more than 16"),
        (with(&format!("{first}/limit"), json!(2)), "checks[0].charges[0].limit", "2 is not the index of a limit; 2 are listed"),
        (
            with(&format!("{first}/cost"), json!(0)),
            "checks[0].charges[0].cost",
            "0 is not between 1 and the limit's capacity of 20",
        ),
        (
            with("/checks/0/charges/0/cost", json!(21)),
            "checks[0].charges[0].cost",
            "21 is not between 1 and the limit's capacity of 20",
        ),
        (
            with("/checks/0/charges/1/cost", json!(4_503_599_627_370_497_u64)),
            "checks[0].charges[1].cost",
            "4503599627370497 times 2 hits is beyond 2^53",
        ),
        (
            with("/limits/0/numbers", json!({"sliding_log": {"limit": 10_001, "window_ms": 1_000}})),
            "limits[0].numbers",
            "limit of 10001 is more than a log keeps (10000); use a sliding_window",
        ),
        (
            with("/checks/0/charges", vec![charge; 2].into()),
            "checks[0].charges[1]",
            "two charges share a counter: rule P-READ of one subject",
        ),
    ];
    for (body, path, detail) in rows {
        let mistake = DecideBatch::from_json(&body).unwrap_err();
        assert_eq!(mistake.path(), path, "{mistake}");
        assert_eq!(mistake.detail(), detail, "at {path}");
    }
}

#[test]
fn a_subject_is_not_repeated_in_a_mistake() {
    let mistake = DecideBatch::from_json(&with("/checks/0/tag/tenant", json!("secret\n"))).unwrap_err();
    assert!(!mistake.to_string().contains("secret"));
}
