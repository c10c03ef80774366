//! A log, folded: which kinds of messages, how often, the first and the last, the worst first.
//!
//! Memory does not grow with the log: a kind is a row of the table, a line is looked at up to a limit, and kinds that kq does
//! not know are counted up to a limit.

use super::condition::Condition;
use super::crash::{self, is_call, is_goroutine, place_of};
use super::event_row::StatusText;
use super::klog_value::OpenValue;
use super::line::{LONGEST_LINE, Line, first_bytes};
use super::message::{
    Known, MessageExplanation, explain_message, image_fact, image_name, is_of_pull, of_status,
    recognise, recognise_line, shown,
};
use super::open_message::{OpenMessage, begins};
use super::secrets::masked;
use super::table::Rank;
use kq_answer::{Basis, answer};
use kq_output::units::counted;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The most kinds of lines that are kept of those that kq does not know.
const MOST_UNKNOWN: usize = 200;

/// The most bytes of the newest line of a kind that are kept.
const LONGEST_KEPT: usize = 4096;

/// The messages of a log.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogExplanation {
    /// What the log has, in one sentence.
    pub summary: String,
    /// The number of lines that were read.
    pub lines: u64,
    /// The kinds of messages that kq knows, the worst first.
    pub kinds: Vec<LogKind>,
    /// Warnings and errors of a kubelet that kq does not know, the most frequent first.
    pub unknown: Vec<OtherLines>,
    /// Lines of other programs that kq does not know.
    pub foreign: Vec<OtherLines>,
    /// The number of lines of information without an explanation.
    pub information: u64,
    /// The number of lines that name no program, and are not known.
    pub unnamed: u64,
    /// The line, if there is one alone.
    #[serde(skip)]
    pub only: Option<String>,
    /// The lines, if they may be one message that a terminal has parted.
    #[serde(skip)]
    pub whole: Option<String>,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("LogExplanation", LogExplanation);

/// A kind of message.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogKind {
    /// How bad it is.
    pub rank: Rank,
    /// The number of its lines.
    pub count: u64,
    /// The time of the first one, as it stands there; null: it has none.
    pub first: Option<String>,
    /// The time of the last one; null: it has none.
    pub last: Option<String>,
    /// The newest one.
    pub newest: MessageExplanation,
    /// It only points to a cause that is not known.
    #[serde(skip)]
    is_pointer: bool,
}

/// Lines that kq does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherLines {
    /// The place and the message, or the program.
    pub what: String,
    /// The number of lines.
    pub count: u64,
    /// The time of the last one; null: it has none.
    pub last: Option<String>,
}

impl LogExplanation {
    /// Returns true if each warning and error of a kubelet is known, and there is a message at all.
    pub fn is_known(&self) -> bool {
        self.unknown.is_empty() && self.unnamed == 0 && self.lines > 0
    }
}

#[derive(Debug, Default)]
struct Seen {
    rank: Rank,
    count: u64,
    first: Option<String>,
    last: Option<String>,
    newest: String,
    /// The image that its status names.
    image: Option<String>,
    /// The row only points to a cause that is not known.
    is_pointer: bool,
}

/// A log that is being read.
#[derive(Debug, Default)]
pub struct LogFold {
    /// The line that has no end yet, up to the limit.
    open: Vec<u8>,
    /// A line with a value that goes on in the next lines.
    value: Option<OpenValue>,
    /// A message that may go on in the next line.
    message: Option<OpenMessage>,
    /// The lines of a condition.
    condition: Condition,
    /// The open line is longer.
    is_over: bool,
    lines: u64,
    messages: u64,
    kinds: BTreeMap<usize, Seen>,
    unknown: BTreeMap<String, Seen>,
    foreign: BTreeMap<String, Seen>,
    information: u64,
    /// The program whose stack is being written.
    stack_of: Option<String>,
    /// The kind of the crash whose stack is being written.
    crash: Option<usize>,
    /// The image of the container whose status is being read.
    image: Option<String>,
    /// Lines of a status without a reason.
    fields: u64,
    unnamed: u64,
    /// The first line.
    only: Option<String>,
    /// All lines, where they are few.
    whole: Option<String>,
}

