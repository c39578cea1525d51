//! `envoy/standalone/envoy.yaml` as a structure, and the edits that running it elsewhere needs.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
};

use serde_json::{Value, json};

use super::Envoy;
use crate::{Error, Result, port, repository, tokens::Keys};

/// Reads a YAML document, aliases resolved, into the form in which it is edited.
///
/// # Errors
/// [`Error::File`] when it cannot be read, [`Error::Yaml`] when it is not YAML.
pub fn to_value(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).map_err(Error::file(path))?;
    serde_saphyr::from_str(&text).map_err(|error| Error::Yaml { path: path.to_owned(), reason: error.to_string() })
}

/// A configuration for Envoy on its way from the shipped file to a running process.
#[derive(Debug, Clone)]
pub struct Config {
    document: Value,
    http_port: u16,
    admin_port: u16,
    workers: u32,
}

impl Config {
    /// The shipped file on two free ports, with the built filter and the development keys.
    ///
    /// # Errors
    /// When the file cannot be read, there is no free port, or the keys cannot be made.
    pub fn standalone() -> Result<Self> {
        let document = to_value(&repository::root().join("envoy/standalone/envoy.yaml"))?;
        let config = Self { document, http_port: 0, admin_port: 0, workers: 1 };
        let jwks = Keys::development()?.jwks_path().to_owned();
        Ok(config.http_port(port::free()?).admin_port(port::free()?).wasm(&repository::filter()).jwks(&jwks))
    }

    /// Listens for requests on this port.
    #[must_use]
    pub fn http_port(mut self, port: u16) -> Self {
        self.http_port = port;
        self.set("/static_resources/listeners/0/address/socket_address/port_value", port)
    }

    /// Serves the admin interface on this port.
    #[must_use]
    pub fn admin_port(mut self, port: u16) -> Self {
        self.admin_port = port;
        self.set("/admin/address/socket_address/port_value", port)
    }

    /// Runs this many workers; one unless said.
    #[must_use]
    pub fn concurrency(mut self, workers: u32) -> Self {
        self.workers = workers;
        self
    }

    /// Names this gateway.
    #[must_use]
    pub fn node_id(self, id: &str) -> Self {
        self.set("/node/id", id)
    }

    /// Sends allowed requests there.
    #[must_use]
    pub fn upstream(self, addr: SocketAddr) -> Self {
        self.cluster("upstream", addr)
    }

    /// Asks for decisions there.
    #[must_use]
    pub fn authority(self, addr: SocketAddr) -> Self {
        self.cluster("weir-authority", addr)
    }

    /// Gives a connection to the authority this long to be made.
    #[must_use]
    pub fn authority_connects_within_ms(self, ms: u64) -> Self {
        let timeout = json!(format!("{}.{:03}s", ms / 1_000, ms % 1_000));
        self.edit_cluster("weir-authority", |cluster| set(cluster, "/connect_timeout", timeout))
    }

    /// Runs this filter instead of the built one.
    #[must_use]
    pub fn wasm(mut self, path: &Path) -> Self {
        for filter in self.weir_filters() {
            set(filter, "/typed_config/config/vm_config/code/local/filename", path.to_string_lossy());
        }
        self
    }

    /// Decides by this policy instead of the shipped one, in both placements.
    #[must_use]
    pub fn policy(mut self, policy: &Value) -> Self {
        for filter in self.weir_filters() {
            set(filter, "/typed_config/config/configuration/value/policy", policy.clone());
        }
        self
    }

    /// Changes the policy in both placements.
    #[must_use]
    pub fn edit_policy(mut self, change: impl Fn(&mut Value)) -> Self {
        for filter in self.weir_filters() {
            change(at(filter, "/typed_config/config/configuration/value/policy"));
        }
        self
    }

    /// Changes the HTTP connection manager: its filters, its routes, what it trusts.
    #[must_use]
    pub fn edit_http(self, change: impl FnOnce(&mut Value)) -> Self {
        self.edit(|document| change(at(document, "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config")))
    }

    /// Accepts the tokens of these keys.
    #[must_use]
    pub fn jwks(mut self, path: &Path) -> Self {
        for filter in self.http_filters() {
            if let Some(jwks) = filter.pointer_mut("/typed_config/providers/northstar/local_jwks/filename") {
                *jwks = json!(path.to_string_lossy());
            }
        }
        self
    }

