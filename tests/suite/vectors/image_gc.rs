//! `image_gc` and `image_gc_cycles`: cycles of image garbage collection, ties, and what belongs to them.

use super::input::rules;
use kq_facts::timestamp::Timestamp;
use kq_image_gc::cycle::{
    AgeVerdict, Candidate, Collection, Cycle, GcInputs, ImageFs, ImageUser, ListedImage, Record,
    Records, SpaceVerdict, candidates, delete_unused_images, detect, garbage_collect, image_key,
    images_in_use, size_text, space_pass, ties,
};
use kq_image_gc::policy::ImageGcPolicy;
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub fn answer(input: &Value) -> Value {
    match input["op"].as_str() {
        Some("image_gc") => cycles(input),
        Some("image_gc_ties") => tied(input),
        Some("format_size") => {
            json!({ "text": size_text(input["size_bytes"].as_i64().expect("a number")) })
        }
        Some("validate_policy") => {
            let error = policy(&input["policy"]).validate().err();
            json!({ "error": error.map(|error| error.to_string()) })
        }
        _ => json!("unknown op"),
    }
}

/// What the world is at a step; what a step does not mention stays.
#[derive(Default)]
struct State {
    images: Vec<ListedImage>,
    users: Vec<(String, ImageUser)>,
    image_fs: Option<ImageFs>,
}

impl State {
    fn change(&mut self, step: &Value) {
        if let Some(images) = step["images"].as_array() {
            self.images = images.iter().map(image).collect();
        }
        if let Some(pods) = step["pods"].as_array() {
            let containers = pods.iter().flat_map(|pod| list(&pod["containers"]));
            self.users = containers.map(|c| (text(c, "id"), user(c))).collect();
        }
        if let Some(fs) = step.get("image_fs") {
            let number = |field: &str| fs[field].as_u64();
            self.image_fs = Some(ImageFs {
                capacity: number("capacity_bytes"),
                available: number("available_bytes"),
            });
        }
    }

    /// Returns the containers, with what their statuses fail with in a step.
    fn users(&self, step: &Value) -> Vec<ImageUser> {
        let errors = &step["container_status_errors"];
        let user = |(id, user): &(String, ImageUser)| ImageUser {
            status_error: errors[id].as_str().map(str::to_owned),
            ..user.clone()
        };
        self.users.iter().map(user).collect()
    }
}

fn cycles(input: &Value) -> Value {
    let rules = rules(input);
    let policy = policy(&input["policy"]);
    let began = Timestamp(input["began_gc_nanoseconds"].as_i64().expect("a time"));
    let mut records = records(input, rules);
    let mut state = State::default();
    let steps = list(&input["steps"]).map(|step| {
        state.change(step);
        let now = Timestamp(step["at_nanoseconds"].as_i64().expect("a time"));
        let cycle = Cycle { policy: &policy, rules, began, now };
        run(step, &mut state, &mut records, cycle)
    });
    json!({ "steps": steps.collect::<Vec<_>>() })
}

fn run(step: &Value, state: &mut State, records: &mut Records, cycle: Cycle<'_>) -> Value {
    let users = state.users(step);
    let error = |field: &str| step[field].as_str();
    let world = GcInputs {
        images: error("list_images_error").map_or(Ok(&state.images), Err),
        users: error("list_pods_error").map_or(Ok(&users), Err),
        image_fs: error("image_fs_error").map_or(Ok(state.image_fs.unwrap_or_default()), Err),
    };
    let (mut removed, mut gone) = (Vec::new(), BTreeSet::new());
    let mut remove = |candidate: &Candidate| {
        let failure = step["remove_image_errors"][&*candidate.key].as_str();
        if failure.is_none() {
            gone.insert(Arc::clone(&candidate.key));
        }
        failure.map_or(Ok(()), |text| Err(text.to_owned()))
    };
    let action = step["action"].as_str().expect("an action");
    // Handlers are only recorded where they distinguish images.
    let shows_handlers = cycle.rules.gates.enabled(Gate::RuntimeClassInImageCriApi);
    let mut out = Map::new();
    out.insert("action".to_owned(), action.into());
    match action {
        "detect_images" => {
            let in_use = world
                .images
                .map_err(str::to_owned)
                .and_then(|images| Ok((images, world.users.map_err(str::to_owned)?)))
                .and_then(|(images, users)| images_in_use(images, users, cycle.rules));
            match in_use {
                Ok(in_use) => {
                    detect(records, &state.images, &in_use, cycle.now, cycle.rules);
                    let in_use: BTreeSet<&str> = in_use.iter().map(|key| &**key).collect();
                    out.insert("images_in_use".to_owned(), json!(in_use));
                }
                Err(error) => {
                    out.insert("images_in_use".to_owned(), json!([]));
                    out.insert("error".to_owned(), error.into());
                }
            }
        }
        "garbage_collect" => {
            let done = garbage_collect(records, cycle, world, &mut remove);
            show(&mut out, &done, &mut removed, shows_handlers);
            let usage = state.image_fs.and_then(ImageFs::usage);
            out.insert("usage_percent".to_owned(), json!(usage.map(|usage| usage.percent)));
            out.insert("over_high_threshold".to_owned(), json!(done.amount.is_some()));
            out.insert("amount_to_free_bytes".to_owned(), json!(done.amount));
        }
        _ => {
            let done = delete_unused_images(records, cycle, world, &mut remove);
            show(&mut out, &done, &mut removed, shows_handlers);
        }
    }
    out.insert("records_after".to_owned(), shown_records(records, shows_handlers));
    // What was removed is not listed by the next step, unless it is pulled again.
    state.images.retain(|image| {
        let key = image_key(Arc::clone(&image.id), &image.runtime_handler, cycle.rules);
        !gone.contains(&key)
    });
    Value::Object(out)
}

