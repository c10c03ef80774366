//! Foreign text that is safe to show on a terminal.

/// Returns the text with every control character escaped, so that no name can move the cursor or
/// rewrite a line.
pub fn plain(text: String) -> String {
    if text.chars().any(is_unsafe) {
        text.chars()
            .map(|c| if is_unsafe(c) { c.escape_unicode().to_string() } else { c.to_string() })
            .collect()
    } else {
        text
    }
}

/// Controls, and the marks that turn the direction of writing around.
fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_escaped() {
        for (name, text, expected) in [
            ("plain", "web-1", "web-1"),
            ("wide", "漢字", "漢字"),
            ("escape", "a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("newline", "a\nb", "a\\u{a}b"),
            ("right to left", "a\u{202e}b", "a\\u{202e}b"),
        ] {
            assert_eq!(plain(text.to_owned()), expected, "{name}");
        }
    }
}
