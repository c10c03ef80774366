//! The table of pods: its cells, its order and its filter; and frames as lines, for screen readers and pipes.

use super::frame::{Body, Counters, Frame, Row};
use super::trend::{Trends, sparkline};
use kq_output::table::or_dash;
use kq_output::terminal::{brief, plain};
use kq_output::units;
use kq_output::units::bar;
use std::borrow::Cow;

/// A column of the table of pods.
pub struct Column {
    pub heading: &'static str,
    /// It draws what another column says.
    is_drawn: bool,
    /// Its cells begin with a bar, which says what their number says.
    has_bar: bool,
}

impl Column {
    const fn new(heading: &'static str) -> Self {
        Self { heading, is_drawn: false, has_bar: false }
    }

    /// Returns a cell without its bar.
    pub(super) fn without_bar<'t>(&self, cell: &'t str) -> &'t str {
        match self.has_bar {
            true => cell.trim_start_matches(|c: char| matches!(c, '\u{2588}'..='\u{258f}' | ' ')),
            false => cell,
        }
    }
}

/// The columns of the table of pods; the most important come first.
pub const COLUMNS: [Column; 13] = [
    Column::new("POD"),
    Column::new("CPU"),
    Column { has_bar: true, ..Column::new("OF QUOTA") },
    Column::new("THROTTLED"),
    Column::new("NOW"),
    Column::new("MEMORY"),
    Column { has_bar: true, ..Column::new("OF LIMIT") },
    Column::new("RESTARTS"),
    Column { is_drawn: true, ..Column::new("TREND") },
    Column::new("REQUEST"),
    Column::new("SHARE"),
    Column::new("OOM KILLS"),
    Column::new("PRESSURE"),
];

/// The number of columns that a terminal of 80 columns has room for, next to a short name.
pub(super) const IMPORTANT: usize = 8;

/// The width of a bar, in columns.
const BAR: usize = 6;

/// The number of samples in a trend.
const TREND: usize = 8;

/// The order of the pods; their containers stay below them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortKey {
    /// By name, as `kq cgroup show` has them.
    #[default]
    Name,
    /// Highest usage of CPU first.
    Cpu,
    /// Highest usage of memory first.
    Memory,
    /// Nearest to the limit of memory first.
    Limit,
    /// Most throttled first.
    Throttled,
    /// Most restarts first.
    Restarts,
}

impl SortKey {
    /// Returns the next order.
    pub fn next(self) -> Self {
        match self {
            Self::Name => Self::Cpu,
            Self::Cpu => Self::Memory,
            Self::Memory => Self::Limit,
            Self::Limit => Self::Throttled,
            Self::Throttled => Self::Restarts,
            Self::Restarts => Self::Name,
        }
    }

    /// Returns the heading of the column that decides.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Name => "POD",
            Self::Cpu => "CPU",
            Self::Memory => "MEMORY",
            Self::Limit => "OF LIMIT",
            Self::Throttled => "THROTTLED",
            Self::Restarts => "RESTARTS",
        }
    }

    /// Returns the value of a row; the largest comes first, unknown last.
    fn value(self, row: &Row, trends: &Trends) -> Option<u64> {
        let counters = &row.counters;
        match self {
            Self::Name => None,
            Self::Cpu => trends.last(&row.key).map(|it| it.milli_cpu).or(counters.cpu_usec),
            Self::Memory => counters.memory_bytes,
            Self::Limit => ten_thousandths(counters.memory_bytes, counters.memory_limit),
            Self::Throttled => ten_thousandths(counters.throttled_periods, counters.periods),
            Self::Restarts => row.restarts.and_then(|count| u64::try_from(count).ok()),
        }
    }
}

fn ten_thousandths(part: Option<u64>, whole: Option<u64>) -> Option<u64> {
    let whole = u128::from(whole?);
    let share = (u128::from(part?) * 10_000).checked_div(whole)?;
    u64::try_from(share).ok()
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    /// The path of its cgroup.
    pub key: String,
    /// The pod; `None`: its name is unknown.
    pub pod: Option<String>,
    /// It is the pod itself.
    pub is_pod: bool,
    /// One text for each of [`COLUMNS`], safe for a terminal.
    pub texts: Vec<String>,
    /// It is throttled now, at its limit, or was killed.
    pub is_notable: bool,
}

/// Which lines a table of pods has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Pods alone.
    Pods,
    /// Pods and containers.
    All,
    /// Pods and containers; a pod with one container is one line, with the values of the container.
    Joined,
}

