//! The properties of standard output and standard error, read once before anything is written.

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use kq::output::screen::Screen;
use rustix::fd::AsFd;
use rustix::termios::{isatty, tcgetwinsize};
use std::sync::OnceLock;

/// Standard error.
static NOTES: OnceLock<Screen> = OnceLock::new();

/// When words have colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// Asks the terminals, and the environment as `anstream` does: `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM`.
/// `arranges_answers`: tables fit the width of standard output; a view that redraws its screen cuts them itself.
pub fn set(color: Color, arranges_answers: bool) {
    match color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    }
    .write_global();
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    if arranges_answers {
        Screen { width: width(&stdout), colour: has_colour() }.set_for_answers();
    }
    let notes =
        Screen { width: width(&stderr), colour: AutoStream::choice(&stderr) != ColorChoice::Never };
    let _ = NOTES.set(notes);
}

/// Returns true if standard output shows colours.
pub fn has_colour() -> bool {
    AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

/// Returns standard error; no terminal before [`set`].
pub fn of_notes() -> Screen {
    NOTES.get().copied().unwrap_or_default()
}

/// Returns the width of a terminal that knows it.
fn width(stream: &impl AsFd) -> Option<u16> {
    let size = isatty(stream).then(|| tcgetwinsize(stream).ok()).flatten();
    size.map(|size| size.ws_col).filter(|columns| *columns > 0)
}
