//! The tables.

use std::fmt::Write;

use crate::{
    Options,
    machine::Machine,
    rounds::{Measured, Spread},
};

/// The results in Markdown.
pub(crate) fn markdown(machine: &Machine, results: &[Measured], options: &Options) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = writeln!(text, "{}", where_and_how(machine, options));
    throughput(&mut text, results, options);
    latency(&mut text, results);
    callouts(&mut text, results);
    noise(&mut text, results);
    text
}

fn where_and_how(machine: &Machine, options: &Options) -> String {
    let Machine { cores, processor, memory_mib, envoy_core, other_core, envoy, redis, wrk, weir } = machine;
    let Options { rounds, seconds, connections, .. } = options;
    let protocol = if options.http2 { "HTTP/2" } else { "HTTP/1.1" };
    format!(
        "Weir {weir}, Envoy {envoy} with one worker, Redis {redis}, wrk {wrk}; {cores} cores of {processor}, {memory_mib} MiB. Envoy \
         on core {envoy_core}; load, authority ({protocol}) and Redis on core {other_core}. {connections} connections, medians \
         of {rounds} × {seconds} s with the scenarios in turn. Every scenario verifies ES256 tokens (cached) and answers by \
         `direct_response`, without an access log.\n"
    )
}

fn throughput(text: &mut String, results: &[Measured], options: &Options) {
    let Options { connections, .. } = options;
    let _ = writeln!(
        text,
        "| {connections} connections | requests/s | of one empty filter | by CPU | p50 ms | p99 ms | Envoy's CPU µs a request |"
    );
    let _ = writeln!(text, "|---|--:|--:|--:|--:|--:|--:|");
    for Measured { title, per_second, percent_of_ceiling, percent_by_cpu, p50_us, p99_us, envoy_ns, .. } in results {
        let (per_second, percent, by_cpu) = (thousands(per_second.median), percent_of_ceiling.median, percent_by_cpu.median);
        let (p50, p99, cpu) = (thousandths(*p50_us), thousandths(*p99_us), tenths(envoy_ns.median / 100));
        let _ = writeln!(text, "| {title} | {per_second} | {percent} % | {by_cpu} % | {p50} | {p99} | {cpu} |");
    }
}

fn latency(text: &mut String, results: &[Measured]) {
    if results.iter().all(|measured| measured.alone_p50_us.is_none()) {
        return;
    }
    let _ = writeln!(text, "\n| one connection | p50 ms | p99 ms |\n|---|--:|--:|");
    for Measured { title, alone_p50_us, alone_p99_us, .. } in results {
        if let (Some(p50), Some(p99)) = (alone_p50_us, alone_p99_us) {
            let _ = writeln!(text, "| {title} | {} | {} |", thousandths(*p50), thousandths(*p99));
        }
    }
}

fn callouts(text: &mut String, results: &[Measured]) {
    if results.iter().all(|measured| !measured.store) {
        return;
    }
    let _ = writeln!(
        text,
        "\n| callouts | requests a callout | checks a callout | authority's CPU µs a request | Redis' CPU µs a request |"
    );
    let _ = writeln!(text, "|---|--:|--:|--:|--:|");
    for measured in results.iter().filter(|measured| measured.store) {
        let Measured { title, requests_per_callout_x10, checks_per_callout_x10, authority_ns, redis_ns, .. } = measured;
        let (requests, checks) = (tenths(requests_per_callout_x10.median), tenths(checks_per_callout_x10.median));
        let (authority, redis) = (tenths(authority_ns.median / 100), tenths(redis_ns.median / 100));
        let _ = writeln!(text, "| {title} | {requests} | {checks} | {authority} | {redis} |");
    }
}

fn noise(text: &mut String, results: &[Measured]) {
    let stolen = results.iter().map(|measured| measured.stolen_percent.most).max().unwrap_or(0);
    let range = |Spread { least, median, most }: &Spread| most.saturating_sub(*least).saturating_mul(100).checked_div(*median);
    let range = results.iter().filter_map(|measured| range(&measured.per_second)).max().unwrap_or(0);
    let _ = writeln!(
        text,
        "\nNoise: the rounds of one scenario lie up to {range} % apart; others took up to {stolen} % of Envoy's core."
    );
}

/// Microseconds as milliseconds.
fn thousandths(Spread { median, .. }: Spread) -> String {
    format!("{}.{:02}", median / 1_000, median % 1_000 / 10)
}

fn tenths(number: u64) -> String {
    format!("{}.{}", number / 10, number % 10)
}

fn thousands(number: u64) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", number / 1_000, number % 1_000) }
}
