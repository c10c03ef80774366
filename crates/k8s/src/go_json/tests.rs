use super::*;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
struct Inner {
    name: String,
    sizes: GoList<u64>,
    bytes: GoBytes,
    flag: bool,
}

impl GoStruct for Inner {
    const TYPE: &'static str = "pkg.Inner";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "Name", read: |inner, reader| inner.name.read(reader) },
        Field { name: "Sizes", read: |inner, reader| inner.sizes.read(reader) },
        Field { name: "Bytes", read: |inner, reader| inner.bytes.read(reader) },
        Field { name: "Flask", read: |inner, reader| inner.flag.read(reader) },
    ];
}

#[derive(Debug, Default)]
struct Outer {
    list: GoList<Inner>,
    map: Option<BTreeMap<i64, Option<Vec<String>>>>,
    nodes: Option<BTreeMap<Int, Option<Box<Inner>>>>,
    odd: Odd,
}

/// A value that reads itself.
#[derive(Debug, Default)]
struct Odd(String);

impl GoValue for Odd {
    fn go_type() -> String {
        "pkg.Odd".to_owned()
    }

    fn read_named(&mut self, _: Option<&'static str>, reader: &mut Reader<'_>) -> Result<(), Stop> {
        self.0 = String::from_utf8_lossy(reader.raw()?).into_owned();
        if self.0.contains("bad") { Err(Stop::Custom("odd refuses".to_owned())) } else { Ok(()) }
    }
}

impl GoStruct for Outer {
    const TYPE: &'static str = "pkg.Outer";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "list", read: |outer, reader| outer.list.read(reader) },
        Field { name: "map", read: |outer, reader| outer.map.read_as("pkg.PerNode", reader) },
        Field { name: "nodes", read: |outer, reader| outer.nodes.read(reader) },
        Field { name: "odd", read: |outer, reader| outer.odd.read(reader) },
    ];
}

fn error(text: &[u8]) -> String {
    decode(text, &mut Outer::default()).expect_err("it is refused").to_string()
}

fn outer(text: &str) -> Outer {
    let mut outer = Outer::default();
    decode(text.as_bytes(), &mut outer).unwrap_or_else(|error| panic!("{text}: {error}"));
    outer
}

#[test]
fn errors_of_syntax_are_those_of_go() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "unexpected end of JSON input"),
        (b" \t\r\n", "unexpected end of JSON input"),
        (b"\x0b{}", r"invalid character '\v' looking for beginning of value"),
        (b"\x00", r"invalid character '\x00' looking for beginning of value"),
        (b"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"),
        (b"\xff", "invalid character 'ÿ' looking for beginning of value"),
        (b"\x80", r"invalid character '\u0080' looking for beginning of value"),
        (b"\x7f", r"invalid character '\x7f' looking for beginning of value"),
        (b"{'a':1}", r"invalid character '\'' looking for beginning of object key string"),
        (b"{\"a\" 1}", "invalid character '1' after object key"),
        (b"{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"),
        (b"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
        (b"{,}", "invalid character ',' looking for beginning of object key string"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"[,]", "invalid character ',' looking for beginning of value"),
        (b"{}x", "invalid character 'x' after top-level value"),
        (b"17 1", "invalid character '1' after top-level value"),
        (b"01", "invalid character '1' after top-level value"),
        (b"\"a\nb\"", r"invalid character '\n' in string literal"),
        (b"\"a\\qb\"", "invalid character 'q' in string escape code"),
        (b"\"\\'\"", r"invalid character '\'' in string escape code"),
        (b"\"\\u12g4\"", r"invalid character 'g' in \u hexadecimal character escape"),
        (b"\"\\u12", r"invalid character ' ' in \u hexadecimal character escape"),
        (b"\"abc", "unexpected end of JSON input"),
        (b"\"abc\\", "invalid character ' ' in string escape code"),
        (b"-", "invalid character ' ' in numeric literal"),
        (b"-a", "invalid character 'a' in numeric literal"),
        (b"1.", "invalid character ' ' after decimal point in numeric literal"),
        (b"1.e", "invalid character 'e' after decimal point in numeric literal"),
        (b"1e+", "invalid character ' ' in exponent of numeric literal"),
        (b"1E,", "invalid character ',' in exponent of numeric literal"),
        (b"nul", "invalid character ' ' in literal null (expecting 'l')"),
        (b"nUll", "invalid character 'U' in literal null (expecting 'u')"),
        (b"truE", "invalid character 'E' in literal true (expecting 'e')"),
        (b"fal", "invalid character ' ' in literal false (expecting 's')"),
        (b"falze", "invalid character 'z' in literal false (expecting 's')"),
        (b"[[{\"a\":[}]]", "invalid character '}' looking for beginning of value"),
        (b"{\"x\":{\"a\":[1}}}", "invalid character '}' after array element"),
        (b"{\"x\":{\"a\":[1]]}}", "invalid character ']' after object key:value pair"),
        // An error of syntax wins over one of type that comes before it.
        (b"{\"list\":5,", "unexpected end of JSON input"),
        (b"{\"odd\":\"bad\",", "unexpected end of JSON input"),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), *expected, "{}", text.escape_ascii());
    }
}

