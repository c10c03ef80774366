//! The search agrees with a plain walk over every order and every choice of victims, which has its own arithmetic.

use super::*;
use crate::objects;
use crate::preemption::restart_order;
use crate::qualified;
use std::collections::{BTreeMap, BTreeSet};

/// Checks that refuse no pod.
#[derive(Clone)]
struct NoChecks;

impl EarlierChecks for NoChecks {
    fn decide(&mut self, _: &Pod) -> DeviceDecision {
        DeviceDecision::default()
    }

    fn memory_of(&self, _: &Pod) -> CheckMemory {
        CheckMemory::Nothing
    }
}

/// A pod of the walk.
#[derive(Clone, Debug, PartialEq)]
struct Plain {
    name: String,
    is_static: bool,
    second: u64,
    cpu: i64,
    memory: i64,
    priority: Option<i32>,
    is_guaranteed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Room {
    cpu: i64,
    memory: i64,
    pods: i64,
}

/// The fate of a pod in some order: how much of which resource was used when it was refused, and for which pod it was
/// killed.
#[derive(Debug, Default, PartialEq)]
struct Ends {
    stays: bool,
    refused: BTreeMap<String, (i64, i64)>,
    killed_for: BTreeSet<String>,
}

impl Plain {
    fn is_critical(&self) -> bool {
        self.is_static || self.priority.is_some_and(|it| it >= 2_000_000_000)
    }

    fn may_kill(&self, other: &Self) -> bool {
        self.is_critical() && !other.is_critical()
            || matches!((self.priority, other.priority), (Some(own), Some(its)) if own > its)
    }

    fn gives(&self, resource: &str) -> i64 {
        match resource {
            "pods" => 1,
            "cpu" => self.cpu,
            _ => self.memory,
        }
    }

    fn class(&self) -> u8 {
        match (self.is_guaranteed, self.cpu, self.memory) {
            (true, ..) => 2,
            (false, 0, 0) => 0,
            _ => 1,
        }
    }

