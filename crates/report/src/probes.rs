//! The time lines of `kq probe plan`: when a probe makes a container ready or unready, and when it is killed.
//!
//! Containers whose probes have the same numbers share a picture.

use super::answers::{Fields, NoAnswer, NodePage, command, doubts, names, no_answer};
use super::findings::about;
use super::mark::{Mark, Place, percent};
use super::section::{Section, figure, key, table};
use super::text::{pod, shown, words};
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_output::units::counted;
use maud::{Markup, html};
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns the section.
pub fn probes(page: &NodePage<'_>) -> Section {
    let (id, title) = ("probes", "Probes");
    match page.find(names::PROBES) {
        Ok(found) => {
            let places = Place::all(found.id, found.value, "/probes");
            Section {
                id,
                title,
                state: counted(places.len(), "probe"),
                lead: html! { @match places.len() {
                    0 => "No container has a probe: the kubelet takes each for started and ready once it runs.",
                    _ => "When each probe changes something, at the earliest and at the latest. Probes with the same \
                          numbers share a picture.",
                } },
                body: html! {
                    (about(page, id))
                    @for group in groups(&places) { (picture(&group)) }
                    (recorded(&places, &page.node.at))
                    @if !places.is_empty() { (list(&places)) }
                    (doubts(found))
                    (command(found.command))
                },
            }
        }
        Err(why) => section_without(page, id, title, why),
    }
}

fn section_without(
    page: &NodePage<'_>,
    id: &'static str,
    title: &'static str,
    why: &NoAnswer,
) -> Section {
    Section {
        id,
        title,
        state: "no answer".to_owned(),
        lead: html! {},
        body: html! { (about(page, id)) (no_answer(page.questions.get(names::PROBES), why)) },
    }
}

/// As many pictures are drawn; the table has the others.
const MOST: usize = 24;

