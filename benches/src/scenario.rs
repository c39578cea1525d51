//! What is compared.

use anyhow::bail;

/// One way to set Envoy up, and who calls it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    /// As `--only` and the JSON name it.
    pub(crate) name: &'static str,
    /// As the table names it.
    pub(crate) title: &'static str,
    pub(crate) chain: Chain,
    /// Where decisions are counted, when there are any.
    pub(crate) store: Option<Store>,
    /// How many users' tokens take turns; the requests of one user coalesce, those of many do not.
    pub(crate) users: u32,
    /// Whether it is also measured with one connection, for its latency without load.
    pub(crate) alone: bool,
}

/// Envoy's filters. All but the last one before the router verify tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chain {
    /// No limiter.
    Plain,
    /// The filter that does nothing, where Weir's second one stands.
    OneEmpty,
    /// The same in both of Weir's places.
    TwoEmpty,
    /// Both of Weir's filters, as shipped.
    Weir(Policy),
    /// Only the one after authentication.
    WeirQuota(Policy),
    /// Envoy's own limiter, which counts by itself.
    Native(Policy),
}

/// How much there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// More than any machine can use: all requests pass.
    Plenty,
    /// Nothing after the first requests: all others are denied.
    NothingLeft,
}

/// Where decisions are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    /// In the authority.
    Memory,
    /// In Redis behind it.
    Redis,
}

/// What ratios are taken against: the most that a filter can reach.
pub(crate) const CEILING: &str = "one-empty";

const MANY: u32 = 64;

const ALL: [Scenario; 11] = {
    use Chain::{Native, OneEmpty, Plain, TwoEmpty, Weir, WeirQuota};
    use Policy::{NothingLeft, Plenty};
    const fn of(name: &'static str, title: &'static str, chain: Chain) -> Scenario {
        Scenario { name, title, chain, store: None, users: MANY, alone: false }
    }
    const MEMORY: Option<Store> = Some(Store::Memory);
    const REDIS: Option<Store> = Some(Store::Redis);
    [
        Scenario { alone: true, ..of("plain", "Envoy without a limiter", Plain) },
        Scenario { alone: true, ..of(CEILING, "one empty Wasm filter", OneEmpty) },
        Scenario { alone: true, ..of("two-empty", "two empty Wasm filters", TwoEmpty) },
        Scenario { store: MEMORY, alone: true, ..of("memory", "Weir allows, memory store, 64 users", Weir(Plenty)) },
        Scenario { store: MEMORY, users: 1, ..of("memory-one-user", "Weir allows, memory store, one user", Weir(Plenty)) },
        Scenario { store: MEMORY, ..of("memory-quota", "the same for 64 users, second filter only", WeirQuota(Plenty)) },
        Scenario { store: REDIS, alone: true, ..of("redis", "Weir allows, Redis, 64 users", Weir(Plenty)) },
        Scenario { store: REDIS, users: 1, ..of("redis-one-user", "Weir allows, Redis, one user", Weir(Plenty)) },
        Scenario { store: MEMORY, ..of("deny", "Weir denies from its negative cache, 64 users", Weir(NothingLeft)) },
        of("native", "native `local_ratelimit` allows", Native(Plenty)),
        of("native-deny", "native `local_ratelimit` denies", Native(NothingLeft)),
    ]
};

/// The scenarios of these names, the ceiling among them; all when none is named.
pub(crate) fn chosen(only: &[String]) -> anyhow::Result<Vec<Scenario>> {
    if let Some(unknown) = only.iter().find(|name| ALL.iter().all(|scenario| scenario.name != **name)) {
        let names: Vec<_> = ALL.iter().map(|scenario| scenario.name).collect();
        bail!("there is no scenario {unknown:?}; there are {}", names.join(", "));
    }
    let wanted = |name: &str| only.is_empty() || name == CEILING || only.iter().any(|wanted| wanted == name);
    Ok(ALL.into_iter().filter(|scenario| wanted(scenario.name)).collect())
}

impl Scenario {
    /// Whether its requests are to be denied.
    pub(crate) fn denies(&self) -> bool {
        let (Chain::Weir(policy) | Chain::WeirQuota(policy) | Chain::Native(policy)) = self.chain else { return false };
        policy == Policy::NothingLeft
    }

    /// Envoy's counters of denials by the limiter, as a regular expression: a denial that they do not count was another's.
    pub(crate) fn denials(&self) -> &'static str {
        match self.chain {
            Chain::Native(_) => "^native\\.http_local_rate_limit\\.rate_limited$",
            _ => "^wasmcustom\\.weir\\.decisions\\..*outcome=denied",
        }
    }
}
