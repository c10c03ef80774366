//! Steps in tables.

use super::*;
use kq_k8s::pod::Pod;
use std::collections::BTreeSet;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn target(name: &str, grace_period_seconds: i64) -> Target {
    Target {
        pod: format!("shop/{name}"),
        namespace: "shop".to_owned(),
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        grace_period_seconds,
    }
}

pub(super) fn options() -> RemovalOptions {
    RemovalOptions {
        how: Removal::Eviction,
        goes_on: false,
        budget_timeout: Duration::ZERO,
        victim_timeout: None,
    }
}

/// A fresh plan that wants these, which are there.
fn wants(names: &[&str]) -> Observation {
    let wanted = names.iter().map(|name| (format!("shop/{name}"), format!("uid-{name}"))).collect();
    Observation::Refreshed(Ok(Refreshed {
        fresh: ReplanResult::Needs(wanted),
        there: names.iter().map(|name| format!("uid-{name}")).collect(),
        going: BTreeSet::new(),
    }))
}

fn fits(there: &[&str]) -> Observation {
    let there = there.iter().map(|name| format!("uid-{name}")).collect();
    Observation::Refreshed(Ok(Refreshed {
        fresh: ReplanResult::Fits,
        there,
        going: BTreeSet::new(),
    }))
}

/// A node that cannot be looked at.
fn blind() -> Observation {
    Observation::Refreshed(Err("503".to_owned()))
}

fn there(is_going: bool) -> Observation {
    Observation::Found(Ok(PodPresence::There { is_going, has_ended: false }))
}

pub(super) const GONE: Observation = Observation::Found(Ok(PodPresence::Gone));

fn milliseconds(count: u64) -> Action {
    Action::Pause(Duration::from_millis(count))
}

/// An action, and its observation.
type Story = Vec<(Action, Observation)>;

/// Plays actions and observations; each observation takes no time, and each pause as long as it says.
#[track_caller]
fn play(apply: &mut Apply, story: Story) {
    let mut now = Duration::ZERO;
    for (number, (expected, told)) in story.into_iter().enumerate() {
        let asked = apply.next_action();
        assert_eq!(asked, expected, "step {number}");
        if let (Action::Pause(wait), Observation::Paused) = (asked, &told) {
            now += wait;
        }
        apply.handle(told, now);
    }
    assert_eq!(apply.next_action(), Action::End);
}

fn results(apply: &Apply) -> Vec<StepResult> {
    apply.steps().iter().map(|step| step.result).collect()
}

#[test]
fn a_victim_is_looked_after_more_and_more_seldom_and_is_free_when_nothing_of_it_runs() {
    let mut apply = Apply::new(vec![target("a", 30), target("b", 30)], options());
    play(
        &mut apply,
        vec![
            (Action::Refresh, wants(&["a", "b"])),
            (Action::Remove(0), Observation::Answered(EvictionResponse::Accepted)),
            (Action::Find(0), there(true)),
            (milliseconds(500), Observation::Paused),
            (Action::Find(0), Observation::Found(Err("busy".to_owned()))),
            (milliseconds(1000), Observation::Paused),
            (Action::Find(0), there(true)),
            (milliseconds(2000), Observation::Paused),
            (Action::Find(0), there(true)),
            (milliseconds(2000), Observation::Paused),
            (Action::Find(0), GONE),
            // Its object is gone, and its containers still run: it is not counted as free.
            (Action::Refresh, fits(&["a", "b"])),
            (milliseconds(500), Observation::Paused),
            (Action::Refresh, fits(&["b"])),
        ],
    );
    assert_eq!(results(&apply), [StepResult::Removed, StepResult::Spared]);
    assert_eq!(apply.steps()[0].took, Some(Duration::from_secs(6)));
    assert_eq!(apply.stopped(), None);
}

#[test]
fn a_victim_is_waited_for_as_long_as_the_kubelet_waits() {
    for (grace, given, expected) in [
        (0, None, 10 * SECOND),
        (1, None, 10 * SECOND),
        (30, None, 45 * SECOND),
        // The sum wraps, and is less than ten then.
        (i64::MAX, None, 10 * SECOND),
        (30, Some(3 * SECOND), 3 * SECOND),
        (30, Some(Duration::ZERO), Duration::ZERO),
    ] {
        let options = RemovalOptions { victim_timeout: given, ..options() };
        assert_eq!(options.timeout(&target("a", grace)), expected, "{grace} {given:?}");
    }
    for (goes_on, expected) in [
        (false, "shop/a is still going after 1 s"),
        (true, "the pod does not fit until those are gone that are going"),
    ] {
        let options = RemovalOptions { victim_timeout: Some(SECOND), goes_on, ..options() };
        let mut apply = Apply::new(vec![target("a", 30)], options);
        let mut story = vec![
            (Action::Refresh, wants(&["a"])),
            (Action::Remove(0), Observation::Answered(EvictionResponse::Accepted)),
            (Action::Find(0), there(true)),
            (milliseconds(500), Observation::Paused),
            (Action::Find(0), there(true)),
            (milliseconds(500), Observation::Paused),
            (Action::Find(0), there(true)),
        ];
        // It does not go twice.
        story.extend(goes_on.then(|| (Action::Refresh, wants(&["a"]))));
        play(&mut apply, story);
        assert_eq!((results(&apply), apply.stopped()), (vec![StepResult::Going], Some(expected)));
        assert!(apply.is_changed());
    }
}

