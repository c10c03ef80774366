//! The sessions of the README and of docs/examples.md are real: every command that they show with an answer gives
//! that answer, as text or as a picture of a terminal.
//!
//! `SNAPSHOTS=overwrite cargo test` redraws the pictures, as `scripts/generate.sh` does.

use super::terminal::{at_terminal, without_colours};
use super::{kq, matches, repository};
use anstyle::RgbColor;
use anstyle_svg::{Term, WIN10_CONSOLE};
use snapbox::Data;
use std::collections::BTreeSet;

/// How wide the terminal of a picture is: GitHub shows that many columns without shrinking them.
const COLUMNS: u16 = 100;

/// A picture is loaded with the page.
const PICTURE_BYTES: usize = 60_000;

/// A command in a document, and its answer there.
struct Session {
    command: String,
    text: Vec<String>,
    /// The picture right below a command that has no text.
    picture: Option<Picture>,
}

struct Picture {
    alt: String,
    path: String,
}

#[test]
fn every_session_of_the_readme_is_real() {
    assert!(runs("README.md") >= 5);
}

#[test]
fn every_session_of_the_tour_is_real() {
    assert!(runs("docs/tour.md") >= 7);
}

#[test]
fn every_session_of_the_examples_is_real() {
    assert!(runs("docs/examples.md") >= 12);
}

#[test]
fn every_session_of_an_upgrade_is_real() {
    assert!(runs("docs/what-if.md") >= 3);
}

#[test]
fn every_session_of_the_metrics_is_real() {
    assert!(runs("docs/metrics.md") >= 1);
}

#[test]
fn the_fleet_answers_as_its_page_says() {
    assert!(runs("docs/fleet.md") >= 1);
}

#[test]
fn every_picture_of_the_readme_is_fresh() {
    let mut shown = BTreeSet::new();
    for session in sessions("README.md") {
        let Some(picture) = session.picture else { continue };
        let line = format!("{} --color=always", session.command);
        let screen = at_terminal(&line, &repository(), COLUMNS, &[]);
        // The line of progress that a slow run removes again.
        let notes = screen.stderr.rsplit("\r\u{1b}[2K").next().unwrap_or_default();
        let drawn = draw(&format!("$ kq {}\n{}{notes}", session.command, screen.stdout));
        assert!(drawn.len() <= PICTURE_BYTES, "{}: {} bytes", picture.path, drawn.len());
        assert!(picture.alt.len() >= 40, "{}: the alternative text says nothing", picture.path);
        matches(drawn, Data::read_from(&repository().join(&picture.path), None));
        shown.insert(picture.path);
    }
    let files = repository().join("docs/images").read_dir().expect("there are pictures");
    let name = |file: std::fs::DirEntry| file.file_name().into_string().expect("UTF-8");
    // Those of pages are taken in a browser (`report`).
    let files = files.map(|file| format!("docs/images/{}", name(file.expect("a file"))));
    let files = files.filter(|file| file.ends_with(".svg"));
    assert_eq!(shown, files.collect(), "the README shows each file of docs/images");
}

/// Draws what a terminal shows, in bright colours on a dark ground: readable on light and on dark pages.
fn draw(screen: &str) -> String {
    let lines = without_colours(screen);
    let widest = lines.lines().map(|line| line.chars().count()).max().expect("a screen has lines");
    assert!(widest <= usize::from(COLUMNS), "{widest} columns are cut or shrunk:\n{screen}");
    let mut palette = WIN10_CONSOLE;
    palette.0.copy_within(8.., 0);
    Term::new()
        .palette(palette)
        .bg_color(RgbColor(0x16, 0x1b, 0x22).into())
        .min_width_px(usize::from(COLUMNS) * 84 / 10)
        .render_svg(screen.trim_end())
}

/// Runs the sessions of a file; returns how many there are. The pictures have a test of their own.
#[track_caller]
fn runs(file: &str) -> usize {
    let sessions = sessions(file);
    for Session { command, text, .. } in sessions.iter().filter(|it| it.picture.is_none()) {
        let ran = kq(command).run();
        // Notes are cut short in the README.
        let notes = ["assumed: ", "default: ", "fix: "];
        let is_note = |line: &&String| notes.iter().any(|note| line.starts_with(note));
        for note in text.iter().filter(is_note) {
            let begun = note.strip_suffix(", ...").unwrap_or(note);
            assert!(ran.stderr.contains(begun), "kq {command}: {note}\n{}", ran.stderr);
        }
        let answer: Vec<&String> = text.iter().filter(|line| !is_note(line)).collect();
        assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), answer, "kq {command}");
    }
    sessions.len()
}

/// Returns the sessions of a file.
#[track_caller]
fn sessions(file: &str) -> Vec<Session> {
    let text = std::fs::read_to_string(repository().join(file)).expect("the file is there");
    let mut sessions = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("    $ kq ") else { continue };
        let mut command = command.to_owned();
        while let Some(begun) = command.strip_suffix('\\') {
            let rest = lines.next().expect("a command goes on in the next line");
            command = format!("{begun}{}", rest.trim());
        }
        let is_answer = |line: &&str| line.starts_with("    ");
        let text: Vec<String> = std::iter::from_fn(|| lines.next_if(is_answer))
            .map(|line| line[4..].to_owned())
            .collect();
        let mut picture = None;
        if text.is_empty() && lines.next_if_eq(&"").is_some() {
            picture = lines.next().and_then(picture_of);
            assert!(picture.is_some(), "{file}: kq {command}: neither a text nor a picture");
        }
        sessions.push(Session { command, text, picture });
    }
    sessions
}

/// Reads `![ALT](PATH)`.
fn picture_of(line: &str) -> Option<Picture> {
    let (alt, path) = line.strip_prefix("![")?.strip_suffix(')')?.split_once("](")?;
    Some(Picture { alt: alt.to_owned(), path: path.to_owned() })
}