    fn pod(&self) -> Pod {
        let cpu = (self.cpu > 0).then(|| format!("cpu={}m", self.cpu));
        let memory = (self.memory > 0).then(|| format!("memory={}", self.memory));
        let requests = cpu.into_iter().chain(memory).collect::<Vec<_>>().join(",");
        let mut pod = objects::pod(&self.name).priority(self.priority).requests(&requests);
        if self.is_guaranteed {
            pod = pod.limits(&requests);
        }
        if self.is_static {
            pod = pod.config("source", "file");
        }
        pod.created(format!("2026-01-01T00:00:{:02}Z", self.second)).read()
    }
}

/// Calls with every order of a list.
fn permute<T: Clone>(list: &[T], at: usize, call: &mut impl FnMut(&[T])) {
    if at + 1 >= list.len() {
        return call(list);
    }
    for other in at..list.len() {
        let mut list = list.to_vec();
        list.swap(at, other);
        permute(&list, at + 1, call);
    }
}

type Needs = Vec<(&'static str, i64)>;

fn subtract<'p>(needs: &Needs, pods: impl Iterator<Item = &'p Plain> + Clone) -> Needs {
    let left = needs.iter().map(|(resource, amount)| {
        (*resource, pods.clone().fold(*amount, |left, pod| left - pod.gives(resource)))
    });
    left.filter(|(_, amount)| *amount > 0).collect()
}

/// `getPodsToPreemptByDistance`, read line by line.
fn by_distance(mut pods: Vec<Plain>, mut needs: Needs) -> Option<Vec<Plain>> {
    let mut chosen = Vec::new();
    while !needs.is_empty() {
        if pods.is_empty() {
            return None;
        }
        let (mut best, mut best_distance) = (0, (needs.len() + 1) as f64);
        for (at, pod) in pods.iter().enumerate() {
            let parts = needs.iter().map(|(resource, amount)| {
                let left = amount - pod.gives(resource);
                if left > 0 { (left as f64 / *amount as f64).powi(2) } else { 0.0 }
            });
            let distance: f64 = parts.sum();
            let is_smaller = (pod.memory, pod.cpu) <= (pods[best].memory, pods[best].cpu);
            if distance < best_distance || distance == best_distance && is_smaller {
                (best, best_distance) = (at, distance);
            }
        }
        needs = subtract(&needs, [&pods[best]].into_iter());
        chosen.push(pods.swap_remove(best));
    }
    Some(chosen)
}

/// `getPodsToPreempt` with the pods in this order; `None`: not enough.
fn victims(killer: &Plain, pods: &[Plain], needs: &Needs) -> Option<BTreeSet<String>> {
    let of = |class: u8| -> Vec<Plain> {
        pods.iter().filter(|it| killer.may_kill(it) && it.class() == class).cloned().collect()
    };
    let (lowest, middle, highest) = (of(0), of(1), of(2));
    if !subtract(needs, lowest.iter().chain(&middle).chain(&highest)).is_empty() {
        return None;
    }
    let highest = by_distance(highest, subtract(needs, lowest.iter().chain(&middle)))?;
    let middle = by_distance(middle, subtract(needs, lowest.iter().chain(&highest)))?;
    let lowest = by_distance(lowest, subtract(needs, middle.iter().chain(&highest)))?;
    Some(lowest.into_iter().chain(middle).chain(highest).map(|it| it.name).collect())
}

/// Walks on from the pods that are taken in.
fn walk(left: &[Plain], taken: &[Plain], room: Room, ends: &mut BTreeMap<String, Ends>) {
    let Some((pod, left)) = left.split_first() else {
        for pod in taken {
            ends.entry(pod.name.clone()).or_default().stays = true;
        }
        return;
    };
    let used = |resource| taken.iter().map(|it| it.gives(resource)).sum::<i64>();
    let all = [("pods", room.pods), ("cpu", room.cpu), ("memory", room.memory)];
    let short = |(resource, has): &(&'static str, i64)| {
        let asks = pod.gives(resource);
        (asks > 0 && used(resource) + asks > *has).then(|| (*resource, used(resource) + asks - has))
    };
    let needs: Needs = all.iter().filter_map(short).collect();
    let with = |taken: &[Plain]| [taken, std::slice::from_ref(pod)].concat();
    if needs.is_empty() {
        return walk(left, &with(taken), room, ends);
    }
    let own = ends.entry(pod.name.clone()).or_default();
    if !pod.is_critical() {
        let used = used(needs[0].0);
        let range = own.refused.entry(format!("OutOf{}", needs[0].0)).or_insert((used, used));
        *range = (range.0.min(used), range.1.max(used));
        return walk(left, taken, room, ends);
    }
    let mut choices = BTreeSet::new();
    permute(taken, 0, &mut |taken| _ = choices.insert(victims(pod, taken, &needs)));
    for choice in choices {
        let Some(victims) = choice else {
            let own = ends.entry(pod.name.clone()).or_default();
            own.refused.insert("UnexpectedAdmissionError".to_owned(), (0, 0));
            walk(left, taken, room, ends);
            continue;
        };
        for victim in &victims {
            ends.entry(victim.clone()).or_default().killed_for.insert(pod.name.clone());
        }
        let stay: Vec<Plain> =
            taken.iter().filter(|it| !victims.contains(&it.name)).cloned().collect();
        walk(left, &with(&stay), room, ends);
    }
}

/// Walks every order of the seconds.
fn every_order(
    seconds: &[Vec<Plain>],
    before: &[Plain],
    room: Room,
    ends: &mut BTreeMap<String, Ends>,
) {
    match seconds.split_first() {
        None => walk(before, &[], room, ends),
        Some((second, later)) => permute(second, 0, &mut |second| {
            every_order(later, &[before, second].concat(), room, ends);
        }),
    }
}

/// Numbers by chance, the same in each run.
struct Chance(u64);

impl Chance {
    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all[usize::try_from(self.0 >> 33).unwrap_or(0) % all.len()]
    }
}

fn searched(pods: &[Plain], room: Room, most_admissions: usize) -> BTreeMap<String, PossibleEnds> {
    let all: Vec<Pod> = pods.iter().map(Plain::pod).collect();
    let order = restart_order(&all.iter().collect::<Vec<_>>());
    let amounts = format!("cpu={}m,memory={},pods={}", room.cpu, room.memory, room.pods);
    let node: NodeObject = objects::node("n").amounts(&amounts).read();
    let rules = KubeletRules::default();
    let any = AnyOrder::of(&order, &node, &NoChecks, &rules, most_admissions);
    order.iter().map(|pod| pod.metadata.name.clone()).zip(any.pods).collect()
}

