//! The reader of JSON agrees with another one on what is JSON and what a text says, and what is written
//! is read again.
#![cfg_attr(fuzzing, no_main)]

use kq_k8s::go_json::{check_syntax, decode, push_string};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

type Lists = Option<BTreeMap<String, Option<Vec<String>>>>;

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    let syntax = check_syntax(bytes);
    let mut lists: Lists = None;
    let decoded = decode(bytes, &mut lists);
    assert!(syntax.is_ok() || decoded.is_err(), "what is no JSON is not decoded");
    // The other one wants UTF-8 and less nesting, and no half of a surrogate pair in a text.
    if let Ok(text) = std::str::from_utf8(bytes) {
        let other = serde_json::from_str::<&RawValue>(text);
        if other.is_ok() {
            assert_eq!(syntax, Ok(()), "{text:?}");
        }
        if let Ok(said) = serde_json::from_str::<String>(text) {
            let mut mine = String::new();
            assert_eq!(decode(bytes, &mut mine), Ok(()));
            assert_eq!(mine, said);
        }
        let mut json = String::new();
        push_string(text, &mut json);
        let mut back = String::new();
        assert_eq!(decode(json.as_bytes(), &mut back), Ok(()));
        assert_eq!(back, text);
    }
});
