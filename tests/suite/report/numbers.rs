use super::browser::{Browser, browser};
use super::{STORY, Written};
use crate::cli::kq;
use serde_json::Value;
use std::collections::BTreeMap;

/// The attributes of a mark that are not fields of its answer.
const OWN: [&str; 6] = ["of", "name", "pod", "pods", "earliest", "latest"];

/// Reads the marks: where each is from, and what it shows.
const MARKS: &str = "[...document.querySelectorAll('[data-of]')].map((it) => ({...it.dataset}))";

/// Reads the texts of the embedded answers, by the identifiers of their elements.
const ANSWERS: &str = "Object.fromEntries([...document.querySelectorAll('script[type=\"application/json\"]')]\
                       .map((it) => [it.id, it.textContent]))";

/// Returns the embedded answers by name.
fn answers(browser: &mut Browser) -> BTreeMap<String, Value> {
    let texts: BTreeMap<String, String> =
        serde_json::from_value(browser.value(ANSWERS)).expect("texts");
    let read = |(id, text): (String, String)| {
        let name = id.strip_prefix("answer-").expect("the name of an answer").to_owned();
        (name, serde_json::from_str(&text).expect("it is JSON"))
    };
    texts.into_iter().map(read).collect()
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        // As scripts write it.
        Value::Number(number) => Some(number.to_string().trim_end_matches(".0").to_owned()),
        Value::Bool(is) => Some(is.to_string()),
        _ => None,
    }
}

#[test]
fn marks_have_the_numbers_of_the_answers() {
    let Some(mut browser) = browser() else { return };
    let page = Written::of(STORY);
    browser.open(&page.file());
    let answers = answers(&mut browser);
    let marks = browser.value(MARKS);
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    for mark in marks.as_array().expect("marks") {
        let of = mark["of"].as_str().expect("a place");
        let (answer, pointer) = of.split_at(of.find('/').expect("a pointer"));
        let place = answers[answer].pointer(pointer);
        let place = place.unwrap_or_else(|| panic!("{of} is not in the answers"));
        for (name, shown) in mark.as_object().expect("attributes") {
            if OWN.contains(&name.as_str()) {
                continue;
            }
            assert_eq!(text(&place[name]).as_deref(), shown.as_str(), "{of} {name}");
            *compared.entry(answer).or_default() += 1;
        }
        for (end, bound) in [("earliest", "/earliest/after"), ("latest", "/latest/after")] {
            if let Some(shown) = mark.get(end) {
                assert_eq!(place.pointer(bound), Some(shown), "{of} {end}");
            }
        }
    }
    for answer in [
        "shares",
        "usage",
        "gc",
        "devices",
        "probes",
        "evict-memory",
        "evict-disk",
        "preempt",
        "restart",
        "what-if-0",
    ] {
        assert!(
            compared.get(answer).is_some_and(|number| *number > 0),
            "no mark of {answer}: {compared:?}"
        );
    }
}

#[test]
fn embedded_answers_are_those_of_the_commands() {
    let Some(mut browser) = browser() else { return };
    let page = Written::of(STORY);
    browser.open(&page.file());
    let answers = answers(&mut browser);
    let commands = browser.value("[...document.querySelectorAll('#facts tbody tr')].map((it) => [...it.cells].map((cell) => cell.textContent)) \
                                  .filter((it) => it.length === 3 && it[1].startsWith('kq '))");
    let mut asked = 0;
    for row in commands.as_array().expect("rows") {
        let (name, command) =
            (row[0].as_str().expect("a name"), row[1].as_str().expect("a command"));
        // Of a command about one pod the page has all pods.
        if name == "probes" {
            let plan =
                kq("probe plan checkout-6d5f7 --snapshot examples/night/worker-3.json").json();
            assert_eq!(answers[name]["probes"], plan["probes"]);
            continue;
        }
        let ran = kq(command.strip_prefix("kq ").expect("a command of kq")).arg("-ojson").run();
        let given: Value = ran.answer();
        assert_eq!(answers[name], given, "{command}");
        asked += 1;
    }
    assert_eq!(asked, 14, "{commands}");
}
