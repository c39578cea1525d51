//! The plugin's configuration, as JSON and as the protobuf that Envoy makes of YAML.

use proptest::prelude::*;
use serde_json::{Value, json};
use weir::config::{Config, structure};
use weir_policy::Placement;

/// `google.protobuf.Struct`, as a peer encodes it.
fn encode(value: &Value) -> Vec<u8> {
    value.as_object().expect("an object").iter().flat_map(|(name, value)| entry(name, value)).collect()
}

fn entry(name: &str, value: &Value) -> Vec<u8> {
    field(1, &[field(1, name.as_bytes()), field(2, &encode_value(value))].concat())
}

fn encode_value(value: &Value) -> Vec<u8> {
    match value {
        Value::Null => vec![0x08, 0],
        Value::Number(number) => [vec![0x11], number.as_f64().expect("a double").to_le_bytes().to_vec()].concat(),
        Value::String(text) => field(3, text.as_bytes()),
        Value::Bool(flag) => vec![0x20, u8::from(*flag)],
        Value::Object(_) => field(5, &encode(value)),
        Value::Array(values) => field(6, &values.iter().flat_map(|value| field(1, &encode_value(value))).collect::<Vec<_>>()),
    }
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut size = bytes.len();
    while size >= 0x80 {
        field.push(u8::try_from(size & 0x7F).expect("seven bits") | 0x80);
        size >>= 7;
    }
    field.push(u8::try_from(size).expect("seven bits"));
    [field, bytes.into()].concat()
}

fn northstar() -> Value {
    let policy = weir_policy::yaml::read(include_str!("../policies/northstar.yaml")).expect("a document");
    json!({
        "placement": "quota",
        "authority": { "cluster": "weir-authority" },
        "policy": serde_json::to_value(policy).expect("JSON"),
    })
}

fn refusal(config: &Value) -> String {
    let as_json = Config::parse(config.to_string().as_bytes()).expect_err("refused").to_string();
    let as_struct = Config::parse(&encode(config)).expect_err("refused").to_string();
    let place = |message: &str| message.split(" at line ").next().map(str::to_owned);
    assert_eq!(place(&as_json), place(&as_struct));
    place(&as_json).expect("a message")
}

#[test]
fn json_and_protobuf_mean_the_same() {
    for bytes in [northstar().to_string().into_bytes(), encode(&northstar())] {
        let config = Config::parse(&bytes).expect("a configuration");
        assert_eq!((config.placement, config.cluster.as_str()), (Placement::Quota, "weir-authority"));
        assert_eq!((config.policy.version(), config.policy.routes().len()), (1, 7));
    }
}

#[test]
fn a_mistake_is_told_with_its_place() {
    let mut config = northstar();
    config["policy"]["rules"]["P-READ"]["subjekt"] = "principal".into();
    assert!(
        refusal(&config).starts_with("plugin configuration: policy.rules.P-READ.subjekt: unknown field `subjekt`"),
        "{}",
        refusal(&config)
    );

    let mut config = northstar();
    config["policy"]["routes"]["export"]["cost"] = 30.into();
    assert!(
        refusal(&config).contains("policy: routes.export.cost: 30 is above the 20 that P-READ holds"),
        "{}",
        refusal(&config)
    );

    let mut config = northstar();
    config["policy"]["version"] = json!(1.5);
    assert!(refusal(&config).contains("policy.version: invalid type: floating point"), "{}", refusal(&config));

    let mut config = northstar();
    config["placement"] = "center".into();
    assert!(refusal(&config).contains("placement: unknown variant `center`, expected `edge` or `quota`"), "{}", refusal(&config));

    let mut config = northstar();
    config["authority"]["cluster"] = "".into();
    assert_eq!(refusal(&config), "plugin configuration: authority.cluster: must name the Envoy cluster of the authority");
}

#[test]
fn nothing_at_all_is_told_what_is_missing() {
    assert_eq!(
        Config::parse(b"").expect_err("refused").to_string(),
        "plugin configuration: missing field `placement` at line 1 column 2"
    );
    assert!(Config::parse(b"{} {}").is_err());
}

#[test]
fn numbers_are_whole_again_up_to_what_a_double_holds() {
    for (number, expected) in
        [(0.0, "0"), (20.0, "20"), (9_007_199_254_740_992.0, "9007199254740992"), (1.5, "1.5"), (-1.0, "-1.0")]
    {
        let parsed = structure::parse(&encode(&json!({ "n": number }))).expect("a struct");
        assert_eq!(parsed["n"].to_string(), expected);
    }
    assert_eq!(structure::parse(&entry("n", &Value::Null)).expect("a struct")["n"], Value::Null);
}

#[test]
fn depth_is_bounded() {
    let nested = (0..200).fold(json!({}), |inner, _| json!({ "a": inner }));
    assert_eq!(structure::parse(&encode(&nested)), None);
}

proptest! {
    #[test]
    fn rubbish_is_refused_and_panics_nowhere(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = structure::parse(&bytes);
        prop_assert!(Config::parse(&bytes).is_err());
    }

    #[test]
    fn a_flipped_byte_panics_nowhere(position in 0_usize..4_000, bits in 1_u8..=255) {
        let mut bytes = encode(&northstar());
        let position = position % bytes.len();
        bytes[position] ^= bits;
        let _ = Config::parse(&bytes);
    }
}