/// Returns probes with the same numbers together, those of most containers first.
fn groups<'p, 'a>(places: &'p [Place<'a>]) -> Vec<Vec<&'p Place<'a>>> {
    let mut groups: BTreeMap<String, Vec<&Place<'_>>> = BTreeMap::new();
    for place in places.iter().filter(|place| !place.value.list("timeline").is_empty()) {
        let value = place.value;
        let same =
            format!("{}{}{}", value.text("type"), value.field("timing"), value.field("timeline"));
        groups.entry(same).or_default().push(place);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups.truncate(MOST);
    groups
}

/// Writes the numbers of a probe.
fn numbers(probe: &Value) -> String {
    let timing = probe.field("timing");
    let number = |name: &str| timing.number(name).unwrap_or_default();
    format!(
        "delay {} s, period {} s, timeout {} s, success {}, failure {}",
        number("initialDelaySeconds"),
        number("periodSeconds"),
        number("timeoutSeconds"),
        number("successThreshold"),
        number("failureThreshold")
    )
}

/// Returns what times are counted from, as a sentence begins.
fn since(code: &str) -> &str {
    match code {
        "start" => "after the start of the container",
        "start-in-vain" => "after a start, if it never answers",
        "trouble" => "after it stops answering",
        "recovery" => "after it answers again",
        other => other,
    }
}

fn who(probe: &Value) -> String {
    format!(
        "{} {}",
        pod(probe.text("namespace"), probe.text("pod")),
        shown(probe.text("container"))
    )
}

fn picture(group: &[&Place<'_>]) -> Markup {
    let Some(first) = group.first() else { return html! {} };
    let (kind, timing) = (first.value.text("type"), first.value.field("timing"));
    let list = first.below("timeline");
    let entries: Vec<Place<'_>> = first
        .value
        .list("timeline")
        .iter()
        .enumerate()
        .map(|(at, value)| Place {
            answer: first.answer,
            pointer: format!("{}/{at}", list.pointer),
            value,
        })
        .collect();
    let end = |entry: &Place<'_>| seconds(entry.value.text("/latest/after")).unwrap_or_default();
    let whole = length(entries.iter().map(end));
    let number = |name: &str| timing.number(name).unwrap_or_default() as f64;
    let moments = ticks(number("initialDelaySeconds"), number("periodSeconds"), whole);
    let pods: Vec<String> =
        group.iter().map(|it| pod(it.value.text("namespace"), it.value.text("pod"))).collect();
    let title = match group {
        [one] => format!("{kind} of {}", who(one.value)),
        several => format!("{kind} of {}", counted(several.len(), "container")),
    };
    html! {
        div.probe data-pods=(pods.join(" ")) {
            (figure(&format!("{title}: time lines"), html! {
                h3 { (title) span.n { (numbers(first.value)) } }
                div.lanes { @for entry in &entries { (lane(entry, whole, &moments)) } (ruler(whole)) }
            }, html! {
                (key("span", "from the earliest to the latest moment"))
                @if !moments.is_empty() { (key("moment", "a probe, if the first one comes at once")) }
                @if group.len() > 1 { span.key { (pods.iter().take(6).cloned().collect::<Vec<_>>().join(", ")) @if pods.len() > 6 { " and " (pods.len() - 6) " more" } } }
            }))
        }
    }
}

fn lane(entry: &Place<'_>, whole: f64, moments: &[f64]) -> Markup {
    let value = entry.value;
    let (earliest, latest) = (value.text("/earliest/after"), value.text("/latest/after"));
    let (Some(from), Some(to)) = (seconds(earliest), seconds(latest)) else { return html! {} };
    let at = span(from, to, whole);
    let what = words(value.text("what"));
    html! {
        div.lane {
            span.what { strong { (what) } " " (since(value.text("since"))) }
            svg.line {
                rect.track y="5" width="100%" height="12" {}
                @for moment in moments { line.moment x1=(percent(*moment)) x2=(percent(*moment)) y1="5" y2="17" {} }
                (Mark::new("rect", &format!("span {}", value.text("what"))).across(at.start, at.width.max(0.004))
                    .with("y", "3").with("height", "16").called(format!("{what} {}", since(value.text("since"))))
                    .of(entry, &["what", "since"]).with("data-earliest", earliest).with("data-latest", latest).empty())
            }
            span.when { (earliest) " to " (latest) }
        }
    }
}

fn ruler(whole: f64) -> Markup {
    const PARTS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
    html! {
        div.lane.ruler aria-hidden="true" {
            span {}
            svg.line { @for at in PARTS {
                text.(if at == 1.0 { "end" } else if at > 0.0 { "mid" } else { "" }) x=(percent(at)) y="12" { (axis(whole * at)) }
            } }
            span {}
        }
    }
}

/// As many recorded results are drawn, and so many of one probe, the newest; the answer has the others.
const MOST_RESULTS: usize = 48;
const MOST_OF_PROBE: usize = 5;

/// The longest time before the facts that is drawn, in seconds: a day.
const LONGEST: f64 = 86_400.0;

/// Draws the results that the kubelet has reported, each from its first to its last moment, up to the moment of the facts.
fn recorded(places: &[Place<'_>], now: &str) -> Markup {
    let Ok(now) = now.parse::<Timestamp>() else { return html! {} };
    let before = |result: &Value, name: &str| {
        let at: Timestamp = result.text(name).parse().ok()?;
        let before = now.since(at);
        // What is dated later is not believed.
        (before >= 0).then(|| (before as f64 / GoDuration::SECOND.0 as f64).min(LONGEST))
    };
    let mut results: Vec<(f64, f64, &Place<'_>, Place<'_>)> = Vec::new();
    for probe in places {
        for result in
            Place::all(probe.answer, probe.value, "/recorded").into_iter().take(MOST_OF_PROBE)
        {
            let (first, last) = (before(result.value, "firstAt"), before(result.value, "lastAt"));
            if let (Some(first), Some(last)) = (first, last) {
                let pointer = format!("{}{}", probe.pointer, result.pointer);
                results.push((first.max(last), last, probe, Place { pointer, ..result }));
            }
        }
    }
    if results.is_empty() {
        return html! {};
    }
    results.sort_by(|(_, a, ..), (_, b, ..)| a.total_cmp(b));
    results.truncate(MOST_RESULTS);
    let whole = length(results.iter().map(|(first, ..)| *first));
    html! {
        (figure("Results that the kubelet reported", html! {
            h3 { "Results that the kubelet reported" span.n { "events about probes: the kubelet writes at most one in five minutes about a pod that has many, and others can write events too" } }
            div.lanes {
                @for (first, last, probe, result) in &results { (reported(*first, *last, probe.value, result, whole)) }
                (ruler_before(whole))
            }
        }, html! { (key("span killed", "failed: from the first to the last event of the same text")) (key("span not-ready", "warning: counts as a success")) }))
    }
}

fn reported(first: f64, last: f64, probe: &Value, result: &Place<'_>, whole: f64) -> Markup {
    let at = span(whole - first, whole - last, whole);
    let (value, owner) = (result.value, pod(probe.text("namespace"), probe.text("pod")));
    let what = words(value.text("result"));
    html! {
        div.lane data-pod=(owner) {
            span.what { strong { (probe.text("type")) " " (what) } " " (who(probe)) }
            svg.line {
                rect.track y="5" width="100%" height="12" {}
                (Mark::new("rect", if value.text("result") == "warning" { "span not-ready" } else { "span killed" })
                    .across(at.start, at.width.max(0.004)).with("y", "3").with("height", "16")
                    .called(format!("{} {what}: {}", probe.text("type"), shown(value.text("message"))))
                    .of(result, &["result", "count", "firstAt", "lastAt"]).empty())
            }
            span.when { (times(value)) ", " (shown(value.text("message"))) }
        }
    }
}

/// Writes times before the moment of the facts below the lines.
fn ruler_before(whole: f64) -> Markup {
    html! {
        div.lane.ruler aria-hidden="true" {
            span {}
            svg.line {
                text x="0%" y="12" { (axis(whole)) " before" }
                text.mid x="50%" y="12" { (axis(whole / 2.0)) " before" }
                text.end x="100%" y="12" { "the facts" }
            }
            span {}
        }
    }
}

fn list(places: &[Place<'_>]) -> Markup {
    let moment = |probe: &Value, what: &str, since: &str| {
        let entry = probe
            .list("timeline")
            .iter()
            .find(|it| it.text("what") == what && it.text("since") == since);
        entry.map_or_else(
            || "–".to_owned(),
            |it| format!("{} to {}", it.text("/earliest/after"), it.text("/latest/after")),
        )
    };
    table(
        "Probes of each container",
        places.len(),
        "probe",
        html! {
            th scope="col" { "Pod" } th scope="col" { "Container" } th scope="col" { "Probe" } th scope="col" { "Target" }
            th scope="col" { "Numbers" } th scope="col" { "Killed after it stops answering" }
            th scope="col" { "Not ready after it stops answering" } th scope="col" { "Reported by the kubelet" }
        },
        html! { @for place in places { @let probe = place.value;
            tr data-pod=(pod(probe.text("namespace"), probe.text("pod"))) {
                th scope="row" { (pod(probe.text("namespace"), probe.text("pod"))) }
                td { (shown(probe.text("container"))) }
                td { (probe.text("type")) }
                td { code { (shown(probe.some_text("target").unwrap_or_else(|| probe.text("error")))) } }
                td { (numbers(probe)) }
                td.num { (moment(probe, "killed", "trouble")) }
                td.num { (moment(probe, "not-ready", "trouble")) }
                td { (reports(probe)) }
            }
        } },
    )
}

/// Writes how often an event was seen, and whether it stands for others too.
fn times(result: &Value) -> String {
    let count = result.number("count").unwrap_or_default();
    let others = if result.is("isCombined") { " with similar events" } else { "" };
    format!("{count}×{others}")
}

/// Returns the results that the kubelet reported, in a line each.
fn reports(probe: &Value) -> Markup {
    if probe.get("recorded").is_none_or(Value::is_null) {
        return html! { "unknown" };
    }
    let results = probe.list("recorded");
    html! {
        @if results.is_empty() { "–" }
        @for result in results.iter().take(MOST_OF_PROBE) {
            p {
                (words(result.text("result"))) " " (times(result))
                @if let Some(last) = result.some_text("lastAt") { ", last at " (shown(last)) }
                ": " (shown(result.text("message")))
            }
        }
        @if results.len() > MOST_OF_PROBE { p { "and " (results.len() - MOST_OF_PROBE) " more" } }
    }
}

/// A span on a time line; all numbers are parts of its length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    pub start: f64,
    pub width: f64,
}

/// As many moments of probes are drawn; with more they are a grey band.
const MOST_TICKS: usize = 60;

/// Reads a length of time such as `1m31s`, in seconds.
pub fn seconds(text: &str) -> Option<f64> {
    let duration: GoDuration = text.parse().ok()?;
    Some(duration.0 as f64 / GoDuration::SECOND.0 as f64)
}

/// Returns the length of a time line for these times: what is longest, and a little more.
pub fn length(times: impl IntoIterator<Item = f64>) -> f64 {
    let longest = times.into_iter().fold(0.0, f64::max);
    nice(longest * 1.04)
}

/// Rounds up to a number that a reader can divide.
fn nice(seconds: f64) -> f64 {
    const STEPS: [f64; 12] =
        [1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0];
    // Of the first step that divides it into at most twelve parts.
    let step = STEPS.iter().find(|step| seconds / **step <= 12.0).copied().unwrap_or(36_000.0);
    (seconds / step).ceil().max(1.0) * step
}

/// Returns the span between two times.
pub fn span(earliest: f64, latest: f64, length: f64) -> Span {
    let start = (earliest / length).clamp(0.0, 1.0);
    let end = (latest / length).clamp(start, 1.0);
    Span { start, width: end - start }
}

/// Returns where probes are: after the delay, and then once each period; none where they would be too many to be seen.
pub fn ticks(delay: f64, period: f64, length: f64) -> Vec<f64> {
    if period <= 0.0 || (length - delay) / period > MOST_TICKS as f64 {
        return Vec::new();
    }
    let times = (0..).map(|at| delay + f64::from(at) * period);
    times.take_while(|time| *time <= length).map(|time| time / length).collect()
}

/// Writes a number of seconds on an axis: `45s`, `1m30s`.
pub fn axis(seconds: f64) -> String {
    GoDuration((seconds * GoDuration::SECOND.0 as f64) as i64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn probes_with_the_same_numbers_share_a_picture() {
        let probe = |pod: &str, period: i64| {
            json!({
                "namespace": "n", "pod": pod, "container": "c", "type": "liveness", "timing": {"periodSeconds": period},
                "timeline": [{"what": "killed", "since": "trouble", "earliest": {"after": "20s"}, "latest": {"after": "31s"}}],
            })
        };
        let document =
            json!({"probes": [probe("a", 10), probe("b", 10), probe("c", 5), {"timeline": []}]});
        let places = Place::all("probes", &document, "/probes");
        let groups = groups(&places);
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
        let drawn = picture(&groups[0]).0;
        assert!(
            drawn.contains("liveness of 2 containers") && drawn.contains("data-latest=\"31s\""),
            "{drawn}"
        );
        assert!(drawn.contains("data-of=\"probes/probes/0/timeline/0\""), "{drawn}");
    }

    #[test]
    fn times_are_read_and_lengths_are_round() {
        assert_eq!(
            [seconds("1m31s"), seconds("0s"), seconds("soon")],
            [Some(91.0), Some(0.0), None]
        );
        for (longest, expected) in
            [(91.0, 100.0), (16.0, 18.0), (0.0, 1.0), (6.0, 7.0), (3600.0, 4500.0)]
        {
            assert_eq!(length([longest, 0.0]), expected, "{longest}");
        }
        assert_eq!(axis(90.0), "1m30s");
    }

    #[test]
    fn spans_are_within_the_line() {
        assert_eq!(span(20.0, 30.0, 100.0), Span { start: 0.2, width: 0.3 - 0.2 });
        assert_eq!(span(90.0, 200.0, 100.0), Span { start: 0.9, width: 1.0 - 0.9 });
    }

    #[test]
    fn probes_are_drawn_where_they_can_be_told_apart() {
        assert_eq!(ticks(5.0, 10.0, 30.0), [5.0 / 30.0, 0.5, 25.0 / 30.0]);
        assert!(ticks(0.0, 1.0, 1000.0).is_empty());
        assert!(ticks(0.0, 0.0, 1000.0).is_empty());
    }
}
