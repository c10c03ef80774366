//! Draws the view into a buffer, which a terminal shows and a test reads.

use super::frame::{Body, Frame, Panel};
use super::state::{Page, State};
use super::table::{COLUMNS, Cells, IMPORTANT};
use super::trend::Trends;

use kq_output::terminal::plain;
use kq_output::units::counted;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use unicode_width::UnicodeWidthStr;

/// The distance between two columns.
const GAP: u16 = 2;

/// The smallest area that shows a line of the panel.
const LEAST: (u16, u16) = (20, 5);

/// The smallest width of a name.
const LEAST_NAME: u16 = 16;

/// A part of a buffer, and whether it has colours.
struct Canvas<'b> {
    buffer: &'b mut Buffer,
    area: Rect,
    has_colour: bool,
    hidden: Hidden,
}

/// How much there is beyond the edges.
#[derive(Default)]
struct Hidden {
    lines: usize,
    columns: usize,
}

/// Draws a frame. Without a frame yet, the message says what the view waits for.
pub fn draw(
    state: &mut State,
    frame: Option<&Frame>,
    trends: &Trends,
    has_colour: bool,
    buffer: &mut Buffer,
) {
    let area = buffer.area;
    buffer.reset();
    let mut canvas = Canvas { buffer, area, has_colour, hidden: Hidden::default() };
    if area.width < LEAST.0 || area.height < LEAST.1 {
        canvas.line(0, "too small", Style::new());
        return;
    }
    let title = frame.map(|frame| frame.title(trends).join("  ")).unwrap_or_default();
    canvas.line(0, &plain(title), Style::new().add_modifier(Modifier::BOLD));
    canvas.tabs(state);
    state.height = usize::from(area.height - 4);
    match (&state.page, frame) {
        (Some(page), _) => canvas.page(page),
        (None, Some(frame)) => canvas.body(state, frame, trends),
        (None, None) => {}
    }
    canvas.foot(state, frame);
}

impl Canvas<'_> {
    /// Returns a style, or one without colours.
    fn tone(&self, style: Style) -> Style {
        match self.has_colour {
            true => style,
            false => Style { fg: None, bg: None, ..style },
        }
    }

    /// Writes a text, cut at the edge with an ellipsis.
    fn text(&mut self, x: u16, y: u16, width: u16, text: &str, style: Style) {
        if y < self.area.height && x < self.area.width {
            let style = self.tone(style);
            let width = width.min(self.area.width - x);
            self.buffer.set_stringn(x, y, text, usize::from(width), style);
            if self::width(text) > width && width > 0 {
                self.buffer.set_stringn(x + width - 1, y, "…", 1, style);
            }
        }
    }

    fn line(&mut self, y: u16, text: &str, style: Style) {
        self.text(0, y, self.area.width, text, style);
    }

    /// Draws the names of the panels; the current one is also in brackets.
    fn tabs(&mut self, state: &State) {
        let mut x = 0;
        for (number, panel) in (1_u8..).zip(Panel::ALL) {
            let is_current = panel == state.panel;
            let text = match is_current {
                true => format!("[{number} {}]", panel.name()),
                false => format!(" {number} {} ", panel.name()),
            };
            let style = match is_current {
                true => Style::new().add_modifier(Modifier::BOLD),
                false => Style::new().add_modifier(Modifier::DIM),
            };
            self.text(x, 1, self.area.width, &text, style);
            x = x.saturating_add(width(&text));
        }
    }

    fn body(&mut self, state: &mut State, frame: &Frame, trends: &Trends) {
        match &frame.body {
            Body::Unavailable(reason) => {
                let lines = kq_output::screen::wrapped(
                    &plain(format!("unavailable: {reason}")),
                    usize::from(self.area.width),
                    2,
                );
                for (y, line) in (2..).zip(lines.iter().take(state.height)) {
                    self.line(y, line, Style::new());
                }
            }
            Body::Text(_) => {
                let texts = state.texts(frame);
                state.top = state.top.min(texts.len().saturating_sub(1));
                self.hidden.lines = texts.len().saturating_sub(state.top + state.height + 1);
                for (y, line) in (2..).zip(texts.iter().skip(state.top).take(state.height + 1)) {
                    self.line(y, &plain((*line).to_owned()), Style::new());
                }
            }
            Body::Pods(_) => self.pods(state, &state.lines(frame, trends)),
        }
    }

    fn pods(&mut self, state: &mut State, lines: &[Cells]) {
        let selected = state.place(lines);
        // The selected line stays in sight.
        state.top = state.top.min(selected).max((selected + 1).saturating_sub(state.height));
        state.top = state.top.min(lines.len().saturating_sub(state.height));
        self.hidden.lines = lines.len().saturating_sub(state.top + state.height);
        let table = Arranged::of(lines, self.area.width, state.left);
        self.hidden.columns = table.hidden;
        let draw = |canvas: &mut Self, y: u16, texts: &[&str], style: Style| {
            let mut x = 0;
            for (at, width) in &table.columns {
                canvas.text(x, y, *width, table.cell(*at, texts[*at]), style);
                x = x.saturating_add(*width).saturating_add(GAP);
            }
        };
        draw(
            self,
            2,
            &COLUMNS.map(|column| column.heading),
            Style::new().add_modifier(Modifier::BOLD),
        );
        let shown = lines.iter().enumerate().skip(state.top).take(state.height);
        for (y, (at, line)) in (3..).zip(shown) {
            let mut style = match (line.is_notable, line.is_pod) {
                (true, _) => Style::new().fg(Color::Yellow),
                (false, true) => Style::new().fg(Color::Cyan),
                (false, false) => Style::new(),
            };
            if at == selected {
                style = style.add_modifier(Modifier::REVERSED);
                self.line(y, &" ".repeat(self.area.width.into()), style);
            }
            let texts: Vec<&str> = line.texts.iter().map(String::as_str).collect();
            draw(self, y, &texts, style);
        }
        if lines.is_empty() {
            let text = if state.filter.is_empty() { "no pods" } else { "no pod matches" };
            self.line(3, text, Style::new());
        }
    }

    fn page(&mut self, page: &Page) {
        self.line(2, &plain(page.title.clone()), Style::new().add_modifier(Modifier::BOLD));
        let room = usize::from(self.area.height - 4);
        self.hidden.lines = page.lines.len().saturating_sub(page.top + room);
        for (y, line) in (3..).zip(page.lines.iter().skip(page.top).take(room)) {
            self.line(y, &plain(line.clone()), Style::new());
        }
    }

    /// Draws the last line: a message, the filter, or the keys.
    fn foot(&mut self, state: &State, frame: Option<&Frame>) {
        let y = self.area.height - 1;
        let notes = frame.map_or(0, |frame| frame.notes.len());
        let mut parts = Vec::new();
        let Hidden { lines, columns } = self.hidden;
        if lines > 0 {
            parts.push(format!("{} below (Down)", counted(lines, "more line")));
        }
        if columns > 0 {
            parts.push(format!("{} (Right)", counted(columns, "more column")));
        }
        if state.is_typing {
            parts.push(format!("filter: {}_", state.filter));
        } else if let Some(message) = &state.message {
            parts.push(message.clone());
        } else if state.page.is_some() {
            parts.push("Esc closes the page".to_owned());
        } else {
            if state.is_paused {
                parts.push("paused".to_owned());
            }
            if !state.filter.is_empty() {
                parts.push(format!("filter: {}", state.filter));
            }
            if state.panel == Panel::Pods {
                parts.push(format!("sort: {}", state.order.heading()));
            }
            if notes > 0 {
                parts.push(format!("{notes} notes (i)"));
            }
            parts.push("? keys  q quit  Enter explain  e derive  / filter  w snapshot".to_owned());
        }
        self.line(y, &plain(parts.join("  ")), Style::new().add_modifier(Modifier::DIM));
    }
}

