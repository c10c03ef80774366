//! The story of one image for people: labels and values, as `kubectl describe` has them.

use super::{ExplainedUse, ImageExplanation, Sharing, TriggerVerdict, Way, WayBy};
use crate::knowledge::{ImageTimes, RecordCoverage, Span};
use crate::plan::{names, short, size, tied};
use crate::uses::state_text;
use kq_facts::timestamp::Timestamp;
use kq_output::table::Table;
use kq_output::units::{self, Precision, bytes};

/// Returns the story in short.
pub fn describe(story: &ImageExplanation) -> Table {
    listing(story, false)
}

/// Returns the story with everything that is known.
pub fn describe_wide(story: &ImageExplanation) -> Table {
    listing(story, true)
}

/// Lines of a label and a value; a label that goes on is not repeated.
struct Listing(Table);

impl Listing {
    fn add(&mut self, label: &str, values: impl IntoIterator<Item = String>) {
        let mut label = label.to_owned();
        for value in values {
            self.0.add(vec![std::mem::take(&mut label), value]);
        }
    }
}

fn listing(story: &ImageExplanation, is_wide: bool) -> Table {
    let image = &story.image;
    let first = names(&image.tags, &image.digests);
    let mut lines = Listing(Table::listing(vec!["IMAGE".to_owned(), first]));
    lines.add("ID", [image.id.clone()]);
    if !image.runtime_handler.is_empty() {
        lines.add("HANDLER", [image.runtime_handler.clone()]);
    }
    if image.tags.len() > 1 || is_wide {
        lines.add("TAGS", image.tags.iter().cloned());
    }
    if is_wide {
        lines.add("DIGESTS", image.digests.iter().cloned());
    }
    lines.add("SIZE", [sized(image.size_bytes)]);
    lines.add("SHARED", sharing(&story.sharing, is_wide));
    lines.add("PINNED", [if image.pinned { "yes" } else { "no" }.to_owned()]);
    match story.used_by.as_slice() {
        [] if image.in_use => lines.add("USED BY", ["a container".to_owned()]),
        [] => lines.add("USED BY", ["no container".to_owned()]),
        users => lines.add("USED BY", users.iter().flat_map(|user| used(user, story.at, is_wide))),
    }
    lines.add("KNOWN", known(&story.known, story.at));
    for verdict in &story.triggers {
        let label = verdict.trigger.to_string().to_uppercase();
        lines.add(&label, triggered(verdict, is_wide));
    }
    for way in &story.earliest {
        let label = match way.by {
            WayBy::Age => "AT THE EARLIEST",
            WayBy::Space | WayBy::Pressure => "",
        };
        lines.add(label, earliest(way, is_wide));
    }
    lines.0
}

fn sized(amount: i64) -> String {
    let short = size(amount);
    if short == amount.to_string() {
        format!("{short} bytes")
    } else {
        format!("{short} ({amount} bytes)")
    }
}

fn sharing(sharing: &Sharing, is_wide: bool) -> Vec<String> {
    const SHOWN: usize = 3;
    let (Some(own), Some(shared), Some(held)) =
        (sharing.own_bytes, sharing.shared_bytes, sharing.held_otherwise_bytes)
    else {
        let reason = sharing.unknown.as_deref().unwrap_or("not looked for");
        return vec![format!("unknown: {reason}")];
    };
    let mut lines = vec![format!("removing it alone frees {}", bytes(own))];
    if held > 0 {
        lines.push(format!("{} are used by containers, leases or other clients", bytes(held)));
    }
    if shared > 0 {
        let count = match sharing.shared_with.len() {
            1 => "1 other image".to_owned(),
            several => format!("{several} other images"),
        };
        lines.push(format!("{} are shared with {count}", bytes(shared)));
    }
    let shown = if is_wide { usize::MAX } else { SHOWN };
    for other in sharing.shared_with.iter().take(shown) {
        lines.push(format!("  {} with {} ({})", bytes(other.bytes), other.name, short(&other.id)));
    }
    if let Some(more) = sharing.shared_with.len().checked_sub(shown).filter(|more| *more > 0) {
        lines.push(format!("  and {more} more"));
    }
    lines
}

