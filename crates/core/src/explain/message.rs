//! The explanation of one message.

use super::crash::Crash;
use super::derived::{derive, size_and_bytes};
use super::event_row::StatusText;
use super::klog_value::on_one_line;
use super::line::{CONTAINERD_CLIENT, GAP, LOGRUS, Line, Resize};
use super::secrets::masked;
use super::speaker::{
    component, is_foreign, is_of_kubelet_within, is_other, is_program, kind_speaker, program_of,
    says_kubelet,
};
use super::table::{Around, FAILURE, Found, OfPlace, Rank, Row, STEP, Table};
use super::template::single_spaced;
use super::writer::writer;
use kq_answer::{Basis, answer};
use kq_k8s::version::KubeletVersion;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The most bytes of a message that an answer repeats.
const LONGEST_SHOWN: usize = 2000;

/// The component of messages that every client of the API server has.
const CLIENT: &str = "a client of the API server";

/// The most bytes of a fact.
const LONGEST_FACT: usize = 300;

/// What a message says, and what follows.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageExplanation {
    /// What happened and why, in one sentence.
    pub summary: String,
    /// The text that is explained, without secrets and escape sequences.
    pub message: String,
    /// The component that says it: `kubelet`, or another one.
    pub speaker: String,
    /// The part of the kubelet that the message is about; `foreign`: it is not a message of the kubelet.
    pub domain: String,
    /// The file of the component's source that makes the message; empty: unknown.
    pub go_file: String,
    /// The function that makes it; empty: unknown.
    pub go_function: String,
    /// The versions of Kubernetes that have this text.
    pub versions: String,
    /// The formats of the message, the outermost first; the last one gives the reason.
    pub wrapped: Vec<MessagePart>,
    /// The numbers and names of the message.
    pub values: Vec<MessageFact>,
    /// The rule that spoke, and what happened.
    pub means: String,
    /// What follows.
    pub leads_to: String,
    /// What an operator does.
    #[serde(rename = "do")]
    pub action: String,
    /// What a reader takes the message for, wrongly; null: it says what it means.
    pub misleads: Option<String>,
    /// The words of another component within the message.
    pub foreign_cause: Option<ForeignCause>,
    /// The command of kq that computes it; null: none does.
    pub command: Option<String>,
    /// What the node's facts say about the numbers; empty: no node was given.
    pub on_node: Vec<String>,
    /// How bad it is.
    pub rank: Rank,
    /// The end of the message is missing.
    pub is_cut: bool,
    /// False: the component is recognised, the message is not.
    pub is_explained: bool,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("MessageExplanation", MessageExplanation);

/// One of the messages that are wrapped in each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessagePart {
    /// The component.
    pub speaker: String,
    /// The format, with Go's verbs.
    pub template: String,
    /// The file of the source; empty: unknown.
    pub go_file: String,
    /// The function; empty: unknown.
    pub go_function: String,
}

/// A number or a name of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageFact {
    /// Its name.
    pub name: String,
    /// The value, as it stands in the message.
    pub value: String,
    /// What it is, with the unit.
    pub meaning: String,
}

/// The words of another component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForeignCause {
    /// The component.
    pub speaker: String,
    /// The words.
    pub text: String,
    /// What they mean.
    pub means: String,
    /// What an operator does.
    #[serde(rename = "do")]
    pub action: String,
}

/// A text that is none of the messages that kq knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not one of the messages that kq knows")]
pub struct UnknownMessage {
    /// The component that the line names; `None`: it names none.
    pub speaker: Option<String>,
    /// The place in the component's source, as klog writes it: `kubelet.go:1423`.
    pub place: Option<String>,
    /// The reason of its event or status.
    pub reason: Option<String>,
}

impl UnknownMessage {
    /// Returns what is known of the line.
    pub fn hint(&self) -> String {
        let UnknownMessage { speaker, place, .. } = self;
        match (speaker, place) {
            (Some(speaker), Some(place)) => {
                format!(
                    "the line names {speaker} as its component and {place} as the place in its source"
                )
            }
            (Some(speaker), None) => format!("the line names {speaker} as its component"),
            (None, Some(place)) => format!("the line names {place} as the place in its source"),
            (None, None) => {
                "pass the whole line, with the component that wrote it; quote the text with '...'"
                    .to_owned()
            }
        }
    }
}

/// A message that was found, before it is written out.
pub(super) struct Known {
    table: &'static Table,
    /// The texts of the line, without secrets.
    texts: Vec<String>,
    /// Which of them end where a part was left out, mostly within a word.
    gaps: Vec<bool>,
    /// What was found in each, by its number.
    found: Vec<(usize, Found)>,
    /// The place in `found` of the row that gives the reason.
    cause: usize,
    /// The reason of an event or of a status gives it; the words are those of another component.
    is_of_reason: bool,
    pub line: Line,
}

impl Known {
    /// Returns true for a step of the kubelet's work of which only the place is known.
    pub fn is_step(&self) -> bool {
        let (_, row) = self.row();
        row.is_place && self.rank(row) == Rank::Note
    }

    /// Returns true if it points to a cause that is not known: a message that wraps others, with none of them in it.
    pub fn is_pointer(&self) -> bool {
        let (_, row) = self.row();
        row.is_outer && self.told(row).is_none()
    }

    /// Returns true for a resize that the kubelet did not take: the pod runs on.
    pub fn is_refused_resize(&self) -> bool {
        let (_, row) = self.row();
        self.line.resize.is_some() && row.is_kubelets() && row.rank == Rank::Ended
    }

    /// Returns how bad a row is here: a text that is known by its place alone is as bad as the level of its line.
    fn rank(&self, row: &Row) -> Rank {
        let of_line = self.of_line(row);
        of_line.map_or(row.rank, |(rank, _)| rank)
    }

    /// Returns what the level of the line says of a text that is known by its place alone.
    fn of_line(&self, row: &Row) -> Option<(Rank, OfPlace)> {
        let (text, found) = &self.found[self.cause];
        let is_first = *text == 0 && found.fit.start == 0;
        let is_failure = self.line.is_failure().filter(|_| row.is_place && is_first)?;
        Some(if is_failure { (Rank::Retry, FAILURE) } else { (Rank::Note, STEP) })
    }

    /// Returns the row that gives the reason, with a number of its own.
    pub fn row(&self) -> (usize, &'static Row) {
        let row = self.found[self.cause].1.row;
        let row_of_table = &self.table.rows[row];
        let number = if row_of_table.is_place { Table::get().rows.len() + row } else { row };
        (number, row_of_table)
    }
}

/// Returns the explanation of a message.
///
/// # Errors
///
/// If it is none of the messages that kq knows.
pub fn explain_message(text: &str) -> Result<MessageExplanation, UnknownMessage> {
    if let Some(crash) = Crash::of(text)
        && let Ok(mut explained) = explain_text(&crash.reason)
    {
        explained.values.extend(crash.frame.map(|frame| frame.fact()));
        return Ok(explained);
    }
    explain_text(text)
}

