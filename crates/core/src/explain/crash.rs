//! A program in Go that crashes: its reason, and the function that crashed.
//!
//! `panic: REASON` or `fatal error: REASON`, then `goroutine 1 [running]:` and the frames, the newest first: each a call, and below it
//! its place.

use super::line::Line;
use super::message::MessageFact;

/// The most lines in which the first frame is looked for.
const MOST_LINES: usize = 60;

/// Packages of Go that crash for others: the frames of `panic` itself, and of what catches it and panics again.
const OF_PANIC: [&str; 6] = [
    "panic(",
    "runtime.",
    "runtime/",
    "k8s.io/apimachinery/pkg/util/runtime.",
    "k8s.io/klog",
    "log.",
];

/// A crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Crash {
    /// The line with the reason, of the kubelet where the frame is.
    pub reason: String,
    pub frame: Option<Frame>,
}

/// A function that a goroutine was in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// `k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoop`
    pub function: String,
    /// `/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go:35`
    pub place: Option<String>,
}

impl Crash {
    /// Takes the lines of a crash apart; `None`: they are none.
    pub fn of(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next()?;
        let own = own_text(first);
        if !begins(&own) {
            return None;
        }
        let mut stack =
            lines.take(MOST_LINES).map(own_text).skip_while(|it| !is_goroutine(it)).skip(1);
        let function = stack.find(|it| is_call(it) && !is_of_panic(it));
        let frame = function.map(|call| Frame {
            function: name_of(&call).to_owned(),
            place: stack.next().as_deref().and_then(place_of).map(str::to_owned),
        });
        let is_kubelets = frame.as_ref().is_some_and(Frame::is_kubelets);
        let is_named = Line::of(first).program.is_some();
        let reason = match is_kubelets && !is_named {
            true => format!("kubelet[0]: {own}"),
            false => first.to_owned(),
        };
        Some(Self { reason, frame })
    }
}

impl Frame {
    /// Returns true for a function that the kubelet alone has.
    fn is_kubelets(&self) -> bool {
        ["k8s.io/kubernetes/pkg/kubelet", "k8s.io/kubernetes/cmd/kubelet"]
            .iter()
            .any(|it| self.function.starts_with(it))
    }

    /// Returns it as a fact.
    pub fn fact(self) -> MessageFact {
        let meaning = match &self.place {
            Some(place) => {
                format!("the first frame of its stack: the function that crashed, at {place}")
            }
            None => "the first frame of its stack: the function that crashed".to_owned(),
        };
        MessageFact { name: "frame".to_owned(), value: self.function, meaning }
    }
}

/// Returns true for the line with the reason of a crash.
pub(super) fn begins(text: &str) -> bool {
    ["panic: ", "fatal error: "].iter().any(|it| text.starts_with(it))
}

/// Returns true for `goroutine 1 [running]:`.
pub(super) fn is_goroutine(text: &str) -> bool {
    text.starts_with("goroutine ") && text.ends_with("]:")
}

/// Returns true for the call of a function: `main.main()`, `a/b.(*C).d(0xc000, {0x1, 0x2})`.
pub(super) fn is_call(text: &str) -> bool {
    text.ends_with(')')
        && text.split_once('(').is_some_and(|(name, _)| name.contains('.') && !name.contains(' '))
}

/// Returns `file.go:35` of `/path/file.go:35 +0x1d`.
pub(super) fn place_of(text: &str) -> Option<&str> {
    let place = text.split_whitespace().next()?;
    let (file, line) = place.rsplit_once(':')?;
    let is_file = file.ends_with(".go") || file.ends_with(".s");
    (is_file && line.parse::<u32>().is_ok()).then_some(place)
}

/// Returns the message of a line, without what journald puts before it.
fn own_text(line: &str) -> String {
    Line::of(line).texts.into_iter().next().unwrap_or_default()
}

fn is_of_panic(call: &str) -> bool {
    OF_PANIC.iter().any(|it| call.starts_with(it))
}

/// Returns the name of a called function, without its arguments: the last bracket that is open.
fn name_of(call: &str) -> &str {
    let (mut depth, mut start) = (0_usize, call.len());
    for (at, byte) in call.bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            start = at;
            break;
        }
    }
    &call[..start]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frame_is_the_function_that_crashed() {
        let own = "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoop(0xc000, {0x1, 0x2})";
        let place = "\t/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go:35 +0x1d";
        for (lines, function, is_kubelets) in [
            (format!("panic: no\n\ngoroutine 1 [running]:\n{own}\n{place}"), Some(29), true),
            (
                format!(
                    "panic: a [recovered]\n\tpanic: a\n\ngoroutine 7 [running]:\npanic({{0x1, 0x2}})\n\t/usr/local/go/src/runtime/\
                     panic.go:1 +0x1\n{own}\n{place}"
                ),
                Some(29),
                true,
            ),
            (
                "panic: no\ngoroutine 1 [running]:\nmain.main()\n\t/a/main.go:3".to_owned(),
                Some(0),
                false,
            ),
            ("panic: no".to_owned(), None, false),
        ] {
            let crash = Crash::of(&lines).expect("it is a crash");
            let found = crash.frame.as_ref().map(|it| it.function.as_str());
            let expected = match function {
                Some(29) => Some("k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoop"),
                Some(_) => Some("main.main"),
                None => None,
            };
            assert_eq!(found, expected, "{lines}");
            assert_eq!(crash.reason.starts_with("kubelet"), is_kubelets, "{lines}");
            let has_place = crash.frame.is_none_or(|it| it.place.is_some());
            assert!(has_place, "{lines}");
        }
        assert_eq!(Crash::of("Failed to start\ngoroutine 1 [running]:"), None);
    }
}
