//! Names and addresses as they come from Envoy.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_policy::Anonymous::{Malformed, Missing};
use weir_policy::identity::{address_subject, verified_name};

#[test]
fn a_name_is_text_of_1_to_256_bytes() {
    let longest = "x".repeat(256);
    for name in ["U-17", "a b", "größe", "192.0.2.7", "spiffe://mesh/ns/a/sa/b", "{}:%", "null", "0", longest.as_str()] {
        assert_eq!(verified_name(Some(name.into())).as_deref(), Ok(name));
    }
}

#[test]
fn what_is_no_name_is_anonymous_and_says_why() {
    assert_eq!(verified_name(None), Err(Missing));
    assert_eq!(verified_name(Some(vec![])), Err(Missing));
    let rubbish: [&[u8]; 10] = [
        &[b'x'; 257],
        b"a\r\nb",
        b"a\0",
        b"\t",
        b"\x7f",
        "a\u{85}b".as_bytes(), // next line, a control character beyond ASCII
        b"\xff\xfe",
        b"abc\xc3",
        b"\xed\xa0\x80", // half a surrogate pair
        &[0],
    ];
    for bytes in rubbish {
        assert_eq!(verified_name(Some(bytes.into())), Err(Malformed), "{bytes:?}");
    }
}

#[test]
fn a_bool_is_no_name() {
    assert_eq!(verified_name(Some(vec![0])), Err(Malformed));
    assert_eq!(verified_name(Some(vec![1])), Err(Malformed));
}

#[test]
fn a_number_is_no_name() {
    let common =
        [0.0, 1.0, -1.0, 7.0, 42.0, 1_000.0, 65_536.0, 123_456_789.0, 4_294_967_295.0, 1.7e9, 1.7e12, 0.5, 0.1, f64::NAN];
    for number in common {
        assert_eq!(verified_name(Some(number.to_le_bytes().into())), Err(Malformed), "{number}");
    }
}

#[test]
fn addresses_are_counted_by_host_and_ipv6_by_its_64() {
    let table = [
        ("192.0.2.7:41234", "192.0.2.7"),
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:0", "192.0.2.7"),
        ("[2001:db8:1:2:3:4:5:6]:41234", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::", "2001:db8:1:2::/64"),
        ("[2001:0db8:0001:0002:0000::1]:80", "2001:db8:1:2::/64"),
        ("[2001:db8:1:3::1]:80", "2001:db8:1:3::/64"),
        ("[::1]:80", "::/64"),
        ("[::ffff:192.0.2.7]:80", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::ffff:c000:207", "192.0.2.7"),
        ("[fe80::1%3]:80", "fe80::/64"),
    ];
    for (source, subject) in table {
        assert_eq!(address_subject(source.as_bytes()), subject, "{source}");
    }
}

#[test]
fn a_hundred_addresses_of_one_64_are_one_subject() {
    let mut subjects: Vec<String> = (0..100_u64)
        .map(|host| address_subject(format!("[2001:db8:1:2:{host:x}::{host:x}]:{}", 1_024 + host).as_bytes()))
        .collect();
    subjects.dedup();
    assert_eq!(subjects, ["2001:db8:1:2::/64"]);
}

#[test]
fn rubbish_addresses_are_one_subject_together() {
    let table: [&[u8]; 12] = [
        b"",
        b"unknown",
        b"/var/run/envoy.sock",
        b"@envoy",
        b"192.0.2.7:99999",
        b"192.0.2.07",
        b"192.0.2",
        b"192.0.2.7:80:80",
        b"[2001:db8::1",
        b"192.0.2.7\0",
        b" 192.0.2.7",
        b"\xff\xff",
    ];
    for source in table {
        assert_eq!(address_subject(source), "unknown", "{}", source.escape_ascii());
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod properties {
    use super::{Malformed, address_subject, verified_name};
    use proptest::prelude::*;

    /// Integers of every size alike.
    fn below_2_51() -> impl Strategy<Value = u64> {
        (0..51_u32, 0..1_u64 << 51).prop_map(|(shift, number)| number >> shift)
    }

    proptest! {
        #[test]
        #[expect(clippy::cast_precision_loss, clippy::float_arithmetic, reason = "integers below 2^53 are exact")]
        fn no_integer_below_2_to_the_51_is_a_name(number in below_2_51(), negative: bool) {
            let double = if negative { -(number as f64) } else { number as f64 };
            prop_assert_eq!(verified_name(Some(double.to_le_bytes().into())), Err(Malformed));
        }

        #[test]
        fn any_bytes_have_an_outcome(bytes: Vec<u8>) {
            let subject = address_subject(&bytes);
            prop_assert!(subject.len() <= 64);
            if let Ok(name) = verified_name(Some(bytes.clone())) {
                prop_assert_eq!(name.as_bytes(), bytes);
            }
        }
    }
}
