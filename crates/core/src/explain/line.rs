//! A line as people paste it, without what journald, klog, JSON, a terminal and a shell put around the message.

use super::event_row::EventRow;
use super::template::single_spaced;
use kq_k8s::go_text::unquote;
use serde_json::Value;
use std::borrow::Cow;

/// The most bytes of a line that are looked at.
pub(super) const LONGEST_LINE: usize = 16 * 1024;

/// A line, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Texts that may have a message, the outermost first.
    pub texts: Vec<String>,
    /// Keys with values of a structured log line.
    pub pairs: Vec<(String, String)>,
    /// The program that the line names.
    pub program: Option<String>,
    /// The time as it stands there.
    pub stamp: Option<String>,
    /// `I`, `W`, `E` or `F` of klog.
    pub level: Option<char>,
    pub process: Option<String>,
    /// `kubelet.go:1423`
    pub place: Option<String>,
    /// The reason of an event or of a status.
    pub reason: Option<String>,
    /// It is a node's condition `Ready` that is False or Unknown.
    pub is_unready: bool,
    /// The line may end before its message does: a quote is open, or nothing says where the message ends.
    pub is_open: bool,
    /// It is about a resize of a pod that the kubelet did not take.
    pub resize: Option<Resize>,
    /// The words of the line name the program, which is not the kubelet.
    pub is_of_writer: bool,
}

/// A resize that the kubelet did not take: `manager.SetPodResizePendingCondition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resize {
    Deferred,
    Infeasible,
}

impl Resize {
    /// Returns that of a text; `None`: it is about something else.
    fn of(text: &str) -> Option<Self> {
        let has = |words: &str| text.contains(words);
        let is_pending = has("PodResizePending") || has("Resize cannot be accommodated");
        let reason = |word: &str| {
            has(&format!("Resize{word}"))
                || has(&format!("Pod resize {word}"))
                || has(&format!("reason: {word}"))
                || is_pending && has(word)
        };
        match reason("Infeasible") {
            true => Some(Self::Infeasible),
            false => (reason("Deferred") || is_pending).then_some(Self::Deferred),
        }
    }

    /// Returns what follows and what an operator does.
    pub fn advice(self) -> [&'static str; 2] {
        match self {
            Self::Deferred => [
                "The pod runs on with what it has; the kubelet tries the resize again when another pod ends or shrinks, and every 3 minutes.",
                "Wait, or make room: end or shrink other pods of the node, or ask for less.",
            ],
            Self::Infeasible => [
                "The pod runs on with what it has; the kubelet never takes this resize while the node is as it is.",
                "Ask for less, or move the pod to a larger node.",
            ],
        }
    }

    /// Returns the summary of a refused resize.
    pub fn summary(self, of_pod: &str) -> String {
        let state = match self {
            Self::Deferred => "The resize has to wait (Deferred)",
            Self::Infeasible => "The resize is refused (Infeasible)",
        };
        let (first, rest) = of_pod.split_at(of_pod.chars().next().map_or(0, char::len_utf8));
        format!("{state}: {}{rest}", first.to_lowercase())
    }
}

/// Programs that name themselves at the beginning of a line, or in the column FROM of events.
pub(super) const PROGRAMS: &[&str] = &[
    "kubelet",
    "containerd",
    "dockerd",
    "crio",
    "cri-o",
    "cri-dockerd",
    "runc",
    "crun",
    "kernel",
    "systemd",
    "conmon",
    "kube-scheduler",
    "default-scheduler",
    "kube-controller-manager",
    "kube-apiserver",
    "kube-proxy",
    "etcd",
    "kubectl",
    "taint-eviction-controller",
    "node-controller",
    "attachdetach-controller",
    "persistentvolume-controller",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "cronjob-controller",
    "endpoint-controller",
    "horizontal-pod-autoscaler",
    "cluster-autoscaler",
    "service-controller",
    "karpenter",
    "kubeadm",
    "systemd-logind",
    "systemd-oomd",
    "calico",
    "flanneld",
    "cilium-agent",
    "NetworkManager",
    "dockershim",
    "cloud-node-controller",
    "node-problem-detector",
    "cadvisor",
];

/// What stands in place of a part that is left out.
pub(super) const GAP: char = '\u{2026}';

