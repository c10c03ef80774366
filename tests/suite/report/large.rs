use super::browser::browser;
use super::{Written, worker};
use serde_json::{Value, json};

const PODS: usize = 504;
const IMAGES: usize = 504;

/// Returns the node of the story with its pods and images over and over.
pub fn large_node() -> Value {
    node_of(PODS, IMAGES, "")
}

/// Returns the node of the story with so many pods and images; `more` goes into the names of the copies.
pub fn node_of(number_of_pods: usize, number_of_images: usize, more: &str) -> Value {
    let mut node = worker();
    let pods = list(&node, "/pods/found/value/pods").clone();
    let containers = list(&node, "/runtime/found/value/containers/found/value").clone();
    let mut names: Vec<(String, char)> = Vec::new();
    let mut add = |value: &Value, kind: char| {
        names.extend(value.as_str().map(|text| (text.to_owned(), kind)))
    };
    for pod in &pods {
        add(&pod["pod"]["metadata"]["uid"], 'u');
        add(&pod["pod"]["metadata"]["name"], 'n');
    }
    for container in &containers {
        add(&container["id"], 'u');
    }
    let copied = |value: &Value, copy: usize| -> Value {
        let mut text = value.to_string();
        for (name, kind) in &names {
            let new = match kind {
                'u' => format!("{copy:04x}{}", &name[4..]),
                _ => format!("{name}{more}-{copy}"),
            };
            text = text.replace(name.as_str(), &new);
        }
        serde_json::from_str(&text).expect("it is JSON")
    };
    let places = [
        "/pods/found/value/pods",
        "/runtime/found/value/sandboxes/found/value",
        "/runtime/found/value/containers/found/value",
        "/statsSummary/found/value/pods",
    ];
    for place in places {
        let own = list(&node, place).clone();
        let more = (1..number_of_pods / pods.len())
            .flat_map(|copy| own.iter().map(|it| copied(it, copy)).collect::<Vec<_>>());
        let more: Vec<Value> = more.collect();
        node.pointer_mut(place).and_then(Value::as_array_mut).expect("a list").extend(more);
    }
    let cgroups = node.pointer("/cgroups/found/value/cgroups").cloned().expect("cgroups");
    let all = node
        .pointer_mut("/cgroups/found/value/cgroups")
        .and_then(Value::as_object_mut)
        .expect("cgroups");
    for copy in 1..number_of_pods / pods.len() {
        if let Value::Object(more) = copied(&cgroups, copy) {
            all.extend(more);
        }
    }
    let place = "/runtime/found/value/images/found/value";
    let own = list(&node, place).clone();
    for copy in 1..number_of_images / own.len() {
        for image in &own {
            let mut image = image.clone();
            let id = image["id"].as_str().expect("an id").to_owned();
            image["id"] = json!(format!("{}{copy:04x}", &id[..id.len() - 4]));
            for tags in ["tags", "repoTags"] {
                if let Some(tags) = image.get_mut(tags).and_then(Value::as_array_mut) {
                    tags.iter_mut().for_each(|tag| {
                        *tag = json!(format!("{}-{copy}", tag.as_str().unwrap_or_default()))
                    });
                }
            }
            node.pointer_mut(place).and_then(Value::as_array_mut).expect("a list").push(image);
        }
    }
    node
}

fn list<'v>(value: &'v Value, place: &str) -> &'v Vec<Value> {
    value.pointer(place).and_then(Value::as_array).unwrap_or_else(|| panic!("no list at {place}"))
}

#[test]
fn five_hundred_pods_and_images_are_small_and_soon_drawn() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("node.json");
    std::fs::write(&file, large_node().to_string()).expect("a file can be written");
    let page = Written::of(&format!("--snapshot {}", file.display()));
    let size = page.text().len();
    assert!(size < 3_000_000, "{size} bytes");
    let Some(mut browser) = browser() else { return };
    browser.look(1400, false);
    browser.count_work();
    browser.open(&page.file());
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let rows = browser.value(
        "document.querySelectorAll('#images tbody tr[data-pod], #images tbody td.time').length",
    );
    assert!(rows.as_u64().is_some_and(|it| it >= 504), "{rows}");
    let drawn = browser.work();
    println!("{size} bytes, drawn in {drawn:.3} s of a processor");
    assert!(drawn < 1.0, "drawn in {drawn:.3} s");
}
