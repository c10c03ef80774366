use super::{GoYamlError, read};
use serde_json::{Value, json};

fn value(text: &str) -> Value {
    read(text.as_bytes()).unwrap_or_else(|error| panic!("{text:?}: {error}")).tree.to_value()
}

fn error(bytes: &[u8]) -> String {
    read(bytes).map(|read| read.tree).expect_err("an error").to_string()
}

#[test]
fn utf_16_has_a_byte_order_mark() {
    let encoded = |text: &str, unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("\u{feff}{text}").encode_utf16().flat_map(unit).collect()
    };
    let text = "a: grün 🦀\nb: [1]\n";
    let expected = read(text.as_bytes()).expect("UTF-8");
    let little = encoded(text, u16::to_le_bytes);
    for bytes in [little.clone(), encoded(text, u16::to_be_bytes)] {
        assert_eq!(read(&bytes).as_ref(), Ok(&expected));
    }
    for (end, error) in [
        (&[0x00][..], "incomplete UTF-16 character"),
        (&[0x00, 0xdc, 0x20, 0x00], "unexpected low surrogate area"),
        (&[0x00, 0xd8, 0x20, 0x00], "expected low surrogate area"),
        (&[0x00, 0xd8], "incomplete UTF-16 surrogate pair"),
        (&[0x01, 0x00], "control characters are not allowed"),
    ] {
        let found = read(&[little.as_slice(), end].concat()).expect_err(error);
        assert_eq!(found.to_string(), format!("yaml: {error}"));
    }
    let without = read(&little[2..]).expect_err("no byte order mark");
    assert_eq!(without.to_string(), "yaml: control characters are not allowed");
}

