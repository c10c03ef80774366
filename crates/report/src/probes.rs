//! The time lines of `kq probe plan`: when a probe makes a container ready or unready, and when it is killed.
//!
//! Containers whose probes have the same numbers share a picture.

use super::answers::{NodePage, doubts, names};
use super::findings::{about, without};
use super::mark::{Mark, Place, percent};
use super::section::{Section, figure, key, table};
use super::text::{code, pod, shown, words};
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_output::units::counted;
use kq_probe::plan::PlannedProbe;
use kq_probe::recorded::{RecordedResult, ReportedResult};
use kq_probe::schedule::{Milestone, Since, TimelineEntry};
use kq_probe::worker::ProbeTiming;
use maud::{Markup, html};

/// Returns the section.
pub fn probes(page: &NodePage<'_>) -> Section {
    let (id, title) = ("probes", "Probes");
    match page.find(names::PROBES, page.node.probes.as_ref()) {
        Ok(found) => {
            let probes = Place::new(found.id, "/probes").each(&found.answer.probes);
            Section {
                id,
                title,
                state: counted(probes.len(), "probe"),
                lead: html! { @match probes.len() {
                    0 => "No container has a probe: the kubelet takes each for started and ready once it runs.",
                    _ => "When each probe changes something, at the earliest and at the latest. Probes with the same \
                          numbers share a picture.",
                } },
                body: html! {
                    (about(page, id))
                    @for group in groups(&probes) { (picture(&group)) }
                    (recorded(&probes, &page.node.at))
                    @if !probes.is_empty() { (list(&found.answer.probes)) }
                    (doubts(&found))
                },
            }
        }
        Err(why) => without(page, (id, title), names::PROBES, why),
    }
}

/// As many pictures are drawn; the table has the others.
const MOST: usize = 24;

/// A probe, and its place in the embedded answer.
type Planned<'a> = (&'a PlannedProbe, Place<'a>);

/// Returns probes with the same numbers together, those of most containers first.
fn groups<'p, 'a>(probes: &'p [Planned<'a>]) -> Vec<Vec<&'p Planned<'a>>> {
    let mut groups: Vec<Vec<&Planned<'_>>> = Vec::new();
    let same = |one: &PlannedProbe, other: &PlannedProbe| {
        (one.probe_type, one.timing, &one.timeline)
            == (other.probe_type, other.timing, &other.timeline)
    };
    for probe in probes.iter().filter(|(probe, _)| !probe.timeline.is_empty()) {
        match groups.iter_mut().find(|group| same(group[0].0, probe.0)) {
            Some(group) => group.push(probe),
            None => groups.push(vec![probe]),
        }
    }
    groups.sort_by_key(|group| (std::cmp::Reverse(group.len()), code(&group[0].0.probe_type)));
    groups.truncate(MOST);
    groups
}

/// Writes the numbers of a probe.
fn numbers(timing: ProbeTiming) -> String {
    format!(
        "delay {} s, period {} s, timeout {} s, success {}, failure {}",
        timing.initial_delay_seconds,
        timing.period_seconds,
        timing.timeout_seconds,
        timing.success_threshold,
        timing.failure_threshold
    )
}

/// Returns what times are counted from, as a sentence begins.
fn since(since: Since) -> &'static str {
    match since {
        Since::Start => "after the start of the container",
        Since::StartInVain => "after a start, if it never answers",
        Since::Trouble => "after it stops answering",
        Since::Recovery => "after it answers again",
    }
}

/// Returns the pod of a probe.
fn owner(probe: &PlannedProbe) -> String {
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    pod(&name(&probe.name.namespace), &name(&probe.name.pod))
}

fn container(probe: &PlannedProbe) -> String {
    shown(probe.name.container.as_deref().unwrap_or_default())
}

fn who(probe: &PlannedProbe) -> String {
    format!("{} {}", owner(probe), container(probe))
}

