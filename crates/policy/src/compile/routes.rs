//! Routes: which rules, at what cost, and what happens when they cannot be asked.

use super::{Errors, limits};
use crate::document::{self, Document};
use crate::matcher::{Matcher, without_port};
use crate::policy::{AnonymousMode, LimitId, Placement, PolicyLimit, Route, Rule, RuleId, Scope, SubjectKind, Unreachable};
use hashbrown::HashMap;
use weir_limit::MAX_EXACT;
use weir_wire::{MAX_CHARGES, MAX_HITS};

/// What as many requests as one check can stand for cost together is counted exactly.
const MOST_COST: u64 = MAX_EXACT / MAX_HITS as u64;

pub(super) fn compile(errors: &mut Errors, document: &Document, rules: &[Rule], limits: &[PolicyLimit]) -> Vec<Route> {
    let mut compiler = Compiler { errors, document, rules, limits, matched: HashMap::new() };
    document.routes.iter().map(|(name, route)| compiler.route(name, route)).collect()
}

struct Compiler<'a> {
    errors: &'a mut Errors,
    document: &'a Document,
    rules: &'a [Rule],
    limits: &'a [PolicyLimit],
    /// Where each matcher was given.
    matched: HashMap<Matcher, String>,
}

impl Compiler<'_> {
    fn route(&mut self, name: &str, written: &document::Route) -> Route {
        let path = format!("routes.{name}");
        let rules = self.route_rules(&path, written);
        let (edge, quota) = rules.iter().copied().partition::<Vec<_>, _>(|id| self.subject(*id).placement() == Placement::Edge);
        let unreachable = self.unreachable(&path, written);
        let anonymous = self.anonymous(&path, written, &rules);
        let mut charged = rules;
        if let AnonymousMode::Rule(id) = anonymous {
            charged.push(id);
        }
        self.costs(&path, written.cost, &charged, unreachable);
        Route {
            name: name.into(),
            cost: written.cost,
            unreachable,
            anonymous,
            failures: written.failures.as_deref().and_then(|rule| self.address_rule(&format!("{path}.failures"), rule)),
            edge,
            quota,
            matchers: self.matchers(&path, written),
        }
    }

    fn route_rules(&mut self, path: &str, written: &document::Route) -> Vec<RuleId> {
        if written.rules.len() > MAX_CHARGES {
            self.errors
                .add(format!("{path}.rules"), format_args!("has {} rules; {MAX_CHARGES} is the most", written.rules.len()));
        }
        let mut rules = Vec::with_capacity(written.rules.len());
        for (index, name) in written.rules.iter().enumerate() {
            let path = format!("{path}.rules[{index}]");
            let Some(id) = self.rule(&path, name) else { continue };
            if rules.contains(&id) {
                self.errors.add(path, format_args!("`{name}` is given twice and would be charged twice; remove one"));
            } else {
                rules.push(id);
            }
        }
        rules
    }

    fn costs(&mut self, path: &str, cost: u64, rules: &[RuleId], unreachable: Unreachable) {
        let path = format!("{path}.cost");
        if cost == 0 {
            self.errors.add(path, "must be at least 1");
            return;
        }
        if cost > MOST_COST {
            self.errors.add(path, format_args!("{cost} is too large to be counted exactly; {MOST_COST} is the most"));
            return;
        }
        for id in rules {
            let Some(rule) = self.rules.get(id.0) else { continue };
            let mut by_plan: Vec<LimitId> = rule.limit_by_plan.clone();
            by_plan.sort_unstable();
            by_plan.dedup();
            for limit in by_plan.iter().filter_map(|id| self.limits.get(id.0)) {
                let name = &rule.name;
                let falls_back = matches!(unreachable, Unreachable::Fallback { .. }) && rule.scope == Scope::Store;
                if cost > limit.limit.capacity() {
                    let capacity = limit.limit.capacity();
                    self.errors.add(path.clone(), format_args!("{cost} is above the {capacity} that {name} holds, so no request could ever pass; lower the cost or raise the limit"));
                } else if falls_back && cost > limit.share.capacity() {
                    let share = limit.share.capacity();
                    self.errors.add(
                        path.clone(),
                        format_args!("{cost} is above one gateway's share of {name}, {share}, so the fallback would admit nobody; lower the cost or use `unreachable: closed`"),
                    );
                }
            }
        }
        if let Unreachable::Fallback { cap } = unreachable
            && cost > cap.capacity()
        {
            self.errors.add(
                path,
                format_args!(
                    "{cost} is above the fallback's cap of {}, so it would admit nobody; lower the cost or raise the cap",
                    cap.capacity()
                ),
            );
        }
    }

    fn unreachable(&mut self, path: &str, written: &document::Route) -> Unreachable {
        match &written.unreachable {
            document::Unreachable::Closed => Unreachable::Closed,
            document::Unreachable::Fallback(fallback) => {
                match limits::compile_cap(self.errors, &format!("{path}.unreachable.fallback.cap"), &fallback.cap) {
                    Some(cap) => Unreachable::Fallback { cap },
                    None => Unreachable::Closed,
                }
            }
            document::Unreachable::Open(open) => {
                if open.reason.trim().is_empty() {
                    self.errors
                        .add(format!("{path}.unreachable.open.reason"), "must say why the backend survives uncounted requests");
                }
                Unreachable::Open
            }
        }
    }

    fn anonymous(&mut self, path: &str, written: &document::Route, rules: &[RuleId]) -> AnonymousMode {
        match &written.anonymous {
            document::Anonymous::Unauthorized => AnonymousMode::Unauthorized,
            document::Anonymous::Forbidden => AnonymousMode::Forbidden,
            document::Anonymous::Rule(name) => {
                let path = format!("{path}.anonymous.rule");
                match self.address_rule(&path, name) {
                    Some(id) if rules.contains(&id) => {
                        self.errors.add(
                            path,
                            format_args!("`{name}` is among the route's rules already and would be charged twice; name another"),
                        );
                        AnonymousMode::Unauthorized
                    }
                    Some(id) => AnonymousMode::Rule(id),
                    None => AnonymousMode::Unauthorized,
                }
            }
        }
    }

    fn matchers(&mut self, path: &str, written: &document::Route) -> Vec<Matcher> {
        let mut matchers = Vec::with_capacity(written.matches.len());
        for (index, entry) in written.matches.iter().enumerate() {
            let path = format!("{path}.match[{index}]");
            match self.matcher(&path, entry) {
                Ok(matcher) => matchers.push(matcher),
                Err(mistake) => self.errors.add(path, mistake),
            }
        }
        matchers
    }

    /// Refuses what would never match, or always: a typo here must not be "no limit".
    fn matcher(&mut self, path: &str, entry: &document::Match) -> Result<Matcher, String> {
        let written_path = entry.path.as_deref().or(entry.path_prefix.as_deref());
        if entry.host.is_none() && entry.method.is_none() && written_path.is_none() {
            return Err("matches everything; name a host, method, path or path_prefix, or use defaults.route".into());
        }
        if let Some(path) = written_path.filter(|path| !path.starts_with('/') || path.contains(['?', '#'])) {
            return Err(format!("`{path}` is no path; begin with `/` and leave the query out"));
        }
        if let Some(host) = entry.host.as_deref().filter(|host| host.is_empty() || without_port(host) != *host) {
            return Err(format!("`{host}` is no host; leave the port out"));
        }
        if let Some(method) = entry.method.as_deref().filter(|method| !is_method(method)) {
            return Err(format!("`{method}` is no method; write it in capitals, such as `GET`"));
        }
        let matcher = Matcher::new(entry).ok_or("gives both path and path_prefix; keep one")?;
        match self.matched.insert(matcher.clone(), path.into()) {
            Some(other) => Err(format!("says the same as {other}; remove one")),
            None => Ok(matcher),
        }
    }

    /// A rule that counts addresses in the store.
    fn address_rule(&mut self, path: &str, name: &str) -> Option<RuleId> {
        let id = self.rule(path, name)?;
        let rule = self.rules.get(id.0)?;
        if rule.subject == SubjectKind::Ip && rule.scope == Scope::Store {
            return Some(id);
        }
        self.errors.add(
            path,
            format_args!(
                "`{name}` must count addresses in the store (`subject: ip`, not `scope: local`): nobody is verified here"
            ),
        );
        None
    }

    fn rule(&mut self, path: &str, name: &str) -> Option<RuleId> {
        let position = self.document.rules.position(name);
        if position.is_none() {
            self.errors.unknown(path, "rule", name, self.document.rules.iter().map(|(name, _)| name));
        }
        position.map(RuleId)
    }

    fn subject(&self, id: RuleId) -> SubjectKind {
        self.rules.get(id.0).map_or(SubjectKind::Gateway, |rule| rule.subject)
    }
}

fn is_method(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase() || b"-_".contains(&byte))
}