impl LogFold {
    /// Reads the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            self.keep(&rest[..at]);
            self.end_line();
            rest = &rest[at + 1..];
        }
        self.keep(rest);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let free = LONGEST_LINE.saturating_sub(self.open.len());
        self.is_over |= bytes.len() > free;
        self.open.extend_from_slice(&bytes[..bytes.len().min(free)]);
    }

    fn end_line(&mut self) {
        let open = std::mem::take(&mut self.open);
        self.is_over = false;
        let text = String::from_utf8_lossy(&open);
        match &mut self.value {
            Some(value) => {
                self.lines += 1;
                if let Some(whole) = value.add(&text) {
                    self.value = None;
                    self.line(&whole);
                }
            }
            None if text.trim().is_empty() => {}
            None => self.own_line(&text),
        }
        self.open = open;
        self.open.clear();
    }

    /// Reads a line that is no part of a value.
    fn own_line(&mut self, text: &str) {
        if self.condition.add(text) {
            return;
        }
        self.end_condition();
        if !self.condition.add(text) {
            self.plain_line(text);
        }
    }

    /// Reads the lines of a condition that has no more of them.
    fn end_condition(&mut self) {
        for (text, lines) in self.condition.end() {
            self.lines += lines - 1;
            self.plain_line(&text);
            if lines > 1 {
                self.whole = None;
            }
        }
    }

    /// Reads a line that is no part of a condition.
    fn plain_line(&mut self, text: &str) {
        if self.message.as_mut().is_some_and(|it| it.add(text)) {
            if self.message.as_ref().is_some_and(OpenMessage::is_whole) {
                self.end_message();
            }
            return;
        }
        self.end_message();
        match (OpenValue::of(text), OpenMessage::of(text)) {
            (Some(value), _) => self.value = Some(value),
            (None, Some(message)) => self.message = Some(message),
            (None, None) => self.line(text),
        }
    }

    /// Reads a message that does not go on.
    fn end_message(&mut self) {
        if let Some((text, lines)) = self.message.take().map(OpenMessage::end) {
            self.lines += lines - 1;
            self.line(&text);
        }
    }

    fn line(&mut self, text: &str) {
        self.lines += 1;
        self.messages += 1;
        let is_first = self.messages == 1;
        self.only = is_first.then(|| text.to_owned());
        let whole = if is_first { Some(String::new()) } else { self.whole.take() };
        self.whole = whole.filter(|it| it.len() + text.len() < LONGEST_LINE).map(|mut it| {
            it.push_str(text);
            it.push('\n');
            it
        });
        let line = Line::of(text);
        if line.texts.is_empty() {
            return;
        }
        if is_head_alone(text) {
            self.information += 1;
            return;
        }
        if self.is_stack(&line) {
            self.information += 1;
            self.keep_frame(text);
            return;
        }
        self.crash = None;
        let (level, stamp) = (line.level, line.stamp.clone());
        let first_text = line.texts[0].clone();
        let found = match text.contains('\n') {
            true => recognise(text),
            false => recognise_line(line),
        };
        match found {
            // A step of the kubelet's work is information, also where kq knows its place.
            Ok(known) if known.is_step() => self.information += 1,
            Ok(known) => self.known(&known, text),
            Err(unknown) if unknown.speaker.is_none() && unknown.place.is_none() => {
                match (of_status(text), StatusText::of(text)) {
                    (Some(known), _) => self.known(&known, text),
                    (None, Some(_)) => self.field(text),
                    (None, None) => self.unnamed += 1,
                }
            }
            Err(unknown) => {
                let is_problem = level.is_none_or(|level| level != 'I');
                match (unknown.speaker.as_deref(), unknown.place) {
                    (_, Some(_)) | (Some("kubelet"), None) if !is_problem => self.information += 1,
                    (Some("kubelet") | None, Some(place)) => {
                        let what = format!("{place} {}", first_bytes(&first_text, 120));
                        note(&mut self.unknown, what, stamp);
                    }
                    (Some("kubelet"), None) => {
                        note(&mut self.unknown, first_bytes(&first_text, 120).to_owned(), stamp);
                    }
                    (Some(program), _) => note(&mut self.foreign, program.to_owned(), stamp),
                    (None, None) => self.unnamed += 1,
                }
            }
        }
    }

    /// Reads a field of a status.
    fn field(&mut self, text: &str) {
        self.fields += 1;
        let field = text.trim().trim_start_matches("- ");
        let image = field.strip_prefix("Image:").or_else(|| field.strip_prefix("image:"));
        if let Some(image) = image {
            self.image = image_name(image).map(str::to_owned);
        }
    }

    /// Returns true for a line of the stack of a program in Go that crashes. Its reason is a message; its frames are none.
    fn is_stack(&mut self, line: &Line) -> bool {
        let text = line.texts.first().map_or("", String::as_str);
        let is_program = self.stack_of == line.program;
        if line.level.is_some() {
            self.stack_of = self.stack_of.take().filter(|_| !is_program);
            return false;
        }
        let begins = crash::begins(text);
        if begins || is_goroutine(text) {
            let is_within = is_program && self.stack_of.is_some() && !begins;
            self.stack_of = line.program.clone().or_else(|| Some(String::new()));
            return is_within;
        }
        is_program && self.stack_of.is_some() && is_frame(text)
    }

    /// Keeps a line of a stack with the reason of the crash, which its first frame explains.
    fn keep_frame(&mut self, text: &str) {
        let Some(seen) = self.crash.and_then(|at| self.kinds.get_mut(&at)) else { return };
        if seen.newest.len() + text.len() < LONGEST_KEPT {
            seen.newest.push('\n');
            seen.newest.push_str(text);
        }
    }

    fn known(&mut self, known: &Known, text: &str) {
        let (at, row) = known.row();
        let is_crash = known.line.texts.first().is_some_and(|text| crash::begins(text));
        self.crash = is_crash.then_some(at);
        let seen = self.kinds.entry(at).or_default();
        seen.rank = if known.is_refused_resize() { Rank::Pod } else { row.rank };
        seen.is_pointer = known.is_pointer();
        seen.count += 1;
        let stamp = known.line.stamp.clone();
        if seen.first.is_none() {
            seen.first.clone_from(&stamp);
        }
        seen.last = stamp;
        seen.newest.clear();
        seen.newest.push_str(first_bytes(text, LONGEST_KEPT));
        seen.image.clone_from(&self.image);
    }

    /// Returns the explanation of what was read.
    pub fn finish(mut self) -> LogExplanation {
        if !self.open.is_empty() {
            self.end_line();
        }
        if let Some(value) = self.value.take() {
            self.line(&value.cut());
        }
        self.end_condition();
        self.end_message();
        // Fields say what a reason is about; alone they say nothing, and may be parts of a message.
        let whole = self.whole.filter(|text| !is_log(text));
        match self.kinds.is_empty() || whole.is_some() {
            true => self.unnamed += self.fields,
            false => self.information += self.fields,
        }
        let mut kinds: Vec<LogKind> = self.kinds.into_values().filter_map(kind).collect();
        kinds.sort_by_key(|kind| (Reverse(kind.rank), kind.is_pointer, Reverse(kind.count)));
        let unknown = others(self.unknown);
        let foreign = others(self.foreign);
        let summary = summary(self.lines, &kinds, &unknown, self.unnamed);
        LogExplanation {
            summary,
            lines: self.lines,
            kinds,
            unknown,
            foreign,
            information: self.information,
            unnamed: self.unnamed,
            only: self.only,
            whole,
            basis: Basis::default(),
        }
    }
}

