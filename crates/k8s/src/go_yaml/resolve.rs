//! What a scalar means (`resolve.go`).

use super::GoYamlError;

const PREFIX: &str = "tag:yaml.org,2002:";
/// The tag of bytes in base64.
pub(super) const BINARY: &str = "tag:yaml.org,2002:binary";
/// The tag of a key that merges a mapping.
pub(super) const MERGE: &str = "tag:yaml.org,2002:merge";

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(String),
}

/// Returns what a scalar means; `tag` is empty where it has none.
pub(super) fn resolve(tag: &str, text: &str) -> Result<Scalar, GoYamlError> {
    let short = tag.strip_prefix(PREFIX).unwrap_or(tag);
    let is_resolved =
        tag.is_empty() || matches!(short, "str" | "bool" | "int" | "float" | "null" | "timestamp");
    if !is_resolved || (tag.starts_with(PREFIX) && short == "str") {
        return Ok(Scalar::Text(text.to_owned()));
    }
    let is_timestamp = looks_like_a_date(text);
    let scalar = if is_timestamp { Scalar::Text(text.to_owned()) } else { untagged(text) };
    let found = match &scalar {
        Scalar::Text(_) if is_timestamp => "timestamp",
        Scalar::Text(text) if text == "<<" => "merge",
        Scalar::Null => "null",
        Scalar::Bool(_) => "bool",
        Scalar::Int(_) | Scalar::UInt(_) => "int",
        Scalar::Float(_) => "float",
        Scalar::Text(_) => "str",
    };
    match (short, scalar) {
        ("", scalar) => Ok(scalar),
        (short, scalar) if short == found => Ok(scalar),
        ("float", Scalar::Int(number)) => Ok(Scalar::Float(number as f64)),
        _ => Err(GoYamlError::Yaml(format!("cannot decode !!{found} `{text}` as a !!{short}"))),
    }
}

/// Returns true for `2001-1-2` and for times of such a day.
fn looks_like_a_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 7
        && bytes.iter().take(4).all(u8::is_ascii_digit)
        && bytes.get(4) == Some(&b'-')
        && bytes.get(5).is_some_and(u8::is_ascii_digit)
}

fn untagged(text: &str) -> Scalar {
    let own = || Scalar::Text(text.to_owned());
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Scalar::Float(f64::INFINITY);
        }
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    match text.as_bytes().first() {
        Some(b'.') if is_float(text) => float(text).unwrap_or_else(own),
        Some(b'+' | b'-' | b'0'..=b'9') => number(&text.replace('_', "")).unwrap_or_else(own),
        _ => own(),
    }
}

fn number(plain: &str) -> Option<Scalar> {
    let (sign, digits) = match plain.strip_prefix(['+', '-']) {
        Some(digits) => (plain.get(..1)?, digits),
        None => ("", plain),
    };
    let (base, digits) = based(digits);
    if !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base)) {
        if let Ok(value) = i64::from_str_radix(&format!("{sign}{digits}"), base) {
            return Some(Scalar::Int(value));
        }
        if sign.is_empty()
            && let Ok(value) = u64::from_str_radix(digits, base)
        {
            return Some(Scalar::UInt(value));
        }
    }
    if is_float(plain) {
        return float(plain);
    }
    let signed = plain.strip_prefix("0b").filter(|rest| rest.starts_with(['+', '-']))?;
    let digits = signed.get(1..).filter(|digits| !digits.starts_with(['+', '-']))?;
    i64::from_str_radix(digits, 2).ok()?;
    i64::from_str_radix(signed, 2).ok().map(Scalar::Int)
}

/// Returns the base that the start of a number names, and its digits.
fn based(digits: &str) -> (u32, &str) {
    let rest = digits.get(2..).unwrap_or_default();
    match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, rest),
        [b'0', b'o' | b'O', ..] => (8, rest),
        [b'0', b'b' | b'B', ..] => (2, rest),
        [b'0', _, ..] => (8, digits.get(1..).unwrap_or_default()),
        _ => (10, digits),
    }
}

/// Returns true for `1`, `.5`, `1.`, `1.5e-3` with a sign or without.
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_exponent = |text: &str| {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        !unsigned.is_empty() && digits(unsigned)
    };
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    is_mantissa && exponent.is_none_or(is_exponent)
}

/// Reads a float that fits.
fn float(text: &str) -> Option<Scalar> {
    text.parse().ok().filter(|value: &f64| value.is_finite()).map(Scalar::Float)
}
