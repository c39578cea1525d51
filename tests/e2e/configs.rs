//! The shipped files, and broken ones.

use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use weir_testkit::envoy::{Config, program, to_value};
use weir_testkit::tokens::Keys;
use weir_testkit::{Error, repository};

/// The file as it is, where its relative paths lead to what was built.
#[test]
fn envoy_accepts_the_standalone_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let link = |from: &Path, to: &str| {
        let to = dir.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        symlink(from, to).unwrap();
    };
    link(&repository::filter(), "target/filter/weir.wasm");
    link(Keys::development().unwrap().jwks_path(), ".tools/dev/jwks.json");
    let output = Command::new(program())
        .args(["--mode", "validate", "--config-path"])
        .arg(repository::root().join("envoy/standalone/envoy.yaml"))
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What people read in one file is what runs in the other.
#[test]
fn the_standalone_configuration_decides_by_the_example_policy() {
    let example = to_value(&repository::root().join("policies/northstar.yaml")).unwrap();
    let mut config = Config::standalone().unwrap();
    let policies: Vec<Value> = config
        .http_filters()
        .filter(|filter| filter["name"].as_str().is_some_and(|name| name.starts_with("weir.")))
        .map(|filter| filter["typed_config"]["config"]["configuration"]["value"]["policy"].clone())
        .collect();
    assert_eq!(policies, [example.clone(), example]);
}

/// What Envoy logs when it refuses to start with a policy; the lines that are Weir's.
fn refusal(change: impl Fn(&mut Value)) -> Vec<String> {
    match Config::standalone().unwrap().edit_policy(change).start() {
        Err(Error::Died { tail, .. }) => {
            let lines = tail.lines().filter_map(|line| line.split_once("weir: plugin configuration: "));
            lines.map(|(_, message)| message.to_owned()).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_misspelled_key_is_refused_at_the_start_with_its_place() {
    let lines = refusal(|policy| policy["routes"]["catalog"]["rulse"] = json!(["P-READ"]));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("policy.routes.catalog") && lines[0].contains("rulse"), "{lines:?}");
}

#[test]
fn a_policy_that_cannot_work_is_refused_at_the_start_with_its_place() {
    let lines = refusal(|policy| policy["routes"]["export"]["cost"] = json!(21));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("routes.export.cost") && lines[0].contains("P-READ"), "{lines:?}");
}