fn picture(group: &[&Planned<'_>]) -> Markup {
    let Some((first, place)) = group.first() else { return html! {} };
    let (kind, timing) = (code(&first.probe_type), first.timing);
    let entries = place.below("timeline").each(&first.timeline);
    let whole = length(entries.iter().map(|(entry, _)| seconds(entry.latest.after)));
    let moments = ticks(timing.initial_delay_seconds.into(), timing.period_seconds.into(), whole);
    let pods: Vec<String> = group.iter().map(|(probe, _)| owner(probe)).collect();
    let title = match group {
        [(one, _)] => format!("{kind} of {}", who(one)),
        several => format!("{kind} of {}", counted(several.len(), "container")),
    };
    html! {
        div.probe data-pods=(pods.join(" ")) {
            (figure(&format!("{title}: time lines"), html! {
                h3 { (title) span.n { (numbers(timing)) } }
                div.lanes { @for entry in &entries { (lane(entry, whole, &moments)) } (ruler(whole)) }
            }, html! {
                (key("span", "from the earliest to the latest moment"))
                @if !moments.is_empty() { (key("moment", "a probe, if the first one comes at once")) }
                @if group.len() > 1 { span.key { (pods.iter().take(6).cloned().collect::<Vec<_>>().join(", ")) @if pods.len() > 6 { " and " (pods.len() - 6) " more" } } }
            }))
        }
    }
}

fn lane((entry, place): &(&TimelineEntry, Place<'_>), whole: f64, moments: &[f64]) -> Markup {
    let (earliest, latest) = (entry.earliest.after, entry.latest.after);
    let at = span(seconds(earliest), seconds(latest), whole);
    let milestone = code(&entry.what);
    let what = words(&milestone);
    html! {
        div.lane {
            span.what { strong { (what) } " " (since(entry.since)) }
            svg.line {
                rect.track y="5" width="100%" height="12" {}
                @for moment in moments { line.moment x1=(percent(*moment)) x2=(percent(*moment)) y1="5" y2="17" {} }
                (Mark::new("rect", &format!("span {milestone}")).across(at.start, at.width.max(0.004))
                    .with("y", "3").with("height", "16").called(format!("{what} {}", since(entry.since)))
                    .of(place).data("what", &entry.what).data("since", &entry.since)
                    .with("data-earliest", earliest.to_string()).with("data-latest", latest.to_string()).empty())
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
fn recorded(probes: &[Planned<'_>], now: &str) -> Markup {
    let Ok(now) = now.parse::<Timestamp>() else { return html! {} };
    let before = |at: Option<Timestamp>| {
        let before = now.since(at?);
        // What is dated later is not believed.
        (before >= 0).then(|| seconds(GoDuration(before)).min(LONGEST))
    };
    let mut results = Vec::new();
    for (probe, place) in probes {
        let of = probe.recorded.as_deref().unwrap_or_default();
        for (result, place) in place.below("recorded").each(of).into_iter().take(MOST_OF_PROBE) {
            if let (Some(first), Some(last)) = (before(result.first_at), before(result.last_at)) {
                results.push((first.max(last), last, *probe, (result, place)));
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
                @for (first, last, probe, result) in &results { (reported((*first, *last), probe, result, whole)) }
                (ruler_before(whole))
            }
        }, html! { (key("span killed", "failed: from the first to the last event of the same text")) (key("span not-ready", "warning: counts as a success")) }))
    }
}

fn reported(
    (first, last): (f64, f64),
    probe: &PlannedProbe,
    (result, place): &(&RecordedResult, Place<'_>),
    whole: f64,
) -> Markup {
    let at = span(whole - first, whole - last, whole);
    let (what, kind) = (words(&code(&result.result)), code(&probe.probe_type));
    let class = match result.result {
        ReportedResult::Warning => "span not-ready",
        ReportedResult::Failed | ReportedResult::Errored => "span killed",
    };
    html! {
        div.lane data-pod=(owner(probe)) {
            span.what { strong { (kind) " " (what) } " " (who(probe)) }
            svg.line {
                rect.track y="5" width="100%" height="12" {}
                (Mark::new("rect", class)
                    .across(at.start, at.width.max(0.004)).with("y", "3").with("height", "16")
                    .called(format!("{kind} {what}: {}", shown(&result.message)))
                    .of(place).data("result", &result.result).data("count", &result.count)
                    .data("firstAt", &result.first_at).data("lastAt", &result.last_at).empty())
            }
            span.when { (times(result)) ", " (shown(&result.message)) }
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

fn list(probes: &[PlannedProbe]) -> Markup {
    let after_trouble = |probe: &PlannedProbe, what: Milestone| {
        let mut entries = probe.timeline.iter();
        let entry = entries.find(|it| it.what == what && it.since == Since::Trouble);
        entry.map_or_else(
            || "–".to_owned(),
            |it| format!("{} to {}", it.earliest.after, it.latest.after),
        )
    };
    table(
        "Probes of each container",
        probes.len(),
        "probe",
        html! {
            th scope="col" { "Pod" } th scope="col" { "Container" } th scope="col" { "Probe" } th scope="col" { "Target" }
            th scope="col" { "Numbers" } th scope="col" { "Killed after it stops answering" }
            th scope="col" { "Not ready after it stops answering" } th scope="col" { "Reported by the kubelet" }
        },
        html! { @for probe in probes {
            @let target = probe.target.as_ref().or(probe.error.as_ref());
            tr data-pod=(owner(probe)) {
                th scope="row" { (owner(probe)) }
                td { (container(probe)) }
                td { (code(&probe.probe_type)) }
                td { code { (shown(target.map(String::as_str).unwrap_or_default())) } }
                td { (numbers(probe.timing)) }
                td.num { (after_trouble(probe, Milestone::Killed)) }
                td.num { (after_trouble(probe, Milestone::NotReady)) }
                td { (reports(probe)) }
            }
        } },
    )
}

/// Writes how often an event was seen, and whether it stands for others too.
fn times(result: &RecordedResult) -> String {
    let others = if result.is_combined { " with similar events" } else { "" };
    format!("{}×{others}", result.count)
}

/// Returns the results that the kubelet reported, in a line each.
fn reports(probe: &PlannedProbe) -> Markup {
    let Some(results) = &probe.recorded else { return html! { "unknown" } };
    html! {
        @if results.is_empty() { "–" }
        @for result in results.iter().take(MOST_OF_PROBE) {
            p {
                (words(&code(&result.result))) " " (times(result))
                @if let Some(last) = result.last_at { ", last at " (last) }
                ": " (shown(&result.message))
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

/// Returns a length of time in seconds.
fn seconds(time: GoDuration) -> f64 {
    time.0 as f64 / GoDuration::SECOND.0 as f64
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
    use kq_k8s::pod::ProbeType;
    use kq_probe::report::ProbeName;
    use kq_probe::schedule::Bound;

    #[test]
    fn probes_with_the_same_numbers_share_a_picture() {
        let bound = |seconds: i64| Bound {
            after: GoDuration(seconds * GoDuration::SECOND.0),
            formula: String::new(),
        };
        let entry = TimelineEntry {
            probe: ProbeType::Liveness,
            what: Milestone::Killed,
            since: Since::Trouble,
            earliest: bound(20),
            latest: bound(31),
            latest_without_runtime_timeout: None,
        };
        let probe = |pod: &str, period_seconds: i32, timeline: Vec<TimelineEntry>| PlannedProbe {
            name: ProbeName { pod: Some(pod.to_owned()), ..ProbeName::default() },
            probe_type: ProbeType::Liveness,
            handler: None,
            target: None,
            address: None,
            request: None,
            error: None,
            timing: ProbeTiming { period_seconds, ..ProbeTiming::default() },
            timeline,
            recorded: None,
            notes: Vec::new(),
        };
        let probes = [("a", 10), ("b", 10), ("c", 5)];
        let mut probes: Vec<_> =
            probes.iter().map(|(pod, period)| probe(pod, *period, vec![entry.clone()])).collect();
        probes.push(probe("d", 10, Vec::new()));
        let places = Place::new("probes", "/probes").each(&probes);
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
    fn lengths_are_round() {
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
