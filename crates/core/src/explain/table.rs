//! The table of messages: `messages/*.txt`, parsed once.
//!
//! A file has one message after the other. `@domain`, `@file`, `@speaker`, `@rank`, `@versions`, `@fragments`, `@leads`, `@do` and `@kq`
//! hold for the rows below them, `[FUNCTION]` names the function. A row is its template, and lines that begin with a tab:
//!
//! | line | |
//! |---|---|
//! | `= ...` | which rule spoke and what happened |
//! | `> ...` | what follows |
//! | `! ...` | what an operator does |
//! | `$ ...` | the command of kq that computes it; `$ -`: none |
//! | `~ ...` | what misleads |
//! | `+ ...` | the text of other versions |
//! | `* ...` | `outer`: it wraps another message; `decides`: it says what follows, whatever it wraps; `last`: what stands within it counts for nothing; `vague`: it wraps anything; `whole`: it is a message alone; `rank R`; `in ID`: only below this message; `err`, `no-err`: only of a line with, without a key err; `named`: only of a line that names the kubelet as its program; `by P`: only of a line that names the program P; `foreign`: only of a line that another component wrote; `id ID`; `since V`, `until V`, `before V` |
//! | `name: ...` | what a field is, with its unit |
//!
//! `=CODE` as a template is the sentence of a reason of kq's start ([`StartRule`]), which is not written twice.

use super::place::PLACES;
use super::template::{Fit, Part, Template, Verb};
use crate::kubelet_start::StartRule;
use kq_answer::reason::Reason;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// The files, by domain.
const FILES: &[&str] = &[
    include_str!("messages/start.txt"),
    include_str!("messages/admission.txt"),
    include_str!("messages/managers.txt"),
    include_str!("messages/eviction.txt"),
    include_str!("messages/images.txt"),
    include_str!("messages/probes.txt"),
    include_str!("messages/pods.txt"),
    include_str!("messages/volumes.txt"),
    include_str!("messages/node.txt"),
    include_str!("messages/reasons.txt"),
    include_str!("messages/containerd.txt"),
    include_str!("messages/foreign.txt"),
    include_str!("messages/steps.txt"),
    include_str!("messages/control_plane.txt"),
    include_str!("messages/old.txt"),
];

/// How bad a message is.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Rank {
    /// It says what goes on.
    #[default]
    Note,
    /// Something failed, and is tried again.
    Retry,
    /// A pod does not start, or is not ready.
    Pod,
    /// A pod is refused, killed or evicted.
    Ended,
    /// The kubelet ends, or the node is not ready.
    Node,
}

impl Rank {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "note" => Self::Note,
            "retry" => Self::Retry,
            "pod" => Self::Pod,
            "ended" => Self::Ended,
            "node" => Self::Node,
            _ => return None,
        })
    }
}

/// A message.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub id: Option<&'static str>,
    pub domain: &'static str,
    pub speaker: &'static str,
    pub file: &'static str,
    pub function: &'static str,
    /// The versions that have it; empty: all that kq knows.
    pub versions: String,
    pub templates: Vec<Template>,
    pub means: &'static str,
    pub leads: &'static str,
    pub action: &'static str,
    pub command: &'static str,
    pub misleads: Option<&'static str>,
    pub fields: Vec<(&'static str, &'static str)>,
    pub rank: Rank,
    /// It wraps another message.
    pub is_outer: bool,
    /// It is part of messages of others alone.
    pub is_fragment: bool,
    /// It wraps anything, so that it is a message only with one that is known within.
    pub is_vague: bool,
    /// It is only a message if nothing stands around it.
    pub is_whole: bool,
    /// What follows from it and what is to be done are said by it, whatever it wraps.
    pub decides: bool,
    /// The messages within it are words of another one.
    pub is_last: bool,
    /// The messages that it is only found in.
    pub within: Vec<&'static str>,
    /// It is only a message of a line that has an error, or that has none.
    pub has_error: Option<bool>,
    /// It is only a message of a line that names the kubelet as its program.
    pub is_named: bool,
    /// The program that a line has to name for it to be this message.
    pub by: Option<&'static str>,
    /// It is only a message of a line that another component wrote.
    pub is_foreign: bool,
    /// It only has a place in the sources.
    pub is_place: bool,
}

impl Row {
    pub fn is_kubelets(&self) -> bool {
        self.speaker == "kubelet"
    }

    /// Returns true if it says nothing, as it wraps anything and none of the rows is what it wraps.
    pub fn is_wrapper_alone(&self, rows: &[&Row]) -> bool {
        self.is_vague && rows.iter().all(|row| row.is_vague || row.is_fragment)
    }