#[test]
fn errors_of_type_name_structure_path_and_type() {
    let cases = [
        ("[]", "json: cannot unmarshal array into Go value of type pkg.Outer"),
        ("1", "json: cannot unmarshal number into Go value of type pkg.Outer"),
        ("true", "json: cannot unmarshal bool into Go value of type pkg.Outer"),
        ("\"\"", "json: cannot unmarshal string into Go value of type pkg.Outer"),
        (
            r#"{"list":{}}"#,
            "json: cannot unmarshal object into Go struct field Outer.list of type []pkg.Inner",
        ),
        (
            r#"{"list":[5]}"#,
            "json: cannot unmarshal number into Go struct field Outer.list of type pkg.Inner",
        ),
        (
            r#"{"list":[{"Name":5,"Sizes":"x"}],"map":7}"#,
            "json: cannot unmarshal number into Go struct field Inner.list.Name of type string",
        ),
        (
            r#"{"list":[{"Sizes":[1,-1]}]}"#,
            "json: cannot unmarshal number -1 into Go struct field Inner.list.Sizes of type uint64",
        ),
        (
            r#"{"list":[{"Sizes":[-0]}]}"#,
            "json: cannot unmarshal number -0 into Go struct field Inner.list.Sizes of type uint64",
        ),
        (
            r#"{"list":[{"Bytes":[256]}]}"#,
            "json: cannot unmarshal number 256 into Go struct field Inner.list.Bytes of type uint8",
        ),
        (
            r#"{"list":[{"Bytes":{}}]}"#,
            "json: cannot unmarshal object into Go struct field Inner.list.Bytes of type []uint8",
        ),
        ("{\"list\":[{\"Bytes\":\"Cg\"}]}", "illegal base64 data at input byte 0"),
        ("{\"list\":[{\"Bytes\":\"Cg=\"}]}", "illegal base64 data at input byte 3"),
        ("{\"list\":[{\"Bytes\":\"Cg=A\"}]}", "illegal base64 data at input byte 2"),
        ("{\"list\":[{\"Bytes\":\"Cg==A\"}]}", "illegal base64 data at input byte 4"),
        ("{\"list\":[{\"Bytes\":\"C===\"}]}", "illegal base64 data at input byte 1"),
        ("{\"list\":[{\"Bytes\":\"AAAA\\nCgA\"}]}", "illegal base64 data at input byte 5"),
        (
            r#"{"map":[]}"#,
            "json: cannot unmarshal array into Go struct field Outer.map of type pkg.PerNode",
        ),
        (
            r#"{"map":{"x":[]}}"#,
            "json: cannot unmarshal number x into Go struct field Outer.map of type int64",
        ),
        // The value of an entry is looked at before its key.
        (
            r#"{"map":{"x":5}}"#,
            "json: cannot unmarshal number into Go struct field Outer.map of type []string",
        ),
        (
            r#"{"nodes":{"y":{}}}"#,
            "json: cannot unmarshal number y into Go struct field Outer.nodes of type int",
        ),
        (
            r#"{"nodes":5}"#,
            "json: cannot unmarshal number into Go struct field Outer.nodes of type map[int]*pkg.Inner",
        ),
        (
            r#"{"nodes":{"1":[]}}"#,
            "json: cannot unmarshal array into Go struct field Outer.nodes of type pkg.Inner",
        ),
        // A value that reads itself ends the decoding, whatever was wrong before.
        (r#"{"list":5,"odd":["bad"]}"#, "odd refuses"),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn a_document_may_be_nested_ten_thousand_deep() {
    let nested = |depth: usize| format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(decode(nested(9_999).as_bytes(), &mut Outer::default()).is_ok());
    assert_eq!(error(nested(10_000).as_bytes()), "invalid character '[' exceeded max depth");
    assert_eq!(
        error("[".repeat(10_000_000).as_bytes()),
        "invalid character '[' exceeded max depth"
    );
    assert_eq!(
        error("{\"a\":".repeat(10_001).as_bytes()),
        "invalid character '{' exceeded max depth"
    );
}

#[test]
fn texts_are_decoded_as_go_decodes_them() {
    let cases: &[(&[u8], &str)] = &[
        (
            b"plain and rather long, so that it has more than a word",
            "plain and rather long, so that it has more than a word",
        ),
        (br#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
        (br"\u0041\u00e9\u2028", "Aé\u{2028}"),
        (br"\ud83d\ude00", "😀"),
        (br"\uD83D\uDE00", "😀"),
        (br"\ud800", "\u{fffd}"),
        (br"\udc00x", "\u{fffd}x"),
        (br"\ud800\u0041", "\u{fffd}A"),
        (br"\ud800\ud83d\ude00", "\u{fffd}😀"),
        (
            b"a\xffb\xc3 \xe2\x82 \xed\xa0\x80",
            "a\u{fffd}b\u{fffd} \u{fffd}\u{fffd} \u{fffd}\u{fffd}\u{fffd}",
        ),
        (b"\x7f\xc3\xa9\\n", "\u{7f}é\n"),
    ];
    for (inside, expected) in cases {
        let mut text = String::new();
        let json = [b"\"", *inside, b"\""].concat();
        assert_eq!(decode(&json, &mut text), Ok(()), "{}", inside.escape_ascii());
        assert_eq!(text, *expected, "{}", inside.escape_ascii());
    }
}

#[test]
fn names_of_fields_fold() {
    for key in ["Flask", "flask", "FLASK", "fla\u{17f}\u{212a}", "fl\\u0061sk"] {
        let outer = outer(&format!("{{\"LIST\":[{{\"{key}\":true}}]}}"));
        assert!(outer.list.into_option().expect("a list")[0].flag, "{key}");
    }
    let outer = outer(r#"{"list":[{"flasks":true,"Flas":true}]}"#);
    assert!(!outer.list.into_option().expect("a list")[0].flag);
}

#[test]
fn what_comes_twice_is_merged() {
    let names = |text: &str| -> Vec<String> {
        let list = outer(text).list.into_option().expect("a list");
        list.into_iter().map(|inner| inner.name).collect()
    };
    // The memory of a list is used again, until it is made again.
    assert_eq!(names(r#"{"list":[{"Name":"a"},{"Name":"b"}],"list":[{}]}"#), ["a"]);
    assert_eq!(
        names(r#"{"list":[{"Name":"a"},{"Name":"b"}],"list":[{}],"list":[{},null,{}]}"#),
        ["a", "b", ""]
    );
    assert_eq!(names(r#"{"list":[{"Name":"a"}],"list":[],"list":[{}]}"#), [""]);
    assert_eq!(names(r#"{"list":[{"Name":"a"}],"list":null,"list":[{}]}"#), [""]);
    assert_eq!(names(r#"{"list":[{"Name":"a","Name":null}]}"#), ["a"]);

    let map =
        outer(r#"{"map":{"0":["a","b"],"1":null},"map":{"+0":[null],"-0":["c"],"007":[]}}"#).map;
    let expected = [(0, Some(vec!["c".to_owned()])), (1, None), (7, Some(vec![]))];
    assert_eq!(map, Some(BTreeMap::from(expected)));
    assert_eq!(outer(r#"{"map":{"0":[]},"map":null}"#).map, None);

    let inner = |text: &str| outer(text).list.into_option().expect("a list").remove(0);
    assert_eq!(inner(r#"{"list":[{"Bytes":"AQI="}]}"#).bytes.into_option(), Some(vec![1, 2]));
    assert_eq!(inner(r#"{"list":[{"Bytes":""}]}"#).bytes.into_option(), Some(vec![]));
    assert_eq!(
        inner(r#"{"list":[{"Bytes":"A\nQ\r\nI=\n"}]}"#).bytes.into_option(),
        Some(vec![1, 2])
    );
    assert_eq!(inner(r#"{"list":[{"Bytes":"AR=="}]}"#).bytes.into_option(), Some(vec![1]));
    assert_eq!(
        inner(r#"{"list":[{"Bytes":[1,2,3],"Bytes":[4],"Bytes":[null,null]}]}"#)
            .bytes
            .into_option(),
        Some(vec![4, 2])
    );
    assert_eq!(
        inner(r#"{"list":[{"Sizes":[18446744073709551615]}]}"#).sizes.into_option(),
        Some(vec![u64::MAX])
    );
}

#[test]
fn a_value_that_reads_itself_gets_its_text() {
    assert_eq!(outer(r#"{"odd": {"a" : [1]} }"#).odd.0, r#"{"a" : [1]}"#);
    assert_eq!(outer(r#"{"odd":null}"#).odd.0, "null");
}

#[test]
fn texts_are_written_as_go_writes_them() {
    let cases = [
        ("", r#""""#),
        ("a\"\\/", r#""a\"\\/""#),
        ("<p>&", r#""\u003cp\u003e\u0026""#),
        ("\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\u{7f}\""),
        ("é\u{2028}\u{2029}😀", "\"é\\u2028\\u2029😀\""),
    ];
    for (text, expected) in cases {
        let mut json = String::new();
        push_string(text, &mut json);
        assert_eq!(json, expected);
        let mut back = String::new();
        assert_eq!(decode(json.as_bytes(), &mut back), Ok(()));
        assert_eq!(back, text);
    }
}
