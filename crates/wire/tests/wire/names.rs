//! Which names can stand in keys, headers and metrics.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_wire::{MAX_NAME_BYTES, is_name};

#[test]
fn names_are_letters_digits_dashes_and_underscores() {
    let longest = "x".repeat(MAX_NAME_BYTES);
    for name in ["P-READ", "p_read", "7", "-", longest.as_str()] {
        assert!(is_name(name), "{name}");
    }
    let too_long = "x".repeat(MAX_NAME_BYTES + 1);
    for name in ["", " ", "a b", "a.b", "a:b", "a{b", "a\r\nb", "a\u{0}", "größe", "a\"b", "a,b", too_long.as_str()] {
        assert!(!is_name(name), "{name:?}");
    }
}