fn used(user: &ExplainedUse, now: Timestamp, is_wide: bool) -> Vec<String> {
    let used = &user.used;
    let when = |at: Timestamp| format!("{at} ({} ago)", units::age(now.since(at)));
    let mut line = format!("{}/{} ({}", used.pod, used.container, state_text(used.state));
    if used.is_volume {
        line.push_str(", as a volume");
    }
    line.push_str(&format!("), created {}", when(used.created_at)));
    if let Some(finished) = used.finished_at {
        line.push_str(&format!(", ended {}", when(finished)));
    }
    let mut lines = vec![line];
    if is_wide {
        lines.push(format!("  container {}", used.container_id));
    }
    lines.push(format!("  {}", user.in_loop));
    lines.push(format!("  under disk pressure: {}", user.under_pressure));
    lines
}

fn known(known: &ImageTimes, now: Timestamp) -> Vec<String> {
    let used = match (known.last_used.may_be_never, known.last_used.span) {
        (_, None) => "never".to_owned(),
        (true, Some(span)) => format!("never, or {}", span_text(span, now)),
        (false, Some(span)) => span_text(span, now),
    };
    let from = match known.basis {
        RecordCoverage::Nothing => {
            "nothing: when the kubelet started is not known, and there are no records"
        }
        RecordCoverage::Start => "the kubelet's start; kq gc record would narrow it",
        RecordCoverage::PartialRecords => {
            "records of kq gc record that do not cover all of the time"
        }
        RecordCoverage::Records => "records of kq gc record",
    };
    vec![
        format!("first found by the kubelet {}", span_text(known.first_detected, now)),
        format!("last found in use {used}"),
        format!("from {from}"),
    ]
}

fn span_text(span: Span, now: Timestamp) -> String {
    let moment = |at: Timestamp| match now.since(at) {
        0 => "now".to_owned(),
        nanoseconds => format!("{at} ({} ago)", units::age(nanoseconds)),
    };
    match span.earliest {
        // Of the time to come nothing is known, as after a clock that was set back.
        None if span.latest >= now => "at a time that is not known".to_owned(),
        None => format!("at any time until {}", moment(span.latest)),
        Some(earliest) if earliest == span.latest => moment(earliest),
        Some(earliest) => format!("between {} and {}", moment(earliest), moment(span.latest)),
    }
}

fn amounts(is_wide: bool) -> Precision {
    if is_wide { Precision::Exact } else { Precision::Short }
}

fn triggered(verdict: &TriggerVerdict, is_wide: bool) -> Vec<String> {
    let place = match verdict.place {
        Some(place) => format!(", number {place} of {}", verdict.candidates),
        None => String::new(),
    };
    let reason = amounts(is_wide).text(&verdict.reason);
    let mut lines = vec![format!("{} ({}{place}): {reason}", verdict.verdict, verdict.certainty)];
    if let Some(depends_on) = &verdict.depends_on {
        lines.push(format!("  depends on {depends_on}"));
    }
    if !verdict.tied_with.is_empty() {
        lines.push(format!("  in any order with {}", tied(&verdict.tied_with, ", ")));
    }
    if is_wide {
        lines.extend(verdict.because.iter().map(|because| format!("  {because}")));
    }
    lines
}

fn earliest(way: &Way, is_wide: bool) -> Vec<String> {
    let mut because = way.because.iter();
    let amounts = amounts(is_wide);
    let first = because.next().map(|text| amounts.text(text)).unwrap_or_default();
    let mut lines = vec![format!("{}: {}; {first}", way.by, way.state)];
    // How full the disk must be belongs to the answer; the rules do not.
    let rest = because.skip(usize::from(!is_wide));
    lines.extend(
        rest.filter(|_| is_wide || way.by == WayBy::Space)
            .map(|it| format!("  {}", amounts.text(it))),
    );
    lines
}
