//! The live view of a node: frames made of answers, trends over frames, the effect of keys, drawing into a buffer, and
//! the difference between two snapshots of a recording. Pure: the terminal and the node are elsewhere.

mod draw;
mod frame;
mod state;
mod table;
mod trend;

pub use draw::draw;
pub use frame::{Body, Counters, Frame, Panel, Row, Totals};
pub use state::{Action, Key, Page, State};
pub use table::{COLUMNS, Cells, Column, SortKey, cells, plain_lines};
pub use trend::{Sample, Trends};
