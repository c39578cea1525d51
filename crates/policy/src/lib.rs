//! The policy: what people write, checked before it counts, and resolved for one request.
//!
//! | module | concept |
//! |---|---|
//! | [`document`] | the document as written: serde types that refuse unknown fields |
//! | [`compile`] | document → [`Policy`], with every error at once, each with its path and a remedy |
//! | [`policy`] | the compiled form: names are indices, numbers are [`weir_limit::Limit`]s |
//! | [`identity`] | who is calling, as far as it was verified |
//! | [`matcher`] | which route a request takes when the proxy's configuration does not say |
//! | [`enforcement`] | for whom a rule denies, and for whom it only watches |
//! | [`resolve`] | route + identity → the [`Plan`]: which counters are charged, and how much |
//!
//! No I/O and no clock. The filter and the tests resolve with this same code.

pub mod compile;
pub mod document;
pub mod enforcement;
pub mod error;
pub mod identity;
pub mod matcher;
pub mod policy;
pub mod resolve;
#[cfg(feature = "yaml")]
pub mod yaml;

pub use document::Document;
pub use error::{PolicyError, PolicyErrors};
pub use identity::{Anonymous, Caller, Identity};
pub use policy::{
    IdentitySources, JwtSource, LimitId, MtlsTenant, Placement, Policy, PolicyLimit, QuotaHeaders, Route, RouteId, Rule, RuleId,
    Scope, SubjectKind, Unreachable,
};
pub use resolve::{Plan, PlannedCharge, Resolution};
