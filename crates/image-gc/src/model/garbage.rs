//! Whatever a node says, a plan is made of it, and what is in use or pinned stays.

use super::history::cases;
use crate::cycle::{ImageFs, Keys, image_key};
use crate::plan::{Inputs, Trigger, plan, summary, table, wide};
use crate::policy::ImageGcPolicy;
use crate::uses::{Uses, listed};
use kq_facts::image_records::{ImageRecord, ImageRecords};
use kq_facts::kubelet::KubeletStart;
use kq_facts::lookup::Lookup;
use kq_facts::runtime::{
    Container, ContainerState, ContainerStatus, Image, ImageStorage, RuntimeFacts, StoragePiece,
};
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::Workloads;
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::version::KubeletVersion;
use kq_output::units::Precision;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;

/// A number of any size, and more often one at an end.
fn any_number() -> impl Strategy<Value = i64> {
    prop_oneof![
        select(vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX]),
        any::<i64>(),
        (any::<i64>(), 0..64_u32).prop_map(|(number, bits)| number >> bits),
    ]
}

fn any_id() -> impl Strategy<Value = String> {
    select(vec!["", "a", "b", "c", "a,x", ",x"]).prop_map(str::to_owned)
}

fn any_handler() -> impl Strategy<Value = String> {
    select(vec!["", "", "x"]).prop_map(str::to_owned)
}

fn any_image() -> impl Strategy<Value = Image> {
    (any_id(), any_handler(), any_number(), any::<bool>()).prop_map(
        |(id, handler, size, pinned)| Image {
            id,
            runtime_handler: handler,
            size: size as u64,
            pinned,
            ..Image::default()
        },
    )
}

fn any_container() -> impl Strategy<Value = (Container, ContainerStatus)> {
    let ids = (option::of(any_id()), any_id(), any_handler(), any_id());
    (ids, any_number(), vec(any_id(), 0..2)).prop_map(
        |((image_id, image_ref, handler, id), created_at, image_volumes)| {
            let container = Container {
                id: id.clone(),
                image_id,
                image_ref,
                image_runtime_handler: handler,
                created_at,
                state: ContainerState::Exited,
                ..Container::default()
            };
            (container, ContainerStatus { id, image_volumes, ..ContainerStatus::default() })
        },
    )
}

fn any_record() -> impl Strategy<Value = ImageRecord> {
    let time = || option::of(any_number().prop_map(Timestamp));
    (any_id(), any_handler(), time(), any_number(), time(), time(), time()).prop_map(
        |(id, runtime_handler, absent_at, first, used_since, last_used, unused_at)| ImageRecord {
            id,
            runtime_handler,
            absent_at,
            first_detected: Timestamp(first),
            used_since,
            last_used,
            unused_at,
        },
    )
}

fn any_records() -> impl Strategy<Value = ImageRecords> {
    (any_number(), any_number(), vec(any_record(), 0..4)).prop_map(|(now, since, mut images)| {
        images.sort_by(|a, b| a.key().cmp(&b.key()));
        ImageRecords {
            detected_at: Timestamp(now),
            unbroken_since: Timestamp(since),
            images,
            ..ImageRecords::default()
        }
    })
}

fn any_policy() -> impl Strategy<Value = ImageGcPolicy> {
    let percent = || prop_oneof![0..=100_i32, any::<i32>()];
    (percent(), percent(), any_number(), any_number()).prop_map(|(high, low, min, max)| {
        ImageGcPolicy {
            high_threshold_percent: high,
            low_threshold_percent: low,
            min_age: GoDuration(min),
            max_age: GoDuration(max),
        }
    })
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn a_plan_is_made_of_anything_and_spares_what_it_must(
        (images, containers) in (vec(any_image(), 0..6), vec(any_container(), 0..3)),
        (trigger, by_handler) in (
            select(vec![Trigger::Periodic, Trigger::Age, Trigger::Eviction]),
            any::<bool>(),
        ),
        policy in any_policy(),
        (now, start) in (any_number(), option::of(any_number())),
        records in option::of(any_records()),
        fs in option::of((option::of(any_number()), option::of(any_number()))),
    ) {
        let rules = KubeletRules {
            gates: KubeletRules::for_version(KubeletVersion::ASSUMED)
                .gates
                .with(Gate::RuntimeClassInImageCriApi, by_handler),
        };
        let (containers, statuses): (Vec<_>, Vec<_>) = containers.into_iter().unzip();
        let runtime = RuntimeFacts {
            images: Lookup::found("made up", images.clone().into()),
            containers: Lookup::found("made up", containers.into()),
            container_statuses: Lookup::found("made up", statuses),
            ..RuntimeFacts::default()
        };
        let uses = Uses::of(&runtime, &Workloads::default(), rules, &BTreeSet::new());
        let pieces = images.iter().map(|image| StoragePiece {
            bytes: image.size,
            images: vec![image.id.clone()],
            ..StoragePiece::default()
        });
        let storage = Lookup::found("made up", ImageStorage { pieces: pieces.collect() });
        let plan = plan(Inputs {
            trigger,
            now: Timestamp(now),
            policy,
            rules,
            kubelet_start: start.map(|start| KubeletStart {
                at: Timestamp(start),
                source: "made up".to_owned(),
            }),
            records: records.as_ref(),
            images: &images,
            uses: &uses,
            uses_before: &uses,
            image_fs: fs.ok_or_else(|| "unknown".to_owned()).map(|(capacity, available)| {
                let bytes = |number: Option<i64>| number.map(|number| number as u64);
                let fs = ImageFs { capacity: bytes(capacity), available: bytes(available) };
                (fs, "made up".to_owned())
            }),
            storage: &storage,
            containers: None,
        kept: &BTreeSet::new(),
        reclaim: None,
        });
        let in_use = uses.in_use(&listed(&images), rules).expect("every status is there");
        let key = |image: &Image| image_key(image.id.as_str(), &image.runtime_handler, rules);
        let keys: Keys = images.iter().map(key).collect();
        prop_assert_eq!(plan.items.len(), keys.len(), "each image once");
        for item in plan.items.iter().filter(|item| item.verdict.is_removal()) {
            let removed = image_key(item.id.as_str(), &item.runtime_handler, rules);
            prop_assert!(!in_use.contains(&removed), "in use: {:#?}", item);
            let last = images.iter().rfind(|image| key(image) == removed);
            prop_assert!(last.is_some_and(|last| !last.pinned), "pinned: {:#?}", item);
            prop_assert_eq!(last.map(|last| last.size as i64), Some(item.size_bytes));
            prop_assert!(trigger != Trigger::Age || policy.max_age.0 != 0, "not too old");
        }
        // Odd numbers can be shown as well.
        let _ = (summary(&plan, Precision::Short), table(&plan), wide(&plan), serde_json::to_string(&plan));
    }
}
