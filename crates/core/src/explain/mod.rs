//! Messages of the kubelet: which rule spoke, what each number is, what follows.
//!
//! Text goes in, a typed explanation comes out; no I/O and no clock. A line is taken apart (`line.rs`), its secrets are masked
//! (`secrets.rs`), and the table of messages (`messages/`, `table.rs`) is searched for templates that fit it (`template.rs`),
//! from the outermost message to the one that it wraps. A message that fits no template is an error: no explanation is
//! better than a wrong one. A log is folded line by line in bounded memory (`log.rs`).

/// The condition of a resize.
mod condition;
/// The crash of a program.
mod crash;
/// What follows from the numbers of a message.
mod derived;
/// Rows of kubectl's tables of events.
mod event_row;
mod klog_value;
/// A line, taken apart.
mod line;
/// Explanations as lines of text.
pub mod lines;
/// A log, folded.
mod log;
/// The explanation of one message.
mod message;
/// Numbers that no template names.
mod numbers;
mod open_message;
/// Where the sources have a text.
mod place;
/// Secrets in pasted text.
mod secrets;
/// Whose a line is.
mod speaker;
/// The table of messages.
mod table;
/// Templates.
mod template;
/// The component that wrote a line that every client of the API server can write.
mod writer;

pub use log::{LogExplanation, LogFold, LogKind, OtherLines, is_log};
pub use message::{
    ForeignCause, MessageExplanation, MessageFact, MessagePart, UnknownMessage, explain_message,
};
pub use table::Rank;