    /// Returns what a field is.
    pub fn field(&self, name: &str) -> Option<&'static str> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, what)| *what)
    }
}

/// The messages, found by the first letters of their templates.
pub(super) struct Table {
    pub rows: Vec<Row>,
    by_head: BTreeMap<[u8; 4], Vec<(usize, usize)>>,
    /// Templates that begin with a field.
    headless: Vec<(usize, usize)>,
}

/// What a line says of its messages besides their texts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Around<'l> {
    /// It has a key with an error.
    pub has_error: bool,
    /// It names the kubelet as its program.
    pub is_named: bool,
    /// A component wrote it that is not the kubelet.
    pub is_foreign: bool,
    /// The program that it names.
    pub program: Option<&'l str>,
    /// The end of its message may be missing.
    pub may_be_cut: bool,
    /// What was found in the texts before.
    pub before: &'l [Found],
}

/// A row that was found in a text.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub row: usize,
    pub template: usize,
    pub fit: Fit<'static>,
}

impl Table {
    /// Returns the table.
    pub fn get() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| Self::new(parse(FILES).unwrap_or_default()))
    }

    /// Returns the table of what only has a place in the sources.
    pub fn places() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| {
            let templates = Self::get().rows.iter().flat_map(|row| &row.templates);
            let explained: BTreeSet<String> = templates.map(Template::shape).collect();
            let mut rows = parse(&[PLACES]).unwrap_or_default();
            rows.retain(|row| !explained.contains(&row.templates[0].shape()));
            let templates = rows.iter_mut().flat_map(|row| &mut row.templates);
            templates.for_each(|template| template.is_strict = true);
            Self::new(rows)
        })
    }

    fn new(rows: Vec<Row>) -> Self {
        let mut table = Self { rows, by_head: BTreeMap::new(), headless: Vec::new() };
        for (at, row) in table.rows.iter().enumerate() {
            for (nth, template) in row.templates.iter().enumerate() {
                match template.head().and_then(key) {
                    Some(key) => table.by_head.entry(key).or_default().push((at, nth)),
                    None => table.headless.push((at, nth)),
                }
            }
        }
        table
    }

    /// Returns a reason as the kubelet writes it, of one that is typed with other capitals.
    pub fn reason(&self, word: &str) -> Option<&str> {
        let templates = self.rows.iter().flat_map(|row| &row.templates);
        let mut texts = templates.filter_map(|it| match &it.parts[..] {
            [Part::Text(text)] => Some(text.as_str()),
            _ => None,
        });
        texts.find(|text| text.eq_ignore_ascii_case(word))
    }

    /// Returns the messages in the texts of a line, with the number of the text, the outermost first.
    pub fn scan_all(&'static self, texts: &[String], around: Around<'_>) -> Vec<(usize, Found)> {
        let (mut all, mut numbers) = (Vec::new(), Vec::new());
        for (at, text) in texts.iter().enumerate() {
            let found = self.scan(text, Around { before: &all, ..around });
            numbers.extend(found.iter().map(|_| at));
            all.extend(found);
        }
        numbers.into_iter().zip(all).collect()
    }

    /// Returns the messages in a text, the outermost first.
    pub fn scan(&'static self, text: &str, around: Around<'_>) -> Vec<Found> {
        let mut all: Vec<Found> = Vec::new();
        let (mut before, mut places) = (None, 0);
        // A template that begins with a value fits nowhere behind the last place of its first text.
        let template = |&(row, nth): &(usize, usize)| &self.rows[row].templates[nth];
        let ends = self.headless.iter().map(|it| template(it).last_start(text));
        let ends: Vec<usize> = ends.collect();
        for (at, c) in text.char_indices() {
            let is_start = !c.is_whitespace()
                && before.is_none_or(|it: char| !it.is_alphanumeric() && it != '_');
            before = Some(c);
            let is_covered =
                || all.iter().any(|found| found.fit.spans.iter().any(|span| span.contains(&at)));
            if !is_start || is_covered() {
                continue;
            }
            places += 1;
            if places > MOST_PLACES {
                break;
            }
            if let Some(found) = self.best_at(text, at, &ends, around, &all) {
                all.push(found);
            }
        }
        all
    }

    /// Returns the message with the most text of its own that begins at a place.
    fn best_at(
        &'static self,
        text: &str,
        at: usize,
        ends: &[usize],
        around: Around<'_>,
        outer: &[Found],
    ) -> Option<Found> {
        let known = key(&text[at..]).and_then(|key| self.by_head.get(&key)).into_iter().flatten();
        // What begins with a value begins with a whole word.
        let is_word = text[at..]
            .starts_with(|c: char| c.is_alphanumeric() || "/*$~\"[".contains(c))
            && (at == 0
                || text[..at].ends_with(|c: char| c.is_whitespace() || "\"'([{=".contains(c)));
        let headless = self.headless.iter().zip(ends).filter(|(_, end)| is_word && at <= **end);
        let headless = headless.map(|(template, _)| template);
        let fits = known.chain(headless).filter_map(|&(row, template)| {
            let found = &self.rows[row];
            let is_inside = |id: &&str| {
                let all = around.before.iter().chain(outer);
                all.into_iter().any(|it| self.rows[it.row].id == Some(*id))
            };
            if found.has_error.is_some_and(|has| has != around.has_error)
                || found.is_named && !around.is_named
                || found.is_foreign && !around.is_foreign
                || found.by.is_some() && found.by != around.program
            {
                return None;
            }
            if found.is_whole && at > 0
                || !found.within.is_empty() && !found.within.iter().any(is_inside)
            {
                return None;
            }
            // What is cut begins a message: it does not stand within a sentence.
            let begins =
                at == 0 || text[..at].ends_with(['"', '[', '(']) || text[..at].ends_with(": ");
            let is_log = found.templates[template].is_log;
            if is_log && at > 0 && !text[..at].ends_with('"') && !text[..at].ends_with("] ") {
                return None;
            }
            let fit = found.templates[template].fit(text, at, around.may_be_cut && begins)?;
            let is_alone = || {
                let ends = fit.spans.last().into_iter().chain(fit.facts.last().map(|(_, it)| it));
                let rest = ends.map(|it| it.end).max().map(|end| &text[end..]);
                // A key without a value is no message: `terminated:` of YAML.
                let is_end = |it: &str| it.trim().len() < 2 && it.trim() != ":";
                rest.is_some_and(|it| is_end(it) && !it.starts_with(char::is_alphanumeric))
            };
            let is_name = |part: &Part| matches!(part, Part::Field(_, Verb::Resource));
            let ends_in_name = found.templates[template].parts.last().is_some_and(is_name);
            if found.is_whole && (fit.facts.is_empty() || ends_in_name) && !is_alone() {
                return None;
            }
            Some(Found { row, template, fit })
        });
        // The first of equals.
        let is_exact = |it: &Found| {
            let head = self.rows[it.row].templates[it.template].head();
            head.is_some_and(|head| text.as_bytes()[at..].first() == head.as_bytes().first())
        };
        fits.max_by_key(|it| {
            (!it.fit.is_cut, it.fit.literals, is_exact(it), std::cmp::Reverse(it.row))
        })
    }
}