/// A program that does not name itself.
pub(super) const LOGRUS: &str = "a program that logs with logrus (containerd, dockerd, podman)";

/// Programs for one command that have the client of containerd.
pub(super) const CONTAINERD_CLIENT: &str = "nerdctl or ctr";

/// Keys whose values may be messages.
const MESSAGE_KEYS: [&str; 11] = [
    "err",
    "error",
    "message",
    "msg",
    "reason",
    "output",
    "event",
    "containerMessage",
    "lastErr",
    "warning",
    "condition",
];

impl Line {
    /// Takes a line apart.
    pub fn of(text: &str) -> Self {
        Self { resize: Resize::of(text), ..Self::parts(text) }
    }

    fn parts(text: &str) -> Self {
        let text = straight_quotes(&without_escapes(text));
        let text = text.trim().trim_start_matches(['>', '|', '`']).trim_end_matches('`').trim();
        let text = text.strip_prefix("**").and_then(|it| it.strip_suffix("**")).unwrap_or(text);
        let text = until_gap(text);
        let text = &*text;
        let mut line = Self::default();
        if text.starts_with(['{', '[']) && line.json(text) {
            return line.done();
        }
        // A host or a program may stand before an object.
        if let Some(at) = text.find(": {\"").filter(|at| *at < 100)
            && let Ok(value) = serde_json::from_str::<Value>(&text[at + 2..])
        {
            line.head(&text[..at + 2]);
            line.value(&value, 0);
            if !line.texts.is_empty() {
                return line.done();
            }
        }
        if let Some(at) = text.find(": {\"ts\":").filter(|at| *at < 100)
            && line.cut_json(&text[at + 2..])
        {
            return line.done();
        }
        let unquoted = yaml_text(text);
        let text = unquoted.as_deref().unwrap_or(text);
        line.head(text);
        // A line of klog within one of logrus, as k0s writes those of the kubelet.
        if let Some((message, rest)) = embedded_klog(text) {
            line.body(&message);
            line.pairs_of(rest);
            return line.done();
        }
        if let Some((program, message)) = logrus(text) {
            line.program = Some(program.to_owned());
            line.body(message);
            return line.done();
        }
        match EventRow::of(text) {
            Some(row) => {
                line.reason = row.reason.map(str::to_owned);
                line.program = row.from.map(str::to_owned).or(line.program);
                line.is_unready = row.is_unready;
                line.body(row.message);
            }
            None => line.body(text),
        }
        line.done()
    }

    /// Returns true if it has a key with an error.
    pub fn has_error(&self) -> bool {
        self.pairs.iter().any(|(key, _)| key == "err" || key == "error")
    }

    /// Returns true if its level is that of a failure, false for information without an error; `None`: it does not say so.
    pub fn is_failure(&self) -> Option<bool> {
        match self.level? {
            'I' if !self.has_error() => Some(false),
            'E' | 'F' => Some(true),
            _ => None,
        }
    }

    /// Reads the objects that kubectl, journalctl and the kubelet write. Returns false for other texts.
    fn json(&mut self, text: &str) -> bool {
        let Ok(value) = serde_json::from_str::<Value>(text) else { return self.cut_json(text) };
        let before = self.texts.len();
        self.value(&value, 0);
        self.texts.len() > before
    }

    fn value(&mut self, value: &Value, depth: usize) {
        let Value::Object(object) = value else {
            if let (Value::Array(items), true) = (value, depth < 6) {
                items.iter().for_each(|item| self.value(item, depth + 1));
            }
            return;
        };
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        for key in ["SYSLOG_IDENTIFIER", "_COMM", "component", "reportingComponent"] {
            if let (None, Some(name)) = (&self.program, text(key).filter(|name| !name.is_empty())) {
                self.program = Some(name.to_owned());
            }
        }
        if self.reason.is_none() {
            self.reason = text("reason").map(str::to_owned);
        }
        if self.stamp.is_none() {
            let stamp = ["ts", "lastTimestamp", "time", "__REALTIME_TIMESTAMP"];
            self.stamp = stamp.iter().find_map(|key| match object.get(*key)? {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            });
        }
        if self.place.is_none() {
            self.place = text("caller").map(str::to_owned);
        }
        if let Some(pid) = text("_PID").or_else(|| text("SYSLOG_PID")) {
            self.process = Some(pid.to_owned());
        }
        for key in ["MESSAGE", "log", "msg", "message", "note"] {
            if let Some(text) = text(key).filter(|text| !text.is_empty()) {
                self.embedded(text);
            }
        }
        if text("msg").is_some() {
            // Of lines in the kubelet's JSON format, those of information have a verbosity, and errors none. Other formats have
            // a level.
            let is_information = object.get("v").is_some_and(Value::is_number);
            if self.level.is_none() && is_information && !object.contains_key("level") {
                self.level = Some('I');
            }
            for (key, value) in object.iter().filter(|(key, _)| *key != "msg" && *key != "ts") {
                let value = match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                self.pair(key, value);
            }
        }
        if depth < 6 {
            object.values().for_each(|value| self.value(value, depth + 1));
        }
    }

