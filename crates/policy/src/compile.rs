//! Document → [`Policy`], with every mistake at once.
//!
//! What cannot work is refused here, where somebody reads the answer, and not at three in the morning: a
//! cost above a capacity, a name that would break a header or a metric, a fallback that admits nobody.

mod limits;
mod routes;

use crate::document::{self, Document};
use crate::error::{PolicyError, PolicyErrors};
use crate::policy::{IdentitySources, JwtSource, Policy, Rule};
use hashbrown::HashMap;
use std::fmt::Display;
use weir_wire::{MAX_NAME_BYTES, MAX_SUBJECT_BYTES, is_name};

/// The most rules, and the most routes, of a policy: what the metrics are bounded by.
pub const MAX_RULES: usize = 256;
/// See [`MAX_RULES`].
pub const MAX_ROUTES: usize = 1_024;

/// The longest a request may wait for its decision, in milliseconds.
pub const MAX_DEADLINE_MS: u64 = 10_000;
const MAX_GATEWAYS: u64 = 10_000;

/// Checks `document` and compiles it.
///
/// # Errors
/// All mistakes, each with its path and what would be right.
pub fn compile(document: &Document) -> Result<Policy, PolicyErrors> {
    let mut errors = Errors::default();

    if document.version == 0 || document.version > weir_limit::MAX_EXACT {
        errors.add("version", "must be between 1 and 2^53");
    }
    check_names(&mut errors, "rules", document.rules.iter().map(|(name, _)| name), MAX_RULES);
    check_names(&mut errors, "plans", document.plans.iter().map(|(name, _)| name), MAX_RULES);
    check_names(&mut errors, "routes", document.routes.iter().map(|(name, _)| name), MAX_ROUTES);
    let identity = compile_identity(&mut errors, &document.identity);
    check_defaults(&mut errors, &document.defaults);

    let (limits, limit_by_plan) = limits::compile(&mut errors, document);
    let rules = compile_rules(&mut errors, document, limit_by_plan);
    let plans_by_tenant = compile_tenants(&mut errors, document);
    let default_plan = document.defaults.plan.as_deref().and_then(|plan| find_plan(&mut errors, document, "defaults.plan", plan));
    let routes = routes::compile(&mut errors, document, &rules, &limits);
    let routes_by_name =
        document.routes.iter().enumerate().map(|(index, (name, _))| (name.into(), crate::RouteId(index))).collect();
    let default_route = document.defaults.route.as_deref().and_then(|name| {
        let position = document.routes.position(name);
        if position.is_none() {
            errors.unknown("defaults.route", "route", name, document.routes.iter().map(|(name, _)| name));
        }
        position.map(crate::RouteId)
    });

    errors.into_result(Policy {
        version: document.version,
        identity,
        deadline_ms: document.defaults.deadline.as_ms(),
        quota_headers: document.defaults.ratelimit_headers,
        rules,
        limits,
        routes,
        default_route,
        routes_by_name,
        plans_by_tenant,
        default_plan,
    })
}

/// Mistakes found so far.
#[derive(Debug, Default)]
struct Errors(Vec<PolicyError>);

impl Errors {
    fn add(&mut self, path: impl Into<String>, message: impl Display) {
        self.0.push(PolicyError::new(&path.into(), &message.to_string()));
    }

    fn unknown<'a>(&mut self, path: impl Into<String>, kind: &str, name: &str, known: impl Iterator<Item = &'a str>) {
        let known = known.take(8).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "there are none".into() } else { format!("there are: {known}") };
        self.add(path, format_args!("there is no {kind} `{name}`; {known}"));
    }

    fn into_result<T>(self, compiled: T) -> Result<T, PolicyErrors> {
        if self.0.is_empty() { Ok(compiled) } else { Err(PolicyErrors(self.0)) }
    }
}

fn check_names<'a>(errors: &mut Errors, section: &str, names: impl ExactSizeIterator<Item = &'a str>, most: usize) {
    if names.len() > most {
        errors.add(section, format_args!("has {} entries; {most} is the most", names.len()));
    }
    for name in names.filter(|name| !is_name(name)) {
        let shown: String = name.chars().take(MAX_NAME_BYTES).collect();
        errors.add(
            section,
            format_args!(
                "`{shown}` is no name; use 1 to {MAX_NAME_BYTES} letters, digits, `_` or `-`: it stands in headers and metrics"
            ),
        );
    }
}

fn check_defaults(errors: &mut Errors, defaults: &document::Defaults) {
    if !(1..=MAX_GATEWAYS).contains(&defaults.gateways) {
        errors.add("defaults.gateways", format_args!("must be between 1 and {MAX_GATEWAYS}"));
    }
    if !(1..=MAX_DEADLINE_MS).contains(&defaults.deadline.as_ms()) {
        errors.add(
            "defaults.deadline",
            format_args!("must be between 1ms and {}s: requests are held meanwhile", MAX_DEADLINE_MS / 1_000),
        );
    }
}

