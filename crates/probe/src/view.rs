//! Probes as tables and text.

use super::attempt::{Exchange, Phase, PhaseTime, ProbeResult};
use super::compare::Trial;
use super::pod_status::PredictedStatus;
use super::report::{
    Comparison, Hop, Outcome, ProbeName, ProbeReport, ProbeRun, ProbeVerdict, Round,
};
use kq_output::doc::Doc;
use kq_output::screen::Tone;
use kq_output::table::{Column, Rows, or_dash};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How much of a message the details of a probe show, in characters; JSON has all of it.
const SHOWN: usize = 1_200;

const PROBES: &[Column<ProbeReport>] = &[
    Column::name("POD", |it| pod(&it.name)),
    Column::name("CONTAINER", |it| or_dash(it.name.container.as_ref())),
    Column::new("PROBE", |it| it.probe_type.to_string().to_lowercase()),
    Column::state(
        "VERDICT",
        |it| it.outcome.verdict.to_string(),
        |it| {
            Some(match it.outcome.verdict {
                ProbeVerdict::Success => Tone::Good,
                ProbeVerdict::Warning => Tone::Doubtful,
                ProbeVerdict::Failure | ProbeVerdict::Errored => Tone::Bad,
            })
        },
    ),
    Column::new("TOOK", |it| time(it.outcome.took_us)),
    Column::new("TIMEOUT", |it| it.outcome.timeout_us.map_or_else(|| "none".to_owned(), time)),
    Column::wide(Column::new("HANDLER", |it| or_dash(it.handler))),
    Column::wide(Column::text("TARGET", |it| it.target.clone())),
    Column::wide(Column::text("CAUSE", |it| or_dash(it.outcome.cause.map(|cause| kebab(&cause))))),
    Column::wide(Column::text("ATTEMPTS", |it| it.outcome.attempts.len().to_string())),
    Column::text("MESSAGE", |it| short(&it.outcome.message.text())),
];

const TRIALS: &[Column<Trial>] = &[
    Column::new("WAY", |trial| trial.way.to_string()),
    Column::state(
        "RESULT",
        |trial| trial.result.to_string(),
        |trial| {
            Some(match trial.result {
                ProbeResult::Success => Tone::Good,
                ProbeResult::Warning | ProbeResult::Unknown => Tone::Doubtful,
                ProbeResult::Failure => Tone::Bad,
            })
        },
    ),
    Column::new("STATUS", |trial| {
        let all: Vec<String> = trial.statuses.iter().map(u16::to_string).collect();
        or_dash((!all.is_empty()).then(|| all.join(", ")))
    }),
    Column::new("TOOK", |trial| time(trial.took_us)),
    Column::text("MESSAGE", |trial| short(&trial.message)),
];

/// Shows a run: a line for each probe, and the details of one that is alone.
pub fn table(run: &ProbeRun) -> Doc {
    let mut doc = Doc::from(Rows::of(&run.probes).table(PROBES));
    if let [report] = &run.probes[..] {
        doc.add_apart(details(report));
        return doc;
    }
    doc.add(summary(run));
    for report in &run.probes {
        if let Some(comparison) = &report.comparison {
            doc.blank();
            doc.line(title(report));
            doc.add(compared(comparison));
        }
    }
    doc
}

/// Shows a run with every detail of each probe.
pub fn wide(run: &ProbeRun) -> Doc {
    let mut doc = Doc::from(Rows::of(&run.probes).wide(true).table(PROBES));
    for report in &run.probes {
        doc.blank();
        doc.line(title(report));
        doc.add(details(report));
    }
    doc.add(summary(run));
    doc
}

fn title(report: &ProbeReport) -> String {
    format!("{} {}", report.name, report.probe_type.to_string().to_lowercase())
}

/// Sums up many probes in a line.
fn summary(run: &ProbeRun) -> Doc {
    let mut doc = Doc::default();
    if run.probes.len() < 2 {
        return doc;
    }
    let mut verdicts: BTreeMap<ProbeVerdict, u64> = BTreeMap::new();
    for report in &run.probes {
        *verdicts.entry(report.outcome.verdict).or_default() += 1;
    }
    let mut shown = format!("{} probes: {}", run.probes.len(), tally(&verdicts));
    if !run.outlook.is_empty() {
        let count =
            |is: fn(&PredictedStatus) -> bool| run.outlook.iter().filter(|it| is(it)).count();
        let (started, ready) = (count(|it| it.started), count(|it| it.ready));
        let all = run.outlook.len();
        let _ = write!(
            shown,
            "; if it stays like this, {started} of {all} containers count as started, {ready} as ready"
        );
    }
    doc.blank();
    doc.line(shown);
    doc
}

