//! The ends of pods in a kubelet's log.
//!
//! Lines of klog, as `journalctl -u kubelet` writes them in any of its forms that keep the message, or of the
//! format `json`. The texts are those of Kubernetes 1.36 (`pkg/kubelet/preemption/preemption.go`,
//! `pkg/kubelet/eviction`, `pkg/kubelet/nodeshutdown`, `pkg/kubelet/allocation`); that a pod makes room for
//! another is logged from verbosity 2 on, in older kubelets from 3 and without the other's name.

use kq_k8s::go_text::unquote;
use serde_json::Value;

/// The contents of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeletLog {
    /// The lines about the end of pods.
    pub lines: Vec<LogLine>,
    /// The number of lines of the log.
    pub read: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The time as it stands there: klog writes neither the year nor the zone.
    pub stamp: String,
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    /// Its UID; empty: not in the line.
    pub uid: String,
    pub says: LogEntry,
}

/// The event of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEntry {
    /// It is killed to make room.
    Preempting {
        /// The preemptor; `None`: an older kubelet, which does not log it.
        requester: Option<String>,
        /// The resources that this pod lacks, in the kubelet's words.
        missing: String,
    },
    /// It is gone, and there is room.
    Preempted,
    /// It could not be killed.
    NotPreempted,
    Evicted,
    /// It is stopped, as the node shuts down.
    Shutdown,
    /// The pod or a resize of it is rejected: kubelets up to 1.36 do not log which.
    Denied {
        reason: String,
        message: String,
        /// The line shows that the pod itself is rejected.
        is_addition: bool,
    },
    /// An event was written.
    Event {
        reason: String,
        message: String,
    },
}

/// The texts that identify a line.
const MESSAGES: [&str; 7] = [
    "Preempting pod to free up resources",
    "Pod evicted successfully",
    "Failed to evict pod",
    "Eviction manager: pod is evicted successfully",
    "Shutdown manager killing pod with gracePeriod",
    "Pod admission denied",
    "Event occurred",
];

/// Events about the end of a pod or of its containers.
const REASONS: [&str; 4] = ["Preempting", "Evicted", "ExceededGracePeriod", "Killing"];

/// Why a file is not a kubelet's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KubeletLogError {
    #[error("it is empty, expected the log of a kubelet")]
    Empty,
    /// No line looks like one of a kubelet.
    #[error("no line is from a kubelet's log")]
    NoKubelet,
}

impl KubeletLog {
    /// Reads a log. Lines that are not about the end of pods, or not text, are skipped.
    /// Fails for a file that is not a kubelet's log: else any file would result in "nothing was found".
    pub fn read(bytes: &[u8]) -> Result<Self, KubeletLogError> {
        let mut log = Self::default();
        let mut is_log = false;
        for line in bytes.split(|byte| *byte == b'\n') {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            log.read += 1;
            let line = String::from_utf8_lossy(line);
            let line = Fields::of(&line);
            is_log |= line.is_some();
            log.lines.extend(line.and_then(|line| line.entry()));
        }
        match (log.read, is_log) {
            (0, _) => Err(KubeletLogError::Empty),
            (_, false) => Err(KubeletLogError::NoKubelet),
            _ => Ok(log),
        }
    }
}

/// The parts of a line.
enum Fields<'l> {
    /// `I1120 11:25:45.429928   14287 preemption.go:104] "MESSAGE" KEY="VALUE" ...`
    Klog { stamp: &'l str, message: &'l str, pairs: &'l str },
    /// `{"ts":1763637945429.9,"msg":"MESSAGE","KEY":...}`
    Json { object: Value },
}

