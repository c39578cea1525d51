//! Checks ↔ the messages of [`weir_wire`].

use super::outbox::PendingCheck;
use super::outcome::Undecided;
use hashbrown::HashMap;
use weir_policy::{LimitId, Policy};
use weir_wire::{ChargeRef, Check, DecideRequest, DecideResponse, Outcome, Verdict};

/// The batch as it is sent. Each check's id is its place among `checks`.
#[must_use]
pub fn request(policy: &Policy, checks: &[PendingCheck]) -> Vec<u8> {
    let mut limits = Vec::new();
    let mut places: HashMap<LimitId, u32> = HashMap::new();
    let checks = checks.iter().zip(0_u32..).filter_map(|(check, id)| {
        let charges = check.charges.iter().filter_map(|charge| {
            let limit = policy.limit(charge.limit)?;
            let limit = *places.entry(charge.limit).or_insert_with(|| {
                limits.push(limit.wire.clone());
                u32::try_from(limits.len()).unwrap_or(u32::MAX).saturating_sub(1)
            });
            Some(ChargeRef { limit, subject: charge.subject.clone(), cost: charge.cost, shadow: charge.shadow })
        });
        let charges = charges.collect();
        let tag = check.charges.first()?.tag.clone()?;
        Some(Check { id, hits: check.hits(), tag, charges })
    });
    let checks = checks.collect();
    serde_json::to_vec(&DecideRequest { version: weir_wire::VERSION, limits, checks }).unwrap_or_default()
}

/// What the authority says of each of `checks`, in their order.
#[must_use]
pub fn verdicts(body: &[u8], checks: &[PendingCheck]) -> Vec<Result<Verdict, Undecided>> {
    let mut verdicts = vec![Err(Undecided::AnswerMalformed); checks.len()];
    let Ok(response) = serde_json::from_slice::<DecideResponse>(body) else { return verdicts };
    if response.version != weir_wire::VERSION {
        return verdicts;
    }
    for answer in response.answers {
        let Ok(place) = usize::try_from(answer.id) else { continue };
        let (Some(slot), Some(check)) = (verdicts.get_mut(place), checks.get(place)) else { continue };
        // The first answer counts; a repeated one changes nothing.
        if *slot != Err(Undecided::AnswerMalformed) {
            continue;
        }
        *slot = match answer.outcome {
            Outcome::Failure(failure) => Err(failure.into()),
            Outcome::Verdict(verdict) if is_about(&verdict, check) => Ok(verdict),
            Outcome::Verdict(_) => Err(Undecided::AnswerMalformed),
        };
    }
    verdicts
}

/// Whether a verdict can be about a check: as many quotas as charges, no more admitted than asked for, and
/// when fewer were, a reason.
fn is_about(verdict: &Verdict, check: &PendingCheck) -> bool {
    let explained = verdict.admitted == check.hits() || verdict.denial().is_some();
    verdict.quotas.len() == check.charges.len() && verdict.admitted <= check.hits() && explained
}
