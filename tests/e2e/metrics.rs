//! What is counted, and what is never written down.

use crate::caller::{Caller, at_once, counts, send, tally};
use crate::patience::until_some;
use crate::policy::only_read;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use weir_testkit::stack::Store;
use weir_testkit::{Envoy, Stack};

/// Names and addresses that occur nowhere else.
const TENANT: &str = "Tenant-Rumpelstiltskin";
const USER: &str = "User-Rapunzel";
const ADDRESS: &str = "203.0.113.177";
const NETWORK: &str = "2001:db8:77";

/// Weir's lines for Prometheus, `name{labels}` with its value; labels in the order of their names.
fn prometheus(envoy: &Envoy) -> BTreeMap<String, String> {
    let page = envoy.admin("/stats/prometheus").unwrap_or_default();
    let lines = page.lines().filter(|line| line.starts_with("weir_"));
    lines.filter_map(|line| line.rsplit_once(' ')).map(|(name, value)| (sorted(name), value.to_owned())).collect()
}

fn sorted(name: &str) -> String {
    let Some((name, labels)) = name.strip_suffix('}').and_then(|name| name.split_once('{')) else { return name.to_owned() };
    let mut labels: Vec<&str> = labels.split(',').collect();
    labels.sort_unstable();
    format!("{name}{{{}}}", labels.join(","))
}

/// Counts reach Envoy by and by.
async fn shows(envoy: &Envoy, metric: &str, value: &str) {
    let shown = async || (prometheus(envoy).get(metric).map(String::as_str) == Some(value)).then_some(());
    until_some(&format!("{metric} is {value}"), shown).await;
}

fn decisions(placement: &str, route: &str, rule: &str, outcome: &str) -> String {
    format!(r#"weir_decisions{{outcome="{outcome}",placement="{placement}",route="{route}",rule="{rule}"}}"#)
}

#[tokio::test]
async fn requests_are_counted_by_placement_route_rule_and_outcome() {
    let plan = Stack::plan(Store::Redis).unwrap().patience_ms(5_000).policy(|policy| only_read(policy, 5));
    let mut stack = plan.start().unwrap();
    let caller = Caller::of(&stack.envoy);
    let user = caller.user(TENANT, USER);
    assert_eq!(tally(&at_once((0..12).map(|_| user.catalog())).await), counts([("200", 5), ("429 P-READ", 7)]));
    assert_eq!(send(caller.login()).await.status, 200);
    assert_eq!(send(caller.bearer("no token").catalog()).await.status, 401);

    shows(&stack.envoy, &decisions("quota", "catalog", "none", "allowed"), "5").await;
    shows(&stack.envoy, &decisions("edge", "login", "none", "allowed"), "1").await;
    shows(&stack.envoy, r#"weir_failures_charged{placement="edge"}"#, "1").await;
    // Asked about and remembered ones together.
    let denied = async || {
        let shown = prometheus(&stack.envoy);
        let count =
            |outcome| shown.get(&decisions("quota", "catalog", "P-READ", outcome)).map_or(0, |count| count.parse().unwrap());
        (count("denied") + count("denied_remembered") == 7).then_some(())
    };
    until_some("seven denials are counted", denied).await;

    // Twelve requests in fewer callouts: none was asked about twice, and those that were remembered not at all.
    let shown = prometheus(&stack.envoy);
    let number = |name: &str| shown.get(name).unwrap_or_else(|| panic!("no {name} in {shown:#?}")).parse::<u64>().unwrap();
    let [callouts, checks, hits] =
        ["callouts", "checks", "hits"].map(|name| number(&format!(r#"weir_{name}{{placement="quota"}}"#)));
    assert!((1..=12).contains(&callouts) && callouts <= checks && checks <= hits && hits <= 12, "{callouts} {checks} {hits}");
    // Each callout is one batch in the histogram, those of the edge too.
    let batches = callouts + number(r#"weir_callouts{placement="edge"}"#);
    shows(&stack.envoy, "weir_batch_hits_count{}", &batches.to_string()).await;
    assert!(shown.keys().all(|name| !name.contains("wasmcustom")), "{shown:#?}");

    stack.redis().kill();
    until_some("the outage is counted", async || {
        send(user.post("/checkout")).await;
        let unavailable = r#"weir_undecided{placement="quota",reason="store_unavailable"}"#;
        let shown = prometheus(&stack.envoy);
        (shown.contains_key(unavailable) && shown.contains_key(&decisions("quota", "checkout", "none", "closed"))).then_some(())
    })
    .await;
}

/// Who called is in no metric, in no name of one, and in no log: of Envoy, with the access log, and of the authority.
#[tokio::test]
async fn no_user_tenant_or_address_is_written_down() {
    let plan = Stack::plan(Store::Redis).unwrap().policy(|policy| only_read(policy, 3));
    let plan = plan.envoy(|config| config.edit_http(|http| http["xff_num_trusted_hops"] = json!(1)));
    let mut stack = plan.start().unwrap();
    let caller = Caller::of(&stack.envoy);
    let addresses = [ADDRESS.to_owned(), format!("{NETWORK}::1")];

    // Somebody new each time, of whom no denial is remembered.
    let play = async |times: u32| {
        let user = caller.user(TENANT, &format!("{USER}-{times}"));
        for address in &addresses {
            let from = |request: reqwest::RequestBuilder| request.header("x-forwarded-for", address);
            at_once((0..8).map(|_| from(user.catalog()))).await;
            at_once((0..25).map(|_| from(caller.login()))).await;
            at_once([from(caller.bearer(user.token().replace('.', ".x")).catalog()), from(user.post("/checkout"))]).await;
            let malformed = caller.claiming(|claims| claims.claim("sub", USER).claim("tenant", format!("{TENANT}\n")));
            send(from(malformed.catalog())).await;
        }
    };
    play(1).await;
    stack.redis().kill();
    play(2).await;
    stack.authority.kill();
    play(3).await;
    shows_something_of_the_outage(&stack.envoy).await;

    let mut written = vec![("statistics", stack.envoy.admin("/stats").unwrap())];
    written.push(("for Prometheus", stack.envoy.admin("/stats/prometheus").unwrap()));
    let logs = [stack.envoy.process().log_path().to_owned(), stack.authority.process().log_path().to_owned()];
    written.extend(logs.iter().map(|path| ("log", read(path))));
    assert!(written.iter().all(|(_, text)| !text.is_empty()));
    for (what, text) in &written {
        for secret in [TENANT, USER, ADDRESS, NETWORK, "2001%3Adb8", "rumpelstiltskin", "rapunzel"] {
            let line = text.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{what}");
        }
        // A token begins like this, and a part of one is as good.
        assert_eq!(text.lines().find(|line| line.contains("eyJ")), None, "{what}");
    }
}

async fn shows_something_of_the_outage(envoy: &Envoy) {
    let fallback = decisions("quota", "catalog", "none", "fallback_allowed");
    until_some("the fallback is counted", async || prometheus(envoy).contains_key(&fallback).then_some(())).await;
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}
