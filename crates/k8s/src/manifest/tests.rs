//! Whole files in, pods and problems out.

use super::*;

const POD: &str =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n";
const JSON_POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"j"},"spec":{"containers":[{"name":"c"}]}}"#;

/// Shows what was loaded, a line for each pod, problem and note.
fn shown(bytes: &[u8]) -> Vec<String> {
    let loaded = load("f", bytes);
    let pods = loaded.pods.iter().map(|LoadedPod { pod, source }| {
        let mut line = format!(
            "{}{} {}/{}",
            source.document,
            source.item.map(|item| format!("[{item}]")).unwrap_or_default(),
            pod.metadata.namespace,
            pod.metadata.name
        );
        if let Some(workload) = &source.workload {
            line += &format!(" {} {} x{:?}", workload.kind, workload.name, workload.replicas);
        }
        line + if source.namespace_defaulted { " defaulted" } else { "" }
            + if source.name_generated { " generated" } else { "" }
    });
    pods.chain(loaded.problems.iter().map(|problem| format!("! {problem}")))
        .chain(loaded.notes.iter().map(|note| format!("~ {note}")))
        .collect()
}

/// Compares each line with the start that is expected of it.
fn check(name: &str, bytes: &[u8], expected: &[&str]) {
    let lines = shown(bytes);
    assert_eq!(lines.len(), expected.len(), "{name}: {lines:#?}");
    for (line, start) in lines.iter().zip(expected) {
        assert!(line.starts_with(start), "{name}: {line}\n{start}");
    }
}

#[test]
fn reads_what_carries_pods() {
    let spec = "spec: {containers: [{name: c}]}";
    let workload = |version: &str, kind: &str, rest: &str| {
        format!(
            "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: w, namespace: ns}}\n{rest}\n"
        )
    };
    let template = format!("template: {{{spec}}}");
    let named = format!("spec: {{template: {{metadata: {{name: t, namespace: o}}, {spec}}}}}");
    let cron = format!("spec: {{jobTemplate: {{spec: {{parallelism: 2, {template}}}}}}}");
    let rows = [
        ("pod", POD.to_owned(), vec!["1 default/a defaulted"]),
        ("json", JSON_POD.to_owned(), vec!["1 default/j defaulted"]),
        ("json after json", JSON_POD.repeat(2), vec!["1 default/j", "2 default/j"]),
        ("yaml after json", format!("{JSON_POD}\n---\n{POD}"), vec!["1 default/j", "2 default/a"]),
        (
            "json in yaml",
            format!("{POD}---\n{JSON_POD}\n---\n{POD}"),
            vec!["1 default/a", "2 default/j", "3 default/a"],
        ),
        (
            "flow mapping",
            format!("{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, {spec}}}"),
            vec!["1 default/a"],
        ),
        ("byte order mark", format!("\u{feff}{POD}"), vec!["1 default/a"]),
        (
            "deployment",
            workload("apps/v1", "Deployment", &format!("spec: {{replicas: 3, {template}}}")),
            vec!["1 ns/w Deployment w xSome(3) generated"],
        ),
        (
            "named template",
            workload("apps/v1", "StatefulSet", &named),
            vec!["1 o/t StatefulSet w xNone generated"],
        ),
        (
            "cron job",
            workload("batch/v1", "CronJob", &cron),
            vec!["1 ns/w CronJob w xSome(2) generated"],
        ),
        (
            "pod template",
            workload("v1", "PodTemplate", &template),
            vec!["1 ns/w PodTemplate w xNone generated"],
        ),
        (
            "generated name",
            POD.replace("name: a", "generateName: a-"),
            vec!["1 default/ defaulted generated"],
        ),
        (
            "list of deployments",
            format!(
                "apiVersion: apps/v1\nkind: DeploymentList\nitems: [{{metadata: {{name: w}}, spec: {{{template}}}}}]"
            ),
            vec!["1[0] default/w Deployment w xNone defaulted generated"],
        ),
        (
            "nested lists",
            format!(
                r#"{{"apiVersion":"v1","kind":"List","items":[{{"apiVersion":"v1","kind":"Service"}},
                {{"apiVersion":"v1","kind":"List","items":[{JSON_POD}]}}]}}"#
            ),
            vec!["1[1] default/j defaulted", "~ f: document 1: items[0]: Service carries no pods"],
        ),
        (
            "empty list",
            r#"{"apiVersion":"v1","kind":"PodList","items":[]}"#.to_owned(),
            vec!["~ f: document 1: \"PodList\" has no items"],
        ),
        (
            "duplicate key",
            POD.replace("kind: Pod", "kind: Service\nkind: Pod"),
            vec![
                "1 default/a",
                "~ f: document 1: line 3, column 1: key \"kind\" came before; the last one counts",
            ],
        ),
    ];
    for (name, text, expected) in rows {
        check(name, text.as_bytes(), &expected);
    }
}

