//! `kq schema`, and the check of every answer that a test sees.

use super::{kq, repository};
use boon::{Compiler, SchemaIndex, Schemas};
use kq_core::question::kinds::KINDS;
use kq_output::value::write_json;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// The compiled schemas of the kinds that were seen.
#[derive(Default)]
struct Known {
    schemas: Schemas,
    kinds: BTreeMap<String, SchemaIndex>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

/// Panics unless each answer in a text follows the schema of its kind. Texts that are not JSON, and files that kq
/// writes to read them again, have other contracts.
#[track_caller]
pub fn check(text: &str, line: &str) {
    if !text.starts_with('{') {
        return;
    }
    for answer in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let Ok(answer) = answer else { return };
        if answer["apiVersion"] != "kq/v2" {
            continue;
        }
        let kind = answer["kind"].as_str().expect("an answer has a kind");
        let problem = {
            let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let known = known.get_or_insert_default();
            let index = *known.kinds.entry(kind.to_owned()).or_insert_with(|| {
                let mut compiler = Compiler::new();
                compiler.add_resource(kind, strict(schema_of(kind))).expect("a schema is new");
                compiler.compile(kind, &mut known.schemas).expect("a schema can be compiled")
            });
            known.schemas.validate(&answer, index).err().map(|error| format!("{error:#}"))
        };
        assert_eq!(problem, None, "kq {line}: {kind}");
    }
}

fn schema_of(kind: &str) -> Value {
    let known = KINDS.iter().find(|known| known.name == kind);
    let known = known.unwrap_or_else(|| panic!("{kind}: an unknown kind of answer"));
    (known.schema)().to_value()
}

/// Forbids fields that a schema does not name.
fn strict(mut schema: Value) -> Value {
    let mut extended = BTreeSet::new();
    find_extended(&schema, &mut extended);
    let is_object = |schema: &Value| schema["properties"].is_object();
    let forbid = |schema: &mut Value| {
        let mut ways = schema["oneOf"].as_array().into_iter().flatten();
        if is_object(schema) || (schema["oneOf"].is_array() && ways.all(is_object)) {
            schema["unevaluatedProperties"] = json!(false);
        }
    };
    forbid(&mut schema);
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        let whole = definitions.iter_mut().filter(|(name, _)| !extended.contains(*name));
        whole.for_each(|(_, definition)| forbid(definition));
    }
    schema
}

/// Finds the definitions to which other schemas add fields.
fn find_extended(schema: &Value, extended: &mut BTreeSet<String>) {
    if let (Some(name), true) = (schema["$ref"].as_str(), schema["properties"].is_object()) {
        extended.extend(name.strip_prefix("#/$defs/").map(str::to_owned));
    }
    let (list, object) = (schema.as_array(), schema.as_object());
    list.into_iter().flatten().for_each(|below| find_extended(below, extended));
    object.into_iter().flat_map(|it| it.values()).for_each(|it| find_extended(it, extended));
}

#[test]
fn the_stored_schemas_are_those_of_the_types() {
    let kinds = kq("schema").run();
    assert_eq!((kinds.code, kinds.stderr.as_str()), (0, ""));
    let whole: BTreeMap<String, Value> =
        kinds.stdout.lines().map(|kind| (kind.to_owned(), schema_of(kind))).collect();
    let folder = repository().join("docs/schema");
    let files = apart(&whole);
    let text = |schema: &Value| {
        let mut text = Vec::new();
        write_json(&mut text, schema).expect("JSON");
        String::from_utf8(text).expect("text")
    };
    if std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite") {
        std::fs::remove_dir_all(&folder).expect("the old files");
        std::fs::create_dir(&folder).expect("a folder");
        for (name, schema) in &files {
            std::fs::write(folder.join(format!("{name}.json")), text(schema)).expect("a file");
        }
        return;
    }
    let stored = std::fs::read_dir(&folder).expect("there is a folder of schemas");
    assert_eq!(stored.count(), files.len(), "run scripts/generate.sh and commit what changed");
    for (name, schema) in &files {
        let file = folder.join(format!("{name}.json"));
        let stored = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(text(schema) == stored, "{name}: run scripts/generate.sh and commit what changed");
    }
    for (kind, schema) in &whole {
        assert_eq!(kq(&format!("schema {kind}")).run().stdout, text(schema), "{kind}");
    }
}