/// The most words at which a message may begin. A container can make a line of as many words as it likes.
const MOST_PLACES: usize = 200;

/// Returns the first four bytes, small.
fn key(text: &str) -> Option<[u8; 4]> {
    let first = text.as_bytes().get(..4)?;
    Some([first[0], first[1], first[2], first[3]].map(|byte| byte.to_ascii_lowercase()))
}

/// What holds for the rows below.
#[derive(Clone, Copy, Default)]
struct Group {
    domain: &'static str,
    speaker: &'static str,
    file: &'static str,
    function: &'static str,
    versions: &'static str,
    leads: &'static str,
    action: &'static str,
    command: &'static str,
    rank: Rank,
    is_fragment: bool,
}

/// Parses the files; `Err`: the line with a fault.
pub(super) fn parse(files: &[&'static str]) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = Vec::new();
    for file in files {
        let mut group = Group { speaker: "kubelet", ..Group::default() };
        for line in file.lines() {
            let fault = |why: &str| format!("{why}: {line}");
            if line.is_empty() || line.starts_with("# ") {
                continue;
            }
            if let Some(rest) = line.strip_prefix('\t') {
                let row = rows.last_mut().ok_or_else(|| fault("no message above"))?;
                detail(row, rest).map_err(|why| fault(&why))?;
            } else if let Some(rest) = line.strip_prefix('@') {
                let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
                direct(&mut group, name, value).map_err(|why| fault(&why))?;
            } else if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
                group.function = name;
            } else {
                rows.push(row(&group, line).map_err(|why| fault(&why))?);
            }
        }
    }
    Ok(rows)
}

