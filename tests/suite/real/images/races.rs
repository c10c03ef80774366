//! `kq gc apply` on real containerds, while images come into use: between the plan and the removal.

use super::{ImageNode, UserState, on_each};
use crate::cli::interactive::{asking, telling};
use crate::cli::kq;
use serde_json::Value;

/// What removes everything that is unused, but for the image of sandboxes, which containerd 1.6 does not pin:
/// without it no pod could start.
const PRESSURE: &str = "gc apply --allow-unsure --trigger eviction --at-usage 100% --kubelet-start 1h --keep /kq-pause:";

#[test]
fn an_image_that_comes_into_use_stays() {
    on_each(|node| {
        no_more_than_is_wanted_by_then(node);
        while_the_question_is_open(node);
        while_others_are_removed(node);
        killed_half_way_the_next_run_finishes(node);
    });
}

/// Another process frees space while kq waits for the confirmation.
fn no_more_than_is_wanted_by_then(node: &ImageNode) {
    let before = node.images();
    node.fill(90);
    let line = "gc apply --allow-unsure --kubelet-start 1h --keep /kq-pause:";
    let mut run = asking(&node.arguments(line, &[]));
    run.question();
    node.fill(70);
    run.answer("y");
    let (code, said) = run.end();
    assert_eq!(code, 0, "{said}");
    assert_eq!(node.images().len(), before.len(), "no space is wanted any more: {said}");
}

/// Returns what would go under pressure, in order.
fn listed(node: &ImageNode, pods: &[(&str, &str)]) -> Vec<String> {
    let line = format!("{PRESSURE} --dry-run -o name");
    let arguments = node.arguments("", pods).into_iter();
    let ran = arguments.fold(kq(&line), |run, argument| run.arg(argument)).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    ran.stdout.lines().map(str::to_owned).collect()
}

fn while_the_question_is_open(node: &ImageNode) {
    let goes = listed(node, &[]);
    let [first, second, third, ..] = &goes[..] else { panic!("{goes:?}") };
    let line = format!("{PRESSURE} --max 2");
    let mut no = asking(&node.arguments(&line, &[]));
    no.question();
    no.answer("n");
    let (code, said) = no.end();
    assert_eq!(code, 4, "{said}");
    assert!(goes.iter().all(|id| node.images().contains_key(id)), "the answer was no");

    let mut run = asking(&node.arguments(&line, &[]));
    run.question();
    node.run("late", first, UserState::Running);
    run.answer("y");
    let (code, said) = run.end();
    assert_eq!(code, 0, "that one is kept is no failure: {said}");
    let left = node.images();
    assert!(left.contains_key(first), "a container runs from it");
    assert!(!left.contains_key(second), "{said}");
    assert!(left.contains_key(third), "it was not to go");
}

fn while_others_are_removed(node: &ImageNode) {
    let pods = &[("late", "Running")];
    let goes = listed(node, pods);
    // Half of them, so that something is left for the next one.
    let count = goes.len() / 2 + 1;
    assert!(count >= 6, "{goes:?}");
    let (pinned, used) = (&goes[count - 2], &goes[count - 1]);
    let mut run = telling(&node.arguments(&format!("{PRESSURE} --yes --max {count}"), pods));
    run.until(&format!("1/{count} removed"));
    // One line is in the pipe and one is being written: three are gone, and no more can be.
    for (index, id) in goes.iter().enumerate().take(count).skip(3) {
        assert!(node.images().contains_key(id), "{index} is gone already");
    }
    node.run("later", used, UserState::Created);
    if node.can_pin() {
        let images = node.images();
        let image = &images[pinned];
        let name = image.repo_tags.first().or(image.repo_digests.first()).unwrap_or(pinned);
        node.ctr(&["images", "label", name, "io.cri-containerd.pinned=pinned"]);
        node.wait_until("it is pinned", |node| node.images()[pinned].pinned);
    }
    let (code, said) = run.end();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("container later uses it (created)"), "{said}");
    let left = node.images();
    assert!(left.contains_key(used), "{said}");
    assert_eq!(left.contains_key(pinned), node.can_pin(), "{said}");
    assert_eq!(said.contains("it is pinned now"), node.can_pin(), "{said}");
    for (index, id) in goes.iter().enumerate() {
        let expected = index >= count || id == used || (id == pinned && node.can_pin());
        assert_eq!(left.contains_key(id), expected, "{index} {id}: {said}");
    }
}

fn killed_half_way_the_next_run_finishes(node: &ImageNode) {
    let pods = &[("late", "Running"), ("later", "Pending")];
    let goes = listed(node, pods);
    assert!(goes.len() >= 3, "{goes:?}");
    let before = node.images();
    let mut run = telling(&node.arguments(&format!("{PRESSURE} --yes"), pods));
    run.until(&format!("1/{} removed", goes.len()));
    run.kill();
    let arguments = node.arguments("", pods).into_iter();
    let line = format!("{PRESSURE} --yes -o json");
    let ran = arguments.fold(kq(&line), |run, argument| run.arg(argument)).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let report: Value = ran.answer();
    assert!(report["items"].as_array().is_some_and(|items| items.len() < goes.len()), "{report}");
    let left = node.images();
    assert!(goes.iter().all(|id| !left.contains_key(id)), "{report}");
    assert_eq!(left.len() + goes.len(), before.len(), "nothing else went");
}