#[test]
fn what_was_said_and_seen_decides() {
    use StepResult::{AlreadyGone, Left, Refused, Removed, Replaced, Unknown};
    let reason = || "said".to_owned();
    let failed = || EvictionResponse::Unclear { reason: reason(), is_over: true };
    let silent = || EvictionResponse::Unclear { reason: reason(), is_over: false };
    let other = || Observation::Found(Ok(PodPresence::Other { uid: "uid-x".to_owned() }));
    let unseen = || Observation::Found(Err("away".to_owned()));
    // The response, the observation (repeated), the result, and whether something is changed.
    let rows: [(EvictionResponse, Option<Observation>, StepResult, bool); 19] = [
        (EvictionResponse::Refused { reason: reason() }, None, Refused, false),
        (EvictionResponse::Unsent { reason: reason() }, None, Refused, false),
        (EvictionResponse::Accepted, Some(GONE), Removed, true),
        (EvictionResponse::Accepted, Some(other()), Removed, true),
        (EvictionResponse::NotFound { reason: reason() }, Some(GONE), AlreadyGone, false),
        (EvictionResponse::NotFound { reason: reason() }, Some(other()), AlreadyGone, false),
        (EvictionResponse::NotFound { reason: reason() }, Some(there(false)), Refused, false),
        (EvictionResponse::NotFound { reason: reason() }, Some(unseen()), Refused, false),
        (EvictionResponse::Conflict { reason: reason() }, Some(GONE), AlreadyGone, false),
        (EvictionResponse::Conflict { reason: reason() }, Some(other()), Replaced, false),
        (EvictionResponse::Conflict { reason: reason() }, Some(there(false)), Refused, false),
        (failed(), Some(GONE), Removed, true),
        (failed(), Some(other()), Removed, true),
        (failed(), Some(there(false)), Refused, false),
        (failed(), Some(unseen()), Unknown, true),
        (silent(), Some(GONE), Removed, true),
        (silent(), Some(other()), Removed, true),
        (silent(), Some(there(false)), Unknown, true),
        (silent(), Some(unseen()), Unknown, true),
    ];
    for (said, seen, expected, is_changed) in rows {
        let what = format!("{said:?}, {seen:?}");
        let mut apply = Apply::new(vec![target("a", 0), target("b", 0)], options());
        apply.handle(wants(&["a", "b"]), Duration::ZERO);
        apply.handle(Observation::Answered(said), Duration::ZERO);
        for _ in 0..20 {
            match apply.next_action() {
                Action::Find(0) => apply.handle(seen.clone().expect(&what), Duration::ZERO),
                Action::Pause(_) => apply.handle(Observation::Paused, Duration::ZERO),
                Action::Refresh => apply.handle(fits(&["b"]), Duration::ZERO),
                Action::End => break,
                asked => panic!("{what}: {asked:?}"),
            }
        }
        let spared =
            if matches!(expected, Removed | AlreadyGone) { StepResult::Spared } else { Left };
        assert_eq!(apply.next_action(), Action::End, "{what}");
        assert_eq!(
            (results(&apply), apply.is_changed()),
            (vec![expected, spared], is_changed),
            "{what}"
        );
        assert_eq!(apply.stopped().is_none(), spared == StepResult::Spared, "{what}");
    }
}

