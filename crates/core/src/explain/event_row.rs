//! A row of `kubectl describe` or `kubectl get events`, and a field of a status.

/// An event or a status, as a table of kubectl has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventRow<'t> {
    pub reason: Option<&'t str>,
    /// Who wrote it.
    pub from: Option<&'t str>,
    pub message: &'t str,
    /// It is a node's condition `Ready` that is False or Unknown.
    pub is_unready: bool,
}

impl<'t> EventRow<'t> {
    /// Takes a row apart; `None`: the text is no row.
    pub fn of(text: &'t str) -> Option<Self> {
        if let Some(message) = text.strip_prefix("Message:") {
            let message = message.trim();
            return (!message.is_empty()).then_some(Self::new(None, None, message));
        }
        if let Some(condition) = Condition::of(text) {
            let Condition { kind, reason, message, .. } = condition;
            let is_unready = kind == "Ready" && !condition.is_sound();
            return (!message.is_empty()).then_some(Self {
                reason: Some(reason),
                from: None,
                message,
                is_unready,
            });
        }
        let (first, rest) = word(text)?;
        // REASON<TAB>MESSAGE
        if let Some((reason, message)) = text.split_once('\t')
            && is_reason(reason)
            && !is_type(reason)
            && message.trim().starts_with(|c: char| c.is_ascii_uppercase())
        {
            let message = message.trim();
            return Some(Self::new(Some(reason), None, message));
        }
        // TYPE REASON AGE FROM MESSAGE
        if is_type(first) {
            let (reason, rest) = word(rest).filter(|(reason, _)| is_reason(reason))?;
            // TYPE REASON MESSAGE
            let Some(rest) = after_age(rest) else {
                let is_message = rest.starts_with("Error: ");
                return is_message.then_some(Self::new(Some(reason), None, rest));
            };
            let (from, mut message) = word(rest)?;
            if from.ends_with(',') {
                // An older kubectl writes the node as well.
                message = word(message)?.1;
            }
            let from = Some(from.trim_end_matches(','));
            return (!message.is_empty()).then_some(Self::new(Some(reason), from, message));
        }
        // [NAMESPACE] LAST-SEEN TYPE REASON OBJECT MESSAGE
        let rest = after_age(text).or_else(|| after_age(rest))?;
        let (_, rest) = word(rest).filter(|(name, _)| is_type(name))?;
        let (reason, rest) = word(rest).filter(|(reason, _)| is_reason(reason))?;
        let (_, message) = word(rest).filter(|(object, _)| object.contains('/'))?;
        (!message.is_empty()).then_some(Self::new(Some(reason), None, message))
    }

    fn new(reason: Option<&'t str>, from: Option<&'t str>, message: &'t str) -> Self {
        Self { reason, from, message, is_unready: false }
    }
}

/// A row of the conditions that `kubectl describe node` shows: TYPE STATUS LAST-HEARTBEAT LAST-TRANSITION REASON MESSAGE.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition<'t> {
    kind: &'t str,
    status: &'t str,
    reason: &'t str,
    message: &'t str,
}

impl<'t> Condition<'t> {
    fn of(text: &'t str) -> Option<Self> {
        let (kind, rest) = word(text).filter(|(kind, _)| is_reason(kind))?;
        let (status, rest) = word(rest).filter(|(status, _)| is_condition_status(status))?;
        let rest = after_date(after_date(rest)?)?;
        let (reason, message) = word(rest).filter(|(reason, _)| is_reason(reason))?;
        Some(Self { kind, status, reason, message })
    }

    /// Returns true where a sound node has this status: each condition but `Ready` names a fault.
    fn is_sound(&self) -> bool {
        self.status == if self.kind == "Ready" { "True" } else { "False" }
    }
}

/// What kubectl shows of a status without a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusText<'t> {
    /// A word that may be a reason: of a field `Reason: OOMKilled`, or of the column STATUS of a pod.
    Word(&'t str),
    /// The headings of a table.
    Heading,
    /// A field that has no reason.
    Other,
}