/// Of what can be compared with a verified claim.
fn check_text(errors: &mut Errors, path: &str, text: &str) {
    if text.is_empty() || text.len() > MAX_SUBJECT_BYTES || text.chars().any(char::is_control) {
        errors.add(path, format_args!("must have 1 to {MAX_SUBJECT_BYTES} bytes and no control characters"));
    }
}

fn knows_tenants(identity: &document::Identity) -> bool {
    identity.jwt.as_ref().is_some_and(|jwt| jwt.tenant.is_some())
        || identity.mtls.as_ref().is_some_and(|mtls| mtls.tenant.is_some())
}

fn compile_identity(errors: &mut Errors, identity: &document::Identity) -> IdentitySources {
    let mut check = |path: &str, text: &str| check_text(errors, path, text);
    if let Some(jwt) = &identity.jwt {
        check("identity.jwt.metadata_key", &jwt.metadata_key);
        check("identity.jwt.principal", &jwt.principal);
        if let Some(tenant) = &jwt.tenant {
            check("identity.jwt.tenant", tenant);
        }
    }
    if let (Some(jwt), Some(mtls)) = (&identity.jwt, &identity.mtls)
        && jwt.tenant.is_some() != mtls.tenant.is_some()
    {
        errors.add("identity", "either both of jwt and mtls name a tenant or neither: one caller would be counted in two places");
    }
    IdentitySources {
        jwt: identity.jwt.as_ref().map(|jwt| JwtSource {
            metadata_key: jwt.metadata_key.clone(),
            tenant_claim: jwt.tenant.clone(),
            principal_claim: jwt.principal.clone(),
        }),
        mtls: identity.mtls.as_ref().map(|mtls| mtls.tenant),
    }
}

fn compile_rules(errors: &mut Errors, document: &Document, limit_by_plan: Vec<Vec<crate::LimitId>>) -> Vec<Rule> {
    let knows_principals = document.identity.jwt.is_some() || document.identity.mtls.is_some();
    let knows_tenants = knows_tenants(&document.identity);
    let compile_rule = |((name, rule), limit_by_plan): ((&str, &document::Rule), Vec<crate::LimitId>)| {
        let path = || format!("rules.{name}.subject");
        match rule.subject {
            document::Subject::Tenant if !knows_tenants => {
                errors.add(path(), "no source under `identity` names a tenant; add `tenant` to identity.jwt or identity.mtls");
            }
            document::Subject::Principal if !knows_principals => {
                errors.add(path(), "there is no source under `identity`; add identity.jwt or identity.mtls");
            }
            document::Subject::Gateway if rule.scope != document::Scope::Local => {
                errors.add(path(), "a gateway counts only itself; add `scope: local`");
            }
            _ => {}
        }
        let enforce_percent = enforce_percent(errors, name, rule);
        Rule { name: name.into(), subject: rule.subject, scope: rule.scope, enforce_percent, limit_by_plan }
    };
    document.rules.iter().zip(limit_by_plan).map(compile_rule).collect()
}

fn enforce_percent(errors: &mut Errors, name: &str, rule: &document::Rule) -> u8 {
    let Some(percent) = rule.enforce_percent else { return if rule.shadow { 0 } else { 100 } };
    let path = format!("rules.{name}.enforce_percent");
    if rule.shadow {
        errors.add(path.as_str(), "says what `shadow` says already: a rule that only watches denies for 0; keep one of the two");
    } else if rule.subject == document::Subject::Gateway {
        errors.add(path.as_str(), "is for callers, and a gateway counts them as one; use `shadow` or remove it");
    }
    match u8::try_from(percent) {
        Ok(percent @ 0..=100) => percent,
        _ => {
            errors.add(path, format_args!("{percent} must be between 0 and 100"));
            100
        }
    }
}

fn compile_tenants(errors: &mut Errors, document: &Document) -> HashMap<String, usize> {
    let mut plans_by_tenant = HashMap::new();
    if !knows_tenants(&document.identity) {
        let given = [
            ("plans", document.plans.iter().len() > 0),
            ("tenants", document.tenants.iter().len() > 0),
            ("defaults.plan", document.defaults.plan.is_some()),
        ];
        for (path, _) in given.iter().filter(|(_, given)| *given) {
            errors.add(*path, "is for tenants, and no source under `identity` names one; add `tenant` to identity.jwt or identity.mtls, or remove it");
        }
    }
    for (tenant, plan) in document.tenants.iter() {
        let path = format!("tenants.{tenant}");
        check_text(errors, &path, tenant);
        if let Some(position) = find_plan(errors, document, &path, plan) {
            plans_by_tenant.insert(tenant.into(), position);
        }
    }
    plans_by_tenant
}

fn find_plan(errors: &mut Errors, document: &Document, path: &str, plan: &str) -> Option<usize> {
    let position = document.plans.position(plan);
    if position.is_none() {
        errors.unknown(path, "plan", plan, document.plans.iter().map(|(name, _)| name));
    }
    position
}