fn explain_text(text: &str) -> Result<MessageExplanation, UnknownMessage> {
    let of_resize = failed_resize(text);
    let text = of_resize.as_deref().unwrap_or(text);
    match recognise(text).or_else(|unknown| of_status(text).ok_or(unknown)) {
        Ok(known) => Ok(known.explain()),
        Err(unknown) => of_reason(text, &unknown)
            .or_else(|| {
                let program = unknown.speaker.as_deref().filter(|name| is_foreign(name))?;
                Some(attributed(text, component(program)))
            })
            .or_else(|| of_image(text))
            .or_else(|| Some(of_resize_reason(text, of_resize.is_some())?.explain()))
            .ok_or(unknown),
    }
}

/// Finds the reason of a resize whose message is not known.
fn of_resize_reason(text: &str, is_failed: bool) -> Option<Known> {
    match (is_failed, Line::of(&masked(text)).resize) {
        (true, _) => of_status("reason: ResizeError"),
        (false, Some(Resize::Deferred)) => of_status("reason: Deferred"),
        (false, Some(Resize::Infeasible)) => of_status("reason: Infeasible"),
        (false, None) => None,
    }
}

/// Returns the condition of a resize with the reason that the kubelet's event has: `Error` alone is that of an ended container.
pub(super) fn failed_resize(text: &str) -> Option<String> {
    const REASONS: [&str; 3] = ["reason: Error", "\"reason\":\"Error\"", "\"reason\": \"Error\""];
    let reason = REASONS.iter().find(|it| text.contains(**it))?;
    let is_resize = text.contains("PodResizeInProgress");
    is_resize.then(|| text.replacen(reason, &reason.replace("Error", "ResizeError"), 1))
}

/// Finds the reason that a text is, or that a line of a status has.
pub(super) fn of_status(text: &str) -> Option<Known> {
    let word = match StatusText::of(text) {
        Some(StatusText::Word(word)) => word,
        Some(StatusText::Other | StatusText::Heading) | None => text.trim(),
    };
    recognise(Table::get().reason(word)?).ok()
}

/// Explains a reason of a pull with the name of an image, `ErrImagePull: nginx:1.99`.
fn of_image(text: &str) -> Option<MessageExplanation> {
    let text = text.trim();
    let text = text.strip_prefix("Error: ").unwrap_or(text);
    let (reason, rest) = text.split_once([' ', ':'])?;
    let image = image_name(rest)?;
    let known = recognise(Table::get().reason(reason).filter(|_| is_of_pull(reason))?).ok()?;
    let mut explained = known.explain();
    explained.values.push(image_fact(image));
    Some(explained)
}

/// Returns true for the reasons of a container that waits for its image (`pkg/kubelet/images/types.go`).
pub(super) fn is_of_pull(reason: &str) -> bool {
    matches!(
        reason,
        "ErrImagePull"
            | "ImagePullBackOff"
            | "ErrImageNeverPull"
            | "InvalidImageName"
            | "ImageInspectError"
            | "RegistryUnavailable"
            | "SignatureValidationFailed"
    )
}

/// Returns the name of an image that a text is, without what stands around it; `None`: it is something else.
pub(super) fn image_name(text: &str) -> Option<&str> {
    let around = |c: char| c.is_whitespace() || "\"'()[]:,=".contains(c);
    let name = text.trim_matches(around);
    let name = name.strip_prefix("image").map_or(name, |rest| rest.trim_start_matches(around));
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    (name.contains(['/', ':', '.']) && name.chars().all(is_name)).then_some(name)
}

/// Returns the image of a message as a fact.
pub(super) fn image_fact(image: &str) -> MessageFact {
    MessageFact {
        name: "image".to_owned(),
        value: shown(image, LONGEST_FACT),
        meaning: "the image".to_owned(),
    }
}

/// Explains the reason of an event whose message kq does not know.
fn of_reason(text: &str, unknown: &UnknownMessage) -> Option<MessageExplanation> {
    let reason = unknown.reason.as_deref()?;
    let known = recognise(Table::get().reason(reason)?).ok()?;
    let (_, row) = known.row();
    if unknown.speaker.as_deref().is_some_and(|it| is_foreign(it) == row.is_kubelets()) {
        return None;
    }
    let mut explained = known.explain();
    let line = Line::of(&masked(text));
    let image = line.texts.first().filter(|_| is_of_pull(reason)).and_then(|it| image_name(it));
    if let Some(image) = image {
        explained.values.push(image_fact(image));
    }
    Some(MessageExplanation {
        message: shown(&line.texts.join(": "), LONGEST_SHOWN),
        means: format!(
            "{} This is what {reason} says; kq does not know the message.",
            explained.means
        ),
        ..explained
    })
}

/// Returns whose a line is that kq knows no more of.
fn attributed(text: &str, speaker: &str) -> MessageExplanation {
    let named = with_article(speaker);
    let means =
        format!("Not the kubelet's: {named} wrote this line, whose message kq does not know.");
    MessageExplanation {
        summary: means.clone(),
        message: shown(&Line::of(&masked(text)).texts.join(": "), LONGEST_SHOWN),
        speaker: speaker.to_owned(),
        domain: "foreign".to_owned(),
        go_file: String::new(),
        go_function: String::new(),
        versions: String::new(),
        wrapped: Vec::new(),
        values: Vec::new(),
        means,
        leads_to: "Unknown to kq.".to_owned(),
        action: match speaker {
            LOGRUS => "Read the lines before it in the log of that program.".to_owned(),
            _ => format!("Read the lines before it in the log of {named}."),
        },
        misleads: None,
        foreign_cause: None,
        command: None,
        on_node: Vec::new(),
        rank: Rank::Note,
        is_cut: false,
        is_explained: false,
        basis: Basis::default(),
    }
}

/// Returns the name of a component as it stands in a sentence.
fn with_article(speaker: &str) -> String {
    match speaker {
        "kernel" => format!("the {speaker}"),
        "DRA driver" => format!("a {speaker}"),
        _ => speaker.to_owned(),
    }
}

impl MessageExplanation {
    /// Returns a number or a name of the message; `None`: it has none of that name.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
    }
}

/// Finds the message of a line.
pub(super) fn recognise(text: &str) -> Result<Known, UnknownMessage> {
    let text = on_one_line(&masked(text));
    // A line of a log within a text of JSON, without that.
    let text = match text.contains("] \\\"") && !is_json(&text) {
        true => text.replace("\\\"", "\""),
        false => text,
    };
    match text.contains('\n') {
        true => recognise_parted(&text),
        false => recognise_line(Line::of(&text)),
    }
}

/// The most ends of lines of one message at which it is tried whether a word goes on.
const MOST_BREAKS: usize = 16;

/// Finds a message that a terminal or an editor has parted into lines, at words or anywhere: each end of a line is a blank, or
/// nothing where more of the message is found without one.
fn recognise_parted(text: &str) -> Result<Known, UnknownMessage> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut is_blank = vec![true; lines.len().saturating_sub(1)];
    let attempt = |is_blank: &[bool]| recognise_line(Line::of(&joined(&lines, is_blank)));
    let mut best = attempt(&is_blank);
    let none = vec![false; is_blank.len()];
    let without = attempt(&none);
    // What a terminal parts anywhere fills its lines.
    let order = compared(&without, &best).filter(|_| is_filled(&lines) || best.is_err());
    if matches!(order, Some(Ordering::Greater | Ordering::Equal)) {
        (best, is_blank) = (without, none);
    }
    // Where a short line has both ends within words, one of them alone finds no more.
    for number in [1, 2] {
        for at in 0..is_blank.len().min(MOST_BREAKS) {
            let ends = at..(at + number).min(is_blank.len());
            let mut other = is_blank.clone();
            other[ends.clone()].iter_mut().for_each(|it| *it = !*it);
            let found = attempt(&other);
            let is_text = |at: usize| other[at] || is_text_of(&found, lines[at], lines[at + 1]);
            let is_better = match compared(&found, &best) {
                Some(Ordering::Greater) => { ends }.all(is_text),
                Some(Ordering::Equal) => {
                    number == 1 && !other[at] && is_one_value(lines[at], lines[at + 1])
                }
                _ => false,
            };
            if is_better {
                (best, is_blank) = (found, other);
            }
        }
    }
    best
}

