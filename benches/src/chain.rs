//! A scenario's Envoy: the shipped file with the limiter that the scenario wants, and what would blur the picture taken out.

use std::{net::SocketAddr, path::PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use weir_testkit::{
    envoy::{Config, to_value},
    repository,
};

use crate::{
    Options,
    scenario::{Chain, Policy},
};

/// The path that all requests have.
pub(crate) const PATH: &str = "/catalog";

/// Envoy's configuration for `chain`, with decisions made at `authority`.
pub(crate) fn config(chain: Chain, authority: Option<SocketAddr>, options: &Options) -> anyhow::Result<Config> {
    let mut config = Config::standalone()?.wasm(&options.filter);
    config = config.edit(answer_directly).edit(without_access_log);
    config.http_filters().for_each(cache_tokens);
    if let Some(authority) = authority {
        config = config.authority(authority);
    }
    if options.http2 {
        config = config.edit(speak_http2);
    }
    match chain {
        Chain::Plain => {}
        Chain::OneEmpty | Chain::TwoEmpty => {
            config = config.wasm(&empty_filter());
            config.http_filters().filter(|filter| is_weir(filter)).for_each(without_configuration);
        }
        Chain::Weir(policy) | Chain::WeirQuota(policy) => config = config.policy(&to_value(&policy_file(policy, options))?),
        Chain::Native(policy) => config = config.edit(|document| add_before_router(document, native(policy))),
    }
    let leaves = move |filter: &Value| match chain {
        Chain::TwoEmpty | Chain::Weir(_) => true,
        Chain::OneEmpty | Chain::WeirQuota(_) => filter["name"] != "weir.edge",
        Chain::Plain | Chain::Native(_) => !is_weir(filter),
    };
    Ok(config.edit(|document| {
        if let Some(filters) = manager(document)["http_filters"].as_array_mut() {
            filters.retain(leaves);
        }
    }))
}

/// The built filter that does nothing.
pub(crate) fn empty_filter() -> PathBuf {
    repository::filter().with_file_name("weir_empty_filter.wasm")
}

fn policy_file(policy: Policy, options: &Options) -> PathBuf {
    let ours = |name| repository::root().join("benches/policies").join(name);
    match policy {
        Policy::Plenty => options.policy.clone().unwrap_or_else(|| ours("plenty.yaml")),
        Policy::NothingLeft => ours("nothing-left.yaml"),
    }
}

/// The whole gateway's bucket, charged for each request.
fn native(policy: Policy) -> Value {
    let tokens = match policy {
        Policy::Plenty => 1_000_000_000,
        Policy::NothingLeft => 1,
    };
    let always = json!({ "default_value": { "numerator": 100, "denominator": "HUNDRED" } });
    json!({
        "name": "envoy.filters.http.local_ratelimit",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
            "stat_prefix": "native",
            "token_bucket": { "max_tokens": tokens, "tokens_per_fill": tokens, "fill_interval": "3600s" },
            "filter_enabled": always,
            "filter_enforced": always,
        },
    })
}

fn add_before_router(document: &mut Value, filter: Value) {
    if let Some(filters) = manager(document)["http_filters"].as_array_mut() {
        let router = filters.len().saturating_sub(1);
        filters.insert(router, filter);
    }
}

/// Routes that answer by themselves; filters run all the same.
fn answer_directly(document: &mut Value) {
    let hosts = manager(document)["route_config"]["virtual_hosts"].as_array_mut().into_iter().flatten();
    for route in hosts.filter_map(|host| host["routes"].as_array_mut()).flatten() {
        if let Some(route) = route.as_object_mut() {
            route.remove("route");
            route.insert("direct_response".to_owned(), json!({ "status": 200, "body": { "inline_string": "{\"items\":[]}\n" } }));
        }
    }
}

fn without_access_log(document: &mut Value) {
    if let Some(manager) = manager(document).as_object_mut() {
        manager.remove("access_log");
    }
}

fn cache_tokens(filter: &mut Value) {
    if let Some(provider) = filter.pointer_mut("/typed_config/providers/northstar") {
        provider["jwt_cache_config"] = json!({ "jwt_cache_size": 1024 });
    }
}

fn without_configuration(filter: &mut Value) {
    if let Some(config) = filter.pointer_mut("/typed_config/config").and_then(Value::as_object_mut) {
        config.remove("configuration");
    }
}

fn speak_http2(document: &mut Value) {
    let clusters = document["static_resources"]["clusters"].as_array_mut().into_iter().flatten();
    for cluster in clusters.filter(|cluster| cluster["name"] == "weir-authority") {
        cluster["typed_extension_protocol_options"] = json!({
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": { "http2_protocol_options": {} },
            },
        });
    }
}

fn is_weir(filter: &Value) -> bool {
    filter["name"].as_str().is_some_and(|name| name.starts_with("weir."))
}

fn manager(document: &mut Value) -> &mut Value {
    &mut document["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
}

/// Fails early, with what to do, when something was not built.
pub(crate) fn check_built(options: &Options) -> anyhow::Result<()> {
    for path in [&options.filter, &empty_filter()] {
        let found = path.metadata().with_context(|| format!("{} is missing; `make bench` builds it", path.display()));
        found?;
    }
    Ok(())
}