fn show(
    out: &mut Map<String, Value>,
    done: &Collection,
    removed: &mut Vec<Value>,
    shows_handlers: bool,
) {
    let with_handler = |mut value: Value, record: &Record| {
        if shows_handlers {
            value["runtime_handler"] = json!(record.runtime_handler);
        }
        value
    };
    let goes = |record: &Record, pass: &str| {
        with_handler(json!({ "image_id": &*record.id, "pass": pass }), record)
    };
    let all = done.considered.iter().map(|considered| (&considered.candidate.record, considered));
    for (record, considered) in all.clone() {
        if considered.age == Some(AgeVerdict::Removed) {
            removed.push(goes(record, "age"));
        }
    }
    let mut shown = Vec::new();
    for (record, considered) in all {
        if considered.space == Some(SpaceVerdict::Removed) {
            removed.push(goes(record, "space"));
        }
        let mut value = json!({
            "image_id": &*record.id,
            "first_detected_nanoseconds": record.first_detected.map(|at| at.0),
            "last_used_nanoseconds": record.last_used.map(|at| at.0),
            "size_bytes": record.size,
        });
        if let Some(age) = &considered.age {
            value["age_pass"] = json!(match age {
                AgeVerdict::Removed => "removed",
                AgeVerdict::Failed(_) => "removal_failed",
                AgeVerdict::Kept => "kept",
            });
        }
        if let Some(space) = &considered.space {
            value["space_pass"] = json!(match space {
                SpaceVerdict::Removed => "removed",
                SpaceVerdict::Failed(_) => "removal_failed",
                SpaceVerdict::UsedSince => "kept_last_used_not_before_now",
                SpaceVerdict::Young => "kept_younger_than_min_age",
                SpaceVerdict::NotReached => "not_reached",
            });
        }
        shown.push(with_handler(value, record));
    }
    let ordered: Vec<Candidate> = done.considered.iter().map(|c| c.candidate.clone()).collect();
    let tied: Vec<Vec<&str>> =
        ties(&ordered).map(|group| group.iter().map(|c| &*c.key).collect()).collect();
    for (name, value) in [
        ("error", json!(done.error)),
        ("in_use", json!(done.passed_over.in_use)),
        ("pinned_and_unused", json!(done.passed_over.pinned)),
        ("considered", json!(shown)),
        ("removed", json!(removed)),
        ("bytes_freed_by_age", json!(done.freed_by_age)),
        ("bytes_freed_by_space", json!(done.freed_by_space)),
        ("events", json!(done.events)),
        ("post_gc_hook_remaining_images", json!(done.remaining)),
    ] {
        out.insert(name.to_owned(), value);
    }
    if !tied.is_empty() {
        out.insert("tie_groups".to_owned(), json!(tied));
    }
}