/// Returns true if the word that two lines have together is text of a message that is found, or no two plain words: of a value, these
/// would fit as one where a single word is wanted.
fn is_text_of(known: &Result<Known, UnknownMessage>, line: &str, next: &str) -> bool {
    let Ok(known) = known else { return false };
    let next = next.trim_start();
    let start = line.len()
        - line.chars().rev().take_while(|c| c.is_alphanumeric()).map(char::len_utf8).sum::<usize>();
    let end = next.find(|c: char| !c.is_alphanumeric()).unwrap_or(next.len());
    let is_plain =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_plain(&line[start..]) || !is_plain(&next[..end]) {
        return true;
    }
    let word = format!("{}{}", &line[start..], &next[..end]);
    let spans =
        known.found.iter().flat_map(|(at, it)| it.fit.spans.iter().map(move |span| (at, span)));
    { spans }
        .any(|(at, span)| known.texts[*at].get(span.clone()).is_some_and(|it| it.contains(&word)))
}

/// Returns true if the end of a line and the beginning of the next one are parts of one value: the digits of a number, or a text
/// in quotes without another blank. Two plain words may be two.
fn is_one_value(line: &str, next: &str) -> bool {
    let (line, next) = (line.trim_end(), next.trim_start());
    let before = line.rsplit(char::is_whitespace).next().unwrap_or_default();
    let after = next.split(char::is_whitespace).next().unwrap_or_default();
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
    if before.ends_with(|c: char| c.is_ascii_digit()) {
        let unit = after.trim_start_matches(|c: char| c.is_ascii_digit());
        let unit = unit.trim_end_matches(['.', ',', ';', ')', ']', '"', '\'']);
        if unit.len() < after.len() && unit.len() < 3 && is_word(unit) {
            return true;
        }
    }
    let (Some(open), Some(close)) = (before.rfind('"'), after.find('"')) else {
        // The name of a pod: `pod=web-6d4b75cb6d-h` and `xk2p_shop(5384)`.
        let value = before.split_once('=').map(|(_, value)| value);
        return value.is_some_and(|it| !it.is_empty())
            && after.contains(['_', '('])
            && !after.contains('=');
    };
    let (head, tail) = (&before[open + 1..], &after[..close]);
    before.matches('"').count() % 2 == 1 && !(is_word(head) && is_word(tail))
}

/// Returns how the messages that are found compare with those of another way to join the lines: `Greater` where there is more text of
/// the same ones and of others, `None` where one of these is lost. Messages that are explained count before those of which the place
/// is known.
fn compared(
    known: &Result<Known, UnknownMessage>,
    before: &Result<Known, UnknownMessage>,
) -> Option<Ordering> {
    let (Ok(known), Ok(before)) = (known, before) else {
        return Some(known.is_ok().cmp(&before.is_ok()));
    };
    let is_explained = |it: &Known| !it.row().1.is_place;
    if is_explained(known) != is_explained(before) {
        return Some(is_explained(known).cmp(&is_explained(before)));
    }
    let rows = |it: &Known| it.found.iter().map(|(_, it)| it.row).collect::<BTreeSet<usize>>();
    let literals = |it: &Known| it.found.iter().map(|(_, it)| it.fit.literals).sum::<usize>();
    rows(before).is_subset(&rows(known)).then(|| literals(known).cmp(&literals(before)))
}

/// Returns true if all lines but the last one are as wide as each other, and there are enough of them for it to be no accident.
fn is_filled(lines: &[&str]) -> bool {
    let Some((last, before)) = lines.split_last() else { return false };
    let widths: BTreeSet<usize> = before.iter().map(|line| line.chars().count()).collect();
    let is_shorter = |width: &usize| *width >= last.chars().count();
    before.len() > 1 && widths.len() == 1 && widths.iter().all(is_shorter)
}

/// Returns true for an object, whose texts have their escapes.
fn is_json(text: &str) -> bool {
    let object = text.find('{').map(|at| text[at..].trim());
    object.is_some_and(|it| serde_json::from_str::<serde::de::IgnoredAny>(it).is_ok())
}

/// Returns lines as one text, with a blank at the ends that have one.
fn joined(lines: &[&str], is_blank: &[bool]) -> String {
    let mut all = String::new();
    for (at, line) in lines.iter().enumerate() {
        let is_blank = at > 0 && is_blank[at - 1];
        all.push_str(if is_blank { " " } else { "" });
        all.push_str(if at > 0 { line.trim_start() } else { line });
    }
    all
}

/// Finds the message of a line whose secrets are gone.
pub(super) fn recognise_line(mut line: Line) -> Result<Known, UnknownMessage> {
    if is_of_kubelet_within(&line) {
        line.program = Some("kubelet".to_owned());
    }
    if let Some(name) = writer(&line) {
        (line.program, line.is_of_writer) = (Some(name), true);
    }
    let mut texts = line.texts.clone();
    let mut gaps = vec![false; texts.len()];
    for (text, gap) in texts.iter_mut().zip(&mut gaps) {
        *gap = without_dots(text);
    }
    let is_cut = gaps.contains(&true) || line.is_open;
    let table = Table::get();
    for may_be_cut in [false, true] {
        if may_be_cut && !is_cut {
            break;
        }
        let found = table.scan_all(&texts, around(&line, may_be_cut));
        let mut found = without_server_words(found);
        if let Some(last) = found.iter().position(|(_, it)| table.rows[it.row].is_last) {
            found.truncate(last + 1);
        }
        let rows: Vec<&Row> = found.iter().map(|(_, it)| &table.rows[it.row]).collect();
        let cause = cause(&rows, &line);
        if !found.is_empty()
            && !cause.is_some_and(|at| rows[at].is_kubelets())
            && let Some((reason, of_reason)) = found_reason(&line)
        {
            texts.insert(0, reason.to_owned());
            gaps.insert(0, false);
            let words = found.into_iter().map(|(at, it)| (at + 1, it));
            let found = [(0, of_reason)].into_iter().chain(words).collect();
            return Ok(Known { table, texts, gaps, found, cause: 0, is_of_reason: true, line });
        }
        let Some(cause) = cause else { continue };
        if !rows[cause].is_kubelets() && says_kubelet(&line) && !is_at_home(&found, &line) {
            continue;
        }
        // The end of a cut message may tell more than what wraps it.
        if !may_be_cut && rows[cause].is_outer && is_cut {
            let again = recognise_cut(&texts, &gaps, &line, rows[cause].is_kubelets());
            if let Some(known) = again {
                return Ok(known);
            }
        }
        // What a program of another name says is that program's, whoever has the same words.
        if rows[cause].is_kubelets() && is_by_other(&line) {
            break;
        }
        if let Some(known) = of_other_file(&found[cause], &texts, &gaps, &line) {
            return Ok(known);
        }
        return Ok(Known { table, texts, gaps, found, cause, is_of_reason: false, line });
    }
    if let Some(known) = placed(&texts, &gaps, &line) {
        return Ok(known);
    }
    let program = line.program.clone().or_else(|| line.place.as_deref().and_then(program_of));
    Err(UnknownMessage { speaker: program, place: line.place, reason: line.reason })
}

