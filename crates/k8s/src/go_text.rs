//! Text and numbers as Go's `strconv` and `fmt` write them, where the kubelet's answers show it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Why Go's `strconv` refuses a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("strconv.{function}: parsing {}: {problem}", quote(text))]
pub struct NumError {
    /// The function of `strconv`.
    pub function: &'static str,
    pub text: String,
    /// The error.
    pub problem: NumProblem,
}

/// The errors of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumProblem {
    /// Not a number.
    #[error("invalid syntax")]
    Syntax,
    /// Too large.
    #[error("value out of range")]
    Range,
}

impl NumError {
    fn new(function: &'static str, text: &str, problem: NumProblem) -> Self {
        Self { function, text: text.to_owned(), problem }
    }
}

/// Returns a text as Go's `%q` shows it.
pub fn quote(text: &str) -> String {
    quote_bytes(text.as_bytes())
}

/// Returns bytes as Go's `%q` shows them; a byte that is not part of UTF-8 becomes `\xff`.
pub fn quote_bytes(bytes: &[u8]) -> String {
    let mut quoted = String::with_capacity(bytes.len() + 2);
    quoted.push('"');
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push_quoted(c, &mut quoted));
        for byte in chunk.invalid() {
            let _ = write!(quoted, "\\x{byte:02x}");
        }
    }
    quoted.push('"');
    quoted
}

/// Returns the characters of bytes as Go's `range` gives them: U+FFFD for each byte that is not part of UTF-8.
pub fn characters(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// Writes a map as Go's `%v` does.
pub fn map(map: &BTreeMap<String, String>) -> String {
    let entries: Vec<String> = map.iter().map(|(key, value)| format!("{key}:{value}")).collect();
    format!("map[{}]", entries.join(" "))
}

/// Writes errors as one, as Kubernetes' `NewAggregate` does: one alone, otherwise `[a, b]`.
pub fn aggregate(errors: &[String]) -> String {
    match errors {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

fn push_quoted(c: char, quoted: &mut String) {
    match c {
        '"' => quoted.push_str("\\\""),
        '\\' => quoted.push_str("\\\\"),
        '\x07' => quoted.push_str("\\a"),
        '\x08' => quoted.push_str("\\b"),
        '\x0c' => quoted.push_str("\\f"),
        '\n' => quoted.push_str("\\n"),
        '\r' => quoted.push_str("\\r"),
        '\t' => quoted.push_str("\\t"),
        '\x0b' => quoted.push_str("\\v"),
        c if c.is_ascii_control() => {
            let _ = write!(quoted, "\\x{:02x}", u32::from(c));
        }
        c if is_printable(c) => quoted.push(c),
        c if u32::from(c) < 0x10000 => {
            let _ = write!(quoted, "\\u{:04x}", u32::from(c));
        }
        c => {
            let _ = write!(quoted, "\\U{:08x}", u32::from(c));
        }
    }
}

/// Returns what `%q` made a text of, up to the closing quote, and what follows it; `None`: no quote closes it.
///
/// Escapes of bytes and of code points stay as they are.
pub fn unquote(quoted: &str) -> (String, Option<&str>) {
    let mut text = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return (text, Some(chars.as_str())),
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(c @ ('"' | '\\')) => text.push(c),
                Some(c) => text.extend(['\\', c]),
                None => {}
            },
            c => text.push(c),
        }
    }
    (text, None)
}

/// Returns true if a character is printed as it is: letters, marks, numbers, punctuation, symbols and the
/// ASCII blank (`strconv.IsPrint`).
///
/// The standard library escapes the same classes, and, at the start of a text only, marks as well.
fn is_printable(c: char) -> bool {
    let text: String = ['-', c].iter().collect();
    c.is_ascii_graphic() || c == ' ' || text.escape_debug().eq(text.chars())
}

/// Returns a number as Go's `%v` shows a float64.
pub fn float(value: f64) -> String {
    match value {
        v if v.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        v => shortest(&format!("{v:e}"), || v.to_string()),
    }
}

/// Returns a number as Go's `%v` shows a float32.
pub fn float32(value: f32) -> String {
    match value.is_finite() {
        true => shortest(&format!("{value:e}"), || value.to_string()),
        false => float(f64::from(value)),
    }
}

/// Chooses the form of a number: with an exponent below -4 and from 6 on (`FormatFloat` with `'g'` and -1).
fn shortest(scientific: &str, plain: impl FnOnce() -> String) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return plain();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Reads a whole number as `strconv.Atoi` does.
pub fn atoi(text: &str) -> Result<i64, NumError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NumError::new("Atoi", text, NumProblem::Syntax));
    }
    text.parse().map_err(|_| NumError::new("Atoi", text, NumProblem::Range))
}

/// Reads a truth value as `strconv.ParseBool` does.
pub fn parse_bool(text: &str) -> Result<bool, NumError> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(NumError::new("ParseBool", text, NumProblem::Syntax)),
    }
}