/// Walks through every order of every group of equal images.
fn tied(input: &Value) -> Value {
    let rules = rules(input);
    let policy = policy(&input["policy"]);
    let mut records = records(input, rules);
    let step = &input["steps"][0];
    let mut state = State::default();
    state.change(step);
    let now = Timestamp(step["at_nanoseconds"].as_i64().expect("a time"));
    let in_use = images_in_use(&state.images, &state.users(step), rules).expect("no failures");
    detect(&mut records, &state.images, &in_use, now, rules);
    let ordered = candidates(&records, rules).ordered;
    let usage = state.image_fs.and_then(ImageFs::usage).expect("a capacity");
    let amount = usage.amount_to_free(&policy).expect("over the threshold");
    let mut outcomes = BTreeSet::new();
    let mut orders = vec![Vec::new()];
    for group in
        ordered.chunk_by(|a, b| kq_image_gc::cycle::age_order(&a.record, &b.record).is_eq())
    {
        orders = orders
            .iter()
            .flat_map(|start: &Vec<Candidate>| {
                permutations(group).into_iter().map(|end| [start.clone(), end].concat())
            })
            .collect();
    }
    for order in orders {
        let mut removed = Vec::new();
        let (_, freed) = space_pass(order.iter(), amount, &policy, now, &mut |candidate| {
            removed.push(candidate.record.id.to_string());
            Ok(())
        });
        outcomes.insert((freed, removed));
    }
    let shown = outcomes.into_iter().map(|(freed, removed)| {
        json!({ "bytes_freed_by_space": freed, "enough": freed >= amount, "removed": removed })
    });
    let mut shown: Vec<Value> = shown.collect();
    // The vectors are in the order of their texts.
    shown.sort_by_key(Value::to_string);
    json!({ "one_of": shown })
}

fn permutations(group: &[Candidate]) -> Vec<Vec<Candidate>> {
    if group.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for index in 0..group.len() {
        let mut rest = group.to_vec();
        let first = rest.remove(index);
        all.extend(
            permutations(&rest).into_iter().map(|rest| [vec![first.clone()], rest].concat()),
        );
    }
    all
}

fn records(input: &Value, rules: KubeletRules) -> Records {
    let record = |value: &Value| {
        let (id, runtime_handler): (Arc<str>, String) =
            (text(value, "image_id").into(), text(value, "runtime_handler"));
        let key = image_key(Arc::clone(&id), &runtime_handler, rules);
        let time = |field: &str| value[field].as_i64().map(Timestamp);
        let record = Record {
            id,
            runtime_handler,
            first_detected: time("first_detected_nanoseconds"),
            last_used: time("last_used_nanoseconds"),
            ..Record::default()
        };
        (key, record)
    };
    list(&input["records"]).map(record).collect()
}

fn shown_records(records: &Records, shows_handlers: bool) -> Value {
    let ordered: BTreeMap<&str, &Record> =
        records.iter().map(|(key, record)| (&**key, record)).collect();
    let shown = ordered.into_iter().map(|(key, record)| {
        let mut value = json!({
            "key": key,
            "first_detected_nanoseconds": record.first_detected.map(|at| at.0),
            "last_used_nanoseconds": record.last_used.map(|at| at.0),
            "pinned": record.pinned,
            "size_bytes": record.size,
        });
        if shows_handlers {
            value["runtime_handler"] = json!(record.runtime_handler);
        }
        value
    });
    shown.collect()
}

fn image(value: &Value) -> ListedImage {
    ListedImage {
        id: text(value, "id").into(),
        runtime_handler: text(value, "runtime_handler"),
        size: value["size_bytes"].as_i64().unwrap_or_default(),
        pinned: value["pinned"].as_bool().unwrap_or_default(),
    }
}

fn user(value: &Value) -> ImageUser {
    let volumes = list(&value["image_volume_image_ids"]);
    ImageUser {
        image_id: text(value, "image_id").into(),
        runtime_handler: text(value, "image_runtime_handler"),
        volumes: volumes.filter_map(|id| id.as_str().map(Into::into)).collect(),
        status_error: None,
    }
}

fn policy(value: &Value) -> ImageGcPolicy {
    let percent = |field: &str| {
        value[field].as_i64().and_then(|number| i32::try_from(number).ok()).expect("a percentage")
    };
    let age = |field: &str| GoDuration(value[field].as_i64().expect("a duration"));
    ImageGcPolicy {
        high_threshold_percent: percent("high_threshold_percent"),
        low_threshold_percent: percent("low_threshold_percent"),
        min_age: age("min_age_nanoseconds"),
        max_age: age("max_age_nanoseconds"),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}