fn width(text: &str) -> u16 {
    u16::try_from(text.width()).unwrap_or(u16::MAX)
}

/// The columns of the table that a width has room for.
struct Arranged {
    /// Each with its width; the name is the first.
    columns: Vec<(usize, u16)>,
    /// The number of columns beyond the right edge.
    hidden: usize,
    /// Without bars, which repeat the numbers next to them.
    is_narrow: bool,
}

impl Arranged {
    /// Arranges the table. `left`: the number of columns that are scrolled out.
    fn of(lines: &[Cells], width: u16, left: usize) -> Self {
        let narrow: Vec<u16> = (0..COLUMNS.len()).map(|at| column_width(lines, at, true)).collect();
        let wide: Vec<u16> = (0..COLUMNS.len()).map(|at| column_width(lines, at, false)).collect();
        let needed = |widths: &[u16]| {
            let important = widths.iter().take(IMPORTANT).skip(1).map(|it| it + GAP);
            important.fold(0_u16, u16::saturating_add)
        };
        let is_narrow = wide[0].saturating_add(needed(&wide)) > width;
        let widths = if is_narrow { narrow } else { wide };
        // The name takes what the important columns leave.
        let rest = width.saturating_sub(needed(&widths)).max(width.min(LEAST_NAME));
        let name = widths[0].min(if left == 0 { rest } else { width / 2 });
        let mut columns = vec![(0, name)];
        let mut x = name + GAP;
        let first = 1 + left.min(COLUMNS.len() - 2);
        for (at, &own) in widths.iter().enumerate().skip(first) {
            // A number that is cut would be another number.
            if columns.len() > 1 && x.saturating_add(own) > width {
                break;
            }
            columns.push((at, own));
            x = x.saturating_add(own).saturating_add(GAP);
        }
        let hidden = COLUMNS.len() - first + 1 - columns.len();
        Self { columns, hidden, is_narrow }
    }

    fn cell<'t>(&self, at: usize, text: &'t str) -> &'t str {
        if self.is_narrow { COLUMNS[at].without_bar(text) } else { text }
    }
}

fn column_width(lines: &[Cells], at: usize, is_narrow: bool) -> u16 {
    let text = |line: &Cells| match is_narrow {
        true => width(COLUMNS[at].without_bar(&line.texts[at])),
        false => width(&line.texts[at]),
    };
    lines.iter().map(text).max().unwrap_or(0).max(width(COLUMNS[at].heading))
}
