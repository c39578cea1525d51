//! Durations as people write them.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_policy::document::Duration;

fn read(text: &str) -> Option<u64> {
    serde_json::from_value(text.into()).ok().map(Duration::as_ms)
}

#[test]
fn a_duration_is_a_whole_number_with_a_unit() {
    let table = [("250ms", 250), ("10s", 10_000), ("5m", 300_000), ("1h", 3_600_000), ("366d", 31_622_400_000), ("0s", 0)];
    for (text, ms) in table {
        assert_eq!(read(text), Some(ms), "{text}");
    }
    for text in
        ["", "10", "s", "10 s", "1.5s", "-1s", "+1s", "1S", "1sec", "1h30m", "1µs", "99999999999999999999s", "999999999999999d"]
    {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn it_is_written_back_in_the_largest_unit_that_is_exact() {
    let table =
        [(0, "0ms"), (250, "250ms"), (1_000, "1s"), (1_500, "1500ms"), (60_000, "1m"), (90_000, "90s"), (86_400_000, "1d")];
    for (ms, text) in table {
        assert_eq!(Duration::from_ms(ms).to_string(), text);
        assert_eq!(read(text), Some(ms));
    }
}
