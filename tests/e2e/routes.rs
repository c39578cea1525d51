//! Envoy's routes as a test needs them.

use serde_json::{Value, json};
use weir_testkit::envoy::Config;

/// The routes of one host.
pub(crate) struct Routes(Vec<Value>);

impl Routes {
    /// One route for everything, without a name and without metadata: the policy's matchers are all there is.
    pub(crate) fn unnamed() -> Self {
        Self(vec![json!({ "match": { "prefix": "/" }, "route": { "cluster": "upstream" } })])
    }

    /// Gives the only route a name.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.0[0]["name"] = json!(name);
        self
    }

    /// Lets the only route's metadata say which of the policy's routes it is.
    pub(crate) fn saying(mut self, route: &str) -> Self {
        self.0[0]["metadata"] = metadata(route);
        self
    }

    /// As a virtual host.
    pub(crate) fn of_host(self, domain: &str) -> Value {
        json!({ "name": domain, "domains": [domain], "routes": self.0 })
    }
}

/// The metadata by which a route or a virtual host says which of the policy's routes it is.
pub(crate) fn metadata(route: &str) -> Value {
    json!({ "filter_metadata": { "weir": { "route": route } } })
}

/// Replaces all routes.
pub(crate) fn replace(config: Config, routes: Routes) -> Config {
    hosts(config, vec![routes.of_host("*")])
}

/// Replaces all virtual hosts.
pub(crate) fn hosts(config: Config, hosts: Vec<Value>) -> Config {
    config.edit_http(|http| http["route_config"]["virtual_hosts"] = Value::Array(hosts))
}