#[test]
fn the_first_document_is_read() {
    for (text, expected) in [
        ("", json!(null)),
        ("# nothing\n", json!(null)),
        ("---\n", json!(null)),
        ("a: 1\n---\n: bad [\n", json!({"a": 1})),
        ("a: 1\n...\n[\n", json!({"a": 1})),
        ("a: 1\n%YAML 1.1\n", json!({"a": 1})),
        ("%YAML 1.1\n---\na: b\n", json!({"a": "b"})),
        (
            "a: 5.0\nb: 1e2\nc: 0x10\nd: 010\ne: 1_000\nf: 08\n",
            json!({"a": 5, "b": 100, "c": 16, "d": 8, "e": 1000, "f": 8}),
        ),
        ("a: no\nb: ~\nc:\nd: 'no'\n", json!({"a": false, "b": null, "c": null, "d": "no"})),
        (
            "a: &x {b: 1}\nc: *x\nd: {<<: *x, c: 2}\n",
            json!({"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1, "c": 2}}),
        ),
        ("a:\n- b\n-\n- - c\n  - d\n", json!({"a": ["b", null, ["c", "d"]]})),
        ("a: |\n  b\n\n  c\nd: >-\n  e\n  f\n\n  g\n", json!({"a": "b\n\nc\n", "d": "e f\ng"})),
        ("a: \"b\\n\\x41 c\\\n   d\n  e\"\nf: 'it''s'\n", json!({"a": "b\nA cd e", "f": "it's"})),
        ("a: b\n  c\n", json!({"a": "b c"})),
        ("{a: [b, {c: d}, e: f], g}", json!({"a": ["b", {"c": "d"}, {"e": "f"}], "g": null})),
        ("a: !!binary aGk=\nb: !!str 5\nc: !x y\n", json!({"a": "hi", "b": "5", "c": "y"})),
        ("1: a\nyes: b\n1.5: c\n", json!({"1": "a", "true": "b", "1.5": "c"})),
        ("? a\n: b\n", json!({"a": "b"})),
        ("a: 5\r\nb: 1\r\n", json!({"a": 5, "b": 1})),
        ("a: 2001-01-01\n", json!({"a": "2001-01-01"})),
    ] {
        assert_eq!(value(text), expected, "{text:?}");
    }
}

#[test]
fn errors_are_those_of_the_kubelet() {
    for (text, expected) in [
        ("not yaml: [\n", "line 1: did not find expected node content"),
        ("not: [yaml\n", "line 1: did not find expected ',' or ']'"),
        ("a: {b: c\n", "line 1: did not find expected ',' or '}'"),
        ("a: 1\nb: 2\n\tc: 1\n", "line 3: found a tab character that violates indentation"),
        ("a: 1\nb:\n\tc: 1\n", "line 3: found character that cannot start any token"),
        ("a: 1\n  b: 2\n", "line 2: mapping values are not allowed in this context"),
        ("a: 1\n b\nc\n", "line 4: could not find expected ':'"),
        ("a:\n  b: 1\n c: 1\n", "line 2: did not find expected key"),
        ("a: *nope\n", "unknown anchor 'nope' referenced"),
        ("a: 1\nb: \"\\q\"\n", "line 2: found unknown escape character"),
        ("a: 'b\n", "line 2: found unexpected end of stream"),
        ("a: &x [*x]\n", "anchor 'x' value contains itself"),
        ("<<: 1\n", "map merge requires map or sequence of maps as the value"),
        ("a: !!int b\n", "cannot decode !!str `b` as a !!int"),
        ("a: !!binary b\n", "!!binary value contains invalid base64 data"),
        ("a: !e!x b\n", "found undefined tag handle"),
        ("%YAML 2.0\n---\n", "found incompatible YAML document"),
        ("[a]: b\n", "invalid map key: []interface {}{\"a\"}"),
        ("- a\nb: c\n", "line 1: did not find expected '-' indicator"),
        ("a: b: c\n", "mapping values are not allowed in this context"),
        ("a: @b\n", "found character that cannot start any token"),
    ] {
        assert_eq!(error(text.as_bytes()), format!("yaml: {expected}"), "{text:?}");
    }
    for (bytes, expected) in [
        (&b"a: b\x00c\n"[..], "control characters are not allowed"),
        (b"a: \xff\n", "invalid leading UTF-8 octet"),
        (b"a: \xc3\n", "invalid trailing UTF-8 octet"),
        (b"a: b\xc3", "incomplete UTF-8 octet sequence"),
    ] {
        assert_eq!(error(bytes), format!("yaml: {expected}"), "{bytes:?}");
    }
    assert_eq!(error(b"a: .nan\n"), "json: unsupported value: NaN");
    assert_eq!(
        error(b"~: b\n"),
        "unsupported map key of type: %!s(<nil>), key: <nil>, value: \"b\""
    );
}

#[test]
fn an_error_far_ahead_is_found_after_one_close_by() {
    let close = format!("a: 1\n  b: 2\n{}\u{1}\n", "# x\n".repeat(200));
    assert!(error(close.as_bytes()).contains("mapping values"), "{}", error(close.as_bytes()));
    let near = format!("a: 1\n  b: 2\n{}\u{1}\n", "# x\n".repeat(20));
    assert_eq!(error(near.as_bytes()), "yaml: control characters are not allowed");
}

#[test]
fn keys_that_come_twice_are_reported() {
    let read = read(b"a: {b: 1, b: 2}\nc: 1\nc:\n  d\n1: x\n1: z\n").expect("YAML");
    assert_eq!(
        read.duplicates,
        [
            "line 1: key \"b\" already set in map",
            "line 4: key \"c\" already set in map",
            "line 6: key 1 already set in map"
        ]
    );
    assert_eq!(read.tree.to_value(), json!({"1": "z", "a": {"b": 2}, "c": "d"}));
}

#[test]
fn what_grows_is_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let alias = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{alias}]\n"));
    }
    assert_eq!(error(bomb.as_bytes()), "yaml: document contains excessive aliasing");
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(1000));
    for text in [
        "[".repeat(100_000),
        "- ".repeat(100_000),
        (0..2000).map(|n| format!("{}a:\n", " ".repeat(n))).collect(),
        long,
        " ".repeat(super::MAX_BYTES + 1),
    ] {
        assert!(matches!(read(text.as_bytes()), Err(GoYamlError::Bound(_))));
    }
}