#[test]
fn names_what_is_wrong() {
    let quantity = POD.replace("name: c", "name: c, resources: {requests: {cpu: 2 Gi}}");
    let deployment = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: w}}\nspec: {{template: {{{}}}}}\n",
        "spec: {containers: [{name: c, resources: {limits: {memory: x}}}]}"
    );
    let deep = r#"{"apiVersion":"v1","kind":"List","items":["#.repeat(9) + &"]}".repeat(9);
    let rows: Vec<(&str, Vec<u8>, Vec<&str>)> = vec![
        ("nothing", b"".to_vec(), vec!["! f: holds no objects"]),
        (
            "comments",
            b"# a\n---\n# b\n".to_vec(),
            vec!["! f: holds no objects"],
        ),
        (
            "utf-16",
            b"\xff\xfea\0".to_vec(),
            vec!["! f: document 1: expected an object, found text"],
        ),
        (
            "broken utf-16",
            b"\xff\xfea\0b".to_vec(),
            vec!["! f: broken UTF-16 text; only UTF-8 and UTF-16 are read"],
        ),
        (
            "binary",
            b"\x7fELF\x80".to_vec(),
            vec!["! f: byte 4 is not text"],
        ),
        ("NUL", b"a: \0".to_vec(), vec!["! f: byte 3 is not text"]),
        (
            "text",
            b"hello".to_vec(),
            vec!["! f: document 1: expected an object, found text"],
        ),
        (
            "list",
            b"[1]".to_vec(),
            vec!["! f: document 1: expected an object, found a list"],
        ),
        (
            "null",
            b"--- null".to_vec(),
            vec!["! f: document 1: expected an object, found nothing"],
        ),
        (
            "no kind",
            b"apiVersion: v1".to_vec(),
            vec!["! f: document 1: object: kind is not set"],
        ),
        (
            "no version",
            b"kind: Pod".to_vec(),
            vec!["! f: document 1: Pod: apiVersion is not set"],
        ),
        (
            "kind",
            b"apiVersion: v1\nkind: pod\nmetadata: {name: x, namespace: ns}".to_vec(),
            vec!["! f: document 1: pod ns/x: unknown kind \"pod\"; accepted are Pod, "],
        ),
        (
            "version",
            b"apiVersion: apps/v2\nkind: Deployment".to_vec(),
            vec![
                "! f: document 1: Deployment: apiVersion \"apps/v2\" has no Deployment, expected \"apps/v1\"",
            ],
        ),
        (
            "pod version",
            JSON_POD.replace("v1", "v2").into(),
            vec!["! f: document 1: Pod j: apiVersion \"v2\" has no Pod, expected \"v1\""],
        ),
        (
            "syntax keeps the others",
            format!("{POD}---\na: 1\n  b: 2\n---\n{POD}").into(),
            vec![
                "1 default/a",
                "3 default/a",
                "! f: document 2: line 7, column ",
            ],
        ),
        (
            "cut json",
            format!("{JSON_POD}\n{{\"a\":").into(),
            vec![
                "1 default/j",
                "! f: document 2: line 2, column 5: not JSON: EOF while parsing a value",
            ],
        ),
        (
            "cut json keeps the others",
            format!("{{\"a\":]\n---\n{POD}").into(),
            vec![
                "2 default/a",
                "! f: document 1: line 1, column 6: not JSON: expected value",
            ],
        ),
        (
            "quantity",
            quantity.into(),
            vec![
                "! f: document 1: Pod a: line 4, column 59: spec.containers[0].resources.requests.cpu: \"2 Gi\": quantities must match",
            ],
        ),
        (
            "quantity of a template",
            deployment.into(),
            vec![
                "! f: document 1: Deployment w: line 4, column 78: spec.template.spec.containers[0].resources.limits.memory: \"x\": quantities must",
            ],
        ),
        (
            "fields of list items",
            format!(
                "# list\n--- # next\napiVersion: v1\nkind: PodList\nitems:\n- metadata: {{name: 1}}\n- metadata:\n    name: a\n    annotations:\n      a: b\n      foo: true\n---\n{}",
                POD.replace("name: a", "name: a, labels: {x: 0644}")
            )
            .into(),
            vec![
                "! f: document 1: items[0]: Pod: line 6, column 20: metadata.name: 1: invalid type",
                "! f: document 1: items[1]: Pod a: line 11, column 12: metadata.annotations.foo: true: invalid",
                "! f: document 2: Pod a: line 15, column 33: metadata.labels.x: 420: invalid type: integer `420`",
            ],
        ),
        (
            "field in a nested list",
            br#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"PodList","items":[{"spec":[]}]}]}"#
                .to_vec(),
            vec!["! f: document 1: items[0]: Pod: items[0].spec: a list: invalid type: sequence"],
        ),
        (
            "position for names",
            br#"["v1","Pod",{"name":"a"}]"#.to_vec(),
            vec!["! f: document 1: expected an object, found a list"],
        ),
        (
            "resources by position",
            POD.replace("name: c", "name: c, resources: []").into(),
            vec!["! f: document 1: Pod a: line 4, column 42: spec.containers[0].resources: a list: "],
        ),
        (
            "no template",
            b"{apiVersion: batch/v1, kind: Job, metadata: {name: w}}".to_vec(),
            vec!["! f: document 1: Job w: spec.template: Required value"],
        ),
        (
            "number for a name",
            POD.replace("name: a", "name: 12").into(),
            vec![
                "! f: document 1: Pod: line 3, column 18: metadata.name: 12: invalid type: integer `12`, expected a string",
            ],
        ),
        (
            "invalid",
            POD.replace("[{name: c}]", "[]").into(),
            vec!["! f: document 1: Pod a: spec.containers: Required value"],
        ),
        (
            "uid",
            POD.replace("name: a", "name: a, uid: ../x").into(),
            vec!["! f: document 1: Pod a: metadata.uid: Invalid value: \"../x\": must not contain"],
        ),
        (
            "nested lists",
            deep.into(),
            vec!["! f: document 1: items[0]: List: lists are nested more"],
        ),
        (
            "items that are none",
            br#"{"apiVersion":"v1","kind":"PodList","items":[1,{"spec":3}]}"#.to_vec(),
            vec![
                "! f: document 1: items[0]: expected an object, found a number",
                "! f: document 1: items[1]: Pod: ",
            ],
        ),
        (
            "deep json",
            "[".repeat(500_000).into(),
            vec!["! f: document 1: line 1"],
        ),
        (
            "deep field",
            format!(
                "{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"x\":{}{}}}",
                "[".repeat(9999),
                "]".repeat(9999)
            )
            .into(),
            vec![
                "! f: document 1: Pod: metadata.name: Required value",
                "! f: document 1: Pod: spec.containers: Required value",
            ],
        ),
    ];
    for (name, bytes, expected) in rows {
        check(name, &bytes, &expected);
    }
    let large = vec![b'#'; MAX_YAML_BYTES + 1];
    check("large", &large, &["! f: 67108865 bytes of YAML, more than the limit of 67108864"]);
}