fn tally(verdicts: &BTreeMap<ProbeVerdict, u64>) -> String {
    let parts: Vec<String> =
        verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    parts.join(", ")
}

/// Returns the pod of a probe as NAMESPACE/NAME.
pub(super) fn pod(name: &ProbeName) -> String {
    match (&name.namespace, &name.pod) {
        (Some(namespace), Some(pod)) => format!("{namespace}/{pod}"),
        _ => "-".to_owned(),
    }
}

/// Returns the details of one probe, a line each.
fn details(report: &ProbeReport) -> Doc {
    let outcome = &report.outcome;
    let mut doc = Doc::default();
    let mut line = |word: &str, text: &str| doc.line(format!("{word:<10}{text}"));
    line("sent", &report.target);
    line("message", &shown_message(outcome));
    if let Some(cause) = outcome.cause {
        line("cause", &kebab(&cause));
    }
    line("time", &times(outcome));
    if outcome.attempts.len() > 1 {
        let all = outcome.attempts.iter().map(|attempt| attempt.took_us);
        let all = time(all.fold(0, u64::saturating_add));
        let count = outcome.attempts.len();
        line("attempts", &format!("{count}, an error is tried again at once: {all} in all"));
    }
    if let Some(text) = outcome.attempts.last().and_then(|attempt| way_of(&attempt.hops)) {
        line("redirects", &text);
    }
    if let Some(ip) = &report.pod_ip {
        line("pod IP", &format!("{} (from {})", ip.value, ip.source));
    }
    match &outcome.event {
        Some(event) => {
            let text = format!("{} {}: {}", event.event_type, event.reason, event.message.text());
            line("event", &text);
        }
        None => line("event", "none"),
    }
    for (at, reason) in report.follows.iter().enumerate() {
        line(if at == 0 { "follows" } else { "" }, &reason.to_string());
    }
    for (at, note) in report.notes.iter().enumerate() {
        line(if at == 0 { "notes" } else { "" }, &note.to_string());
    }
    if let Some(verdicts) = report.verdicts.as_ref().filter(|verdicts| !verdicts.is_empty()) {
        line("counted", &tally(verdicts));
    }
    if let Some(all) = &report.percentiles {
        let text = format!(
            "{} probes: min {}, p50 {}, p90 {}, p99 {}, max {}",
            all.count,
            time(all.min_us),
            time(all.p50_us),
            time(all.p90_us),
            time(all.p99_us),
            time(all.max_us),
        );
        line("times", &text);
    }
    if let Some(comparison) = &report.comparison {
        doc.add_apart(compared(comparison));
    }
    doc
}

/// Shows which way redirects led; `None`: there were none.
fn way_of(hops: &[Hop]) -> Option<String> {
    let last = hops.last()?;
    if hops.len() < 2 && last.location.is_none() {
        return None;
    }
    let all: Vec<String> = hops
        .iter()
        .map(|hop| {
            let status = hop.status.map_or_else(|| "no answer".to_owned(), |it| it.to_string());
            format!("{} {status}", hop.target)
        })
        .collect();
    let left = last.location.as_ref().map(|to| format!(" -> {to} (not followed)"));
    Some(format!("{}{}", all.join(" -> "), left.unwrap_or_default()))
}

fn compared(comparison: &Comparison) -> Doc {
    let mut doc = Doc::from(Rows::of(&comparison.trials).table(TRIALS));
    doc.blank();
    doc.extend(comparison.differences.iter().map(ToString::to_string));
    doc
}