/// Returns true for a line of journald without a message, as those between the parts of a stack: `host kubelet[1]: `.
fn is_head_alone(text: &str) -> bool {
    let text = text.trim_end();
    text.ends_with("]:") && {
        let line = Line::of(&format!("{text} x"));
        line.program.is_some() && line.stamp.is_some() && line.texts == ["x"]
    }
}

/// Returns true for a line of a stack below its goroutine: a function, its place, who began it, a register, the signal.
fn is_frame(text: &str) -> bool {
    let is_register = text.split_once(' ').is_some_and(|(_, value)| {
        let value = value.trim().strip_prefix("0x");
        value.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_hexdigit()))
    });
    place_of(text).is_some()
        || is_call(text)
        || is_register
        || text.starts_with("created by ")
        || text.starts_with("[signal ")
        || text.starts_with("runtime stack:")
}

/// Counts a line that is not known.
fn note(all: &mut BTreeMap<String, Seen>, what: String, stamp: Option<String>) {
    let is_full = all.len() >= MOST_UNKNOWN && !all.contains_key(&what);
    let seen = all.entry(if is_full { "other lines".to_owned() } else { what }).or_default();
    seen.count += 1;
    seen.last = stamp;
}

/// Returns a kind with the explanation of its newest line.
fn kind(seen: Seen) -> Option<LogKind> {
    let mut newest = explain_message(&seen.newest).ok()?;
    newest.rank = seen.rank;
    let has_image = newest.value("image").is_some();
    let image = seen.image.as_deref().filter(|_| !has_image && is_of_pull(&newest.message));
    newest.values.extend(image.map(image_fact));
    let Seen { rank, count, first, last, is_pointer, .. } = seen;
    Some(LogKind { rank, count, first, last, newest, is_pointer })
}