    /// Any other edit.
    #[must_use]
    pub fn edit(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.document);
        self
    }

    /// The HTTP filters, in order, for an edit.
    pub fn http_filters(&mut self) -> impl Iterator<Item = &mut Value> {
        at(&mut self.document, "/static_resources/listeners/0/filter_chains/0/filters/0/typed_config/http_filters")
            .as_array_mut()
            .into_iter()
            .flatten()
    }

    /// Starts Envoy with it and waits until it is ready.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no Envoy or no filter, or Envoy's reason for refusing the configuration.
    pub fn start(mut self) -> Result<Envoy> {
        let wasm = self.weir_filters().find_map(|filter| {
            filter.pointer("/typed_config/config/vm_config/code/local/filename").and_then(Value::as_str).map(str::to_owned)
        });
        match wasm {
            Some(path) if !Path::new(&path).is_file() => {
                Err(Error::Missing { program: path, hint: "run `make filter` first".to_owned() })
            }
            _ => Envoy::start(&self),
        }
    }

    /// The document as Envoy will read it.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.document
    }

    pub(super) fn workers(&self) -> u32 {
        self.workers
    }

    pub(super) fn http_addr(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.http_port))
    }

    pub(super) fn admin_addr(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.admin_port))
    }

    fn weir_filters(&mut self) -> impl Iterator<Item = &mut Value> {
        self.http_filters().filter(|filter| filter["name"].as_str().is_some_and(|name| name.starts_with("weir.")))
    }

    fn cluster(self, name: &str, addr: SocketAddr) -> Self {
        let endpoint = "/load_assignment/endpoints/0/lb_endpoints/0/endpoint/address/socket_address";
        let address = json!({ "address": addr.ip(), "port_value": addr.port() });
        self.edit_cluster(name, |cluster| set(cluster, endpoint, address))
    }

    fn edit_cluster(mut self, name: &str, change: impl FnOnce(&mut Value)) -> Self {
        let mut clusters = at(&mut self.document, "/static_resources/clusters").as_array_mut().into_iter().flatten();
        if let Some(cluster) = clusters.find(|cluster| cluster["name"] == name) {
            change(cluster);
        }
        self
    }

    fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        set(&mut self.document, pointer, value);
        self
    }
}

fn set(document: &mut Value, pointer: &str, value: impl Into<Value>) {
    *at(document, pointer) = value.into();
}

/// A place that the shipped file is known to have; its own tests fail here, with the place, when it no longer has.
#[allow(clippy::panic, reason = "a test helper: a moved place is a mistake in the repository, not in its user's input")]
fn at<'a>(document: &'a mut Value, pointer: &str) -> &'a mut Value {
    document.pointer_mut(pointer).unwrap_or_else(|| panic!("envoy/standalone/envoy.yaml has no {pointer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policies(config: &mut Config) -> Vec<Value> {
        config.weir_filters().map(|filter| filter["typed_config"]["config"]["configuration"]["value"]["policy"].clone()).collect()
    }

    #[test]
    fn both_placements_decide_by_one_policy() {
        let found = policies(&mut Config::standalone().unwrap());
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], found[1]);
    }

    #[test]
    fn a_policy_is_replaced_in_both_placements() {
        let policy = json!({ "mine": 1 });
        let mut config = Config::standalone().unwrap().policy(&policy);
        assert_eq!(policies(&mut config), [policy.clone(), policy]);
    }

    #[test]
    fn a_policy_is_changed_in_both_placements() {
        let mut config = Config::standalone().unwrap().edit_policy(|policy| policy["version"] = json!(7));
        assert!(policies(&mut config).iter().all(|policy| policy["version"] == 7 && policy["rules"].is_object()));
    }

    #[test]
    fn clusters_and_ports_are_moved() {
        let config = Config::standalone().unwrap().authority("127.0.0.1:1234".parse().unwrap()).http_port(1235);
        let text = config.document().to_string();
        assert!(text.contains("1234") && text.contains("1235") && !text.contains("8180") && !text.contains("10000"));
    }
}