/// Returns the message of the kubelet that the reason of an event or of a status is.
fn found_reason(line: &Line) -> Option<(&'static str, Found)> {
    if line.level.is_some() || line.program.as_deref().is_some_and(is_foreign) {
        return None;
    }
    let table = Table::get();
    let reason = table.reason(line.reason.as_deref()?)?;
    let found = table.scan(reason, Around::default()).into_iter().next()?;
    table.rows[found.row].is_kubelets().then_some((reason, found))
}

/// Returns true for a line that a component wrote that is not the kubelet, and does not repeat its words.
fn is_by_other(line: &Line) -> bool {
    line.is_of_writer || line.program.as_deref().is_some_and(is_other)
}

/// Returns what a line says of its messages besides their texts.
fn around(line: &Line, may_be_cut: bool) -> Around<'_> {
    Around {
        has_error: line.has_error() || line.is_failure() == Some(true),
        is_named: line.program.as_deref().is_some_and(|it| !is_foreign(it)),
        is_foreign: is_by_other(line),
        program: line.program.as_deref(),
        may_be_cut,
        before: &[],
    }
}

/// Returns true if a line whose file says nothing of the kubelet begins with the message of another component.
fn is_at_home(found: &[(usize, Found)], line: &Line) -> bool {
    const OWN_SENTENCE: usize = 11;
    if line.program.is_some() || line.place.as_deref().and_then(program_of).is_some() {
        return false;
    }
    let first = found.first().filter(|(text, it)| {
        let before = line.texts[*text].get(..it.fit.start).unwrap_or("");
        // gRPC names its part: `[core] grpc: ...`, `[core] [Channel #1]grpc: ...`.
        let begins =
            before.is_empty() || before.starts_with('[') && before.trim_end().ends_with(']');
        begins && it.fit.literals >= OWN_SENTENCE
    });
    let row = first.map(|(_, it)| &Table::get().rows[it.row]);
    row.is_some_and(|row| !row.is_kubelets() && !row.is_fragment && row.id != Some("rpc"))
}

/// Finds a message of which only the place in the sources is known.
fn placed(texts: &[String], gaps: &[bool], line: &Line) -> Option<Known> {
    if line.program.as_deref().is_some_and(is_foreign) {
        return None;
    }
    let table = Table::places();
    let in_text = |(at, text): (usize, &String)| {
        let found = table.scan(text, Around::default()).into_iter().map(move |it| (at, it));
        // Another sentence may have the same words further on.
        let found: Vec<(usize, Found)> = found.collect();
        found.first().is_some_and(|(_, it)| it.fit.start == 0).then_some(found)
    };
    let mut found: Vec<(usize, Found)> =
        texts.iter().enumerate().filter_map(in_text).flatten().collect();
    if let Some(place) = line.place.as_deref() {
        for (_, it) in &mut found {
            if let Some((row, template)) = same_text_in(table, it, place) {
                (it.row, it.template) = (row, template);
            }
        }
        // The first text of a line stands in the file that the line names.
        if found.first().is_some_and(|(text, it)| *text == 0 && is_elsewhere(table, it, place)) {
            return None;
        }
    }
    // A log line is about its message; of texts that wrap each other the innermost has the reason.
    let is_log = |(_, it): &(usize, Found)| table.rows[it.row].templates[it.template].is_log;
    let cause = found.iter().position(is_log).or(found.len().checked_sub(1))?;
    // The versions may log the same text as a failure, or as a step.
    let is_failure = line.is_failure();
    let row = &table.rows[found[cause].1.row];
    if let Some(is_failure) = is_failure
        && is_log(&found[cause])
        && is_failure == (row.rank == Rank::Note)
    {
        let shape = &row.templates[found[cause].1.template];
        let other = table.rows.iter().position(|it| {
            it.file == row.file
                && it.function == row.function
                && is_failure == (it.rank != Rank::Note)
                && it.templates.first() == Some(shape)
        });
        if let Some(other) = other {
            (found[cause].1.row, found[cause].1.template) = (other, 0);
        }
    }
    let (texts, gaps) = (texts.to_vec(), gaps.to_vec());
    Some(Known { table, texts, gaps, found, cause, is_of_reason: false, line: line.clone() })
}

/// Finds the message of a line whose text stands in the file that the line names as well as in that of an explained message.
fn of_other_file(
    (at, explained): &(usize, Found),
    texts: &[String],
    gaps: &[bool],
    line: &Line,
) -> Option<Known> {
    let place = line.place.as_deref()?;
    let row = &Table::get().rows[explained.row];
    let is_there = |row: &Row| row.file.rsplit('/').next() == Some(file_of(place));
    if !row.is_kubelets() || *at != 0 || explained.fit.start != 0 || is_there(row) {
        return None;
    }
    let known = placed(texts, gaps, line)?;
    let (text, found) = &known.found[known.cause];
    let has_more = found.fit.literals >= explained.fit.literals;
    let is_whole = *text == 0 && found.fit.start == 0 && has_more;
    (is_whole && is_there(&known.table.rows[found.row])).then_some(known)
}

/// Returns the file of a place without its folder: a logger of JSON names that, too.
fn file_of(place: &str) -> &str {
    let file = place.split(':').next().unwrap_or(place);
    file.rsplit('/').next().unwrap_or(file)
}

/// Returns true if a text that begins a line is of another file than the line names. A sentence of its own may have moved since.
fn is_elsewhere(table: &Table, found: &Found, place: &str) -> bool {
    const OWN_SENTENCE: usize = 24;
    let row = &table.rows[found.row];
    let template = &row.templates[found.template];
    let is_own = template.is_log && found.fit.literals >= OWN_SENTENCE;
    !is_own && row.file.rsplit('/').next() != Some(file_of(place))
}

/// Returns the row of the same text in the file that a line names: `scope.go:117`.
fn same_text_in(table: &Table, found: &Found, place: &str) -> Option<(usize, usize)> {
    let file = file_of(place);
    let template = &table.rows[found.row].templates[found.template];
    let is_there = |row: &Row| row.file.rsplit('/').next() == Some(file);
    if is_there(&table.rows[found.row]) {
        return None;
    }
    table.rows.iter().enumerate().find_map(|(at, row)| {
        let same = row.templates.iter().position(|it| it == template)?;
        is_there(row).then_some((at, same))
    })
}

