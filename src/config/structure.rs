//! `google.protobuf.Struct` → JSON.
//!
//! Envoy hands a plugin configuration of that type over as its protobuf bytes. It is what lets people write
//! the configuration as plain YAML in the midst of Envoy's, so it is read here: six fields of three messages.
//! The fields of a Struct have no order.

use serde_json::{Map, Number, Value};

/// How deeply values may be nested; a policy needs half of it.
const MOST_DEPTH: u32 = 16;

/// The object in `bytes`, if they are a `google.protobuf.Struct` from the first to the last.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<Value> {
    object(bytes, MOST_DEPTH)
}

/// One field of a message: its number with its content.
enum Content<'a> {
    Varint(u64),
    Double(f64),
    Bytes(&'a [u8]),
}

/// `message Struct { map<string, Value> fields = 1; }`
fn object(bytes: &[u8], depth: u32) -> Option<Value> {
    let mut object = Map::new();
    for field in fields(bytes) {
        let (1, Content::Bytes(entry)) = field? else { return None };
        let (mut name, mut value) = (None, None);
        for field in fields(entry) {
            match field? {
                (1, Content::Bytes(text)) => name = Some(std::str::from_utf8(text).ok()?),
                (2, Content::Bytes(bytes)) => value = Some(self::value(bytes, depth)?),
                _ => return None,
            }
        }
        object.insert(name.unwrap_or_default().into(), value.unwrap_or_default());
    }
    Some(Value::Object(object))
}

/// `message Value { oneof kind { null = 1; number = 2; string = 3; bool = 4; struct = 5; list = 6; } }`
fn value(bytes: &[u8], depth: u32) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let mut value = Value::Null;
    for field in fields(bytes) {
        value = match field? {
            (1, Content::Varint(_)) => Value::Null,
            (2, Content::Double(number)) => self::number(number)?,
            (3, Content::Bytes(text)) => Value::String(std::str::from_utf8(text).ok()?.into()),
            (4, Content::Varint(flag)) => Value::Bool(flag != 0),
            (5, Content::Bytes(bytes)) => object(bytes, depth)?,
            (6, Content::Bytes(bytes)) => list(bytes, depth)?,
            _ => return None,
        };
    }
    Some(value)
}

/// `message ListValue { repeated Value values = 1; }`
fn list(bytes: &[u8], depth: u32) -> Option<Value> {
    let mut values = Vec::new();
    for field in fields(bytes) {
        let (1, Content::Bytes(bytes)) = field? else { return None };
        values.push(value(bytes, depth)?);
    }
    Some(Value::Array(values))
}

/// All numbers of a Struct are doubles. Whole ones that a double holds exactly are integers again.
fn number(number: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && (0.0..=EXACT).contains(&number) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, not negative, at most 2^53")]
        return Some(Value::from(number as u64));
    }
    Number::from_f64(number).map(Value::Number)
}

/// The fields of a message; `None` once, then nothing, where the bytes are no message.
fn fields(mut bytes: &[u8]) -> impl Iterator<Item = Option<(u64, Content<'_>)>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let field = take_field(&mut bytes);
        if field.is_none() {
            bytes = &[];
        }
        Some(field)
    })
}

fn take_field<'a>(bytes: &mut &'a [u8]) -> Option<(u64, Content<'a>)> {
    let tag = take_varint(bytes)?;
    let content = match tag & 7 {
        0 => Content::Varint(take_varint(bytes)?),
        1 => Content::Double(f64::from_le_bytes(take(bytes, 8)?.try_into().ok()?)),
        2 => {
            let size = usize::try_from(take_varint(bytes)?).ok()?;
            Content::Bytes(take(bytes, size)?)
        }
        _ => return None,
    };
    Some((tag >> 3, content))
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number: u64 = 0;
    for shift in (0..64).step_by(7) {
        let [byte] = *take(bytes, 1)? else { return None };
        number |= u64::from(byte & 0x7F).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take<'a>(bytes: &mut &'a [u8], size: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(size)?;
    *bytes = rest;
    Some(taken)
}