fn direct(group: &mut Group, name: &str, value: &'static str) -> Result<(), String> {
    match name {
        "domain" => *group = Group { domain: value, speaker: group.speaker, ..Group::default() },
        "speaker" => group.speaker = value,
        "file" => {
            group.file = value;
            group.function = "";
        }
        "rank" => group.rank = Rank::parse(value).ok_or("no such rank")?,
        "versions" => group.versions = value,
        "fragments" => group.is_fragment = true,
        "leads" => group.leads = value,
        "do" => group.action = value,
        "kq" => group.command = if value == "-" { "" } else { value },
        _ => return Err("no such directive".to_owned()),
    }
    Ok(())
}

fn row(group: &Group, line: &'static str) -> Result<Row, String> {
    Ok(Row {
        domain: group.domain,
        speaker: group.speaker,
        file: group.file,
        function: group.function,
        versions: group.versions.to_owned(),
        leads: group.leads,
        action: group.action,
        command: group.command,
        rank: group.rank,
        is_fragment: group.is_fragment,
        templates: vec![template(line)?],
        ..Row::default()
    })
}

fn template(text: &str) -> Result<Template, String> {
    let Some(code) = text.strip_prefix('=') else { return Template::parse(text) };
    let known = StartRule::TEMPLATES.iter().find(|template| template.code == code);
    known.map(Template::of_reason).ok_or_else(|| format!("no reason {code}"))
}