/// Finds a message whose end is missing, where only what wraps it is whole.
fn recognise_cut(texts: &[String], gaps: &[bool], line: &Line, is_kubelets: bool) -> Option<Known> {
    let table = Table::get();
    let found = without_server_words(table.scan_all(texts, around(line, true)));
    let rows: Vec<&Row> = found.iter().map(|(_, it)| &table.rows[it.row]).collect();
    let cause = cause(&rows, line)?;
    let is_better = rows[cause].is_kubelets() && !(rows[cause].is_outer && is_kubelets);
    let (texts, gaps) = (texts.to_vec(), gaps.to_vec());
    is_better.then(|| {
        let line = line.clone();
        Known { table, texts, gaps, found, cause, is_of_reason: false, line }
    })
}

/// Drops messages of the kubelet behind the code of a gRPC call: these words are the server's.
fn without_server_words(mut found: Vec<(usize, Found)>) -> Vec<(usize, Found)> {
    let table = Table::get();
    let mut server = None;
    found.retain(|(text, it)| {
        let row = &table.rows[it.row];
        if is_call(row) {
            server = Some(*text);
        }
        server != Some(*text) || !row.is_kubelets()
    });
    found
}

/// Returns which of the rows gives the reason: the innermost of the kubelet that is more than a wrapper. `None`: there is none.
fn cause(rows: &[&Row], line: &Line) -> Option<usize> {
    let is_foreign = line.program.as_deref().is_some_and(is_foreign);
    let last = |is: &dyn Fn(&Row) -> bool| rows.iter().rposition(|row| is(row));
    let first = |is: &dyn Fn(&Row) -> bool| rows.iter().position(|row| is(row));
    // The client of containerd repeats what the registry said.
    if line.program.as_deref() == Some(CONTAINERD_CLIENT)
        && let Some(at) = last(&|row: &Row| !row.is_outer && !row.is_fragment)
    {
        return Some(at);
    }
    // A gRPC call says less than what it wraps.
    let is_of_other = |row: &Row| !row.is_kubelets() && !row.is_fragment;
    let of_other =
        || first(&|row| is_of_other(row) && !is_call(row)).or_else(|| first(&is_of_other));
    if is_foreign && let Some(at) = of_other() {
        return Some(at);
    }
    // A fragment is of whoever repeats it, and gives no reason alone.
    last(&|row: &Row| row.is_kubelets() && !row.is_outer)
        .or_else(|| last(&|row: &Row| row.is_kubelets() && !row.is_wrapper_alone(rows)))
        .or_else(|| first(&|row: &Row| is_of_other(row) && !row.is_outer))
        .or_else(of_other)
}

/// Returns true for the frame that gRPC puts around the words of a server.
fn is_call(row: &Row) -> bool {
    row.id == Some("rpc")
}

/// Takes the dots of a cut text away.
fn without_dots(text: &mut String) -> bool {
    let end = text.trim_end_matches(['.', '…', ' ']).len();
    let is_cut = text[end..].contains("...") || text[end..].contains(GAP);
    if is_cut {
        text.truncate(end);
    }
    is_cut
}

impl Known {
    /// Writes the explanation out.
    pub fn explain(&self) -> MessageExplanation {
        let (_, row) = self.row();
        let facts = self.facts();
        let wrapped = self.wrapped(&facts);
        let decides =
            |found: &(usize, Found)| Some(&self.table.rows[found.1.row]).filter(|row| row.decides);
        let decider = self.found.iter().take(self.cause).find_map(decides).unwrap_or(row);
        // A controller's event about a node has the node's own UID, the kubelet's has its name.
        let is_node_event = |it: &&Row| it.id == Some("node-event");
        let rows = self.found.iter().map(|(_, it)| &self.table.rows[it.row]);
        let of_controller = { rows }.find(is_node_event).filter(|_| {
            let fact = |name: &str| facts.iter().find(|it| it.name == name).map(|it| &it.value);
            fact("uid") != fact("name")
        });
        let (decider, row, template) = match of_controller {
            Some(event) => (event, event, 0),
            None => (decider, row, self.found[self.cause].1.template),
        };
        let foreign = self.foreign_cause(row, &facts);
        let derived = derive(row, &facts);
        let place = row.place(template);
        // crictl shares the kubelet's client of the runtime: its lines say the same of the runtime, and nothing of a kubelet.
        let client = self.line.program.as_deref();
        let client = client.filter(|it| matches!(*it, "crictl" | CONTAINERD_CLIENT));
        let of_crictl = client.is_some();
        let (of_line_rank, of_line) = self.of_line(row).unzip();
        let [means, leads, action] = of_line.unwrap_or([row.means, decider.leads, decider.action]);
        // A sentence that points at the words within is followed by what these mean.
        let told = self.told(row).map(|(_, it)| &self.table.rows[it.row]);
        let told = told.filter(|it| !(it.is_place || is_call(it)) && of_controller.is_none());
        let begun = told.and_then(|it| Some((without_pointer(means)?, it)));
        let of_words = |told: &Row| own_sentence(&filled(told.means, &facts));
        let means = match (begun, told.filter(|_| self.is_of_reason)) {
            (Some((begun, told)), _) => {
                format!("{}. {}", filled(begun, &facts), of_words(told))
            }
            (None, Some(told)) => format!("{} {}", filled(means, &facts), of_words(told)),
            (None, None) => match without_pointer(means).filter(|_| is_deadline(self, row, &facts))
            {
                Some(begun) => format!("{}. {DEADLINE}", filled(begun, &facts)),
                None => filled(means, &facts),
            },
        };
        // A cause that many programs have is of the one that wrote the line.
        let writer = self.line.program.as_deref().filter(|it| {
            let is_named = match self.line.is_of_writer {
                true => row.speaker == *it,
                false => is_program(&row.speaker.to_ascii_lowercase()),
            };
            (is_other(it) || self.line.is_of_writer) && !row.is_kubelets() && !is_named
        });
        let means = match writer {
            Some(writer) => format!(
                "Not the kubelet's: {} wrote this line. {}",
                with_article(component(writer)),
                own_sentence(&means)
            ),
            None => means,
        };
        let means = match self.line.is_unready {
            true => format!("The node is not ready. {means}"),
            false => means,
        };
        let of_told = begun.map(|(_, told)| told).filter(|it| !(it.is_outer || it.is_fragment));
        let action = of_told.filter(|_| !decider.decides).map_or(action, |told| told.action);
        let [leads, action] = derived.advice.unwrap_or([leads, action]);
        let action =
            if is_deadline(self, row, &facts) && !decider.decides { LATE_SERVER } else { action };
        let resize = self.line.resize.filter(|_| self.is_refused_resize());
        let [leads, action] = resize.map_or([leads, action], Resize::advice);
        let speaker = match of_crictl {
            true => client.unwrap_or_default().to_owned(),
            false if of_controller.is_some() => "kube-controller-manager".to_owned(),
            false if (decider.speaker == CLIENT || self.line.is_of_writer) && writer.is_some() => {
                writer.map(component).unwrap_or_default().to_owned()
            }
            false => named_speaker(decider.speaker, &facts),
        };
        MessageExplanation {
            summary: match (resize, derived.summary.unwrap_or_else(|| means.clone())) {
                (Some(resize), summary) => resize.summary(&summary),
                (None, summary) => summary,
            },
            message: shown(&self.line.texts.join(": "), LONGEST_SHOWN),
            speaker,
            domain: match decider.is_kubelets() && !of_crictl {
                true if resize.is_some() => "resize".to_owned(),
                true => row.domain.to_owned(),
                false => "foreign".to_owned(),
            },
            go_file: place.file.to_owned(),
            go_function: place.function.to_owned(),
            versions: versions(row, place.versions),
            wrapped,
            values: facts.iter().cloned().chain(derived.facts).collect(),
            means,
            leads_to: match client.filter(|it| decider.speaker != *it) {
                Some(client) => {
                    format!("That command of {client} fails; the kubelet asks the runtime itself.")
                }
                None => of_probe(&filled(leads, &facts), &facts),
            },
            action: filled(action, &facts),
            misleads: row.misleads.map(|text| filled(text, &facts)),
            foreign_cause: foreign,
            command: Some(resize.map_or(decider.command, |_| "kq what-if resize POD").to_owned())
                .filter(|command| !command.is_empty()),
            on_node: Vec::new(),
            rank: resize.map_or(of_line_rank.unwrap_or(decider.rank), |_| Rank::Pod),
            is_cut: self.found.iter().any(|(_, found)| found.fit.is_cut),
            is_explained: !row.is_place,
            basis: Basis::default(),
        }
    }

