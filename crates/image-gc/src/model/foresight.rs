//! What kq calls sure happens, and what comes free is within its bounds, whatever the kubelet remembers
//! and in whichever order it takes those that tie.

use super::history::{History, at, cases, history, name, rules};
use crate::cycle::{
    AgeVerdict, Candidate, Collection, Cycle, GcInputs, ImageFs, ImageUser, SpaceVerdict,
    delete_unused_images, garbage_collect,
};
use crate::plan::{ImageGcPlan, Inputs, Trigger, Verdict, plan};
use crate::policy::ImageGcPolicy;
use crate::uses::{Use, Uses, listed};
use kq_answer::Certainty;
use kq_facts::image_records::ImageRecords;
use kq_facts::kubelet::KubeletStart;
use kq_facts::lookup::Lookup;
use kq_facts::runtime::{Image, ImageStorage};
use kq_k8s::duration::GoDuration;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The question about a history.
#[derive(Clone, Debug)]
struct Question {
    trigger: Trigger,
    policy: ImageGcPolicy,
    fs: ImageFs,
    /// kq knows how full the file system is.
    fs_is_known: bool,
    /// kq knows when the kubelet started.
    start_is_known: bool,
    /// Some are mounted as volumes, and kq could not ask which: a bit for each.
    volumes: u8,
    /// How long after its start it began to collect.
    began_after: i64,
    /// How much of an image no other one holds, in percent.
    own_percent: i64,
}

fn question() -> impl Strategy<Value = Question> {
    let trigger = prop_oneof![
        3 => Just(Trigger::Periodic),
        1 => Just(Trigger::Age),
        1 => Just(Trigger::Eviction),
    ];
    let policy = (0..=100_i32, 0..=100_i32, 0..5_usize, 0..6_usize).prop_map(|(a, b, min, max)| {
        let seconds = |seconds: i64| GoDuration(seconds * 1_000_000_000);
        ImageGcPolicy {
            high_threshold_percent: a.max(b),
            low_threshold_percent: a.min(b),
            min_age: seconds([0, 60, 120, 900, 3_600][min]),
            max_age: seconds([0, 0, 0, 600, 2_000, 6_000][max]),
        }
    });
    let fs = (1..=1_500_u64, 0..=1_000_u64).prop_map(|(capacity, available)| ImageFs {
        capacity: Some(capacity),
        available: Some(available),
    });
    let known = (proptest::bool::weighted(0.9), proptest::bool::weighted(0.8));
    let volumes = prop_oneof![7 => Just(0_u8), 1 => 1..32_u8];
    (trigger, policy, fs, known, volumes, 0..60_i64, 0..=100_i64).prop_map(
        |(
            trigger,
            policy,
            fs,
            (fs_is_known, start_is_known),
            volumes,
            began_after,
            own_percent,
        )| Question {
            trigger,
            policy,
            fs,
            fs_is_known,
            start_is_known,
            volumes,
            began_after,
            own_percent,
        },
    )
}

/// What kq answers.
fn foreseen(history: &History, asked: &Question, records: Option<&ImageRecords>) -> ImageGcPlan {
    let now = history.now;
    let images: Vec<Image> = history.images(now, name);
    let volumes_unknown = (asked.volumes != 0).then(|| "not asked".to_owned());
    let uses = Uses { users: history.users(now, name), volumes_unknown, ..Uses::default() };
    let mut uses_before = uses.clone();
    for (index, life) in history.lives.iter().enumerate() {
        uses_before.by_key.extend(life.created(now).map(|created_at| {
            let used = Use {
                pod: "a/b".to_owned(),
                container: "c".to_owned(),
                container_id: "d".to_owned(),
                state: kq_facts::runtime::ContainerState::Exited,
                is_volume: false,
                created_at,
                finished_at: None,
            };
            (name(index).into(), vec![used])
        }));
    }
    let start = KubeletStart { at: at(history.start), source: "made up".to_owned() };
    plan(Inputs {
        trigger: asked.trigger,
        now: at(now),
        policy: asked.policy,
        rules: rules(),
        kubelet_start: asked.start_is_known.then_some(start),
        records,
        images: &images,
        uses: &uses,
        uses_before: &uses_before,
        image_fs: match asked.fs_is_known {
            true => Ok((asked.fs, "made up".to_owned())),
            false => Err("unknown".to_owned()),
        },
        storage: &Lookup::<ImageStorage>::default(),
        containers: None,
        kept: &BTreeSet::new(),
        reclaim: None,
    })
}

