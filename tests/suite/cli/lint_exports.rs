//! `-o sarif` and `-o junit` of the lints: the findings of their JSON.

use super::{folder_with, kq, repository};
use serde_json::Value;

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
        let answer: Value =
            serde_json::from_str(&json.stdout).unwrap_or_else(|_| panic!("{}", json.text()));
        let items = answer["items"].as_array().expect("findings");

        all += items.len();
        let sarif = run("sarif");
        assert_eq!(sarif.code, json.code, "{command}");
        let sarif: Value = serde_json::from_str(&sarif.stdout).expect("JSON");
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
        assert_eq!(junit.stdout.matches("<testcase ").count(), items.len(), "{command}");
        let is_failure =
            |it: &&Value| ["ERROR", "WARNING"].iter().any(|word| it["severity"] == *word);
        let failures = items.iter().filter(is_failure).count();
        assert_eq!(junit.stdout.matches("<failure ").count(), failures, "{command}");
        assert!(junit.stdout.contains(&format!("failures=\"{failures}\"")), "{}", junit.stdout);
        assert!(junit.stdout.ends_with("</testsuites>\n"), "{}", junit.stdout);
    }
    assert!(all > 1, "{all} findings");
}