    fn wrapped(&self, facts: &[MessageFact]) -> Vec<MessagePart> {
        let rows = self.found.iter().take(self.cause + 1);
        let mut parts: Vec<MessagePart> = Vec::new();
        for (_, found) in rows {
            let row = &self.table.rows[found.row];
            let place = row.place(found.template);
            let part = MessagePart {
                speaker: named_speaker(row.speaker, facts),
                template: row.templates[found.template].go(),
                go_file: place.file.to_owned(),
                go_function: place.function.to_owned(),
            };
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts
    }

    fn facts(&self) -> Vec<MessageFact> {
        let table = self.table;
        let mut facts: Vec<MessageFact> = Vec::new();
        let mut put = |name: &str, value: &str, meaning: &str| {
            let value = shown(without_quotes(value), LONGEST_FACT);
            let fact = MessageFact { name: name.to_owned(), value, meaning: meaning.to_owned() };
            let same = |it: &&MessageFact| it.name == fact.name && it.value == fact.value;
            if !fact.value.is_empty() && facts.iter().find(same).is_none() {
                facts.push(fact);
            }
        };
        // The facts of the message that gives the reason are first, then those of the messages around it.
        let others = self.found.iter().enumerate().filter(|(at, _)| *at != self.cause);
        let ordered = [&self.found[self.cause]].into_iter().chain(others.map(|(_, it)| it));
        for (at, found) in ordered {
            let row = &table.rows[found.row];
            // The same message more than once, as in a list: its first fact distinguishes them.
            let is_repeated = self.found.iter().filter(|(_, it)| it.row == found.row).count() > 1;
            let first = found.fit.facts.first().map(|(_, place)| &self.texts[*at][place.clone()]);
            for (nth, (name, place)) in found.fit.facts.iter().enumerate() {
                let value = &self.texts[*at][place.clone()];
                // Of a word of which a part is left out nothing is said.
                let is_part = self.gaps[*at] && place.end == self.texts[*at].len();
                if is_part && !value.contains(' ') {
                    continue;
                }
                let is_cause = matches!(*name, "err" | "cause");
                let is_known = is_cause && self.is_explained(*at, found, place.start);
                match row.field(name) {
                    _ if is_known => {}
                    Some(meaning) if is_repeated && nth > 0 && !is_cause => {
                        put(&format!("{} {name}", first.unwrap_or_default()), value, meaning);
                    }
                    Some(meaning) => put(name, value, meaning),
                    None if is_cause => {
                        put("cause", without_open_end(value), "the words of the cause");
                    }
                    None => put(name, value, common(name).unwrap_or("a name in the message")),
                }
            }
        }
        let told: Vec<&Row> = self.found.iter().map(|(_, found)| &table.rows[found.row]).collect();
        for (key, value) in &self.line.pairs {
            if value.ends_with(GAP) && !value.contains(' ') {
                continue;
            }
            let meaning = told.iter().find_map(|row| row.field(key)).or_else(|| common(key));
            if !matches!(key.as_str(), "err" | "error") {
                put(key, value, meaning.unwrap_or("a value of the log line"));
            }
            super::numbers::name_masks(value, &mut put);
        }
        if let Some(process) = &self.line.process {
            let speaker = self.row().1.speaker;
            let name = if is_foreign(speaker) { "program" } else { "kubelet" };
            let of_line = self.line.program.as_deref().filter(|it| is_foreign(it));
            let name = match of_line {
                Some(_) if self.line.is_of_writer => "program",
                other => other.unwrap_or(name),
            };
            put("pid", process, &format!("process id of the {name}"));
        }
        if let Some(place) = &self.line.place {
            put("source line", place, "the line of the source that logged it, in that version");
        }
        for (text, gap) in self.texts.iter().zip(&self.gaps) {
            let end = if *gap { text.rfind(' ').unwrap_or(0) } else { text.len() };
            super::numbers::name_rest(&text[..end], &mut put);
        }
        facts
    }

    /// Returns true if a message was found within a value.
    fn is_explained(&self, at: usize, outer: &Found, start: usize) -> bool {
        let inner = |(text, it): &(usize, Found)| {
            *text == at && it.fit.start >= start && it.fit.start > outer.fit.start
        };
        self.found.iter().any(inner)
    }

    /// Returns the message that gives the cause within the one that was found: the innermost one of another component that is
    /// more than a wrapper.
    fn told(&self, row: &Row) -> Option<&(usize, Found)> {
        let row_of = |found: &(usize, Found)| &self.table.rows[found.1.row];
        let others = self.found.iter().enumerate().filter(|(at, found)| {
            let is_within = *at > self.cause;
            let is_other = !row_of(found).is_kubelets();
            // What wraps a message is no cause of it.
            is_other && (is_within || row.is_kubelets() && !row_of(found).is_outer)
        });
        let others: Vec<_> = others.map(|(_, found)| found).collect();
        let told = others.iter().rev().find(|found| !row_of(found).is_outer);
        told.or_else(|| others.last()).copied()
    }

    /// Returns the words of another component that the kubelet repeats.
    fn foreign_cause(&self, row: &Row, facts: &[MessageFact]) -> Option<ForeignCause> {
        if !row.is_kubelets() {
            return None;
        }
        let table = self.table;
        let (at, found) = self.told(row)?;
        let foreign = &table.rows[found.row];
        if is_deadline(self, row, facts) {
            return Some(ForeignCause {
                speaker: "gRPC client of the caller".to_owned(),
                text: shown(without_open_end(&self.texts[*at][found.fit.start..]), LONGEST_FACT),
                means: DEADLINE.to_owned(),
                action: LATE_SERVER.to_owned(),
            });
        }
        Some(ForeignCause {
            speaker: named_speaker(foreign.speaker, facts),
            text: shown(without_open_end(&self.texts[*at][found.fit.start..]), LONGEST_FACT),
            means: filled(foreign.means, facts),
            action: filled(foreign.action, facts),
        })
    }
}

/// The meaning of a gRPC call with the code DeadlineExceeded.
const DEADLINE: &str = "The time that the caller gave the call was over: the deadline is the caller's own, and the server had not answered by then.";

/// What an operator does about it.
const LATE_SERVER: &str = "Find out why the server (the runtime, a CSI driver or a plugin) is slow: its log, the disk and the load of the node.";

/// Returns true if the innermost that is known of a message of the kubelet is a gRPC call whose deadline was over.
fn is_deadline(known: &Known, row: &Row, facts: &[MessageFact]) -> bool {
    let is_told = known.told(row).is_some_and(|(_, it)| is_call(&known.table.rows[it.row]));
    let is_late = |it: &MessageFact| it.name == "code" && it.value == "DeadlineExceeded";
    row.is_kubelets() && is_told && facts.iter().any(is_late)
}

/// Returns the component that says a message: a row may name the field that names it.
fn named_speaker(speaker: &str, facts: &[MessageFact]) -> String {
    let Some(field) = speaker.strip_prefix('{').and_then(|it| it.strip_suffix('}')) else {
        return speaker.to_owned();
    };
    let value = facts.iter().find(|fact| fact.name == field).map_or("", |fact| &fact.value);
    let name = value.rsplit('/').next().unwrap_or_default();
    match field {
        "lock" if is_program(name) => name.to_owned(),
        "lock" if !value.is_empty() => format!("the holder of the lock {value}"),
        "lock" => "the holder of a lock".to_owned(),
        "kind" => kind_speaker(value).to_owned(),
        _ => component(name).to_owned(),
    }
}

/// Returns the versions that have the text of a message.
fn versions(row: &Row, of_text: String) -> String {
    if !row.is_kubelets() {
        return of_text;
    }
    let known = format!(
        "{}.{} to {}.{}",
        KubeletVersion::OLDEST.major,
        KubeletVersion::OLDEST.minor,
        KubeletVersion::NEWEST.major,
        KubeletVersion::NEWEST.minor,
    );
    if of_text.is_empty() { known } else { of_text }
}

/// Returns a sentence without its last part, where that only points at the words of the cause: `; its words follow.`
fn without_pointer(sentence: &str) -> Option<&str> {
    const POINTERS: [&str; 5] =
        ["follow.", "follows.", "stands in err.", "stand in err.", "in err."];
    let at = sentence.rfind([';', ','])?;
    let last = &sentence[at..];
    let is_pointer = POINTERS.iter().any(|end| last.ends_with(end)) && !last.contains(" not ");
    is_pointer.then(|| &sentence[..at])
}

/// Returns of what follows from a failed probe the part of its kind, where the message names it.
fn of_probe(leads: &str, facts: &[MessageFact]) -> String {
    let kind = facts.iter().find(|it| matches!(it.name.as_str(), "probe" | "probeType"));
    let parts = leads.split_once("Liveness or startup: ");
    let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once(" Readiness: ")?)));
    let (Some(kind), Some((before, (killed, unready)))) = (kind, parts) else {
        return leads.to_owned();
    };
    let part = match kind.value.as_str() {
        "Readiness" => unready,
        "Liveness" | "Startup" => killed,
        _ => return leads.to_owned(),
    };
    let (first, rest) = part.split_at(part.chars().next().map_or(0, char::len_utf8));
    format!("{before}{}{rest}", first.to_uppercase())
}

