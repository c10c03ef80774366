//! The loop at a terminal: keys, refreshes, signals. However kq ends, other than by SIGKILL, the terminal is restored.

use super::{Refreshed, Worker};
use crate::exit::{Code, Failure};
use crate::write::has_colour;
use anyhow::Context;
use crossterm::cursor::Show;
use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, poll, read};
use crossterm::execute;
use crossterm::style::force_color_output;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use kq_core::top::{Action, Frame, Key, Page, Panel, State, Trends, draw};
use kq_io::clock::steady;
use kq_io::interrupt::Interrupts;
use kq_output::terminal::brief;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use std::io::{Stdout, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use std::{panic, thread};

/// What the loop waits for.
enum Message {
    Key(Key),
    Resized,
    Reply(Box<Reply>),
    /// A signal, or the end of the terminal.
    End,
}

/// What the worker is asked for.
enum Request {
    Frame { panel: Panel, is_same: bool },
    Explain(String),
    Derive(String),
    Store,
}

/// What it answers.
enum Reply {
    Frame(Result<Option<Box<Refreshed>>, Failure>),
    Page(Result<Page, Failure>),
    Stored(Result<String, Failure>),
}

/// The longest wait for a message; the loop wakes up for none sooner.
const LONG: Duration = Duration::from_secs(3600);

/// Shows frames until a key or a signal.
pub fn run(worker: Worker, panel: Panel) -> Result<Code, Failure> {
    let (sender, messages) = channel();
    let (first, again) = (sender.clone(), restore_and_end);
    // It watches before the terminal changes.
    Interrupts::watch_at_terminal(move |_| drop(first.send(Message::End)), again)
        .context("signals cannot be watched")
        .map_err(Failure::missing)?;
    kq_io::credential_plugin::take_terminal();
    let mut terminal = RedrawnTerminal::begin()?;
    let keys = sender.clone();
    thread::spawn(move || read_keys(&keys));
    let (requests, asked) = channel();
    thread::spawn(move || work(worker, &asked, &sender));
    let state =
        State { panel, message: Some("reading the node ...".to_owned()), ..State::default() };
    let mut view = View {
        state,
        frame: None,
        trends: Trends::default(),
        requests,
        waits: 0,
        due: None,
        has_colour: has_colour(),
    };
    view.ask(Request::Frame { panel, is_same: false });
    let ended = view.run(&mut terminal, &messages);
    drop(terminal);
    ended
}

/// A second signal ends kq at once.
#[expect(clippy::disallowed_methods, reason = "the process ends here, whatever it waits for")]
fn restore_and_end() {
    restore();
    std::process::exit(Code::Answered as i32);
}

struct View {
    state: State,
    frame: Option<Frame>,
    trends: Trends,
    requests: Sender<Request>,
    /// The number of requests without a reply.
    waits: usize,
    /// When the next refresh is due; `None`: there is no other.
    due: Option<Instant>,
    has_colour: bool,
}

impl View {
    fn run(
        &mut self,
        terminal: &mut RedrawnTerminal,
        messages: &Receiver<Message>,
    ) -> Result<Code, Failure> {
        loop {
            let drawn = terminal.terminal.draw(|drawn| {
                let frame = self.frame.as_ref();
                let buffer = drawn.buffer_mut();
                draw(&mut self.state, frame, &self.trends, self.has_colour, buffer);
            });
            if drawn.is_err() {
                // The terminal is gone.
                return Ok(Code::Answered);
            }
            let is_quiet = self.waits > 0 || self.state.is_paused;
            let due = self.due.filter(|_| !is_quiet);
            let wait = due.map_or(LONG, |due| due.saturating_duration_since(steady()));
            match messages.recv_timeout(wait) {
                Ok(Message::End) => return Ok(Code::Answered),
                Ok(Message::Resized) => {}
                Ok(Message::Key(key)) => {
                    if self.press(key) {
                        return Ok(Code::Answered);
                    }
                }
                Ok(Message::Reply(reply)) => self.take(*reply)?,
                Err(RecvTimeoutError::Timeout) => {
                    if due.is_some() {
                        self.refresh(false);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(Code::Answered),
            }
        }
    }

    fn ask(&mut self, request: Request) {
        if self.requests.send(request).is_ok() {
            self.waits += 1;
        }
    }

    fn refresh(&mut self, is_same: bool) {
        self.due = None;
        self.ask(Request::Frame { panel: self.state.panel, is_same });
    }

    /// Applies a key; returns true if it ends the view.
    fn press(&mut self, key: Key) -> bool {
        let panel = self.state.panel;
        let action = self.state.press(key, self.frame.as_ref(), &self.trends);
        match action {
            Action::None => {}
            Action::Quit => return true,
            Action::Refresh => self.refresh(self.state.panel != panel),
            Action::Step => self.refresh(false),
            Action::Explain(pod) => self.open(Request::Explain(pod)),
            Action::Derive(pod) => self.open(Request::Derive(pod)),
            Action::Store => self.open(Request::Store),
        }
        false
    }

    fn open(&mut self, request: Request) {
        self.state.message = Some("reading the node ...".to_owned());
        self.ask(request);
    }

    fn take(&mut self, reply: Reply) -> Result<(), Failure> {
        self.waits = self.waits.saturating_sub(1);
        let failed = |failure: &Failure| Some(brief(&failure.reason()).into_owned());
        match reply {
            Reply::Frame(Ok(Some(refreshed))) => {
                let Refreshed { frame, next_in } = *refreshed;
                self.due = next_in.map(|next_in| steady() + next_in);
                // A reply for a panel that was left is late.
                if frame.panel == self.state.panel {
                    self.trends.add(&frame);
                    let is_first = self.frame.is_none();
                    self.frame = Some(frame);
                    if is_first {
                        self.state.message = None;
                    }
                }
            }
            Reply::Frame(Ok(None)) => {
                self.state.message = Some("the recording is over".to_owned());
            }
            // Without a first frame there is nothing to show.
            Reply::Frame(Err(failure)) if self.frame.is_none() => return Err(failure),
            Reply::Frame(Err(failure)) => {
                self.state.message = failed(&failure);
                self.due = Some(steady() + Duration::from_secs(5));
            }
            Reply::Page(Ok(page)) => {
                self.state.message = None;
                self.state.page = Some(page);
            }
            Reply::Stored(Ok(path)) => self.state.message = Some(format!("stored: {path}")),
            Reply::Page(Err(failure)) | Reply::Stored(Err(failure)) => {
                self.state.message = failed(&failure);
            }
        }
        Ok(())
    }
}

fn work(mut worker: Worker, requests: &Receiver<Request>, replies: &Sender<Message>) {
    for request in requests {
        let reply = match request {
            Request::Frame { panel, is_same } => {
                Reply::Frame(worker.frame(panel, is_same).map(|it| it.map(Box::new)))
            }
            Request::Explain(pod) => Reply::Page(worker.explain(&pod)),
            Request::Derive(pod) => Reply::Page(worker.derive(&pod)),
            Request::Store => Reply::Stored(worker.store()),
        };
        if replies.send(Message::Reply(Box::new(reply))).is_err() {
            return;
        }
    }
}

fn read_keys(messages: &Sender<Message>) {
    loop {
        let message = match read() {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
                match key_of(key.code, is_control) {
                    Some(key) => Message::Key(key),
                    None => continue,
                }
            }
            Ok(Event::Resize(..)) => Message::Resized,
            Ok(_) => continue,
            Err(_) => Message::End,
        };
        let is_end = matches!(message, Message::End);
        if messages.send(message).is_err() || is_end {
            return;
        }
    }
}

fn key_of(code: KeyCode, is_control: bool) -> Option<Key> {
    Some(match code {
        KeyCode::Char('c' | 'd') if is_control => Key::Interrupt,
        KeyCode::Char(_) if is_control => return None,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Tab => Key::Tab,
        _ => return None,
    })
}

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
            // From here on a new size is an event. One that came before is the size that is drawn.
            .and_then(|()| poll(Duration::ZERO))
            .and_then(|_| execute!(stdout(), EnterAlternateScreen))
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