/// The line of one of several runs; `whose` names the probe where there are several.
pub fn round_line(round: &Round, whose: Option<&str>) -> String {
    let whose = whose.map(|whose| format!("{whose} ")).unwrap_or_default();
    let action = round.action.as_ref().map(|action| format!(" -> {action}")).unwrap_or_default();
    let message = match round.verdict {
        ProbeVerdict::Success => String::new(),
        _ => format!(": {}", short(&round.message.text())),
    };
    let because = match round.counted {
        true => round.because.to_string(),
        false => format!("not counted: {}", round.because),
    };
    let took = time(round.took_us);
    format!("{} {whose}{} {took}{message} [{because}]{action}", round.at, round.verdict)
}

/// Returns what went over the wire, a line each: `>` was sent, `<` came back.
pub fn exchange_lines(exchange: &Exchange) -> Vec<String> {
    let marked = |mark: &'static str, bytes: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.lines().map(|line| format!("{mark} {line}").trim_end().to_owned()).collect()
    };
    let mut lines = vec![format!("* {}", exchange.address)];
    lines.extend(marked(">", &exchange.request.0));
    lines.extend(marked("<", &exchange.head.0));
    lines.extend(marked("|", &exchange.body.0));
    lines
}

/// Returns a message as a table shows it: its first line.
pub(super) fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match text.trim_end().len() > line.len() {
        true => format!("{line}..."),
        false => line.to_owned(),
    }
}

fn shown_message(outcome: &Outcome) -> String {
    let text = outcome.message.text();
    let text = text.trim_end();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}... ({} bytes)", &text[..end], outcome.message.0.len()),
        None if text.is_empty() => "(empty)".to_owned(),
        None => text.to_owned(),
    }
}

fn times(outcome: &Outcome) -> String {
    let mut said = time(outcome.took_us);
    match (outcome.timeout_us, outcome.margin_us) {
        (Some(limit), Some(margin)) if margin >= 0 => {
            let left = u64::try_from(margin).unwrap_or_default();
            let _ = write!(said, " of {} ({} left)", time(limit), time(left));
        }
        (Some(limit), _) => {
            let _ = write!(said, " of {}", time(limit));
        }
        (None, _) => said.push_str(", no limit"),
    }
    let phases = outcome.attempts.last().map(|attempt| &attempt.phases[..]).unwrap_or_default();
    for (at, phase) in phases.iter().enumerate() {
        let _ = write!(said, "{} {}", if at == 0 { ":" } else { "," }, phase_text(phase));
    }
    said
}

fn phase_text(time_of: &PhaseTime) -> String {
    let name = match time_of.phase {
        Phase::Lookup => "lookup",
        Phase::Connect => "connect",
        Phase::Tls => "TLS",
        Phase::Settings => "HTTP/2 settings",
        Phase::FirstByte => "first byte",
        Phase::Body => "body",
        Phase::SetUp => "set-up",
        Phase::Run => "run",
    };
    let unfinished = if time_of.unfinished { " (not finished)" } else { "" };
    format!("{name} {}{unfinished}", time(time_of.took_us))
}

/// Returns a time in microseconds for people: `350us`, `3.1ms`, `1.02s`.
pub fn time(microseconds: u64) -> String {
    match microseconds {
        0..1_000 => format!("{microseconds}us"),
        1_000..1_000_000 => {
            format!("{}.{}ms", microseconds / 1_000, microseconds % 1_000 / 100)
        }
        _ => {
            let (seconds, hundredths) =
                (microseconds / 1_000_000, microseconds % 1_000_000 / 10_000);
            match hundredths {
                0 => format!("{seconds}s"),
                _ => format!("{seconds}.{hundredths:02}s"),
            }
        }
    }
}

fn kebab(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (amount, expected) in [
            (0, "0us"),
            (999, "999us"),
            (1_000, "1.0ms"),
            (3_149, "3.1ms"),
            (999_999, "999.9ms"),
            (1_000_000, "1s"),
            (1_020_000, "1.02s"),
            (61_500_000, "61.50s"),
        ] {
            assert_eq!(time(amount), expected, "{amount}");
        }
    }

    #[test]
    fn messages_are_one_line() {
        let long = "x".repeat(SHOWN + 1);
        for (name, text, expected) in [
            ("empty", "", String::new()),
            ("a line", "ok\n", "ok".to_owned()),
            ("lines", "a\nb", "a...".to_owned()),
            ("long", long.as_str(), long.clone()),
            ("wide characters", "größe ✓", "größe ✓".to_owned()),
        ] {
            assert_eq!(short(text), expected, "{name}");
        }
    }
}