#[test]
fn takes_the_last_of_duplicate_keys() {
    let with = |from: &str, to: &str| JSON_POD.replace(from, to);
    let list = |items: &str| format!(r#"{{"apiVersion":"v1","kind":"PodList","items":[{items}]}}"#);
    let rows: Vec<(&str, String, Vec<&str>)> = vec![
        (
            "name",
            with(r#""name":"j""#, r#""name":"i","name":"j""#),
            vec![
                "1 default/j defaulted",
                "~ f: document 1: key \"metadata.name\" came before; the last one counts",
            ],
        ),
        (
            "kind",
            with(r#""kind":"Pod""#, r#""kind":"Service","kind":"Pod""#),
            vec!["1 default/j defaulted", "~ f: document 1: key \"kind\" came before"],
        ),
        (
            "resource of one item",
            list(&format!(
                "{JSON_POD},{}",
                with(r#""name":"c""#, r#""name":"c","resources":{"limits":{"cpu":"x","cpu":1}}"#)
            )),
            vec![
                "1[0] default/j defaulted",
                "1[1] default/j defaulted",
                "~ f: document 1: items[1]: key \"spec.containers[0].resources.limits.cpu\" came",
            ],
        ),
        (
            "items",
            list(&format!(r#"{{}}],"items":[{JSON_POD}"#)),
            vec!["1[0] default/j defaulted", "~ f: document 1: key \"items\" came before"],
        ),
        (
            "annotation",
            with(
                r#""name":"j""#,
                r#""name":"j","annotations":{"kubernetes.io/config.hash":"","kubernetes.io/config.hash":"1"}"#,
            ),
            vec![
                "1 default/j defaulted",
                "~ f: document 1: key \"metadata.annotations[kubernetes.io/config.hash]\" came",
            ],
        ),
        (
            "another mistake",
            with(r#""name":"j""#, r#""name":"j","name":12"#),
            vec![
                "! f: document 1: Pod: metadata.name: 12: invalid type",
                "~ f: document 1: key \"metadata.name\" came before",
            ],
        ),
    ];
    for (name, text, expected) in rows {
        check(name, text.as_bytes(), &expected);
    }
}

#[test]
fn takes_numbers_for_quantities() {
    let rows = [
        ("yaml integer", "cpu", "cpu: 1", "1"),
        ("yaml fraction", "cpu", "cpu: 0.1", "0.1"),
        ("yaml half", "cpu", "cpu: 0.5", "0.5"),
        ("yaml bytes", "memory", "memory: 1073741824", "1073741824"),
        ("yaml exponent", "cpu", "cpu: 1e3", "1000"),
        ("json fraction", "cpu", r#""cpu": 0.10"#, "0.10"),
        ("text", "cpu", r#""cpu": " 1 ""#, "1"),
        ("null", "cpu", "cpu: null", "0"),
    ];
    for (name, resource, text, expected) in rows {
        let head =
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":["#;
        let json = format!(r#"{head}{{"name":"c","resources":{{"limits":{{{text}}}}}}}]}}}}"#);
        let loaded = load("f", json.as_bytes());
        assert_eq!(loaded.problems, [], "{name}");
        let limits = &loaded.pods[0].pod.spec.containers[0].resources.limits;
        let expected = expected.parse::<crate::quantity::Quantity>().unwrap();
        assert_eq!(
            limits.get(&resource.into()).unwrap().compare(&expected),
            std::cmp::Ordering::Equal,
            "{name}"
        );
    }
}

#[test]
fn keeps_the_pods_beside_a_bad_one() {
    let pod = |n: usize, cpu: &str| {
        format!(
            r#"{{"metadata":{{"name":"p{n}","namespace":"n"}},"spec":{{"containers":[
            {{"name":"c","resources":{{"requests":{{"cpu":"{cpu}"}}}}}}]}}}}"#
        )
    };
    let pods: Vec<_> = (0..1000).map(|n| pod(n, if n == 617 { "1 core" } else { "1" })).collect();
    let text = format!(r#"{{"kind":"PodList","apiVersion":"v1","items":[{}]}}"#, pods.join(","));
    let loaded = load("f", text.as_bytes());
    assert_eq!(loaded.pods.len(), 999);
    let [problem] = &loaded.problems[..] else { panic!("{:?}", loaded.problems) };
    assert_eq!(problem.item, Some(617));
    assert_eq!(problem.object.as_ref().unwrap().to_string(), "Pod n/p617");
    let start = "f: document 1: items[617]: Pod n/p617: spec.containers[0].resources.requests.cpu";
    assert!(problem.to_string().starts_with(start), "{problem}");
}