impl<'l> Fields<'l> {
    /// Parses a line; `None`: not a log line.
    fn of(line: &'l str) -> Option<Self> {
        // The end of a line's head is searched once: else each of many starts would search to the end.
        let head = line.rfind("] ").unwrap_or_default();
        let start = line.char_indices().map(|(at, _)| at).take_while(|at| *at < head);
        let mut starts = start.filter(|at| *at == 0 || line[..*at].ends_with([' ', ':', '\t']));
        let klog = starts.find_map(|at| klog(&line[at..]));
        if let Some((stamp, text)) = klog {
            let (message, pairs) = match text.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => (text, ""),
            };
            return Some(Self::Klog { stamp, message, pairs });
        }
        let object: Value = serde_json::from_str(line.get(line.find("{\"ts\":")?..)?).ok()?;
        object.get("msg")?.as_str()?;
        Some(Self::Json { object })
    }

    fn message(&self) -> &str {
        match self {
            Self::Klog { message, .. } => message,
            Self::Json { object } => object.get("msg").and_then(Value::as_str).unwrap_or_default(),
        }
    }

    fn value(&self, key: &str) -> Option<String> {
        match self {
            Self::Klog { pairs, .. } => {
                let (_, value) = pairs.split_once(&format!(" {key}=\""))?;
                Some(unquote(value).0)
            }
            Self::Json { object } => match object.get(key)? {
                Value::String(text) => Some(text.clone()),
                Value::Object(named) => {
                    let part = |key| named.get(key).and_then(Value::as_str);
                    let name = part("name")?;
                    Some(match part("namespace") {
                        Some(namespace) => format!("{namespace}/{name}"),
                        None => name.to_owned(),
                    })
                }
                other => Some(other.to_string()),
            },
        }
    }

    fn stamp(&self) -> String {
        match self {
            Self::Klog { stamp, .. } => (*stamp).to_owned(),
            Self::Json { object } => object.get("ts").map(Value::to_string).unwrap_or_default(),
        }
    }

    /// Returns the event of the line, if it is about the end of a pod.
    fn entry(&self) -> Option<LogLine> {
        let message = self.message();
        if !MESSAGES.contains(&message) {
            return None;
        }
        let text = |key| self.value(key).unwrap_or_default();
        let says = match message {
            "Preempting pod to free up resources" => LogEntry::Preempting {
                requester: self.value("requestingPod"),
                missing: text("insufficientResources"),
            },
            "Pod evicted successfully" => LogEntry::Preempted,
            "Failed to evict pod" => LogEntry::NotPreempted,
            "Eviction manager: pod is evicted successfully" => LogEntry::Evicted,
            "Shutdown manager killing pod with gracePeriod" => LogEntry::Shutdown,
            "Pod admission denied" => {
                let operation = self.value("operation");
                if operation.as_deref() == Some("resize") {
                    return None;
                }
                let is_addition = operation.is_some();
                LogEntry::Denied { reason: text("reason"), message: text("message"), is_addition }
            }
            _ => {
                let reason = text("reason");
                if text("kind") != "Pod" || !REASONS.contains(&reason.as_str()) {
                    return None;
                }
                LogEntry::Event { reason, message: text("message") }
            }
        };
        let pod = self.value("pod").or_else(|| self.value("object"))?;
        Some(LogLine { stamp: self.stamp(), pod, uid: text("podUID"), says })
    }
}