    /// Reads what is left of an object whose end is missing.
    fn cut_json(&mut self, text: &str) -> bool {
        self.is_open = true;
        let before = self.texts.len();
        for key in ["MESSAGE", "msg", "message", "log", "err", "error", "note"] {
            let name = format!("\"{key}\":");
            let Some(at) = text.find(&name) else { continue };
            let value = text[at + name.len()..].trim_start();
            if let Some(quoted) = value.strip_prefix('"') {
                let text = unquote(quoted).0;
                self.embedded(&text);
            }
        }
        for (key, is_program) in
            [("SYSLOG_IDENTIFIER", true), ("component", true), ("caller", false)]
        {
            let name = format!("\"{key}\":\"");
            let Some(at) = text.find(&name) else { continue };
            let value = Some(unquote(&text[at + name.len()..]).0);
            if is_program {
                self.program = value;
            } else if self.place.is_none() {
                self.place = value;
            }
        }
        self.texts.len() > before
    }

    /// Takes a message of an object, which may be a log line itself.
    fn embedded(&mut self, text: &str) {
        let text = without_escapes(text);
        self.head(text.trim());
        self.body(text.trim());
    }

    /// Reads what journald and klog put before a message.
    fn head(&mut self, text: &str) {
        let head = first_bytes(text, 400);
        if self.program.is_none() {
            self.program = program(head);
        }
        if let Some(at) = klog_header(head) {
            self.level = head[at..].chars().next();
            self.stamp = head.get(at + 1..at + 14).map(str::to_owned);
            let mut words = head[at..].split_whitespace().skip(2);
            self.process = words.next().map(str::to_owned);
        } else if self.stamp.is_none() {
            self.stamp = stamp(head);
        }
        if self.place.is_none() {
            self.place = place(head);
        }
    }

    /// Reads the message with its keys.
    fn body(&mut self, text: &str) {
        let text = match self.place.as_ref().and_then(|place| text.find(&format!("{place}] "))) {
            Some(at) => text[at..].split_once("] ").map_or("", |(_, after)| after),
            None => self.without_journal(without_klog(text)),
        };
        if let Some(quoted) = text.strip_prefix('"') {
            let (message, at) = unquoted(quoted);
            self.is_open |= at == quoted.len() && !quoted.ends_with('"');
            let rest = &quoted[at..];
            let is_structured = rest.trim_start().is_empty() || key_at(rest.trim_start()).is_some();
            if is_structured && !message.trim().is_empty() {
                self.texts.push(message);
                self.pairs_of(rest);
                return;
            }
        }
        if let Some(at) = first_key(text) {
            let message = text[..at].trim();
            if !message.is_empty() {
                self.texts.push(message.to_owned());
            }
            self.pairs_of(&text[at..]);
            return;
        }
        self.is_open = true;
        self.texts.push(text.to_owned());
    }