/// Takes the definitions that several kinds share into a file of their own.
fn apart(whole: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut contents: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for schema in whole.values() {
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            contents.entry(name).or_default().push(definition);
        }
    }
    let is_same = |all: &Vec<&Value>| all.len() > 1 && all.iter().all(|it| *it == all[0]);
    let mut shared: BTreeMap<&str, &Value> = contents
        .iter()
        .filter(|(_, all)| is_same(all))
        .map(|(name, all)| (*name, all[0]))
        .collect();
    // A shared definition refers to shared ones alone.
    loop {
        let refers = |definition: &Value| {
            let mut names = BTreeSet::new();
            refer(&mut definition.clone(), &mut |name| {
                names.insert(name.to_owned());
                None
            });
            names.iter().all(|name| shared.contains_key(name.as_str()))
        };
        let left: BTreeMap<&str, &Value> =
            shared.iter().filter(|(_, it)| refers(it)).map(|(name, it)| (*name, *it)).collect();
        let is_done = left.len() == shared.len();
        shared = left;
        if is_done {
            break;
        }
    }
    let mut files = BTreeMap::new();
    for (kind, schema) in whole {
        let mut own = schema.clone();
        if let Some(definitions) = own.get_mut("$defs").and_then(Value::as_object_mut) {
            definitions.retain(|name, _| !shared.contains_key(name.as_str()));
        }
        if own["$defs"].as_object().is_some_and(|it| it.is_empty()) {
            own.as_object_mut().expect("an object").remove("$defs");
        }
        refer(&mut own, &mut |name| {
            shared.contains_key(name).then(|| format!("definitions.json#/$defs/{name}"))
        });
        files.insert(kind.clone(), own);
    }
    let schema = whole.values().next().expect("a kind")["$schema"].clone();
    let title = "Definitions that several kinds of answers share";
    let definitions = json!({"$schema": schema, "title": title, "$defs": shared});
    files.insert("definitions".to_owned(), definitions);
    files
}

/// Walks over the references of a schema, by the names of definitions, and replaces those for which there is another.
fn refer(schema: &mut Value, other: &mut dyn FnMut(&str) -> Option<String>) {
    if let Some(Value::String(target)) = schema.get_mut("$ref")
        && let Some(new) = target.strip_prefix("#/$defs/").and_then(&mut *other)
    {
        *target = new;
    }
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|it| refer(it, other)),
        Value::Object(fields) => fields.values_mut().for_each(|it| refer(it, other)),
        _ => {}
    }
}

#[test]
fn every_code_of_missing_facts_and_warnings_is_documented() {
    let schema = schema_of("Version");
    let text = std::fs::read_to_string(repository().join("docs/json.md")).expect("a file");
    for (name, column) in [("MissingFact", "fact"), ("WarningCode", "code")] {
        let codes: Vec<&str> = schema["$defs"][name]["oneOf"]
            .as_array()
            .expect("a code each")
            .iter()
            .map(|code| code["const"].as_str().expect("a code has a description"))
            .collect();
        let head = format!("| `{column}` | | `about` |\n|---|---|---|\n");
        let (_, table) = text.split_once(&head).expect("a table");
        let rows = table.lines().take_while(|line| line.starts_with('|'));
        let documented: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
        assert_eq!(documented, codes, "docs/json.md");
    }
}

#[test]
fn an_unknown_kind_is_refused_with_the_nearest() {
    let ran = kq("schema ImageGcPlam").run();
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("ImageGcPlan"), "{}", ran.stderr);
}

#[test]
fn the_check_finds_what_a_schema_forbids() {
    let answer = kq("cgroup explain cpu.weight 79").json();
    check(&answer.to_string(), "as it is");
    let breaks: [fn(&mut Value); 4] = [
        |it| it["added"] = json!(1),
        |it| it["value"] = json!(7),
        |it| it["warnings"] = json!(["a text"]),
        |it| drop(it.as_object_mut().expect("an object").remove("purpose")),
    ];
    for break_it in breaks {
        let mut broken = answer.clone();
        break_it(&mut broken);
        let found = std::panic::catch_unwind(|| check(&broken.to_string(), "broken"));
        assert!(found.is_err(), "{broken}");
    }
}
