//! The program: what a launcher reads, and what a person reads when it does not start.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Output, Stdio};

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
fn a_store_that_cannot_be_one_is_one_line_without_its_password() {
    for store in ["postgres://u:secret@db/x", "redis://u:secret@db:port", "redis://u:secret@:6379/x"] {
        let line = only_line(&fails(&["--store", store]));
        assert!(line.contains("WEIR_STORE") && line.contains("redis://") && !line.contains("secret"), "{line}");
    }
}