    /// Returns the text after the time, the host and the program that a journal puts before it.
    fn without_journal<'t>(&self, text: &'t str) -> &'t str {
        let Some(name) = self.program.as_deref() else { return text };
        let Some((before, after)) = first_bytes(text, 400).split_once("]: ") else { return text };
        let own = before
            .rsplit_once('[')
            .filter(|(_, pid)| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()));
        let is_program =
            own.is_some_and(|(own, _)| last_word(own).trim_matches(['(', ')']) == name);
        let is_known = self.stamp.is_some() || PROGRAMS.contains(&name);
        match is_program && is_known && !after.trim().is_empty() {
            true => &text[before.len() + 3..],
            false => text,
        }
    }

    /// Reads ` key="value" other=value`.
    fn pairs_of(&mut self, text: &str) {
        let mut rest = text.trim_start();
        while let Some((key, value)) = key_at(rest) {
            let (value, after) = match value.strip_prefix('"') {
                Some(quoted) => {
                    let (text, at) = unquoted(quoted);
                    self.is_open |= at == quoted.len() && !quoted.ends_with('"');
                    (text, &quoted[at..])
                }
                None => {
                    let end = unquoted_end(value);
                    (value[..end].to_owned(), &value[end..])
                }
            };
            self.pair(key, value);
            // What is not a key belongs to no value: look for the next one.
            rest = after.trim_start();
            while !rest.is_empty() && key_at(rest).is_none() {
                rest = rest.find(char::is_whitespace).map_or("", |at| rest[at..].trim_start());
            }
        }
    }

    fn pair(&mut self, key: &str, value: String) {
        // What the kubelet could not write, such as an event, is no message: `event="&Event{...}"`.
        let is_object = value.starts_with('&');
        let is_message = MESSAGE_KEYS.contains(&key) && value.contains(' ') && !is_object;
        if is_message || key == "err" || key == "error" {
            self.texts.push(value.clone());
        }
        // A structure: klog writes a condition as JSON.
        if value.starts_with('{')
            && let Ok(Value::Object(fields)) = serde_json::from_str(&value)
            && let Some(Value::String(message)) = fields.get("message")
        {
            self.texts.push(message.clone());
        }
        if key == "reason" && self.reason.is_none() && !value.contains(' ') {
            self.reason = Some(value.clone());
        }
        self.pairs.push((key.to_owned(), value));
    }

    /// Brings the texts to the form of templates.
    fn done(mut self) -> Self {
        // The form of logrus, in which containerd, dockerd and podman write; some name themselves.
        let has = |key: &str| self.pairs.iter().any(|(name, _)| name == key);
        let is_msg =
            |text: &String| self.pairs.iter().any(|(name, it)| name == "msg" && it == text);
        let is_whole = self.texts.first().is_none_or(is_msg);
        if self.program.is_none() && has("level") && has("msg") && is_whole {
            self.program = Some(LOGRUS.to_owned());
        }
        for text in &mut self.texts {
            *text = single_spaced(&plain_quotes(text)).trim().to_owned();
        }
        self.texts.retain(|text| !text.is_empty());
        self
    }
}

/// Returns a line of a log up to where a pager or `systemctl status` left a part of it out, with the sign `…` for what is missing:
/// a pager ends a long line with `>`, and leaves a quote open.
fn until_gap(text: &str) -> Cow<'_, str> {
    let head = first_bytes(text, 400);
    if klog_header(head).is_none() && program(head).is_none() {
        return Cow::Borrowed(text);
    }
    if let Some(before) = text.strip_suffix('>')
        && is_quote_open(before)
    {
        return Cow::Owned(format!("{before}{GAP}"));
    }
    let is_within = |at: usize, length: usize| {
        let before = text[..at].ends_with(|c: char| c.is_alphanumeric());
        before && text[at + length..].starts_with(|c: char| c.is_alphanumeric())
    };
    let dots = text.match_indices("...").find(|(at, dots)| is_within(*at, dots.len()));
    let sign = text.find(GAP).filter(|at| !text[at + GAP.len_utf8()..].trim().is_empty());
    match dots.map(|(at, _)| at).into_iter().chain(sign).min() {
        Some(at) => Cow::Owned(format!("{}{GAP}", &text[..at])),
        None => Cow::Borrowed(text),
    }
}

/// Returns true if a text ends within quotes.
pub(super) fn is_quote_open(text: &str) -> bool {
    let (mut is_open, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_open = !is_open,
            _ => {}
        }
    }
    is_open
}

/// Returns a text with the quotes of a keyboard: web pages and chats have others.
fn straight_quotes(text: &str) -> String {
    text.replace(['\u{2018}', '\u{2019}'], "'").replace(['\u{201c}', '\u{201d}'], "\"")
}

