//! Route + caller → which counters are charged, and how much.

use crate::enforcement::is_enforced;
use crate::identity::{Anonymous, Caller, Identity};
use crate::policy::{AnonymousMode, LimitId, Placement, Policy, Route, RouteId, Rule, RuleId, Scope, SubjectKind};
use weir_wire::{Principal, Subject, Tag};

/// What a route means for a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// No rule applies.
    Unlimited,
    /// The route needs an identity that the caller does not have.
    Refused {
        /// 401 or 403.
        status: u32,
        /// Why the caller is anonymous.
        because: Anonymous,
    },
    /// These counters are charged.
    Charged(Plan),
}

/// The counters that one request charges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What this gateway counts itself, before anything else; in the policy's order.
    pub local: Vec<PlannedCharge>,
    /// What the store counts, all or nothing; in the policy's order.
    pub store: Vec<PlannedCharge>,
}

/// One counter with what it is charged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PlannedCharge {
    /// The rule with the numbers of the caller's plan.
    pub limit: LimitId,
    /// The hash tag; equal within [`Plan::store`]. Absent for what counts a gateway as a whole.
    pub tag: Option<Tag>,
    /// Who is counted under the tag.
    pub subject: Subject,
    /// Units.
    pub cost: u64,
    /// Whether the rule only watches this caller; see [`crate::enforcement`].
    pub shadow: bool,
}

impl Policy {
    /// What `route` means for `caller` at `placement`.
    #[must_use]
    pub fn resolve(&self, route: RouteId, placement: Placement, caller: &Caller) -> Resolution {
        let Some(route) = self.route(route) else { return Resolution::Unlimited };
        let rules = route.rules(placement);
        let mut plan = Plan { local: Vec::new(), store: Vec::with_capacity(rules.len()) };
        for id in rules {
            let Some(rule) = self.rule(*id) else { continue };
            match self.charge(rule, route, caller) {
                Ok(charge) => match rule.scope {
                    Scope::Local => plan.local.push(charge),
                    Scope::Store => plan.store.push(charge),
                },
                Err(because) => return self.resolve_anonymous(route, caller, because),
            }
        }
        plan.into_resolution()
    }

    /// The charge of a failed authentication: one unit of `rule` for the caller's address.
    #[must_use]
    pub fn resolve_failure(&self, rule: RuleId, caller_address: &str) -> Option<PlannedCharge> {
        let rule = self.rule(rule)?;
        let limit = *rule.limit_by_plan.last()?;
        let (tag, subject) = (Some(Tag::Ip(caller_address.into())), Subject::Whole);
        let shadow = rule.watches(tag.as_ref(), &subject);
        Some(PlannedCharge { limit, tag, subject, cost: 1, shadow })
    }

    fn resolve_anonymous(&self, route: &Route, caller: &Caller, because: Anonymous) -> Resolution {
        match route.anonymous {
            AnonymousMode::Unauthorized => Resolution::Refused { status: 401, because },
            AnonymousMode::Forbidden => Resolution::Refused { status: 403, because },
            AnonymousMode::Rule(id) => {
                let charge = self.rule(id).and_then(|rule| self.charge(rule, route, caller).ok());
                Plan { local: Vec::new(), store: charge.into_iter().collect() }.into_resolution()
            }
        }
    }

    fn charge(&self, rule: &Rule, route: &Route, caller: &Caller) -> Result<PlannedCharge, Anonymous> {
        let (tag, subject) = match rule.subject {
            SubjectKind::Ip => (Some(Tag::Ip(caller.address.clone())), Subject::Whole),
            SubjectKind::Gateway => (None, Subject::Whole),
            SubjectKind::Tenant => (Some(identity_tag(&caller.identity)?), Subject::Whole),
            SubjectKind::Principal => match identity_tag(&caller.identity)? {
                tag @ Tag::Principal(_) => (Some(tag), Subject::Whole),
                tag => (Some(tag), Subject::Principal(principal(&caller.identity)?.clone())),
            },
        };
        let limit = self.limit_of(rule, tag.as_ref());
        let shadow = rule.watches(tag.as_ref(), &subject);
        Ok(PlannedCharge { limit, tag, subject, cost: route.cost, shadow })
    }

    fn limit_of(&self, rule: &Rule, tag: Option<&Tag>) -> LimitId {
        let plan = match tag {
            Some(Tag::Tenant(tenant)) => self.plans_by_tenant.get(tenant).copied().or(self.default_plan),
            _ => None,
        };
        plan.and_then(|plan| rule.limit_by_plan.get(plan)).or(rule.limit_by_plan.last()).copied().unwrap_or(LimitId(usize::MAX))
    }
}

impl Rule {
    fn watches(&self, tag: Option<&Tag>, subject: &Subject) -> bool {
        !is_enforced(self.enforce_percent, &self.name, tag, subject)
    }
}

impl Plan {
    fn into_resolution(self) -> Resolution {
        if self.local.is_empty() && self.store.is_empty() { Resolution::Unlimited } else { Resolution::Charged(self) }
    }
}

fn identity_tag(identity: &Identity) -> Result<Tag, Anonymous> {
    match identity {
        Identity::Verified { tenant: Some(tenant), .. } => Ok(Tag::Tenant(tenant.clone())),
        Identity::Verified { tenant: None, principal } => Ok(Tag::Principal(principal.clone())),
        Identity::Anonymous(because) => Err(*because),
    }
}

fn principal(identity: &Identity) -> Result<&Principal, Anonymous> {
    match identity {
        Identity::Verified { principal, .. } => Ok(principal),
        Identity::Anonymous(because) => Err(*because),
    }
}