impl<'t> StatusText<'t> {
    /// Takes a line of `kubectl describe`, of YAML, or of `kubectl get pods` apart; `None`: it is no such line.
    pub fn of(text: &'t str) -> Option<Self> {
        let text = text.trim().trim_start_matches("- ");
        if is_heading(text) {
            return Some(Self::Heading);
        }
        if Condition::of(text).is_some_and(|it| it.is_sound()) {
            return Some(Self::Other);
        }
        if let Some((key, value)) = text.split_once(':')
            && is_field(key)
            && (value.is_empty() || value.starts_with(char::is_whitespace))
        {
            let value = value.trim().trim_matches(['"', '\'', ',']);
            let is_reason = matches!(key.trim_matches('"'), "Reason" | "reason" | "Status");
            return Some(match is_reason && !value.is_empty() && !value.contains(' ') {
                true => Self::Word(value),
                false => Self::Other,
            });
        }
        let words: Vec<&str> = text.split_whitespace().take(6).collect();
        // A condition of a pod has no more: TYPE STATUS.
        if let [kind, status] = words[..]
            && is_reason(kind)
            && is_condition_status(status)
        {
            return Some(Self::Other);
        }
        // NAME STATUS ROLES AGE VERSION
        if let [_, status, _, age, version, ..] = words[..]
            && version.starts_with("v1.")
            && after_age(&format!("{age} ")).is_some()
        {
            // A node that is cordoned and not ready has the more telling one first.
            let own = status.strip_prefix("Ready,").unwrap_or(status);
            return Some(Self::Word(own.split(',').next().unwrap_or(own)));
        }
        // [NAMESPACE] NAME READY STATUS RESTARTS AGE
        let ready = words.iter().take(3).position(|word| is_ready(word)).filter(|at| *at > 0)?;
        // An older kubelet wrote this reason as three words.
        if words.get(ready + 1..ready + 4) == Some(&["Topology", "Affinity", "Error"]) {
            return Some(Self::Word("TopologyAffinityError"));
        }
        words.get(ready + 1).map(|word| Self::Word(word))
    }
}

/// Returns true for the name of a field.
fn is_field(key: &str) -> bool {
    let is_sign = |it: u8| it.is_ascii_alphanumeric() || b" -_/\"".contains(&it);
    let words = key.split_whitespace().count();
    (1..4).contains(&words) && key.len() < 40 && key.bytes().all(is_sign)
}

/// The columns of the tables of `kubectl describe`.
const COLUMNS: &[&str] = &[
    "Type",
    "Reason",
    "Age",
    "From",
    "Message",
    "Status",
    "LastProbeTime",
    "LastHeartbeatTime",
    "LastTransitionTime",
    "FirstSeen",
    "LastSeen",
    "Count",
    "SubObjectPath",
    "SubobjectPath",
];

/// Returns true for the headings of a table of kubectl, and for the line below them.
fn is_heading(text: &str) -> bool {
    let is_all = |is: &dyn Fn(&str) -> bool| text.split_whitespace().all(is);
    let is_line = |word: &str| word.len() > 1 && word.bytes().all(|it| it == b'-');
    match text.split_whitespace().take(3).count() {
        0 | 1 => false,
        _ if is_all(&|word| COLUMNS.contains(&word)) || is_all(&is_line) => true,
        2 => false,
        _ => text.bytes().all(|it| it.is_ascii_uppercase() || b" -()/".contains(&it)),
    }
}

fn is_condition_status(word: &str) -> bool {
    matches!(word, "True" | "False" | "Unknown")
}

/// Returns the text after `Sun, 29 Nov 2026 19:40:00 +0000`.
fn after_date(text: &str) -> Option<&str> {
    let (day, mut rest) = word(text)?;
    let is_day = day.len() == 4 && day.ends_with(',');
    let mut time = "";
    for _ in 0..4 {
        (time, rest) = word(rest)?;
    }
    let (zone, rest) = word(rest)?;
    let is_date = is_day && time.as_bytes().get(2) == Some(&b':') && zone.starts_with(['+', '-']);
    is_date.then_some(rest)
}