/// Returns the text of a field `message: '...'` as kubectl writes it in YAML: an apostrophe within is doubled, and a long
/// text has several lines.
fn yaml_text(text: &str) -> Option<String> {
    let (key, value) = match text.split_once(" message: '") {
        Some((before, value)) if is_yaml(before) => ("message", value),
        _ => text.split_once(": '")?,
    };
    let is_key = matches!(key.trim_start_matches("- "), "message" | "reason" | "lastError");
    if !is_key {
        return None;
    }
    let value = value.replace("''", "\u{0}");
    let value = value.split('\'').next()?;
    Some(single_spaced(&value.replace('\u{0}', "'")))
}

/// Returns true for the keys of a condition that stand before its message: `lastTransitionTime: "2026-11-29T02:11:12Z"`.
fn is_yaml(text: &str) -> bool {
    let text = text.trim_start_matches(['-', ' ']);
    ["lastTransitionTime:", "lastProbeTime:", "observedGeneration:", "reason:", "status:", "type:"]
        .iter()
        .any(|key| text.starts_with(key))
}

/// Returns the line of klog that a key `msg="..."` has, and the keys after it.
fn embedded_klog(text: &str) -> Option<(String, &str)> {
    let (before, after) = text.split_once(" msg=\"")?;
    let is_logrus = before.contains("level=") && klog_header(first_bytes(before, 400)).is_none();
    klog_header(first_bytes(after, 60)).filter(|at| *at == 0 && is_logrus)?;
    let (message, end) = unquoted(after);
    Some((message, &after[end..]))
}

/// Returns what logrus writes before a message on a terminal, `FATA[0000] `: the text after it, and the program: those that run
/// for one command count seconds.
fn logrus(text: &str) -> Option<(&'static str, &str)> {
    const LEVELS: [&str; 5] = ["FATA[", "ERRO[", "WARN[", "INFO[", "DEBU["];
    let after = LEVELS.iter().find_map(|level| text.strip_prefix(level))?;
    let (time, message) = after.split_once("] ")?;
    let is_seconds = !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit());
    // k3s and others count seconds too, and tell what goes on.
    if is_seconds && text.starts_with("INFO[") {
        return None;
    }
    // Words of containerd's client, which crictl does not have.
    const OF_CLIENT: [&str; 4] = [
        "failed to copy: ",
        "failed to resolve reference ",
        "failed to do request: ",
        "failed to extract layer ",
    ];
    let program = match is_seconds {
        true if OF_CLIENT.iter().any(|words| message.starts_with(words)) => CONTAINERD_CLIENT,
        true if message.contains("device plugin") => "device plugin",
        true => "crictl",
        false => "containerd",
    };
    Some((program, message))
}

/// Returns the text of a quoted value after its first quote, and where it ends.
fn unquoted(text: &str) -> (String, usize) {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return (unquote(&text[..=at]).0, at + 1),
            _ => {}
        }
    }
    // It is cut: what is there counts.
    (unquote(&format!("{}\"", text.trim_end_matches('\\'))).0, text.len())
}

/// Returns the text with the quotes, spaces and signs that are escaped once more, as in a value of a value.
fn plain_quotes(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut all = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        all.push_str(&rest[..at]);
        let run = rest[at..].trim_start_matches('\\');
        let (sign, after) = match run.as_bytes().first() {
            Some(b'"') => ("\"", &run[1..]),
            Some(b'\'') => ("'", &run[1..]),
            Some(b'n' | b't' | b'r') => (" ", &run[1..]),
            Some(b'u') if run.get(1..5) == Some("0022") => ("\"", &run[5..]),
            Some(b'u') if run.get(1..5) == Some("0027") => ("'", &run[5..]),
            Some(b'u') if run.get(1..5).is_some_and(|it| it.eq_ignore_ascii_case("003c")) => {
                ("<", &run[5..])
            }
            Some(b'u') if run.get(1..5).is_some_and(|it| it.eq_ignore_ascii_case("003e")) => {
                (">", &run[5..])
            }
            Some(b'u') if run.get(1..5) == Some("0026") => ("&", &run[5..]),
            Some(b'x') if run.get(1..3) == Some("1b") => (" ", &run[3..]),
            _ => ("\\", run),
        };
        all.push_str(sign);
        rest = after;
    }
    all + rest
}