#[test]
fn a_budget_has_its_time_and_the_node_is_looked_at_before_it_is_asked_again() {
    let budget = |seconds: Option<u64>| {
        Observation::Answered(EvictionResponse::Budget {
            message: "no.".to_owned(),
            causes: vec!["keep needs 1".to_owned()],
            retry_after: seconds.map(Duration::from_secs),
        })
    };
    let options = RemovalOptions { budget_timeout: 8 * SECOND, ..options() };
    let mut apply = Apply::new(vec![target("a", 0)], options);
    play(
        &mut apply,
        vec![
            (Action::Refresh, wants(&["a"])),
            (Action::Remove(0), budget(Some(0))),
            (milliseconds(100), Observation::Paused),
            (Action::Refresh, wants(&["a"])),
            (Action::Remove(0), budget(Some(1))),
            (milliseconds(1000), Observation::Paused),
            (Action::Refresh, wants(&["a"])),
            (Action::Remove(0), budget(None)),
            (milliseconds(5000), Observation::Paused),
            (Action::Refresh, wants(&["a"])),
            (Action::Remove(0), budget(None)),
            // What is left of the time.
            (milliseconds(1900), Observation::Paused),
            (Action::Refresh, wants(&["a"])),
            (Action::Remove(0), budget(None)),
        ],
    );
    assert_eq!(results(&apply), [StepResult::Refused]);
    assert_eq!(apply.steps()[0].because.as_deref(), Some("no. keep needs 1"));
    assert!(!apply.is_changed());

    let mut apply = Apply::new(vec![target("a", 0)], options);
    let story = vec![
        (Action::Refresh, wants(&["a"])),
        (Action::Remove(0), budget(Some(9))),
        // It may be allowed by then, though the server is to be asked later.
        (milliseconds(8000), Observation::Paused),
        (Action::Refresh, wants(&["a"])),
        (Action::Remove(0), budget(Some(9))),
    ];
    play(&mut apply, story);
    assert_eq!(results(&apply), [StepResult::Refused]);
    let waits = "up to 8s for a disruption budget of shop/a: no. keep needs 1";
    assert_eq!((apply.waits().as_deref(), apply.waits()), (Some(waits), None));

    // Without a time for budgets, no wait is announced.
    let none = RemovalOptions { budget_timeout: Duration::ZERO, ..options };
    let mut apply = Apply::new(vec![target("a", 0)], none);
    play(&mut apply, vec![(Action::Refresh, wants(&["a"])), (Action::Remove(0), budget(Some(9)))]);
    assert_eq!((results(&apply), apply.waits()), (vec![StepResult::Refused], None));

    // Victims that take turns have one time each.
    let mut apply = Apply::new(vec![target("a", 0), target("b", 0)], options);
    let mut turns = Vec::new();
    for (at, names) in [(0, ["a", "b"]), (1, ["b", "a"])].into_iter().cycle().take(3) {
        turns.push((Action::Refresh, wants(&names)));
        turns.push((Action::Remove(at), budget(Some(4))));
        turns.push((milliseconds(4000), Observation::Paused));
    }
    turns.truncate(8);
    play(&mut apply, turns);
    assert_eq!(results(&apply), [StepResult::Refused, StepResult::Left]);
}

#[test]
fn a_node_that_cannot_be_looked_at_is_looked_at_again() {
    let mut apply = Apply::new(vec![target("a", 30)], options());
    play(
        &mut apply,
        vec![
            (Action::Refresh, blind()),
            (milliseconds(500), Observation::Paused),
            (Action::Refresh, wants(&["a"])),
            (Action::Remove(0), Observation::Answered(EvictionResponse::Accepted)),
            (Action::Find(0), GONE),
            // It is unknown whether its containers run, so it is not counted as free.
            (Action::Refresh, blind()),
            (milliseconds(500), Observation::Paused),
            (Action::Refresh, blind()),
            (milliseconds(1000), Observation::Paused),
            (Action::Refresh, fits(&[])),
        ],
    );
    assert_eq!((results(&apply), apply.stopped()), (vec![StepResult::Removed], None));
    let waits = "up to 30s until the node can be read: 503";
    assert_eq!((apply.waits().as_deref(), apply.waits()), (Some(waits), None));

    // Not for ever, whatever was being done.
    for (begins, result) in [
        (vec![], StepResult::Left),
        (
            vec![
                (Action::Refresh, wants(&["a"])),
                (Action::Remove(0), Observation::Answered(EvictionResponse::Accepted)),
                (Action::Find(0), GONE),
            ],
            StepResult::Going,
        ),
    ] {
        let is_changed = !begins.is_empty();
        let mut story = begins;
        for wait in [500, 1000].into_iter().chain([2000; 14]).chain([500]) {
            story.extend([(Action::Refresh, blind()), (milliseconds(wait), Observation::Paused)]);
        }
        story.push((Action::Refresh, blind()));
        let mut apply = Apply::new(vec![target("a", 30)], options());
        play(&mut apply, story);
        assert_eq!((results(&apply), apply.is_changed()), (vec![result], is_changed));
        assert_eq!(apply.stopped(), Some("the node could not be read again: 503"));
    }
}

