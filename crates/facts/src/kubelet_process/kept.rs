//! What is kept of a command line: not what may be secret.

use super::arguments::{Argument, is_harmless, scan, syntax_error};
use super::flags::is_kept;
use super::known::known_flag;
use super::values::value_error;
use super::{ArgumentFault, FaultKind, Flag};
use kq_k8s::version::KubeletVersion;

/// The longest name of a flag that is kept.
const LONGEST_NAME: usize = 64;

/// What is kept of a command line.
pub(super) struct KeptLine {
    pub flags: Vec<Flag>,
    pub faults: Vec<ArgumentFault>,
}

/// Where a command line is from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LineOrigin {
    /// From a node.
    Node,
    /// The person who asks has typed it.
    Typed,
}

/// Parses the arguments after the program's name. Odd ones become faults and notes, which never hold a value that may
/// be secret.
pub(super) fn kubelet_flags(
    arguments: &[String],
    origin: LineOrigin,
    notes: &mut Vec<String>,
) -> KeptLine {
    let mut kept = KeptLine { flags: Vec::new(), faults: Vec::new() };
    let scanned = scan(arguments);
    let mut after_unknown = false;
    for argument in scanned {
        let takes_word = std::mem::take(&mut after_unknown);
        let after = kept.flags.len();
        let mut fault = |kind| kept.faults.push(ArgumentFault { after, kind });
        match argument {
            Argument::Flag { name, value, .. } if name == "help" => {
                kept.flags.push(Flag { name, value: Some(value) });
            }
            // Of short flags only a wrong number is of use.
            Argument::Flag { name, value, is_short: true } if !is_wrong(&name, &value) => {}
            Argument::Flag { value, is_short: true, .. } if !is_number_like(&value) => {
                fault(FaultKind::Syntax(None));
            }
            Argument::Flag { name, value, .. } => {
                let value = Some(value).filter(|value| is_kept(&name) || is_wrong(&name, value));
                kept.flags.push(Flag { name, value });
            }
            Argument::Unknown { name, inline } => {
                let name = name.replace('_', "-");
                if is_name(&name) {
                    // Whether it takes a value is not known, so that a word after it may be its value.
                    after_unknown = !inline;
                    kept.flags.push(Flag { name, value: None });
                } else {
                    fault(FaultKind::Syntax(None));
                    notes.push("a flag with an odd name was left out".to_owned());
                }
            }
            Argument::Word(_) if takes_word => {}
            Argument::Word(word) => {
                let is_shown = origin == LineOrigin::Typed || is_harmless(&word);
                fault(FaultKind::Word(is_shown.then_some(word)));
                notes.push("an argument that is not a flag was left out".to_owned());
            }
            other => {
                let shown = match &other {
                    Argument::NeedsValue(_) => true,
                    Argument::Shorthand { letters, .. } => is_harmless(letters),
                    _ => false,
                };
                if let Argument::NeedsValue(flag) = &other {
                    notes.push(format!("{flag} has no value"));
                }
                fault(FaultKind::Syntax(syntax_error(&other).filter(|_| shown)));
            }
        }
    }
    kept
}

/// Returns true for digits and signs.
fn is_number_like(value: &str) -> bool {
    value.len() <= 20 && value.bytes().all(|it| it.is_ascii_digit() || b"+-._".contains(&it))
}

/// Returns true for a value that its flag cannot take, and that is not a secret.
fn is_wrong(name: &str, value: &str) -> bool {
    // Half a header has no value that could be a secret; the rest of such a line may have one.
    let is_half = name == "manifest-url-header" && !value.contains([':', ',']);
    let is_secret = name.contains("url") && !is_half || name.starts_with("storage-driver");
    let known = known_flag(name).filter(|_| !is_secret);
    // The words differ by version, the values do not.
    let version = KubeletVersion::ASSUMED;
    known.is_some_and(|known| value_error(name, known.value_type, value, version).is_some())
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    !name.starts_with('-')
        && name.len() <= LONGEST_NAME
        && name.bytes().all(is_plain)
        && !name.is_empty()
}
