//! `kq explain`

use crate::exit::{Code, Failure, tell};
use crate::guess;
use crate::output_format::{OutputFormat, formats};
use crate::progress::waiting;
use crate::source_args::{GATHERING, SourceArgs};
use crate::usage::with_sources;
use crate::write;
use anyhow::{Error, anyhow};
use kq_core::explain::lines::{log_lines, message_lines};
use kq_core::explain::{
    LogExplanation, LogFold, MessageExplanation, UnknownMessage, explain_message, is_log,
};
use kq_core::question::message::{message_needs, put_node};
use kq_facts::input_name::shown;
use kq_facts::overrides::Overrides;
use kq_io::input::each_piece;
use std::io::IsTerminal;

/// Explain a message of the kubelet: which rule spoke, and what its numbers are
///
/// MESSAGE is what the kubelet said, as it was copied: an event, a log line, the
/// message of a pod's status or of a condition, with or without what journald,
/// klog or JSON put around it, cut or wrapped. The answer names the component, its
/// file and function and the versions that have the text, each number with its
/// unit, what follows, what to do, and the command of kq that computes it. A
/// message that is not the kubelet's is attributed to its component. Secrets of
/// the text are masked.
///
/// A log (- reads standard input) is folded: which kinds of messages, how often,
/// first and last, the worst first, then the newest of each kind explained. A log
/// of any size takes constant memory.
///
/// With a snapshot or another source of a node's facts, the numbers are connected
/// to the node: the pods whose requests make up "used", the threshold of an
/// eviction. Without one, no source is queried.
///
/// Exit code 0: explained; each warning and error of a kubelet in a log is known.
/// 3: not one of the messages that kq knows, or the log has such lines.
///
/// Examples:
///
///   kq explain 'Predicate NodeAffinity failed'
///   kq explain 'Kubelet stopped posting node status.'
///   kq explain --snapshot node.json 'The node had condition: [DiskPressure].'
///   journalctl -u kubelet | kq explain -
///   kq explain -f kubelet.log -o json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The message, or several lines of a log; - reads a log from standard input
    #[arg(value_name = "MESSAGE", num_args = 1..)]
    message: Vec<String>,

    /// A file with a log, or with a message; - reads standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "message")]
    filename: Option<String>,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,

    #[command(flatten)]
    sources: SourceArgs,
}

impl Args {
    /// Explains and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let file = match (&self.filename, self.message.as_slice()) {
            (Some(file), _) => Some(file.as_str()),
            (None, [only]) if only == "-" => Some("-"),
            (None, []) if !std::io::stdin().is_terminal() => Some("-"),
            (None, []) => {
                return Err(Failure::usage(anyhow!("no message")).hint("kq explain 'MESSAGE'"));
            }
            _ => None,
        };
        if let Some(file) = file {
            return self.log(file);
        }
        let text = self.message.join(" ");
        if is_log(&text) {
            let mut fold = LogFold::default();
            fold.push(text.as_bytes());
            return self.show_log(&fold.finish());
        }
        let explained = explain_message(&text);
        if explained.is_err() && text.contains('\n') {
            let mut fold = LogFold::default();
            fold.push(text.as_bytes());
            let log = fold.finish();
            if !log.kinds.is_empty() {
                return self.show_log(&log);
            }
        }
        self.message(explained)
    }

    /// Folds a file; one line is a message.
    fn log(&self, file: &str) -> Result<Code, Failure> {
        let mut fold = LogFold::default();
        each_piece(file, |bytes| fold.push(bytes))
            .map_err(|error| Failure::missing(Error::from(error)))?;
        let log = fold.finish();
        if log.lines == 0 && self.filename.is_none() && self.message.is_empty() {
            return Err(Failure::usage(anyhow!("no message"))
                .hint("kq explain 'MESSAGE', or journalctl -u kubelet | kq explain -"));
        }
        if log.lines == 0 {
            let empty = anyhow!("{}: no message: it has no text", shown(file));
            return Err(Failure::missing(empty));
        }
        if let Some(line) = &log.only {
            return self.message(explain_message(line));
        }
        // A terminal may have parted one message.
        let whole = log.whole.as_deref().filter(|_| !log.is_known());
        match whole.map(explain_message) {
            Some(Ok(explained)) => self.message(Ok(explained)),
            _ => self.show_log(&log),
        }
    }

    fn message(
        &self,
        explained: Result<MessageExplanation, UnknownMessage>,
    ) -> Result<Code, Failure> {
        let mut explained = explained.map_err(|unknown| self.unknown(unknown))?;
        let is_node_given = self.sources.snapshot.is_some()
            || self.sources.live
            || self.sources.first_given().is_some();
        if let Some(needs) = message_needs(&explained).filter(|_| is_node_given) {
            let node = waiting(GATHERING, || {
                kq_node::gather_node(&self.sources.spec(), Overrides::default(), needs)
            })?;
            self.sources.show(&node.snapshot);
            put_node(&mut explained, node)?;
        }
        match self.output {
            OutputFormat::Table => write::lines(message_lines(&explained, false))?,
            OutputFormat::Wide => write::lines(message_lines(&explained, true))?,
            OutputFormat::Name => write::lines([explained.speaker.clone()])?,
            output => write::answer(output, &explained)?,
        }
        if self.output.is_for_people() {
            tell(&explained.basis);
        }
        Ok(Code::Answered)
    }

    /// Returns the failure for a text that is not known; one word may be a pod.
    fn unknown(&self, unknown: UnknownMessage) -> Failure {
        let hint = unknown.hint();
        let failure = Failure::missing(Error::from(unknown));
        match self.message.as_slice() {
            // Names of pods have no capitals.
            [word]
                if word.len() > 1
                    && !word.contains(|c: char| c.is_whitespace() || c.is_uppercase()) =>
            {
                match guess::hint(&["explain", word], 1, &[]) {
                    Some(about_pod) => failure.hint(with_sources(about_pod)),
                    None => failure.hint(hint),
                }
            }
            _ => failure.hint(hint),
        }
    }

    fn show_log(&self, log: &LogExplanation) -> Result<Code, Failure> {
        match self.output {
            OutputFormat::Table => write::lines(log_lines(log, false))?,
            OutputFormat::Wide => write::lines(log_lines(log, true))?,
            output => write::answer(output, log)?,
        }
        Ok(Code::Answered.unless(!log.is_known()))
    }
}