/// What is said of a message that only has a place: what it means, what follows, what to do.
pub(super) type OfPlace = [&'static str; 3];

pub(super) const STEP: OfPlace = [
    "The kubelet logs a step of its work, which is no failure by itself.",
    "Nothing that kq knows of.",
    "Nothing.",
];

pub(super) const FAILURE: OfPlace = [
    "The kubelet logs that something failed; kq knows where, and no more.",
    "Unknown to kq.",
    "Read the cause in err, and the lines around it.",
];

const TEXT: OfPlace = [
    "A text of the kubelet; kq knows where it is made, and no more.",
    "Unknown to kq.",
    "Read the message that repeats it, and the lines around it.",
];

fn of_place(row: &Row, [means, leads, action]: OfPlace) -> Row {
    Row { means, leads, action, rank: Rank::Retry, is_place: true, ..row.clone() }
}

fn detail(row: &mut Row, line: &'static str) -> Result<(), String> {
    let (sign, text) = line.split_once(' ').ok_or("nothing follows")?;
    match sign {
        "=" => row.means = text,
        ">" => row.leads = text,
        "!" => row.action = text,
        "$" => row.command = if text == "-" { "" } else { text },
        "~" => row.misleads = Some(text),
        "+" => row.templates.push(template(text)?),
        "*" => {
            for flag in text.split(", ") {
                let (name, value) = flag.split_once(' ').unwrap_or((flag, ""));
                match name {
                    "outer" => row.is_outer = true,
                    "vague" => row.is_vague = true,
                    "decides" => row.decides = true,
                    "last" => row.is_last = true,
                    "whole" => row.is_whole = true,
                    "rank" => row.rank = Rank::parse(value).ok_or("no such rank")?,
                    "in" => row.within.push(value),
                    "err" => row.has_error = Some(true),
                    "no-err" => row.has_error = Some(false),
                    "named" => row.is_named = true,
                    "foreign" => row.is_foreign = true,
                    "by" => row.by = Some(value),
                    "id" => row.id = Some(value),
                    "before" => row.versions = format!("before {value}"),
                    "since" if row.versions.is_empty() => row.versions = format!("since {value}"),
                    "until" if row.versions.is_empty() => row.versions = format!("until {value}"),
                    "since" | "until" => row.versions += &format!(", {name} {value}"),
                    "file" => row.file = value,
                    "function" => row.function = value,
                    "domain" => row.domain = value,
                    "step" => *row = Row { rank: Rank::Note, ..of_place(row, STEP) },
                    "failure" => *row = of_place(row, FAILURE),
                    "text" => *row = of_place(row, TEXT),
                    _ => return Err("no such flag".to_owned()),
                }
            }
        }
        name => {
            let name = name.strip_suffix(':').ok_or("not a field")?;
            row.fields.push((name, text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_a_file_and_no_explanation() {
        parse(&[PLACES]).unwrap_or_else(|why| panic!("{why}"));
        let rows = &Table::places().rows;
        assert!(rows.len() > 1_000, "{}", rows.len());
        for row in rows {
            let what = row.templates[0].go();
            assert!(row.is_place && !row.file.is_empty() && !row.means.is_empty(), "{what}");
        }
    }

    #[test]
    fn the_table_is_whole() {
        let rows = parse(FILES).unwrap_or_else(|why| panic!("{why}"));
        assert!(rows.len() > 300, "{}", rows.len());
        let faults: Vec<String> = rows.iter().flat_map(|row| faults(row, &rows)).collect();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    /// Returns what a row lacks.
    fn faults(row: &Row, rows: &[Row]) -> Vec<String> {
        let what = row.templates[0].go();
        let mut faults = Vec::new();
        let mut check = |is_good: bool, why: &str| {
            if !is_good {
                faults.push(format!("{what}: {why}"));
            }
        };
        check(!row.domain.is_empty(), "no domain");
        check(row.means.ends_with('.'), "no sentence of what it means");
        check(
            !row.leads.is_empty() && !row.action.is_empty(),
            "leads to nothing, or nothing to do",
        );
        check(
            !row.is_kubelets() || !row.file.is_empty() && !row.function.is_empty(),
            "no file and function",
        );
        let has = |name: &str| {
            row.templates.iter().any(|template| {
                let is = |part: &Part| matches!(part, Part::Field(field, _) if field == name);
                template.is_log || template.parts.iter().any(is)
            })
        };
        for (name, _) in &row.fields {
            check(has(name), &format!("has no field {name}"));
        }
        for template in &row.templates {
            let least = if row.is_whole || !row.within.is_empty() { 3 } else { 8 };
            check(template.literals() >= least, "fits too much");
            for part in &template.parts {
                let Part::Field(name, _) = part else { continue };
                let is_told = row.field(name).is_some() || matches!(name.as_str(), "err" | "cause");
                check(is_told, &format!("what is {name}?"));
            }
        }
        for id in &row.within {
            check(rows.iter().any(|row| row.id == Some(id)), &format!("no row {id}"));
        }
        faults
    }

    /// Makes each message and finds it again, with its facts.
    #[test]
    fn each_message_is_found_with_its_facts() {
        let table = Table::get();
        let mut lost = Vec::new();
        for (at, row) in table.rows.iter().enumerate() {
            for template in &row.templates {
                lost.extend(lost_facts(table, at, template));
            }
        }
        assert!(lost.is_empty(), "{} are not found:\n{}", lost.len(), lost.join("\n"));
    }

    /// Makes a message and returns what of it is not found.
    fn lost_facts(table: &'static Table, at: usize, template: &Template) -> Option<String> {
        let row = &table.rows[at];
        let text = template.fill(|name, verb| match verb {
            Verb::Number => "47".to_owned(),
            Verb::Word => format!("{name}-1"),
            Verb::Resource => "example.com/47".to_owned(),
            _ => format!("{name}_1"),
        });
        let mut around = Around {
            has_error: row.has_error.unwrap_or(true),
            is_named: row.is_named,
            is_foreign: row.is_foreign,
            program: row.by,
            ..Around::default()
        };
        let outer = row.within.first().map(|id| {
            let outer = table.rows.iter().find(|row| row.id == Some(id)).expect("checked");
            (outer.has_error.unwrap_or(true), &outer.templates[0])
        });
        // The message of a log line stands before the text that wraps.
        let logged = outer.filter(|(_, outer)| outer.is_log).map(|(has_error, outer)| {
            around.has_error = has_error;
            table.scan(&outer.fill(|_, _| String::new()), around)
        });
        around.before = logged.as_deref().unwrap_or_default();
        let outer = outer.filter(|(_, outer)| !outer.is_log).map(|(_, outer)| {
            outer.fill(|name, _| match name {
                "err" | "cause" | "output" => text.clone(),
                _ => format!("{name}-1"),
            })
        });
        let said = super::super::template::single_spaced(&outer.unwrap_or(text));
        let said = said.trim();
        let all = table.scan(said, around);
        let Some(found) = all.iter().find(|it| it.row == at) else {
            let found: Vec<String> =
                all.iter().map(|it| table.rows[it.row].templates[it.template].go()).collect();
            return Some(format!("{said}: found {found:?}"));
        };
        let fields = template.parts.iter().filter(|part| matches!(part, Part::Field(..)));
        if found.fit.facts.len() != fields.count() {
            return Some(format!("{said}: {:?}", found.fit.facts));
        }
        let wrong = found.fit.facts.iter().find(|(name, place)| {
            let value = &said[place.clone()];
            ![
                format!("{name}_1"),
                format!("{name}-1"),
                "47".to_owned(),
                "example.com/47".to_owned(),
            ]
            .contains(&value.to_owned())
        });
        wrong.map(|(name, place)| format!("{said}: {name} is {}", &said[place.clone()]))
    }
}