#[test]
fn a_victim_that_somebody_else_deleted_is_waited_for_and_not_asked_for() {
    let deleted = || {
        let Observation::Refreshed(Ok(looked)) = wants(&["a"]) else { unreachable!("it is seen") };
        Observation::Refreshed(Ok(Refreshed { going: looked.there.clone(), ..looked }))
    };
    let mut apply = Apply::new(vec![target("a", 30)], options());
    let story = vec![
        (Action::Refresh, deleted()),
        (Action::Find(0), there(true)),
        (milliseconds(500), Observation::Paused),
        (Action::Find(0), GONE),
        (Action::Refresh, fits(&[])),
    ];
    play(&mut apply, story);
    assert_eq!(results(&apply), [StepResult::AlreadyGone]);
    assert!(!apply.is_changed());

    // It does not go twice.
    for (goes_on, last) in [(false, None), (true, Some((Action::Refresh, deleted())))] {
        let options = RemovalOptions { victim_timeout: Some(Duration::ZERO), goes_on, ..options() };
        let mut apply = Apply::new(vec![target("a", 30)], options);
        let mut story = vec![(Action::Refresh, deleted()), (Action::Find(0), there(true))];
        story.extend(last);
        play(&mut apply, story);
        assert_eq!(results(&apply), [StepResult::Going]);
        assert_eq!(apply.steps()[0].because.as_deref(), Some("it was deleted by another client"));
        assert!(!apply.is_changed() && apply.stopped().is_some());
    }
}

#[test]
fn it_ends_between_two_steps_when_somebody_wants_it_to() {
    let stop = || Observation::Interrupted("SIGINT");
    let unclear = || {
        Observation::Answered(EvictionResponse::Unclear {
            reason: "cut".to_owned(),
            is_over: false,
        })
    };
    let accepted = || Observation::Answered(EvictionResponse::Accepted);
    let rows: [(Story, StepResult, bool); 5] = [
        (vec![(Action::Refresh, stop())], StepResult::Left, false),
        (
            vec![(Action::Refresh, wants(&["a"])), (Action::Remove(0), stop())],
            StepResult::Left,
            false,
        ),
        (
            vec![
                (Action::Refresh, wants(&["a"])),
                (Action::Remove(0), accepted()),
                (Action::Find(0), there(true)),
                (milliseconds(500), stop()),
            ],
            StepResult::Going,
            true,
        ),
        (
            vec![
                (Action::Refresh, wants(&["a"])),
                (Action::Remove(0), accepted()),
                (Action::Find(0), GONE),
                (Action::Refresh, stop()),
            ],
            StepResult::Going,
            true,
        ),
        (
            vec![
                (Action::Refresh, wants(&["a"])),
                (Action::Remove(0), unclear()),
                (Action::Find(0), stop()),
            ],
            StepResult::Unknown,
            true,
        ),
    ];
    for (story, result, is_changed) in rows {
        let what = format!("{story:?}");
        let mut apply = Apply::new(vec![target("a", 30)], options());
        play(&mut apply, story);
        assert_eq!((results(&apply), apply.is_changed()), (vec![result], is_changed), "{what}");
        assert_eq!(apply.stopped(), Some("interrupted by SIGINT"), "{what}");
    }
}

#[test]
fn nobody_is_ended_by_force() {
    for (asked, expected) in [(None, 1), (Some(-5), 1), (Some(0), 1), (Some(1), 1), (Some(30), 30)]
    {
        let mut pod = Pod::default();
        pod.spec.termination_grace_period_seconds = asked;
        assert_eq!(target_of(&pod).grace_period_seconds, expected, "{asked:?}");
    }
}

#[test]
fn who_cannot_be_asked_for_is_told_apart() {
    let made = |namespace: &str, name: &str, uid: &str| {
        let mut pod = Pod::default();
        pod.metadata.namespace = namespace.to_owned();
        pod.metadata.name = name.to_owned();
        pod.metadata.uid = uid.to_owned();
        pod
    };
    assert_eq!(unfit(&made("shop", "web.0", "u")), None);
    let mut mirror = made("shop", "web", "u");
    mirror.metadata.annotations.config_mirror = Some("h".to_owned());
    let mut read = made("shop", "web", "u");
    read.metadata.annotations.config_source = Some("file".to_owned());
    for (pod, expected) in [
        (made("", "web", "u"), "metadata.namespace"),
        (made("a/b", "web", "u"), "metadata.namespace"),
        (made("shop", "a/../b", "u"), "metadata.name"),
        (made("shop", "a?b", "u"), "metadata.name"),
        (made("shop", "web", ""), "metadata.uid"),
        (mirror, "static"),
        (read, "static"),
    ] {
        assert!(unfit(&pod).is_some_and(|why| why.contains(expected)), "{pod:?}");
    }
}
