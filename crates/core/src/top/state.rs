//! The state of the view, and the effect of a key on it.

use super::frame::{Body, Frame, Panel};
use super::table::{Cells, Lines, SortKey, cells};
use super::trend::Trends;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those on a keyboard")]
pub enum Key {
    Char(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    Tab,
    /// Ctrl-C.
    Interrupt,
}

/// What the loop does after a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Draws.
    None,
    /// Ends.
    Quit,
    /// Gathers at once.
    Refresh,
    /// Opens the page of this pod.
    Explain(String),
    /// Opens the arithmetic of the values of this pod.
    Derive(String),
    /// Stores a snapshot.
    Store,
    /// Shows the next frame of a recording that is paused.
    Step,
}

/// A page of text above the panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub title: String,
    pub lines: Vec<String>,
    /// The first line that is shown.
    pub top: usize,
}

impl Page {
    /// Returns a page at its top.
    pub fn new(title: String, lines: Vec<String>) -> Self {
        Self { title, lines, top: 0 }
    }
}

/// The state of the view.
#[derive(Clone, Debug)]
pub struct State {
    pub panel: Panel,
    /// The order of the pods.
    pub order: SortKey,
    /// Only lines with this text.
    pub filter: String,
    /// Keys go into the filter.
    pub is_typing: bool,
    /// Containers are listed.
    pub shows_containers: bool,
    /// No refreshes.
    pub is_paused: bool,
    /// The cgroup of the selected line.
    pub selected: Option<String>,
    /// The first line that is shown.
    pub top: usize,
    /// The number of columns that are scrolled out on the left.
    pub left: usize,
    /// The page above the panel.
    pub page: Option<Page>,
    /// The last message.
    pub message: Option<String>,
    /// The lines that the panel has room for, from the last drawing.
    pub height: usize,
}

impl Default for State {
    fn default() -> Self {
        Self {
            panel: Panel::default(),
            order: SortKey::default(),
            filter: String::new(),
            is_typing: false,
            shows_containers: true,
            is_paused: false,
            selected: None,
            top: 0,
            left: 0,
            page: None,
            message: None,
            height: 1,
        }
    }
}

/// The help page.
const HELP: [&str; 16] = [
    "1 to 5, Tab   panel: pods, eviction, images, devices, probes",
    "Up, Down      select a line; PageUp, PageDown, Home and End too",
    "Left, Right   scroll the columns",
    "Enter         explain the selected pod, as kq doctor POD",
    "e             show the arithmetic of its values, as kq cgroup plan -o wide",
    "s             sort: name, CPU, memory, memory of its limit, throttled, restarts",
    "c             list containers, or pods alone",
    "/             filter by text; Enter keeps it, Esc removes it",
    "p, Space      pause and go on; of a recording, n shows the next frame",
    "r             refresh at once",
    "i             what is missing, and what was assumed",
    "w             write a snapshot, as kq snapshot",
    "q, Esc        close a page, or quit",
    "",
    "CPU is the usage since the frame before; SHARE the CPUs when every container is busy;",
    "THROTTLED counts since the container started, NOW since the frame before.",
];

impl State {
    /// Returns the lines of the pods as the state has them.
    pub fn lines(&self, frame: &Frame, trends: &Trends) -> Vec<Cells> {
        match &frame.body {
            Body::Pods(rows) => {
                let lines = if self.shows_containers { Lines::Joined } else { Lines::Pods };
                cells(rows, trends, &self.filter, self.order, lines)
            }
            _ => Vec::new(),
        }
    }