fn others(seen: BTreeMap<String, Seen>) -> Vec<OtherLines> {
    let line = |(what, seen): (String, Seen)| OtherLines {
        what: shown(&masked(&what), 160),
        count: seen.count,
        last: seen.last,
    };
    let mut all: Vec<OtherLines> = seen.into_iter().map(line).collect();
    all.sort_by_key(|other| Reverse(other.count));
    all
}

/// Returns a number of things of a log of any length: `1 line`, `2 lines`.
pub(super) fn many(number: u64, one: &str) -> String {
    counted(usize::try_from(number).unwrap_or(usize::MAX), one)
}

fn summary(lines: u64, kinds: &[LogKind], unknown: &[OtherLines], unnamed: u64) -> String {
    let problems = kinds.iter().filter(|kind| kind.rank > Rank::Note).count();
    let worst = kinds.first().filter(|kind| kind.rank > Rank::Note);
    let others = match (unknown.len(), unnamed) {
        (0, 0) => String::new(),
        (0, unnamed) => {
            format!("; kq does not know {} without the name of a program", many(unnamed, "line"))
        }
        (1, _) => "; kq does not know 1 kind of warning or error".to_owned(),
        (count, _) => format!("; kq does not know {count} kinds of warnings or errors"),
    };
    let lines = many(lines, "line");
    match worst {
        Some(worst) => format!(
            "{} of {} in {lines}{others}. The worst, {}: {}",
            counted(problems, "kind"),
            if problems == 1 { "problem" } else { "problems" },
            many(worst.count, "time"),
            worst.newest.summary
        ),
        None => format!("No problem that kq knows in {lines}{others}."),
    }
}