/// Returns the text without what a terminal obeys.
fn without_escapes(text: &str) -> String {
    let text = first_bytes(text, LONGEST_LINE);
    if !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
        return text.to_owned();
    }
    let mut all = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => {
                    let _ = chars.by_ref().find(|c| ('@'..='~').contains(c));
                }
                Some(']') => {
                    let _ = chars.by_ref().find(|c| matches!(c, '\u{7}' | '\u{1b}'));
                }
                _ => {}
            },
            '\n' | '\t' => all.push(c),
            '\r' => all.push('\n'),
            c if c.is_control() => {}
            c => all.push(c),
        }
    }
    all
}

/// Returns at most so many bytes, and whole characters.
pub(super) fn first_bytes(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the place of `I1120 11:25:45.429928   14287 file.go:104] `.
fn klog_header(text: &str) -> Option<usize> {
    let form = |at: usize| {
        let bytes = text.as_bytes();
        let is = |offset: usize, form: &[u8]| {
            form.iter().enumerate().all(|(nth, sign)| {
                let byte = bytes.get(at + offset + nth);
                byte.is_some_and(
                    |byte| if *sign == b'0' { byte.is_ascii_digit() } else { byte == sign },
                )
            })
        };
        bytes.get(at).is_some_and(|byte| b"IWEF".contains(byte)) && is(1, b"0000 00:00:00.")
    };
    let starts = text.char_indices().map(|(at, _)| at);
    starts
        .into_iter()
        .find(|at| (*at == 0 || !text.as_bytes()[*at - 1].is_ascii_alphanumeric()) && form(*at))
}

/// Returns what follows the last space.
fn last_word(text: &str) -> &str {
    text.rsplit_once(char::is_whitespace).map_or(text, |(_, word)| word)
}

/// Returns `file.go:104` of `file.go:104] `.
fn place(text: &str) -> Option<String> {
    let (before, _) =
        text.split_once("] ").or_else(|| text.strip_suffix(']').map(|it| (it, "")))?;
    let place = last_word(before).trim_start_matches('[');
    let (file, line) = place.split_once(':')?;
    let is_place = file.ends_with(".go") && line.bytes().all(|byte| byte.is_ascii_digit());
    is_place.then(|| place.to_owned())
}

/// Returns the text after a header of klog whose place was not found.
fn without_klog(text: &str) -> &str {
    match klog_header(first_bytes(text, 400)) {
        Some(at) => text[at..].split_once("] ").map_or(&text[at..], |(_, after)| after),
        None => text,
    }
}

/// Returns the program of `Jan 02 03:04:05 host kubelet[123]: ...`, or of the column of an event.
fn program(head: &str) -> Option<String> {
    if let Some(at) = head.find("]: ") {
        let before = &head[..at];
        if let Some((name, pid)) = before.rsplit_once('[')
            && !pid.is_empty()
            && pid.bytes().all(|byte| byte.is_ascii_digit())
        {
            let name = name.rsplit(char::is_whitespace).next().unwrap_or_default();
            let name = name.trim_matches(['(', ')']);
            // The library that lists the steps of an operation numbers them: `Trace[12]: `.
            if !name.is_empty() && name != "Trace" {
                return Some(name.to_owned());
            }
        }
    }
    if let Some(name) = klog_header(head).and_then(|at| container(last_word(head[..at].trim_end())))
    {
        return Some(name.to_owned());
    }
    let mut words = head.split_whitespace().take(12);
    let mut before = "";
    words.find_map(|word| {
        let name = word.trim_start_matches('{').trim_end_matches([',', ':']);
        let ends = word.len() > name.len();
        let is_known = PROGRAMS.contains(&name);
        // The bare word is a column of an event, behind its age; elsewhere it may stand in a sentence.
        let is_event = head.contains("Warning ") || head.contains("Normal ");
        let is_column = is_event
            && (before.ends_with([')', '>'])
                || before.starts_with(|c: char| c.is_ascii_digit())
                    && before.ends_with(['s', 'm', 'h', 'd', 'y']));
        before = word;
        (is_known && (ends || is_column)).then(|| name.to_owned())
    })
}

/// Returns the container of what stands before a line of a container's log: `[pod/web-1/nginx]` of `kubectl logs --prefix`, or
/// the name of a program.
fn container(prefix: &str) -> Option<&str> {
    let of_pod = prefix.strip_prefix("[pod/").and_then(|it| it.strip_suffix(']'));
    let name = match of_pod {
        Some(of_pod) => of_pod.rsplit('/').next(),
        None => Some(prefix).filter(|it| PROGRAMS.contains(it)),
    };
    name.filter(|it| !it.is_empty())
}

/// Returns the time at the beginning of a line of journald or syslog.
fn stamp(head: &str) -> Option<String> {
    let mut words = head.split_whitespace();
    let first = words.next()?;
    let is_iso = first.len() >= 19 && first.as_bytes().get(10) == Some(&b'T');
    if is_iso {
        return Some(first.to_owned());
    }
    let (day, time) = (words.next()?, words.next()?);
    let is_month = first.len() == 3 && first.chars().all(|c| c.is_ascii_alphabetic());
    let is_day = day.len() <= 2 && day.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = time.len() >= 8 && time.as_bytes().get(2) == Some(&b':');
    (is_month && is_day && is_time).then(|| format!("{first} {day} {time}"))
}

/// Returns the key at the beginning, and the rest with its value.
pub(super) fn key_at(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_-./".contains(c)))?;
    let (key, rest) = text.split_at(end);
    let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic()) && !key.starts_with("--");
    let value = rest.strip_prefix('=')?;
    is_key.then_some((key, value))
}