    /// Returns the lines of a text that match the filter.
    pub fn texts<'f>(&self, frame: &'f Frame) -> Vec<&'f str> {
        match &frame.body {
            Body::Text(lines) => {
                let texts = lines.iter().map(String::as_str);
                texts.filter(|line| line.contains(&self.filter)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Applies a key.
    pub fn press(&mut self, key: Key, frame: Option<&Frame>, trends: &Trends) -> Action {
        self.message = None;
        if key == Key::Interrupt {
            return Action::Quit;
        }
        if self.is_typing {
            self.type_filter(key);
            return Action::None;
        }
        if self.page.is_some() {
            return self.press_on_page(key);
        }
        match key {
            Key::Char('q') => return Action::Quit,
            Key::Escape if self.filter.is_empty() => return Action::Quit,
            Key::Escape => self.filter.clear(),
            Key::Char('/') => self.is_typing = true,
            Key::Char('s') => self.order = self.order.next(),
            Key::Char('c') => self.shows_containers = !self.shows_containers,
            Key::Char('p' | ' ') => self.is_paused = !self.is_paused,
            Key::Char('n') if self.is_paused => return Action::Step,
            Key::Char('r') => return Action::Refresh,
            Key::Char('w') => return Action::Store,
            Key::Char('?' | 'h') => {
                let lines = HELP.map(str::to_owned).to_vec();
                self.page = Some(Page::new("keys".to_owned(), lines));
            }
            Key::Char('i') => {
                let notes = frame.map(|frame| frame.notes.clone()).unwrap_or_default();
                self.page = Some(Page::new("notes".to_owned(), notes));
            }
            Key::Tab => return self.choose((self.panel_index() + 1) % Panel::ALL.len()),
            Key::Char(digit @ '1'..='5') => {
                return self.choose(digit as usize - '1' as usize);
            }
            Key::Left => self.left = self.left.saturating_sub(1),
            Key::Right => self.left = (self.left + 1).min(super::table::COLUMNS.len() - 2),
            Key::Enter | Key::Char('e') => {
                let lines = frame.map(|frame| self.lines(frame, trends)).unwrap_or_default();
                let at = self.place(&lines);
                return match (lines.get(at).and_then(|line| line.pod.clone()), key) {
                    (Some(pod), Key::Enter) => Action::Explain(pod),
                    (Some(pod), _) => Action::Derive(pod),
                    (None, _) => {
                        self.message = Some("no pod with a known name is selected".to_owned());
                        Action::None
                    }
                };
            }
            key => self.move_selection(key, frame, trends),
        }
        Action::None
    }

    fn panel_index(&self) -> usize {
        Panel::ALL.iter().position(|panel| *panel == self.panel).unwrap_or(0)
    }

    fn choose(&mut self, index: usize) -> Action {
        let panel = Panel::ALL.get(index).copied().unwrap_or_default();
        if panel == self.panel {
            return Action::None;
        }
        (self.panel, self.top, self.left, self.selected) = (panel, 0, 0, None);
        Action::Refresh
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Enter => self.is_typing = false,
            Key::Escape => {
                self.filter.clear();
                self.is_typing = false;
            }
            Key::Backspace => drop(self.filter.pop()),
            // A name has at most 253 characters.
            Key::Char(c) if self.filter.len() < 253 => self.filter.push(c),
            _ => {}
        }
    }

    fn press_on_page(&mut self, key: Key) -> Action {
        let Some(page) = &mut self.page else { return Action::None };
        let last = page.lines.len().saturating_sub(self.height);
        match key {
            Key::Char('q') | Key::Escape | Key::Enter => self.page = None,
            Key::Up | Key::Char('k') => page.top = page.top.saturating_sub(1),
            Key::Down | Key::Char('j') => page.top = (page.top + 1).min(last),
            Key::PageUp => page.top = page.top.saturating_sub(self.height),
            Key::PageDown | Key::Char(' ') => page.top = (page.top + self.height).min(last),
            Key::Home => page.top = 0,
            Key::End => page.top = last,
            _ => {}
        }
        Action::None
    }

    /// Returns the place of the selected line.
    pub fn place(&self, lines: &[Cells]) -> usize {
        let selected = self.selected.as_ref();
        let at = selected.and_then(|key| lines.iter().position(|line| line.key == *key));
        at.unwrap_or(0)
    }

    fn move_selection(&mut self, key: Key, frame: Option<&Frame>, trends: &Trends) {
        let Some(frame) = frame else { return };
        let lines = self.lines(frame, trends);
        let is_text = lines.is_empty();
        let (at, count) = match is_text {
            true => (self.top, self.texts(frame).len().saturating_sub(self.height) + 1),
            false => (self.place(&lines), lines.len()),
        };
        let to = match key {
            Key::Up | Key::Char('k') => at.saturating_sub(1),
            Key::Down | Key::Char('j') => at + 1,
            Key::PageUp => at.saturating_sub(self.height),
            Key::PageDown => at + self.height,
            Key::Home => 0,
            Key::End => usize::MAX,
            _ => return,
        };
        let to = to.min(count.saturating_sub(1));
        if is_text {
            self.top = to;
        } else {
            self.selected = lines.get(to).map(|line| line.key.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::frame::{Counters, Row, Totals};
    use kq_facts::timestamp::Timestamp;

    fn frame() -> Frame {
        let row = |label: &str, is_pod: bool, memory: u64| Row {
            key: format!("/{label}"),
            label: label.to_owned(),
            pod: Some("shop/web".to_owned()),
            is_pod,
            qos: String::new(),
            counters: Counters { memory_bytes: Some(memory), ..Counters::default() },
            request_milli_cpu: None,
            share: None,
            restarts: None,
        };
        let rows = vec![
            row("shop/a", true, 2),
            row("app", false, 1),
            row("log", false, 1),
            row("shop/b", true, 3),
            row("web", false, 2),
            row("log", false, 1),
            row("shop/one", true, 1),
            row("only", false, 1),
        ];
        Frame {
            at: Timestamp::default(),
            node: None,
            panel: Panel::Pods,
            totals: Totals::default(),
            body: Body::Pods(rows),
            notes: Vec::new(),
        }
    }

    #[test]
    fn keys_change_the_view() {
        let (frame, trends) = (frame(), Trends::default());
        let mut state = State { height: 10, ..State::default() };
        let labels = |state: &State| {
            let lines = state.lines(&frame, &trends);
            lines.iter().map(|line| line.texts[0].trim().to_owned()).collect::<Vec<_>>().join(" ")
        };
        let press = |state: &mut State, key| state.press(key, Some(&frame), &trends);
        assert_eq!(labels(&state), "shop/a app log shop/b web log shop/one");
        press(&mut state, Key::Char('s'));
        press(&mut state, Key::Char('s'));
        assert_eq!(labels(&state), "shop/b web log shop/a app log shop/one", "by memory");
        press(&mut state, Key::Char('c'));
        assert_eq!(labels(&state), "shop/b shop/a shop/one");
        press(&mut state, Key::Down);
        assert_eq!(state.selected.as_deref(), Some("/shop/a"));
        for key in ['/', 'p', '/', 'b'].map(Key::Char) {
            press(&mut state, key);
        }
        assert_eq!(labels(&state), "shop/b");
        assert_eq!(press(&mut state, Key::Escape), Action::None, "it removes the filter");
        assert_eq!(labels(&state), "shop/b shop/a shop/one");
        assert_eq!(press(&mut state, Key::Enter), Action::Explain("shop/web".to_owned()));
        assert_eq!(press(&mut state, Key::Char('e')), Action::Derive("shop/web".to_owned()));
        assert_eq!(press(&mut state, Key::Char('3')), Action::Refresh);
        assert_eq!(state.panel, Panel::Images);
        press(&mut state, Key::Char('?'));
        assert_eq!(press(&mut state, Key::Escape), Action::None, "it closes the page");
        assert_eq!(state.page, None);
        assert_eq!(press(&mut state, Key::Escape), Action::Quit);
        assert_eq!(press(&mut state, Key::Interrupt), Action::Quit);
    }
}