/// Returns true for `1/2`.
fn is_ready(word: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
    word.split_once('/').is_some_and(|(ready, all)| is_number(ready) && is_number(all))
}

/// Returns the first word, and the text after it.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| (&text[..end], text[end..].trim_start()))
}

fn is_type(word: &str) -> bool {
    matches!(word, "Normal" | "Warning")
}

/// Reasons are in camel case.
fn is_reason(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Returns the text after `3m7s (x28 over 38h)` or `<unknown>`.
fn after_age(text: &str) -> Option<&str> {
    let (age, rest) = word(text)?;
    let is_age = age.starts_with(|c: char| c.is_ascii_digit())
        && age.ends_with(['s', 'm', 'h', 'd', 'y'])
        && age.bytes().all(|b| b.is_ascii_digit() || b"smhdy.".contains(&b));
    if !is_age && age != "<unknown>" && age != "<invalid>" {
        return None;
    }
    match rest.starts_with("(x") {
        true => rest.split_once(')').map(|(_, rest)| rest.trim_start()),
        false => Some(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_apart() {
        let row = |reason, from, message| Some(EventRow::new(reason, from, message));
        for (text, expected) in [
            (
                "Warning  Failed     3m (x4 over 5m)   kubelet  Error: ErrImagePull",
                row(Some("Failed"), Some("kubelet"), "Error: ErrImagePull"),
            ),
            (
                "Warning FailedMount 16m (x4 over 43m) kubelet, n-02 Unable to attach",
                row(Some("FailedMount"), Some("kubelet"), "Unable to attach"),
            ),
            (
                "Normal Pulled <unknown> kubelet it is",
                row(Some("Pulled"), Some("kubelet"), "it is"),
            ),
            (
                "shop  3m7s  Warning  BackOff  pod/web-0  Back-off restarting",
                row(Some("BackOff"), None, "Back-off restarting"),
            ),
            ("3m7s Warning BackOff pod/web-0 Back-off", row(Some("BackOff"), None, "Back-off")),
            ("Message:      Pod was rejected: x", row(None, None, "Pod was rejected: x")),
            ("Warning: MemoryQoS feature only works with cgroups v2", None),
            (
                "Warning  Failed  Error: ErrImagePull",
                row(Some("Failed"), None, "Error: ErrImagePull"),
            ),
            ("Failed\t\tError: ErrImagePull", row(Some("Failed"), None, "Error: ErrImagePull")),
            (
                "Ready  False   Sun, 29 Nov 2026 19:40:00 +0000   Sun, 29 Nov 2026 19:00:00 +0000   KubeletNotReady  it is",
                Some(EventRow {
                    is_unready: true,
                    ..EventRow::new(Some("KubeletNotReady"), None, "it is")
                }),
            ),
            ("Normal operation ended", None),
            ("Warning  Failed", None),
            ("", None),
        ] {
            assert_eq!(EventRow::of(text), expected, "{text}");
        }
    }

    #[test]
    fn headings_and_conditions_of_kubectl_have_no_reason_of_their_own() {
        let dates = "Sun, 29 Nov 2026 19:40:00 +0000   Sun, 29 Nov 2026 19:00:00 +0000";
        for (text, expected) in [
            ("  Type     Reason     Age    From     Message", Some(StatusText::Heading)),
            ("  ----     ------     ----   ----     -------", Some(StatusText::Heading)),
            ("  Type             Status", Some(StatusText::Heading)),
            ("  ContainersReady  False", Some(StatusText::Other)),
            ("NAME   READY   STATUS    RESTARTS   AGE", Some(StatusText::Heading)),
            ("Reason:  OOMKilled", Some(StatusText::Word("OOMKilled"))),
            (&format!("Ready  True  {dates}  KubeletReady  it is"), Some(StatusText::Other)),
            (&format!("KernelDeadlock  False  {dates}  None  no"), Some(StatusText::Other)),
            (&format!("Ready  Unknown  {dates}  NodeStatusUnknown  no"), None),
            ("Type of the volume", None),
            ("Message From the runtime", None),
        ] {
            assert_eq!(StatusText::of(text), expected, "{text}");
        }
    }
}