/// Returns the lines of the pods that match a filter, in order.
pub fn cells(
    rows: &[Row],
    trends: &Trends,
    filter: &str,
    order: SortKey,
    lines: Lines,
) -> Vec<Cells> {
    let mut groups: Vec<Vec<Cow<'_, Row>>> = Vec::new();
    for row in rows {
        match groups.last_mut() {
            Some(group) if !row.is_pod => group.push(Cow::Borrowed(row)),
            _ => groups.push(vec![Cow::Borrowed(row)]),
        }
    }
    if lines == Lines::Joined {
        for group in &mut groups {
            if let [pod, container] = group.as_slice() {
                *group = vec![Cow::Owned(joined(pod, container))];
            }
        }
    }
    // A pod stays with all its containers if one of them matches.
    groups.retain(|group| group.iter().any(|row| row.label.contains(filter)));
    if order != SortKey::Name {
        let value = |row: &Row| std::cmp::Reverse(order.value(row, trends));
        for group in &mut groups {
            group[1..].sort_by_key(|row| value(row));
        }
        groups.sort_by_key(|group| value(&group[0]));
    }
    let shown = groups.iter().flatten().filter(|row| lines != Lines::Pods || row.is_pod);
    shown.map(|row| line(row, trends)).collect()
}

/// Returns a pod with the values of its only container, which is what the pod uses but for its sandbox.
fn joined(pod: &Row, container: &Row) -> Row {
    Row {
        label: pod.label.clone(),
        pod: pod.pod.clone(),
        is_pod: true,
        restarts: container.restarts.or(pod.restarts),
        ..container.clone()
    }
}

fn line(row: &Row, trends: &Trends) -> Cells {
    let Counters { periods, throttled_periods, memory_bytes, memory_limit, quota_milli, .. } =
        row.counters;
    let sample = trends.last(&row.key);
    let milli_cpu = sample.map(|sample| sample.milli_cpu);
    let of_quota = milli_cpu.zip(quota_milli).map(|(used, quota)| drawn(used, quota));
    let of_limit = memory_bytes.zip(memory_limit).map(|(used, limit)| drawn(used, limit));
    let throttled = throttled_periods.zip(periods).filter(|(_, periods)| *periods > 0);
    let percent = |(part, whole)| units::percent(part, whole);
    let now = sample.and_then(|sample| sample.throttled);
    let trend = trends.cpu(&row.key, TREND);
    let label = brief(&plain(row.label.clone())).into_owned();
    let texts = vec![
        if row.is_pod { label } else { format!("  {label}") },
        or_dash(milli_cpu.map(|milli| format!("{milli}m"))),
        or_dash(of_quota),
        or_dash(throttled.and_then(percent)),
        or_dash(now.and_then(percent)),
        or_dash(memory_bytes.map(units::bytes)),
        or_dash(of_limit),
        or_dash(row.restarts),
        if trend.is_empty() { "-".to_owned() } else { sparkline(&trend, quota_milli.unwrap_or(0)) },
        or_dash(row.request_milli_cpu.map(|milli| format!("{milli}m"))),
        or_dash(row.share.as_ref()),
        or_dash(row.counters.oom_kills),
        or_dash(row.counters.pressure.as_ref().map(|text| plain(text.clone()))),
    ];
    let is_full = ten_thousandths(memory_bytes, memory_limit).is_some_and(|it| it >= 9_000);
    Cells {
        key: row.key.clone(),
        pod: row.pod.clone(),
        is_pod: row.is_pod,
        texts,
        is_notable: is_full
            || now.is_some_and(|(throttled, _)| throttled > 0)
            || row.counters.oom_kills.is_some_and(|kills| kills > 0),
    }
}

/// Returns a part of a whole as a bar with its percentage, which says the same without the bar.
fn drawn(part: u64, whole: u64) -> String {
    let drawn = bar(part as f64, whole as f64, BAR);
    let blanks = BAR.saturating_sub(drawn.chars().count());
    match units::percent(part, whole) {
        Some(percent) => format!("{drawn}{} {percent:>6}", " ".repeat(blanks)),
        None => "-".to_owned(),
    }
}

/// Returns a frame as lines.
pub fn plain_lines(frame: &Frame, trends: &Trends) -> Vec<String> {
    let mut lines = vec![plain(frame.title(trends).join(", "))];
    match &frame.body {
        Body::Unavailable(reason) => lines.push(format!("unavailable: {}", plain(reason.clone()))),
        Body::Text(text) => lines.extend(text.iter().cloned().map(plain)),
        Body::Pods(rows) => {
            for line in cells(rows, trends, "", SortKey::Name, Lines::All) {
                let kind = if line.is_pod { "pod" } else { "container" };
                let mut text = format!("{kind} {}:", line.texts[0].trim());
                let known = COLUMNS.iter().zip(&line.texts).skip(1);
                let known = known.filter(|(column, cell)| *cell != "-" && !column.is_drawn);
                for (at, (column, cell)) in known.enumerate() {
                    let between = if at == 0 { " " } else { ", " };
                    let cell = column.without_bar(cell);
                    text.push_str(&format!("{between}{} {cell}", column.heading.to_lowercase()));
                }
                lines.push(text);
            }
        }
    }
    lines.extend(frame.notes.iter().map(|note| format!("note: {}", plain(note.clone()))));
    lines
}