/// Returns the time and the text of a line of klog: `Lmmdd hh:mm:ss.uuuuuu threadid file:line] text`.
fn klog(line: &str) -> Option<(&str, &str)> {
    let level = line.as_bytes().first()?;
    let stamp = line.get(1..21)?;
    let has_form = stamp
        .bytes()
        .zip("0000 00:00:00.000000".bytes())
        .all(|(byte, form)| if form == b'0' { byte.is_ascii_digit() } else { byte == form });
    if !has_form || !b"IWEF".contains(level) {
        return None;
    }
    let (_, text) = line.split_once("] ")?;
    Some((stamp, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "I1120 11:25:45.429928   14287 preemption.go:104] \"Preempting pod to free up \
         resources\" pod=\"default/a\" podUID=\"u1\" insufficientResources=\"[(res: cpu, q: 50), ]\" \
         requestingPod=\"kube-system/dns\"";

    fn only(text: &str) -> LogLine {
        let mut log = KubeletLog::read(text.as_bytes()).expect("a log");
        assert_eq!(log.lines.len(), 1, "{text}");
        log.lines.remove(0)
    }

    #[test]
    fn lines_are_read_in_every_form_of_the_journal() {
        let expected = LogLine {
            stamp: "1120 11:25:45.429928".to_owned(),
            pod: "default/a".to_owned(),
            uid: "u1".to_owned(),
            says: LogEntry::Preempting {
                requester: Some("kube-system/dns".to_owned()),
                missing: "[(res: cpu, q: 50), ]".to_owned(),
            },
        };
        for before in [
            "",
            "Nov 20 11:25:45 node-a kubelet[14287]: ",
            "2026-11-20T11:25:45+0000 node-a kubelet[14287]: ",
            "2026-11-20T11:25:45.429928123Z stderr F ",
        ] {
            assert_eq!(only(&format!("{before}{LINE}\n")), expected, "{before}");
        }
        let json = r#"{"ts":1763637945429.9,"caller":"preemption/preemption.go:104","msg":"Preempting pod to free up resources","v":2,"pod":{"name":"a","namespace":"default"},"podUID":"u1","insufficientResources":"[(res: cpu, q: 50), ]","requestingPod":{"name":"dns","namespace":"kube-system"}}"#;
        assert_eq!(only(json), LogLine { stamp: "1763637945429.9".to_owned(), ..expected });
    }

    #[test]
    fn each_end_of_a_pod_is_recognized() {
        let line = |text: &str| format!("E1120 11:25:45.429928       1 a.go:1] {text}");
        let text = str::to_owned;
        for (message, expected) in [
            (
                r#""Preempting pod to free up resources" pod="a/b" podUID="u" insufficientResources=[{"x":1}]"#,
                LogEntry::Preempting { requester: None, missing: String::new() },
            ),
            (r#""Pod evicted successfully" pod="a/b""#, LogEntry::Preempted),
            (r#""Failed to evict pod" err="timeout" pod="a/b""#, LogEntry::NotPreempted),
            (r#""Eviction manager: pod is evicted successfully" pod="a/b""#, LogEntry::Evicted),
            (
                r#""Shutdown manager killing pod with gracePeriod" pod="a/b" gracePeriod=30"#,
                LogEntry::Shutdown,
            ),
            (
                r#""Pod admission denied" podUID="u" pod="a/b" reason="OutOfcpu" message="a \"b\"\\\n pod=\"c\"""#,
                LogEntry::Denied {
                    reason: text("OutOfcpu"),
                    message: text("a \"b\"\\\n pod=\"c\""),
                    is_addition: false,
                },
            ),
            (
                r#""Pod admission denied" podUID="u" pod="a/b" reason="OutOfcpu" message="m" operation="add""#,
                LogEntry::Denied {
                    reason: text("OutOfcpu"),
                    message: text("m"),
                    is_addition: true,
                },
            ),
            (
                r#""Event occurred" object="a/b" kind="Pod" type="Warning" reason="Preempting" message="m""#,
                LogEntry::Event { reason: text("Preempting"), message: text("m") },
            ),
        ] {
            let found = only(&line(message));
            assert_eq!((&*found.pod, &found.says), ("a/b", &expected), "{message}");
        }
        for other in [
            r#""Event occurred" object="a/b" kind="Pod" reason="Pulled" message="m""#,
            r#""Event occurred" object="n" kind="Node" reason="Preempting" message="m""#,
            r#""SyncLoop ADD" source="api" pods=["a/b"]"#,
            r#""Pod evicted successfully""#,
            r#""Pod admission denied" pod="a/b" reason="OutOfcpu" message="m" operation="resize""#,
            "Starting kubelet",
        ] {
            assert!(
                KubeletLog::read(line(other).as_bytes()).expect(other).lines.is_empty(),
                "{other}"
            );
        }
    }

    #[test]
    fn a_line_of_many_starts_is_read_in_one_go() {
        // In as many steps as there are pairs of starts, this would not end.
        let starts = "I1120 11:25:45.429928 ".repeat(200_000);
        for line in [starts.clone(), format!("] {starts}")] {
            assert_eq!(KubeletLog::read(line.as_bytes()), Err(KubeletLogError::NoKubelet));
        }
        assert!(KubeletLog::read(format!("{starts}] x").as_bytes()).is_ok());
    }

    #[test]
    fn what_is_no_log_is_refused() {
        for (text, expected) in [
            (&b""[..], KubeletLogError::Empty),
            (b"\n \n", KubeletLogError::Empty),
            (b"-- No entries --\n", KubeletLogError::NoKubelet),
            (b"{\"kind\":\"List\",\"items\":[]}", KubeletLogError::NoKubelet),
            (b"I1120 no time here] x", KubeletLogError::NoKubelet),
            (b"\xff\x00\xfe", KubeletLogError::NoKubelet),
        ] {
            assert_eq!(KubeletLog::read(text), Err(expected));
        }
        let cut = [&LINE.as_bytes()[..90], b"\n\xff\xff\n"].concat();
        assert!(KubeletLog::read(&cut).is_ok(), "a line that is cut off");
    }
}