/// Returns what a message of another component means, within an answer that has said whose it is.
fn own_sentence(sentence: &str) -> String {
    let Some(own) = sentence.strip_prefix("Not the kubelet's: ") else {
        return sentence.to_owned();
    };
    let (first, rest) = own.split_at(own.chars().next().map_or(0, char::len_utf8));
    // The name of a program stays as it is written.
    let is_article = own.starts_with("the ") || own.starts_with("a ") || own.starts_with("no ");
    if is_article { format!("{}{rest}", first.to_uppercase()) } else { own.to_owned() }
}

/// Returns a text without quotes and brackets at its end that are opened nowhere in it.
fn without_open_end(text: &str) -> &str {
    let mut text = text.trim_end();
    while let Some(last) = text.chars().next_back() {
        let count = |sign: char| text.matches(sign).count();
        let is_open = match last {
            '"' => count('"') % 2 == 1,
            ']' => count('[') < count(']'),
            ')' => count('(') < count(')'),
            _ => false,
        };
        if !is_open {
            break;
        }
        text = text[..text.len() - last.len_utf8()].trim_end();
    }
    text
}

/// Returns a value without the quotes around it, and without a single one that a cut has left.
fn without_quotes(value: &str) -> &str {
    let value = value.trim();
    match value.matches('"').count() {
        1 => value.trim_matches('"'),
        2 => value.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(value),
        _ => value,
    }
    .trim()
}

/// Puts facts into a sentence: `{name}`, or `{name:size}` for a number of bytes.
fn filled(sentence: &str, facts: &[MessageFact]) -> String {
    let mut all = String::new();
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, tail)) = after.split_once('}') else { break };
        let (name, is_size) = name.strip_suffix(":size").map_or((name, false), |name| (name, true));
        all.push_str(before);
        let is_it = |fact: &&MessageFact| {
            let last = fact.name.strip_suffix(name);
            last.is_some_and(|before| before.is_empty() || before.ends_with(' '))
        };
        let value = facts.iter().find(is_it);
        // What a cut message lacks is left out at the end of a sentence.
        if value.is_none() && all.ends_with(": ") {
            all.truncate(all.len() - 2);
            rest = tail;
            continue;
        }
        let value = value.map_or("...", |fact| fact.value.trim_end_matches('.'));
        match value.parse::<i64>() {
            Ok(bytes) if is_size => all.push_str(&size_and_bytes(bytes)),
            _ => all.push_str(value),
        }
        rest = tail;
    }
    all + rest
}

/// Returns what a key is that many log lines have.
fn common(name: &str) -> Option<&'static str> {
    Some(match name {
        "pod" => "the pod, as NAMESPACE/NAME",
        "pods" => "the pods",
        "podUID" | "uid" => "the UID of the pod",
        "containerName" | "container" => "the container",
        "containerID" | "containerId" => "the container in the runtime",
        "node" => "the node",
        "image" => "the image",
        "path" | "file" => "the path on the node",
        "podName" => "the name of the pod",
        "resourceName" | "resource" => "the resource",
        "probeType" => "the kind of probe",
        "podSandboxID" | "sandboxID" => "the pod's sandbox in the runtime",
        "reason" => "the reason of the event or condition",
        "object" => "the object of the event",
        "kind" | "apiVersion" | "fieldPath" | "type" => "part of the event",
        "interval" => "the time until the next try",
        "gracePeriod" => "seconds between the signal TERM and the signal KILL",
        "exitCode" => "the exit code of the process",
        "volumeName" => "the volume",
        _ => return None,
    })
}