/// Returns true if a text has more than one line of a log or of a list of events, or is a status with its fields: each line is
/// read by itself, and they are not the parts of one message.
pub fn is_log(text: &str) -> bool {
    let (mut begun, mut reasons, mut fields) = (0, 0, 0);
    for line in text.lines() {
        match StatusText::of(line) {
            Some(StatusText::Heading) => return true,
            Some(StatusText::Word(_)) if of_status(line).is_some() => reasons += 1,
            Some(StatusText::Other) => fields += 1,
            _ => {}
        }
        begun += usize::from(begins(line));
        if begun + reasons > 1 || reasons > 0 && fields > 1 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLEG: &str = "E0413 10:53:52.844381    3263 kubelet.go:2055] \"Skipping pod synchronization\" err=\"PLEG is not \
                        healthy: pleg was last seen active 2h33m ago; threshold is 3m0s\"\n";

    #[test]
    fn the_condition_of_a_resize_says_what_its_message_and_reason_are_about() {
        let pending = "  - lastTransitionTime: \"2026-11-29T02:11:12Z\"\n    message: 'Node didn''t have enough resource: cpu, \
                       requested: 3000,\n      used: 2150, capacity: 4000'\n    reason: Deferred\n    status: \"True\"\n    \
                       type: PodResizePending\n";
        let failed = "  - reason: Error\n    status: \"True\"\n    type: PodResizeInProgress\n";
        let swap = "  - message: 'Resize of swap enabled containers is not supported'\n    reason: Infeasible\n    type: PodResizePending\n";
        let refused = "  - message: 'Node didn''t have enough resource: cpu, requested: 3000, used: 2150, capacity: 4000'\n    \
                       reason: OutOfcpu\n    type: Other\n";
        for (text, summary, rank) in [
            (pending, "The resize has to wait", Rank::Pod),
            (failed, "A resize of the pod failed", Rank::Retry),
            (swap, "The resize can never be done", Rank::Pod),
            (refused, "The pod asks for 3000", Rank::Ended),
        ] {
            let mut fold = LogFold::default();
            fold.push(text.as_bytes());
            let found = fold.finish();
            let first = found.kinds.first().unwrap_or_else(|| panic!("{text}"));
            assert!(first.newest.summary.contains(summary), "{text}: {first:?}");
            assert_eq!((first.rank, found.lines), (rank, text.lines().count() as u64), "{text}");
        }
    }

    #[test]
    fn a_log_is_folded_by_kind_with_the_worst_first() {
        let mut fold = LogFold::default();
        let lines = format!(
            "I0413 10:00:00.000001 1 kubelet.go:1] \"Nothing that is known\"\n{PLEG}{}E0413 10:54:00.000001 1 x.go:1] \
             \"What nobody knows\" err=\"no\"\n",
            PLEG.replace("10:53", "10:59")
        );
        // However the bytes are parted.
        for byte in lines.as_bytes().chunks(7) {
            fold.push(byte);
        }
        let log = fold.finish();
        assert_eq!(log.lines, 4);
        assert_eq!(log.kinds.len(), 1, "{log:?}");
        assert_eq!(log.kinds[0].count, 2);
        assert_eq!(log.kinds[0].first.as_deref(), Some("0413 10:53:52"));
        assert_eq!(log.kinds[0].last.as_deref(), Some("0413 10:59:52"));
        assert_eq!((log.unknown.len(), log.information), (1, 1));
        assert!(!log.is_known());
    }

    #[test]
    fn one_line_of_one_kind_is_counted_in_the_singular() {
        let mut fold = LogFold::default();
        fold.push(
            format!("{PLEG}I0413 10:54:00.000001 1 x.go:1] \"What it does\"\nno\n").as_bytes(),
        );
        let log = fold.finish();
        let says =
            "1 kind of problem in 3 lines; kq does not know 1 line without the name of a program.";
        assert!(log.summary.starts_with(says), "{}", log.summary);
        let shown = crate::explain::lines::log_lines(&log, false);
        for counted in ["      1 line of information", "      1 line without the name"] {
            assert!(shown.iter().any(|line| line.starts_with(counted)), "{shown:?}");
        }
    }

    #[test]
    fn a_verbosity_in_the_json_format_is_information() {
        let of = |more: &str| {
            let mut fold = LogFold::default();
            let line =
                format!("{{\"ts\":1.5,\"caller\":\"x/x.go:1\",\"msg\":\"Brand new\"{more}}}\n");
            fold.push(line.as_bytes());
            let log = fold.finish();
            (log.information, log.is_known())
        };
        assert_eq!(of(",\"v\":0"), (1, true));
        assert_eq!(of(",\"err\":\"boom\""), (0, false));
        // A format of other programs.
        assert!(!of(",\"v\":0,\"level\":50").1);
    }

    #[test]
    fn a_word_that_a_terminal_has_parted_is_whole_again() {
        let mut fold = LogFold::default();
        fold.push(
            b"E0413 10:53:52.844381 3263 pod_workers.go:1] \"Error syncing pod, skipping\" err=\"failed to \\\"StartContainer\\\" for \\\"web\\\" with \
              CrashLoopBackOff: \\\"back-off 5m0s resta\nrting failed container=web pod=web-1_shop(5384)\\\"\" pod=\"shop/web-1\"\n",
        );
        let log = fold.finish();
        let newest = &log.kinds[0].newest;
        assert!(newest.go_function.ends_with("doBackOff"), "{newest:?}");
        assert_eq!(newest.value("pod"), Some("web-1_shop(5384)"), "{newest:?}");
    }

    #[test]
    fn a_cause_is_before_a_line_that_only_points_to_one() {
        let mut fold = LogFold::default();
        let pointer = "E0413 10:54:00.000001 1 eviction_manager.go:1] \"Eviction manager: failed to synchronize\" err=\"no\"\n";
        let cause = "E0413 10:54:00.000001 1 eviction_manager.go:1] \"Eviction manager: failed to get HasDedicatedImageFs\" err=\"no\"\n";
        for line in [pointer, pointer, cause] {
            fold.push(line.as_bytes());
        }
        let log = fold.finish();
        let counts: Vec<u64> = log.kinds.iter().map(|kind| kind.count).collect();
        assert_eq!(counts, [1, 2], "{log:?}");
    }

    #[test]
    fn a_crash_of_the_kubelet_is_one_kind_with_its_stack() {
        let lines = [
            "panic: runtime error: invalid memory address or nil pointer dereference",
            "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x1]",
            "goroutine 1 [running]:",
            "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoop(0xc000, {0x1, 0x2})",
            "        /go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go:35 +0x1d",
            "created by main.main in goroutine 1",
        ];
        let mut fold = LogFold::default();
        for line in lines {
            fold.push(format!("Jan 02 03:04:05 n1 kubelet[1]: {line}\n").as_bytes());
        }
        let log = fold.finish();
        assert_eq!((log.kinds.len(), log.information), (1, 5), "{log:?}");
        assert!(log.is_known(), "{log:?}");
        assert!(log.summary.contains("The kubelet crashed: runtime error"), "{}", log.summary);
        let frame = log.kinds[0].newest.value("frame");
        assert_eq!(frame, Some("k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoop"));
        // journald writes the empty line before the stack as well.
        let mut fold = LogFold::default();
        for line in ["panic: no", "", lines[2], lines[3], lines[4]] {
            fold.push(format!("Jan 02 03:04:05 n1 kubelet[1]: {line}\n").as_bytes());
        }
        let log = fold.finish();
        assert!(log.is_known() && log.kinds[0].newest.value("frame") == frame, "{log:?}");
        // Nothing names the program but the frame.
        let pasted = explain_message(&lines.join("\n"));
        assert!(pasted.is_ok_and(|it| it.speaker == "kubelet" && it.value("frame") == frame));
        for line in [lines[0], lines[1], lines[2], "fatal error: concurrent map writes"] {
            let found = explain_message(&format!("kubelet[1]: {line}")).expect(line);
            assert!(
                found.is_explained && found.summary.contains("crashed") || found.rank == Rank::Note
            );
            assert_eq!(found.speaker, "kubelet", "{line}");
        }
        let other = explain_message("web[1]: panic: runtime error: no");
        assert!(other.is_ok_and(|it| it.speaker == "web" && !it.is_explained));
    }

    #[test]
    fn the_image_of_a_status_is_a_fact_of_its_reason() {
        let mut fold = LogFold::default();
        fold.push(b"    Image:          nginx:1.99\n    State:          Waiting\n      Reason:       ImagePullBackOff\n");
        let log = fold.finish();
        assert_eq!(log.kinds[0].newest.value("image"), Some("nginx:1.99"), "{log:?}");
    }

    #[test]
    fn memory_does_not_grow_with_the_log() {
        let mut fold = LogFold::default();
        for at in 0..2000 {
            fold.push(format!("E0413 10:54:00.000001 1 x.go:{at}] \"kind {at}\"\n").as_bytes());
        }
        // A line without an end.
        for _ in 0..1000 {
            fold.push(&[b'x'; 1000]);
        }
        assert!(fold.open.len() <= LONGEST_LINE);
        assert!(fold.unknown.len() <= MOST_UNKNOWN + 1);
        assert_eq!(fold.finish().lines, 2001);
    }

    #[test]
    fn the_lines_of_kubectl_describe_are_not_joined() {
        let dates = "Sun, 29 Nov 2026 19:40:00 +0000   Sun, 29 Nov 2026 19:00:00 +0000";
        let pod = "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n";
        let heading = "  Type     Reason     Age    From     Message\n  ----     ------     ----   ----     -------\n";
        let pulled = "  Normal   Pulled    4m    kubelet   Container image \"x\" already present on machine\n";
        let node = format!(
            "Conditions:\n  Type  Status  LastHeartbeatTime  LastTransitionTime  Reason  Message\n  ----  ------  ----  ----  ----  \
             ----\n  PIDPressure  False  {dates}  KubeletHasSufficientPID  kubelet has sufficient PID available\n  Ready  False  \
             {dates}  KubeletNotReady  container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady \
             message:Network plugin returns error: cni plugin not initialized\n"
        );
        for (text, first, kinds) in [
            (pod.to_owned(), "OOMKilled", 2),
            (format!("{pod}Events:\n{heading}{pulled}"), "OOMKilled", 3),
            (format!("Events:\n{heading}{pulled}"), "already present", 1),
            (format!("{pulled}{pulled}"), "already present", 1),
            (node, "The node is not ready. The runtime reports that its network plugin", 2),
        ] {
            let mut fold = LogFold::default();
            fold.push(text.as_bytes());
            let log = fold.finish();
            assert_eq!(log.kinds.len(), kinds, "{text}: {log:?}");
            assert!(log.is_known() && log.whole.is_none(), "{text}: {log:?}");
            let newest = &log.kinds[0].newest;
            let said = format!("{} {}", newest.message, newest.summary);
            assert!(said.contains(first), "{newest:?}");
            assert!(is_log(&text), "{text}");
        }
    }
}