fn walked(pods: &[Plain], room: Room) -> BTreeMap<String, Ends> {
    let mut seconds: BTreeMap<(bool, u64), Vec<Plain>> = BTreeMap::new();
    for pod in pods {
        let second = if pod.is_static { 0 } else { pod.second };
        seconds.entry((!pod.is_static, second)).or_default().push(pod.clone());
    }
    let mut ends = BTreeMap::new();
    let (folder, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
        seconds.into_iter().partition(|((is_of_server, _), _)| !is_of_server);
    let [folder, others] = [folder, others].map(|it| it.into_values().collect::<Vec<Vec<Plain>>>());
    every_order(&[folder.clone(), others.clone()].concat(), &[], room, &mut ends);
    every_order(&[others, folder].concat(), &[], room, &mut ends);
    ends
}

/// Returns the ends that were searched in the words of the walk.
fn plain(found: &PossibleEnds, names: &[String]) -> Ends {
    let refused = found.refusals.iter().map(|it| match it {
        PossibleRefusal::Shortage { least, most, .. } => (it.reason(), (*least, *most)),
        PossibleRefusal::Other(_) => (it.reason(), (0, 0)),
    });
    Ends {
        stays: found.stays,
        refused: refused.collect(),
        killed_for: found.killed_for.iter().map(|at| names[*at].clone()).collect(),
    }
}

fn random_pods(chance: &mut Chance, with_critical: bool) -> (Vec<Plain>, Room) {
    let count = chance.one_of(if with_critical { &[2, 3, 4, 5][..] } else { &[3, 5, 6, 7] });
    let seconds = chance.one_of(&[&[1, 1, 1, 1, 2][..], &[1, 2, 3], &[1, 1, 2, 2]]);
    let priorities: &[Option<i32>] = match with_critical {
        true => &[None, Some(0), Some(0), Some(10), Some(2_000_000_000), Some(2_000_001_000)],
        false => &[None, Some(0), Some(1_000)],
    };
    let pod = |at: usize| Plain {
        name: format!("p{at}"),
        is_static: with_critical && chance.one_of(&[false, false, false, false, true]),
        second: chance.one_of(seconds),
        cpu: chance.one_of(&[0, 100, 100, 200, 300]),
        memory: chance.one_of(&[0, 0, 100, 250]),
        priority: chance.one_of(priorities),
        is_guaranteed: chance.one_of(&[false, false, true]),
    };
    let mut pods: Vec<Plain> = (0..count).map(pod).collect();
    for pod in &mut pods {
        pod.is_guaranteed &= pod.cpu > 0 && pod.memory > 0;
    }
    let room = Room {
        cpu: chance.one_of(&[250, 300, 400, 600]),
        memory: chance.one_of(&[200, 350, 1_000]),
        pods: chance.one_of(&[2, 3, 10]),
    };
    (pods, room)
}

fn names(pods: &[Plain]) -> Vec<String> {
    let all: Vec<Pod> = pods.iter().map(Plain::pod).collect();
    let order = restart_order(&all.iter().collect::<Vec<_>>());
    order.iter().map(|pod| pod.metadata.name.clone()).collect()
}

#[test]
fn the_search_finds_what_every_order_gives_and_nothing_else() {
    let mut chance = Chance(1);
    let (mut open, mut killed) = (0, 0);
    for round in 0..400 {
        let (pods, room) = random_pods(&mut chance, round % 2 == 0);
        let (searched, walked) = (searched(&pods, room, MOST_ADMISSIONS), walked(&pods, room));
        for (name, found) in &searched {
            let found = plain(found, &names(&pods));
            let expected = walked.get(name).expect("a pod");
            assert_eq!(&found, expected, "{name}, {room:?}: {pods:#?}");
            open += usize::from(found.stays && !found.refused.is_empty());
            killed += usize::from(!found.killed_for.is_empty());
        }
    }
    assert!(open > 100 && killed > 50, "{open} open, {killed} killed");
}

#[test]
fn what_is_said_without_trying_every_order_is_so_in_every_order() {
    let mut chance = Chance(2);
    let (mut sure, mut open) = (0, 0);
    for round in 0..600 {
        let (pods, room) = random_pods(&mut chance, round % 3 == 0);
        let most = chance.one_of(&[0, 3, 6, 9, 14]);
        let (searched, walked) = (searched(&pods, room, most), walked(&pods, room));
        for (name, found) in &searched {
            let (ends, expected) = (plain(found, &names(&pods)), &walked[name]);
            let kinds =
                |ends: &Ends| [ends.stays, !ends.refused.is_empty(), !ends.killed_for.is_empty()];
            if found.is_untried {
                open += 1;
                let has_all =
                    kinds(expected).iter().zip(kinds(&ends)).all(|(was, said)| !was || said);
                assert!(has_all, "{name} {ends:?} {room:?} {most}: {pods:#?}");
                continue;
            }
            sure += 1;
            assert_eq!(kinds(&ends), kinds(expected), "{name} {room:?} {most}: {pods:#?}");
        }
    }
    assert!(sure > 800 && open > 200, "{sure} sure, {open} open");
}

#[test]
fn the_order_of_the_sources_is_open() {
    let pod = |name: &str, is_static, cpu| Plain {
        name: name.to_owned(),
        is_static,
        second: 1,
        cpu,
        memory: 0,
        priority: (!is_static).then_some(2_000_000_000),
        is_guaranteed: false,
    };
    let pods = [pod("critical", false, 90), pod("small", false, 5), pod("static", true, 100)];
    let found = searched(&pods, Room { cpu: 100, memory: 0, pods: 10 }, MOST_ADMISSIONS);
    for (name, ends) in &found {
        // Whoever comes first is taken in, and a static pod kills no critical one.
        assert!(ends.stays && !ends.refusals.is_empty() && ends.killed_for.is_empty(), "{name}");
        assert!(ends.is_by_sources && !ends.is_by_chance, "{name}: {ends:?}");
    }
    // A critical pod that finds no victim is refused with the reason of its search.
    let refusals = |name: &str| found[name].refusals.first().map(PossibleRefusal::reason);
    for name in ["small", "static"] {
        assert_eq!(refusals(name).as_deref(), Some("UnexpectedAdmissionError"), "{name}");
    }
    // With room for all, nothing is open.
    let found = searched(&pods, Room { cpu: 195, memory: 0, pods: 10 }, MOST_ADMISSIONS);
    assert!(found.values().all(|it| it.stays && it.refusals.is_empty() && !it.is_by_sources));
}

#[test]
fn many_pods_of_one_second_are_answered() {
    let pod = |at: i64| Plain {
        name: format!("p{at:02}"),
        is_static: false,
        second: 1,
        cpu: 50 + 7 * at,
        memory: 0,
        priority: Some(0),
        is_guaranteed: false,
    };
    let pods: Vec<Plain> = (0..60).map(pod).collect();
    let all: i64 = pods.iter().map(|it| it.cpu).sum();
    // Without the last pod's request, all pods but the last one fit whatever comes first.
    let room = Room { cpu: all - 1, memory: 0, pods: 110 };
    let found = searched(&pods, room, MOST_ADMISSIONS);
    let is_open = |ends: &PossibleEnds| ends.stays && !ends.refusals.is_empty() && !ends.is_untried;
    assert!(found.values().all(is_open), "{found:#?}");
    let found = searched(&pods, Room { cpu: all, ..room }, MOST_ADMISSIONS);
    assert!(found.values().all(|ends| ends.stays && ends.refusals.is_empty()), "{found:#?}");
}

#[test]
fn equal_pods_are_one_kind() {
    let pod = |at: i64| Plain {
        name: format!("p{at:02}"),
        is_static: false,
        second: 1,
        cpu: 100 * (1 + at % 3),
        memory: 0,
        priority: Some(0),
        is_guaranteed: false,
    };
    let pods: Vec<Plain> = (0..90).map(pod).collect();
    let found = searched(&pods, Room { cpu: 5_000, memory: 0, pods: 110 }, MOST_ADMISSIONS);
    let uses = |ends: &PossibleEnds| match ends.refusals.as_slice() {
        [PossibleRefusal::Shortage { least, most, .. }] => (*least, *most),
        other => panic!("{other:?}"),
    };
    for (name, least) in [("p00", 5_000), ("p01", 4_900), ("p02", 4_800)] {
        assert_eq!((uses(&found[name]), found[name].is_untried), ((least, 5_000), false), "{name}");
    }
    let first = pods.first().map(Plain::pod).map(|pod| qualified(&pod));
    assert_eq!(first.as_deref(), Some("default/p00"));
}