/// Returns the end of a value without quotes: a blank, but for those within brackets.
fn unquoted_end(value: &str) -> usize {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (at, char) in value.char_indices() {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            _ if is_text => {}
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 && char.is_whitespace() => return at,
            _ => {}
        }
    }
    // What is cut ends at the first blank.
    let is_whole = depth == 0 && !is_text;
    value.find(char::is_whitespace).filter(|_| !is_whole).unwrap_or(value.len())
}

/// Returns true if a text is nothing but keys with their values.
fn is_all_keys(text: &str) -> bool {
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let Some((_, value)) = key_at(rest) else { return false };
        rest = match value.strip_prefix('"') {
            Some(quoted) => &quoted[unquoted(quoted).1..],
            None => &value[unquoted_end(value)..],
        }
        .trim_start();
    }
    true
}

/// Returns the place of the first ` key="value"` of a text whose message is not quoted. Nothing but keys follows it: in
/// `plugin type="flannel" failed` it is part of a sentence.
fn first_key(text: &str) -> Option<usize> {
    text.match_indices("=\"").find_map(|(at, _)| {
        let start = at - last_word(&text[..at]).len();
        if text[..start].contains("\"command failed\"") {
            return Some(start);
        }
        let (_, value) = key_at(&text[start..])?;
        let (_, end) = unquoted(value.strip_prefix('"')?);
        is_all_keys(&value[1 + end..]).then_some(start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let text = r#"Jan 02 03:04:05 n1 kubelet[812]: E0424 03:43:38.826373    8825 kubelet.go:1423] "Failed to start ContainerManager" err="a \"b\": c" pod="x/y""#;
        let line = Line::of(text);
        assert_eq!(line.texts, ["Failed to start ContainerManager", "a \"b\": c"]);
        assert_eq!(line.program.as_deref(), Some("kubelet"));
        assert_eq!(line.process.as_deref(), Some("8825"));
        assert_eq!(line.place.as_deref(), Some("kubelet.go:1423"));
        assert_eq!(line.level, Some('E'));
        assert_eq!(line.pairs.len(), 2);
        let line = Line::of(
            r#"{"MESSAGE":"I0928 05:37:59.659033 2865036 a.go:3] \"x y\" a=\"b\"","_COMM":"kubelet"}"#,
        );
        assert_eq!(line.texts, ["x y"]);
        let line = Line::of(r#"{"type":"Warning","message":"Liveness probe fai"#);
        assert_eq!(line.texts, ["Liveness probe fai"]);
        let line = Line::of("\u{1b}[31mThe node\u{1b}[0m had\u{7} it");
        assert_eq!(line.texts, ["The node had it"]);
        let line = Line::of(r#"configured policy \\\"static\\\" differs"#);
        assert_eq!(line.texts, [r#"configured policy "static" differs"#]);
    }
}