/// Reads a number as `strconv.ParseFloat(text, 32)` does.
pub fn parse_float32(text: &str) -> Result<f32, NumError> {
    let refuse = |problem| NumError::new("ParseFloat", text, problem);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let negative = text.starts_with('-');
    let signed = |value: f32| if negative { -value } else { value };
    match unsigned.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => return Ok(signed(f32::INFINITY)),
        "nan" if unsigned == text => return Ok(f32::NAN),
        _ => {}
    }
    let hex = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"));
    if !underscores_separate_digits(unsigned, hex.is_some()) {
        return Err(refuse(NumProblem::Syntax));
    }
    let value = match hex {
        Some(digits) => hex_float(&digits.replace('_', "")),
        None => decimal_float(&unsigned.replace('_', "")),
    };
    match value {
        None => Err(refuse(NumProblem::Syntax)),
        Some(value) if value.is_infinite() => Err(refuse(NumProblem::Range)),
        Some(value) => Ok(signed(value)),
    }
}

/// Returns true if every underscore stands between digits, or between the base and a digit.
fn underscores_separate_digits(text: &str, hex: bool) -> bool {
    let digit = |byte: &u8| {
        if hex { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() }
    };
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_').all(|(at, _)| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let after_base = hex && at == 2;
        (after_base || before.is_some_and(digit)) && bytes.get(at + 1).is_some_and(digit)
    })
}

/// Reads digits with an optional point and exponent.
fn decimal_float(text: &str) -> Option<f32> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = mantissa.replacen('.', "", 1);
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let exponent_ok =
        exponent.is_none_or(|text| all_digits(text.strip_prefix(['+', '-']).unwrap_or(text)));
    (all_digits(&digits) && exponent_ok).then(|| text.parse().ok())?
}

/// Reads hexadecimal digits with an optional point and the exponent of two that Go requires.
///
/// Digits beyond the fifteenth are not needed to round to an `f32`.
fn hex_float(text: &str) -> Option<f32> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent: i64 =
        exponent.parse().unwrap_or(if exponent.starts_with('-') { -99999 } else { 99999 });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (mut value, mut taken, mut scale) = (0_u64, 0, 0_i64);
    for (at, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = digit.to_digit(16)?;
        let in_fraction = at >= whole.len();
        if taken < 15 {
            value = value * 16 + u64::from(digit);
            taken += usize::from(value > 0);
            scale -= if in_fraction { 4 } else { 0 };
        } else if !in_fraction {
            scale += 4;
        }
    }
    let power = exponent.saturating_add(scale).clamp(-99_999, 99_999) as i32;
    Some((value as f64 * 2_f64.powi(power)) as f32)
}

/// Returns bytes with each `%41` as the byte that it stands for; other text stays.
pub fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        // A sign is no digit, though a number may begin with one.
        let hex = hex.filter(|hex| hex.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match (first, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_follow_go() {
        let cases: &[(&str, &str, Result<f32, &str>)] = &[
            ("plain", "12.5", Ok(12.5)),
            ("exponent", "1e1", Ok(10.0)),
            ("point first", ".5", Ok(0.5)),
            ("point last", "5.", Ok(5.0)),
            ("sign", "-1", Ok(-1.0)),
            ("underscore", "1_0", Ok(10.0)),
            ("hex", "0x1p4", Ok(16.0)),
            ("hex fraction", "0x1.8p1", Ok(3.0)),
            ("infinity", "-Inf", Ok(f32::NEG_INFINITY)),
            ("empty", "", Err("strconv.ParseFloat: parsing \"\": invalid syntax")),
            ("blank", " 1", Err("strconv.ParseFloat: parsing \" 1\": invalid syntax")),
            ("point alone", ".", Err("strconv.ParseFloat: parsing \".\": invalid syntax")),
            ("hex without p", "0x1", Err("strconv.ParseFloat: parsing \"0x1\": invalid syntax")),
            ("bad underscore", "_1", Err("strconv.ParseFloat: parsing \"_1\": invalid syntax")),
            ("two signs", "+-1", Err("strconv.ParseFloat: parsing \"+-1\": invalid syntax")),
            ("too large", "1e40", Err("strconv.ParseFloat: parsing \"1e40\": value out of range")),
        ];
        for (name, text, expected) in cases {
            let got = parse_float32(text).map_err(|error| error.to_string());
            assert_eq!(got.as_ref().ok(), expected.as_ref().ok(), "{name}");
            assert_eq!(got.err().as_deref(), expected.err(), "{name}");
        }
    }

    #[test]
    fn numbers_and_texts_are_shown_as_go_shows_them() {
        for (name, value, expected) in [
            ("zero", 0.0, "0"),
            ("fraction", 0.9, "0.9"),
            ("small", 0.000_000_1, "1e-07"),
            ("large", 9_007_199_254_740_992.0, "9.007199254740992e+15"),
            ("million", 1e6, "1e+06"),
            ("not quite a million", 123_456.5, "123456.5"),
        ] {
            assert_eq!(float(value), expected, "{name}");
        }
        assert_eq!(quote("a\"\n\u{1}"), "\"a\\\"\\n\\x01\"");
        let unusual = "'\u{e9}\u{301}\u{a0}\u{ad}\u{200b}\u{2028}\u{e000}\u{1f600}\u{10ffff}";
        assert_eq!(
            quote(unusual),
            "\"'\u{e9}\u{301}\\u00a0\\u00ad\\u200b\\u2028\\ue000\u{1f600}\\U0010ffff\""
        );
        assert_eq!(quote_bytes(b"a\xff\xc3(z\xe2\x82"), r#""a\xff\xc3(z\xe2\x82""#);
        assert_eq!(percent_decoded(b"a%40b%+1%4%"), b"a@b%+1%4%");
        assert_eq!(parse_bool("T"), Ok(true));
        assert!(parse_bool("yes").is_err());
    }
}
