//! The program: what a launcher reads, and what a person reads when it does not start.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-authority"));
    command.args(arguments).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn fails(arguments: &[&str]) -> Output {
    let output = program(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    output
}

fn only_line(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn it_prints_where_it_listens_and_ends_at_sigterm() {
    let mut child: Child = program(&["--listen", "127.0.0.1:0"]).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let addr: SocketAddr = line.trim_end().strip_prefix("listening on ").unwrap().parse().unwrap();
    assert_eq!(weir_testkit::probe::get(addr, "/readyz").map(|answer| answer.status), Some(200));

    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}

#[test]
fn a_taken_port_is_one_line_with_the_place_and_the_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let line = only_line(&fails(&["--listen", &addr]));
    assert!(line.contains(&addr) && line.contains("--listen or WEIR_LISTEN"), "{line}");
}

#[test]
fn a_password_in_the_environment_is_used_and_never_shown() {
    let redis = weir_testkit::Redis::start().unwrap();
    redis.ask(&["CONFIG", "SET", "requirepass", "topsecret"]).unwrap();
    let mut command = program(&["--listen", "127.0.0.1:0", "--log", "trace", "--store", &redis.url()]);
    let mut child: Child = command.env("WEIR_REDIS_PASSWORD", "topsecret").spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let addr: SocketAddr = line.trim_end().strip_prefix("listening on ").unwrap().parse().unwrap();
    let begun = Instant::now();
    while !weir_testkit::probe::is_ok(addr, "/readyz") {
        assert!(begun.elapsed() < Duration::from_secs(10), "not ready");
    }
    let metrics = weir_testkit::probe::get(addr, "/metrics").unwrap().body;
    assert!(
        metrics.contains("weir_authority_wait_short_total 0") && metrics.contains("weir_authority_store_node_up{"),
        "{metrics}"
    );
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("connected") && !log.contains("topsecret"), "{log}");
}

#[test]
fn settings_that_do_not_fit_are_one_line_with_the_remedy() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for (arguments, remedy) in [
        (&["--store", "redis://weir@h"][..], "WEIR_REDIS_PASSWORD"),
        (&["--store", "redis://h", "--redis-ca", here], "rediss://"),
        (&["--store", "rediss://h", "--redis-ca", here], here),
        (&["--store", "rediss://h", "--redis-cert", here], "--redis-key"),
        (&["--store", "redis+sentinel://h,h"], "redis+sentinel://host,host/master"),
        (&["--store", "redis+sentinel://h/m", "--sentinel-user", "u"], "WEIR_SENTINEL_PASSWORD"),
        (&["--store", "redis+cluster://h/1"], "no database but 0"),
        (&["--store", "redis://h", "--wait-replicas", "1", "--wait-timeout-ms", "50"], "--store-timeout-ms"),
    ] {
        let line = only_line(&fails(arguments));
        assert!(line.contains(remedy), "{line}");
    }
    let mut twice = program(&["--store", "redis://:secret@h"]);
    let output = twice.env("WEIR_REDIS_PASSWORD", "other").output().unwrap();
    let line = only_line(&output);
    assert!(line.contains("given twice") && !line.contains("secret") && !line.contains("other"), "{line}");
}

#[test]
fn a_store_that_cannot_be_one_is_one_line_without_its_password() {
    for store in ["postgres://u:secret@db/x", "redis://u:secret@db:port", "redis://u:secret@:6379/x"] {
        let line = only_line(&fails(&["--store", store]));
        assert!(line.contains("WEIR_STORE") && line.contains("redis://") && !line.contains("secret"), "{line}");
    }
}
