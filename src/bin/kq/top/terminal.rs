//! The terminal while its screen is redrawn. However kq ends, other than by SIGKILL, the terminal is restored.

use crate::exit::Failure;
use crate::screen::has_colour;
use anyhow::Context;
use crossterm::cursor::Show;
use crossterm::execute;
use crossterm::style::force_color_output;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use std::io::{Stdout, stdout};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// The screen is redrawn.
static IS_REDRAWN: AtomicBool = AtomicBool::new(false);

/// The hook of panics is set once.
static HOOK: Once = Once::new();

/// Restores the terminal, if its screen is redrawn.
pub fn restore() {
    if IS_REDRAWN.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs nothing.
        let _ = disable_raw_mode();
        let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    }
}

/// A terminal whose screen is redrawn until this is dropped.
pub struct RedrawnTerminal {
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl RedrawnTerminal {
    /// Takes the terminal over.
    pub fn begin() -> Result<Self, Failure> {
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |panicked| {
                restore();
                before(panicked);
            }));
        });
        // crossterm has its own opinion of NO_COLOR; --color decides.
        force_color_output(has_colour());
        IS_REDRAWN.store(true, Ordering::SeqCst);
        // From here on, dropping it restores the terminal.
        let begun = enable_raw_mode()
            .and_then(|()| execute!(stdout(), EnterAlternateScreen))
            .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        match begun.context("the terminal cannot be redrawn") {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                restore();
                Err(Failure::missing(error))
            }
        }
    }
}

impl Drop for RedrawnTerminal {
    fn drop(&mut self) {
        restore();
    }
}
