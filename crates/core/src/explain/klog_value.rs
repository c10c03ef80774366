//! Values that klog writes over several lines, each begun by a tab: `err=<`, the text, and ` >`. A journal puts its own
//! words before each of them.

/// No value has more lines.
const MOST_LINES: usize = 100;

/// No line with a value grows beyond this many bytes.
const LONGEST: usize = 64 << 10;

/// A line with a value that has no end yet.
#[derive(Debug)]
pub(super) struct OpenValue {
    /// The line, with the value as a quoted text.
    text: String,
    lines: usize,
    /// Lines have the words of a journal before them.
    has_prefix: bool,
}

impl OpenValue {
    /// Returns the line if it ends with the beginning of such a value.
    pub fn of(line: &str) -> Option<Self> {
        let line = line.trim_end();
        let before = line.strip_suffix('<').or_else(|| line.strip_suffix('\u{2039}'))?;
        before.ends_with('=').then(|| Self {
            text: format!("{before}\""),
            lines: 0,
            has_prefix: before.split_once('"').map_or(before, |it| it.0).contains("]: "),
        })
    }

    /// Adds the next line, and returns the whole if it ends the value.
    pub fn add(&mut self, line: &str) -> Option<String> {
        let line = match line.split_once("]: ").filter(|_| self.has_prefix) {
            Some((_, own)) => own,
            None => line,
        };
        let line = line.trim();
        self.lines += 1;
        if let Some(rest) = line.strip_prefix(['>', '\u{203a}']) {
            self.text.push('"');
            self.text.push_str(rest);
        } else {
            self.text.push_str(if self.lines == 1 { "" } else { " " });
            self.text.push_str(&line.replace('\\', "\\\\").replace('"', "\\\""));
            if self.lines < MOST_LINES && self.text.len() < LONGEST {
                return None;
            }
        }
        Some(std::mem::take(&mut self.text))
    }

    /// Returns what there is of a line whose end is missing.
    pub fn cut(self) -> String {
        self.text
    }
}

/// Returns a text with such values on one line.
pub(super) fn on_one_line(text: &str) -> String {
    let mut lines = Vec::new();
    let mut open: Option<OpenValue> = None;
    for line in text.split('\n') {
        match &mut open {
            Some(value) => {
                if let Some(whole) = value.add(line) {
                    open = None;
                    lines.push(whole);
                }
            }
            None => match OpenValue::of(line) {
                Some(value) => open = Some(value),
                None => lines.push(line.to_owned()),
            },
        }
    }
    lines.extend(open.map(OpenValue::cut));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::on_one_line;

    #[test]
    fn values_of_several_lines_become_quoted_texts() {
        for (text, expected) in [
            (
                "E1] \"a\" err=<\n\trpc \"b\": c\n\td\n > pod=\"x\"",
                "E1] \"a\" err=\"rpc \\\"b\\\": c d\" pod=\"x\"",
            ),
            (
                "h kubelet[1]: E1] \"a\" err=<\nh kubelet[1]:         b\nh kubelet[1]:  >\nnext",
                "h kubelet[1]: E1] \"a\" err=\"b\"\nnext",
            ),
            ("\"a\" output=\u{2039}\nb\n\u{203a}", "\"a\" output=\"b\""),
            ("\"a\" err=<\nb", "\"a\" err=\"b"),
            ("a < b\nc", "a < b\nc"),
        ] {
            assert_eq!(on_one_line(text), expected, "{text}");
        }
    }
}
