//! Times of a configuration, as Go's `time.Parse` reads and `%v` shows them.

use kq_k8s::go_text::quote;

/// The layout of RFC 3339, element by element.
const LAYOUT: [(&str, Element); 6] = [
    ("2006", Element::Digits(4)),
    ("-01", Element::Digits(2)),
    ("-02", Element::Digits(2)),
    ("T15", Element::Hour),
    (":04", Element::Digits(2)),
    (":05", Element::Digits(2)),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    Digits(usize),
    /// One or two digits.
    Hour,
}

/// Reads a time of RFC 3339; returns it in the form of `2026-01-02 03:04:05 +0000 UTC`, or Go's error.
pub(super) fn parse(text: &str) -> Result<String, String> {
    let error = |rest: &str, element: &str| {
        let layout = quote("2006-01-02T15:04:05Z07:00");
        let (text, rest, element) = (quote(text), quote(rest), quote(element));
        format!("parsing time {text} as {layout}: cannot parse {rest} as {element}")
    };
    let range = |what: &str| format!("parsing time {}: {what} out of range", quote(text));
    let mut rest = text;
    let mut numbers = [0_u32; 6];
    for (number, (layout, element)) in numbers.iter_mut().zip(LAYOUT) {
        if let Some(sign) = layout.chars().next().filter(|sign| !sign.is_ascii_digit()) {
            rest = rest.strip_prefix(sign).ok_or_else(|| error(rest, &sign.to_string()))?;
        }
        let name = layout.trim_start_matches(|char: char| !char.is_ascii_digit());
        let count = digits(rest);
        let (least, most) = match element {
            Element::Digits(count) => (count, count),
            Element::Hour => (1, 2),
        };
        let taken = count.min(most);
        let parsed = rest.get(..taken).filter(|_| taken >= least);
        *number = parsed.and_then(|text| text.parse().ok()).ok_or_else(|| error(rest, name))?;
        rest = rest.get(taken..).unwrap_or_default();
    }
    let [_, month, day, hour, minute, second] = numbers;
    for (value, low, high, what) in [
        (month, 1, 12, "month"),
        (hour, 0, 23, "hour"),
        (minute, 0, 59, "minute"),
        (second, 0, 59, "second"),
    ] {
        if !(low..=high).contains(&value) {
            return Err(range(what));
        }
    }
    if rest.starts_with(['.', ',']) {
        let count = digits(rest.get(1..).unwrap_or_default());
        rest = if count > 0 { rest.get(count + 1..).unwrap_or_default() } else { rest };
    }
    let is_offset = |zone: &str| {
        let bytes = zone.as_bytes();
        bytes.len() >= 6 && matches!(bytes[0], b'+' | b'-') && bytes[3] == b':'
    };
    let after = match rest.strip_prefix('Z') {
        Some(after) => after,
        None if is_offset(rest) => rest.get(6..).unwrap_or_default(),
        None => return Err(error(rest, "Z07:00")),
    };
    if !after.is_empty() {
        return Err(format!("parsing time {}: extra text: {}", quote(text), quote(after)));
    }
    match text.parse::<jiff::Timestamp>() {
        // The kubelet keeps whole seconds of its own time zone, which is UTC in practice.
        Ok(time) => Ok(time
            .to_zoned(jiff::tz::TimeZone::UTC)
            .strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
            .to_string()),
        Err(_) if day == 0 || day > 28 => Err(range("day")),
        Err(_) => Err(range("time zone offset hour")),
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn times_are_those_of_go() {
        const LAYOUT: &str = "as \"2006-01-02T15:04:05Z07:00\": cannot parse";
        for (text, expected) in [
            ("2026-01-02T03:04:05Z", "2026-01-02 03:04:05 +0000 UTC".to_owned()),
            ("2026-01-02T03:04:05+01:00", "2026-01-02 02:04:05 +0000 UTC".to_owned()),
            ("soon", format!("parsing time \"soon\" {LAYOUT} \"soon\" as \"2006\"")),
            ("2026-01-02", format!("parsing time \"2026-01-02\" {LAYOUT} \"\" as \"T\"")),
            (
                "2026-13-02T03:04:05Z",
                "parsing time \"2026-13-02T03:04:05Z\": month out of range".to_owned(),
            ),
            (
                "2026-02-30T03:04:05Z",
                "parsing time \"2026-02-30T03:04:05Z\": day out of range".to_owned(),
            ),
        ] {
            assert_eq!(parse(text).unwrap_or_else(|error| error), expected, "{text}");
        }
    }
}
