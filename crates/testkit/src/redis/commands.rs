//! What a server is asked by a test: one command, one connection.

use crate::{Error, Result};
use redis::{Client, Cmd, Value};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

/// The answer as text: lists as lines, nothing as the empty text.
pub(super) fn ask(port: u16, words: &[&str]) -> Result<String> {
    let refused = |reason: redis::RedisError| Error::Refused { question: words.join(" "), port, reason: reason.to_string() };
    let client = Client::open(format!("redis://127.0.0.1:{port}")).map_err(refused)?;
    let mut connection = client.get_connection_with_timeout(TIMEOUT).map_err(refused)?;
    connection.set_read_timeout(Some(TIMEOUT)).map_err(refused)?;
    let mut command = Cmd::new();
    for word in words {
        command.arg(*word);
    }
    command.query::<Value>(&mut connection).map(|value| text(&value)).map_err(refused)
}

/// One field of a section of `INFO`, or of `CLUSTER INFO`.
pub(super) fn info(port: u16, section: &str, field: &str) -> Option<String> {
    let words: &[&str] = if section == "cluster" { &["CLUSTER", "INFO"] } else { &["INFO", section] };
    let text = ask(port, words).ok()?;
    let value = text.lines().find_map(|line| line.trim_end().strip_prefix(field)?.strip_prefix(':'));
    value.map(str::to_owned)
}

fn text(value: &Value) -> String {
    match value {
        Value::Nil => String::new(),
        Value::Okay => "OK".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join("\n"),
        other => format!("{other:?}"),
    }
}
