//! `-o sarif` and `-o junit` of the lints: the findings of their JSON.

use super::{folder_with, kq, repository};
use kq_answer::finding_export::junit;
use kq_answer::{Basis, Finding, Missing, MissingFact, Severity, Subject, Topic};
use kq_output::terminal::plain;
use serde_json::Value;
use std::process::Command;

fn manifest() -> String {
    let probe = "{httpGet: {path: /, port: 80}, periodSeconds: 1, timeoutSeconds: 5}";
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  containers:\n  - name: c\n    image: i\n    \
         livenessProbe: {probe}\n    readinessProbe: {probe}\n"
    )
}

#[test]
fn findings_are_those_of_the_json() {
    let manifest = manifest();
    let folder = folder_with(&[("pod.yaml", &manifest)]);
    const NODE: &str = "--snapshot examples/night/worker-3.json";
    let rows = [
        (folder.path().to_owned(), "probe lint pod.yaml".to_owned()),
        (repository(), format!("gc lint {NODE}")),
        (repository(), format!("preempt lint {NODE}")),
    ];
    let mut all = 0;
    for (within, command) in rows {
        let run = |format: &str| kq(&format!("{command} -o {format}")).within(&within).run();
        let json = run("json");
        let answer: Value = json.answer();
        let items = answer["items"].as_array().expect("findings");

        all += items.len();
        let sarif = run("sarif");
        assert_eq!(sarif.code, json.code, "{command}");
        let sarif: Value = sarif.answer();
        assert_eq!(sarif["version"], "2.1.0");
        let results = sarif["runs"][0]["results"].as_array().expect("results");
        assert_eq!(results.len(), items.len(), "{command}");
        for (result, item) in results.iter().zip(items) {
            assert_eq!(result["ruleId"], item["id"], "{command}");
            let (text, found) = (&result["message"]["text"], item["found"].as_str());
            assert!(text.as_str().zip(found).is_some_and(|(text, found)| text.starts_with(found)));
            let is_error = item["severity"] == "ERROR";
            assert_eq!(result["level"] == "error", is_error, "{command}: {result}");
        }
        let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
        assert!(results.iter().all(|it| rules.iter().any(|rule| rule["id"] == it["ruleId"])));

        let junit = run("junit");
        assert_eq!(junit.code, json.code, "{command}");
        let missing = answer["missing"].as_array().map_or(0, Vec::len);
        let cases = junit.stdout.matches("<testcase ").count();
        assert_eq!(cases, items.len() + missing, "{command}");
        let invocation = &sarif["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], missing == 0, "{command}");
        assert_eq!(invocation["exitCode"], json.code, "{command}");
        let is_failure =
            |it: &&Value| ["ERROR", "WARNING"].iter().any(|word| it["severity"] == *word);
        let failures = items.iter().filter(is_failure).count();
        assert_eq!(junit.stdout.matches("<failure ").count(), failures, "{command}");
        assert!(junit.stdout.contains(&format!("failures=\"{failures}\"")), "{}", junit.stdout);
        assert!(junit.stdout.ends_with("</testsuites>\n"), "{}", junit.stdout);
    }
    assert!(all > 1, "{all} findings");
}

/// Reads a document with an XML parser, and returns each test case: the class, the name, the kind of the result, its
/// message and its text; `None`: there is no parser.
fn parsed(xml: &str) -> Option<Vec<[String; 5]>> {
    const READ: &str = "import sys, json, xml.etree.ElementTree as tree\n\
        suite = tree.fromstring(sys.stdin.buffer.read())[0]\n\
        cases = [(case.get('classname'), case.get('name'), case) for case in suite.findall('testcase')]\n\
        first = lambda case: next(iter(case), tree.Element('', message=''))\n\
        print(json.dumps([[a, b, first(c).tag, first(c).get('message'), first(c).text or ''] for a, b, c in cases]))";
    let folder = folder_with(&[("junit.xml", xml)]);
    let file = std::fs::File::open(folder.path().join("junit.xml")).expect("it was written");
    let Ok(ran) = Command::new("python3").arg("-c").arg(READ).stdin(file).output() else {
        crate::skipped::skip("there is no python3 with an XML parser");
        return None;
    };
    assert!(ran.status.success(), "{}: {xml}", String::from_utf8_lossy(&ran.stderr));
    Some(serde_json::from_slice(&ran.stdout).expect("test cases"))
}

#[test]
fn junit_is_xml_whatever_a_text_has() {
    let beyond = ['\u{7f}', '\u{85}', '\u{202e}', '\u{d7ff}', '\u{e000}', '\u{fdd0}', '\u{fffd}'];
    let not = ['\u{fffe}', '\u{ffff}', '\u{1fffe}', '\u{10ffff}', '\u{10000}'];
    let all = ('\0'..=' ').chain("<>&\"'a]]>\\".chars()).chain(beyond).chain(not);
    let texts: Vec<String> = all.map(|c| format!("a{c}b")).collect();
    let finding = |text: &String| Finding {
        severity: Severity::Error,
        id: text.clone(),
        subject: Subject::Pod { pod: text.clone(), container: None },
        facts: serde_json::Map::new(),
        found: text.clone(),
        why: None,
        leads_to: None,
        advice: None,
        command: None,
        source: None,
        topic: Topic::default(),
    };
    let findings: Vec<Finding> = texts.iter().map(finding).collect();
    let mut basis = Basis::default();
    basis.lack_all(texts.iter().map(|text| Missing::new(MissingFact::Pods, text).about(text)));
    let xml = junit("Suite", &findings, &basis);
    let Some(cases) = parsed(&xml) else { return };
    assert_eq!(cases.len(), 2 * texts.len());
    for (at, text) in texts.iter().enumerate() {
        // Line ends and tabs are texts of XML.
        let shown = match text.contains(['\n', '\r', '\t']) {
            true => text.clone(),
            false => plain(text.clone()),
        };
        let [class, name, kind, message, content] = &cases[at];
        assert_eq!((class, kind.as_str(), message, content), (&shown, "failure", &shown, &shown));
        assert!(name.ends_with(&shown), "{name}: {shown}");
        let [class, name, kind, message, content] = &cases[texts.len() + at];
        assert_eq!((class.as_str(), name, kind.as_str()), ("missing/pods", &shown, "error"));
        assert!(message.contains(&shown) && content == message, "{message}: {shown}");
    }
}

#[test]
fn facts_that_were_missing_are_in_every_format() {
    let folder = folder_with(&[("root/proc/sys/kernel/hostname", "n1\n")]);
    for (command, fact) in [("preempt lint", "pods"), ("gc lint", "images")] {
        let run = |format: &str| {
            let line = format!("{command} --host-root root --kubelet-url http://127.0.0.1:1");
            kq(&line).arg("-o").arg(format).within(folder.path()).run()
        };
        let json = run("json");
        assert_eq!(json.code, 3, "{}", json.text());
        let answer: Value = json.answer();
        let missing: Vec<&str> = answer["missing"]
            .as_array()
            .expect("missing facts")
            .iter()
            .filter_map(|it| it["fact"].as_str())
            .collect();
        let named = format!("missing/{fact}");
        assert!(missing.contains(&fact), "{command}: {missing:?}");
        for format in ["table", "wide", "name", "jsonpath={.items[*].id}", "custom-columns=A:.id"] {
            let ran = run(format);
            assert_eq!(ran.code, 3, "{command} {format}: {}", ran.text());
            let said = ran.stderr.lines().filter(|line| line.starts_with("missing: ")).count();
            assert_eq!(said, missing.len(), "{command} {format}: {}", ran.text());
        }
        let junit = run("junit");
        assert_eq!(junit.code, 3, "{}", junit.text());
        let errors = junit.stdout.matches("<error type=\"MISSING\"").count();
        assert_eq!(errors, missing.len(), "{}", junit.stdout);
        assert!(junit.stdout.contains(&format!("errors=\"{errors}\"")), "{}", junit.stdout);
        if let Some(cases) = parsed(&junit.stdout) {
            assert!(cases.iter().any(|[class, ..]| *class == named), "{cases:?}");
        }
        let sarif = run("sarif");
        assert_eq!(sarif.code, 3, "{}", sarif.text());
        let sarif: Value = sarif.answer();
        let invocation = &sarif["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], false);
        assert_eq!(invocation["exitCode"], 3);
        let said = invocation["toolExecutionNotifications"].as_array().expect("notifications");
        let errors: Vec<&Value> = said.iter().filter(|it| it["level"] == "error").collect();
        assert_eq!(errors.len(), missing.len(), "{said:?}");
        assert!(errors.iter().any(|it| it["descriptor"]["id"] == named.as_str()), "{said:?}");
        let declared = sarif["runs"][0]["tool"]["driver"]["notifications"].as_array();
        assert!(declared.is_some_and(|all| all.iter().any(|it| it["id"] == named.as_str())));
    }
}