/// What the kubelet does, where those that tie come in the order of the ids that are given to them.
fn done(history: &History, asked: &Question, id: impl Fn(usize) -> String + Copy) -> Collection {
    let now = history.now;
    let mut memory = history.memory(id);
    let (images, mut users) = (listed(&history.images(now, id)), history.users(now, id));
    let mounted = (0..history.lives.len()).filter(|index| asked.volumes & (1 << index) != 0);
    users.push(ImageUser {
        volumes: mounted.map(|index| id(index).into()).collect(),
        ..ImageUser::default()
    });
    let world = GcInputs { images: Ok(&images), users: Ok(&users), image_fs: Ok(asked.fs) };
    let began = at(history.start + asked.began_after);
    let age_alone = ImageGcPolicy { high_threshold_percent: 101, ..asked.policy };
    let policy = match asked.trigger {
        Trigger::Age => &age_alone,
        _ => &asked.policy,
    };
    let cycle = Cycle { policy, rules: rules(), began, now: at(now) };
    let mut remove = |_: &Candidate| Ok(());
    match asked.trigger {
        Trigger::Eviction => delete_unused_images(&mut memory, cycle, world, &mut remove),
        // It does not run.
        _ if !asked.policy.is_collecting() => Collection::default(),
        Trigger::Age => garbage_collect(&mut memory, cycle, world, &mut remove),
        // The kubelet asks how full the disk is after it has removed what is too old.
        Trigger::Periodic => {
            let done = garbage_collect(&mut memory.clone(), cycle, world, &mut remove);
            let freed = done.freed_by_age * asked.own_percent / 100;
            let fs = asked.fs.with(freed.try_into().unwrap_or(0));
            garbage_collect(&mut memory, cycle, GcInputs { image_fs: Ok(fs), ..world }, &mut remove)
        }
    }
}

fn check(
    plan: &ImageGcPlan,
    truth: &Collection,
    names: &BTreeMap<String, String>,
) -> Result<(), String> {
    let removed: BTreeMap<&str, Verdict> = truth
        .considered
        .iter()
        .filter_map(|considered| {
            let verdict = match (&considered.age, &considered.space) {
                (Some(AgeVerdict::Removed), _) => Verdict::RemovedForAge,
                (_, Some(SpaceVerdict::Removed)) => Verdict::RemovedForSpace,
                _ => return None,
            };
            Some((names[&*considered.candidate.key].as_str(), verdict))
        })
        .collect();
    for item in &plan.items {
        let is_removed = removed.get(item.id.as_str()).copied();
        let said = item.verdict.is_removal().then_some(item.verdict);
        if item.certainty == Certainty::Certain && said != is_removed {
            return Err(format!("it was {is_removed:?}: {item:#?}"));
        }
    }
    let freed = truth.freed_by_age + truth.freed_by_space;
    let bounds = plan.freed.at_least_bytes..=plan.freed.at_most_bytes;
    match bounds.contains(&freed) && bounds.contains(&plan.freed.counted_bytes) {
        true => Ok(()),
        false => Err(format!("{freed} came free: {:#?}", plan.freed)),
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn what_is_sure_happens(
        history in history(),
        asked in question(),
        orders in proptest::collection::vec(Just([0, 1, 2, 3, 4]).prop_shuffle(), 4),
    ) {
        let records = history.records();
        for records in [records.as_ref(), None] {
            if records.is_some() && !history.is_as_assumed() {
                continue;
            }
            let plan = foreseen(&history, &asked, records);
            for order in &orders {
                let id = |index: usize| format!("{}-{}", order[index], name(index));
                let names =
                    (0..history.lives.len()).map(|index| (id(index), name(index))).collect();
                let truth = done(&history, &asked, id);
                prop_assert_eq!(check(&plan, &truth, &names), Ok(()));
            }
        }
    }
}
