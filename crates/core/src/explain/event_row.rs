//! A row of `kubectl describe` or `kubectl get events`, and a field of a status.

/// An event or a status, as a table of kubectl has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventRow<'t> {
    pub reason: Option<&'t str>,
    /// Who wrote it.
    pub from: Option<&'t str>,
    pub message: &'t str,
}

impl<'t> EventRow<'t> {
    /// Takes a row apart; `None`: the text is no row.
    pub fn of(text: &'t str) -> Option<Self> {
        if let Some(message) = text.strip_prefix("Message:") {
            let message = message.trim();
            return (!message.is_empty()).then_some(Self { reason: None, from: None, message });
        }
        let (first, rest) = word(text)?;
        // REASON<TAB>MESSAGE
        if let Some((reason, message)) = text.split_once('\t')
            && is_reason(reason)
            && !is_type(reason)
            && message.trim().starts_with(|c: char| c.is_ascii_uppercase())
        {
            let message = message.trim();
            return Some(Self { reason: Some(reason), from: None, message });
        }
        // TYPE REASON AGE FROM MESSAGE
        if is_type(first) {
            let (reason, rest) = word(rest).filter(|(reason, _)| is_reason(reason))?;
            // TYPE REASON MESSAGE
            let Some(rest) = after_age(rest) else {
                let is_message = rest.starts_with("Error: ");
                return is_message.then_some(Self {
                    reason: Some(reason),
                    from: None,
                    message: rest,
                });
            };
            let (from, mut message) = word(rest)?;
            if from.ends_with(',') {
                // An older kubectl writes the node as well.
                message = word(message)?.1;
            }
            let from = Some(from.trim_end_matches(','));
            return (!message.is_empty()).then_some(Self { reason: Some(reason), from, message });
        }
        // [NAMESPACE] LAST-SEEN TYPE REASON OBJECT MESSAGE
        let rest = after_age(text).or_else(|| after_age(rest))?;
        let (_, rest) = word(rest).filter(|(name, _)| is_type(name))?;
        let (reason, rest) = word(rest).filter(|(reason, _)| is_reason(reason))?;
        let (_, message) = word(rest).filter(|(object, _)| object.contains('/'))?;
        (!message.is_empty()).then_some(Self { reason: Some(reason), from: None, message })
    }
}

/// What kubectl shows of a status without a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusText<'t> {
    /// A word that may be a reason: of a field `Reason: OOMKilled`, or of the column STATUS of a pod.
    Word(&'t str),
    /// A field or headings that tell no reason.
    Other,
}

impl<'t> StatusText<'t> {
    /// Takes a line of `kubectl describe`, of YAML, or of `kubectl get pods` apart; `None`: it is no such line.
    pub fn of(text: &'t str) -> Option<Self> {
        let text = text.trim().trim_start_matches("- ");
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
        if words.len() > 2
            && text.bytes().all(|it| it.is_ascii_uppercase() || b" -()/".contains(&it))
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
        let row = |reason, from, message| Some(EventRow { reason, from, message });
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
            ("Normal operation ended", None),
            ("Warning  Failed", None),
            ("", None),
        ] {
            assert_eq!(EventRow::of(text), expected, "{text}");
        }
    }
}