/// Returns a text of at most so many bytes.
pub(super) fn shown(text: &str, most: usize) -> String {
    let text = single_spaced(text.trim());
    let cut = super::line::first_bytes(&text, most);
    if cut.len() < text.len() { format!("{cut}...") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_which_a_line_ends_is_one() {
        for (text, name, value) in [
            (
                "OutOfcpu: Node didn't have enough resource: cpu, requested: 50\n00, used: 3838, capacity: 4000",
                "requested",
                "5000",
            ),
            (
                "OutOfcpu: Node didn't have enough resource: cpu, requested: 5000, used: 3838, capacity: 40\n00",
                "capacity",
                "4000",
            ),
            (
                "Back-off pulling image \"registry.example/te\nam/web:1\"",
                "image",
                "registry.example/team/web:1",
            ),
            (
                "Liveness probe failed: Get \"http://10.244.1.17:80\n80/healthz\": context deadline exceeded \
                 (Client.Timeout exceeded while awaiting headers)",
                "url",
                "http://10.244.1.17:8080/healthz",
            ),
            ("Readiness probe failed: HTTP probe failed with statuscode: 5\n03", "status", "503"),
            (
                "back-off 5m0s restarting failed container=web pod=web-6d4b75cb6d-h\nxk2p_shop(5384)",
                "pod",
                "web-6d4b75cb6d-hxk2p_shop(5384)",
            ),
            (
                "Container web exceeded its local ephemeral storage limit \"1\n00Mi\". ",
                "limit",
                "100Mi",
            ),
            (
                "MountVolume.SetUp failed for volume \"config\" : configmap \"app-con\nfig\" not found",
                "name",
                "app-config",
            ),
        ] {
            let found = explain_message(text).unwrap_or_else(|_| panic!("{text}"));
            assert_eq!(found.value(name), Some(value), "{text}: {:?}", found.values);
        }
    }

    #[test]
    fn the_file_of_a_line_decides_between_equal_words() {
        let line = |place: &str, text: &str| {
            format!("E1130 10:00:00.000000 1234 {place}:1] \"{text}\" err=\"boom\"")
        };
        for (place, text, function) in [
            ("cpu_manager.go", "failed to remove container", "manager.removeStaleState"),
            ("kuberuntime_gc.go", "Failed to remove container", "containerGC.removeOldestN"),
            // No file has these words as well.
            ("moved.go", "Failed to remove container", "containerGC.removeOldestN"),
        ] {
            let line = line(place, text);
            let found = explain_message(&line).unwrap_or_else(|_| panic!("{line}"));
            assert_eq!(found.go_function, function, "{line}");
        }
    }

    #[test]
    fn words_that_several_parts_have_are_told_apart() {
        let summary =
            |text: &str| explain_message(text).unwrap_or_else(|_| panic!("{text}")).summary;
        let full = "write /var/lib/a: no space left on device";
        assert!(summary(full).contains("is full"), "{}", summary(full));
        let cgroup = "write /sys/fs/cgroup/cpuset/a/cpuset.cpus: no space left on device";
        assert!(summary(cgroup).starts_with("A cgroup has no disk"), "{}", summary(cgroup));
        assert!(summary("RegistryUnavailable").contains("registry"));
        let evicted = |available: &str| {
            summary(&format!(
                "The node was low on resource: memory. Threshold quantity: 100Mi, available: {available}. "
            ))
        };
        assert!(evicted("50Mi").contains("is below"), "{}", evicted("50Mi"));
        assert!(evicted("150Mi").contains("evictionMinimumReclaim"), "{}", evicted("150Mi"));
    }

    #[test]
    fn the_reason_of_a_pull_names_its_image() {
        for text in [
            "ErrImagePull: nginx:1.99",
            "Error: ErrImagePull nginx:1.99",
            "ImagePullBackOff (nginx:1.99)",
            "ImagePullBackOff image=nginx:1.99",
            "Warning  ErrImagePull  3s  kubelet  nginx:1.99",
        ] {
            let found = explain_message(text).unwrap_or_else(|_| panic!("{text}"));
            assert_eq!(found.value("image"), Some("nginx:1.99"), "{text}");
        }
        assert!(explain_message("ErrImagePull in the registry").is_err());
    }

    #[test]
    fn the_reason_of_an_event_says_who_speaks_and_the_words_say_the_cause() {
        let late = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";
        for (text, function, cause, leads) in [
            (
                format!("Warning  ContainerGCFailed  3m  kubelet  {late}"),
                "Kubelet.StartGarbageCollection",
                "not answered in the time",
                "Dead containers stay",
            ),
            (
                format!(r#"{{"reason":"FailedCreatePodSandBox","message":"{late}"}}"#),
                "",
                "not answered in the time",
                "No container of the pod starts",
            ),
            (
                r#"{"reason":"CreateContainerConfigError","message":"secret \"db\" not found"}"#
                    .to_owned(),
                "",
                "no Secret db",
                "",
            ),
        ] {
            let found = explain_message(&text).expect(&text);
            assert_eq!(found.speaker, "kubelet", "{text}");
            assert!(found.go_function.contains(function), "{text}: {found:?}");
            assert!(found.leads_to.contains(leads), "{text}: {found:?}");
            assert!(found.summary.contains(cause), "{text}: {found:?}");
            let foreign = found.foreign_cause.expect("the words");
            assert!(foreign.means.contains(cause), "{text}: {foreign:?}");
        }
    }

    #[test]
    fn a_message_is_found_wherever_its_lines_end() {
        let text = r#"Error syncing pod, skipping: failed to "StartContainer" for "web" with CrashLoopBackOff: "back-off 5m0s restarting failed container=web pod=web-1_shop(53840580-5c35-41ae-83ae-ae6cef7fce0d)""#;
        let whole = explain_message(text).expect(text);
        for width in (20..text.len()).step_by(9) {
            // A terminal fills its lines; an editor also takes the blanks at their ends away.
            let signs: Vec<char> = text.chars().collect();
            let lines: Vec<String> = signs.chunks(width).map(|it| it.iter().collect()).collect();
            let filled = lines.join("\n");
            let found = explain_message(&filled).unwrap_or_else(|it| panic!("{it:?}: {filled}"));
            assert_eq!(found.go_function, whole.go_function, "{filled}");
            assert_eq!(found.summary.contains("web"), whole.summary.contains("web"), "{filled}");
            let has_gap =
                |value: &str| value.contains("St art") || value.contains("CrashLoop Back");
            let is_filled = lines.len() > 2;
            assert!(!is_filled || !found.values.iter().any(|it| has_gap(&it.value)), "{filled}");
            if width < 30 {
                continue;
            }
            let trimmed: Vec<&str> = lines.iter().map(|it| it.trim()).collect();
            let trimmed = trimmed.join("\n");
            let found = explain_message(&trimmed).unwrap_or_else(|it| panic!("{it:?}: {trimmed}"));
            assert_eq!(found.go_function, whole.go_function, "{trimmed}");
        }
    }

    #[test]
    fn two_words_of_a_value_are_not_one() {
        let text = "E1127 10:11:12.123456 12345 kubelet.go:1634] \"Failed to start ContainerManager\"\nerr=\"failed to build map of \
                    initial containers from runtime: failed to list all\ncontainers: rpc error: code = DeadlineExceeded desc = \
                    context deadline\nexceeded\"";
        let [found, whole] =
            [text, &text.replace('\n', " ")].map(|it| explain_message(it).expect(it));
        assert_eq!(found.go_function, whole.go_function);
        assert_eq!(found.message, whole.message);
    }

    #[test]
    fn a_key_of_yaml_without_a_value_is_no_reason() {
        for text in ["terminated:", "    terminated:", "- terminated: ", "lastState:", "evicted:"] {
            assert!(explain_message(text).is_err(), "{text}");
        }
        for text in ["reason: Terminated", "Terminated", "Terminated."] {
            let found = explain_message(text).expect(text);
            assert!(found.summary.contains("shutting down"), "{text}: {found:?}");
        }
    }
}
