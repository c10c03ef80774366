//! Text to quantity: `ParseQuantity` and `parseQuantityString` of `quantity.go`.

use super::{Amount, Decimal, Format, Quantity, power_of_ten};
use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use std::str::FromStr;

/// Why a text is not a quantity, in the words of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseQuantityError {
    /// The text has a character where none of its kind may stand.
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// The text after the number is not a suffix.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// The number has no digit.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// The number has too many digits, or too many zeros.
    #[error("quantity has more than {MAX_DIGITS} digits when it is written out")]
    TooManyDigits,
}

/// The most digits that are multiplied out. The kubelet has no such bound and would build a number
/// of any length.
pub(super) const MAX_DIGITS: u32 = 10_000;

/// The smallest fraction that is kept.
const NANO: i32 = -9;

/// How many digits always fit the small form.
const SMALL_DIGITS: usize = 18;

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        if text == "0" {
            return Ok(Self { keeps_text: true, ..Self::small(0, 0, Format::DecimalSi) });
        }
        let parts = scan(text)?;
        let suffix = Suffix::parse(parts.suffix).ok_or(ParseQuantityError::Suffix)?;
        if let Some(quantity) = small_form(text, &parts, suffix) {
            return Ok(quantity);
        }
        big_form(&parts, suffix)
    }
}

/// The pieces of a quantity's text.
struct Parts<'a> {
    negative: bool,
    /// Sign, digits and point of the input.
    number: &'a str,
    /// The integer digits without leading zeros, `0` if none are left.
    integer: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

/// Splits a text; only its characters are judged here, not whether the suffix exists.
fn scan(text: &str) -> Result<Parts<'_>, ParseQuantityError> {
    let bytes = text.as_bytes();
    let sign = match bytes.first() {
        None => return Err(ParseQuantityError::Format),
        Some(b'+' | b'-') => 1,
        Some(_) => 0,
    };
    let integer = end_of_run(bytes, sign, |byte| byte == b'0');
    let point = end_of_run(bytes, integer, |byte| byte.is_ascii_digit());
    let number_end = match bytes.get(point) {
        Some(b'.') => end_of_run(bytes, point + 1, |byte| byte.is_ascii_digit()),
        _ => point,
    };
    let is_letter = |byte| {
        matches!(
            byte,
            b'e' | b'E' | b'i' | b'n' | b'u' | b'm' | b'k' | b'K' | b'M' | b'G' | b'T' | b'P'
        )
    };
    let letters_end = end_of_run(bytes, number_end, is_letter);
    if letters_end < bytes.len() {
        let exponent = letters_end + usize::from(matches!(bytes[letters_end], b'+' | b'-'));
        if end_of_run(bytes, exponent, |byte| byte.is_ascii_digit()) < bytes.len() {
            return Err(ParseQuantityError::Format);
        }
    }
    // Every index is behind an ASCII byte or at a byte that ended a run of them, so slicing is safe.
    Ok(Parts {
        negative: bytes[0] == b'-',
        number: &text[..number_end],
        integer: if integer == point { "0" } else { &text[integer..point] },
        fraction: text.get(point + 1..number_end).unwrap_or_default(),
        suffix: &text[number_end..],
    })
}

/// Returns the index of the first byte from an index on that is not accepted.
fn end_of_run(bytes: &[u8], from: usize, accept: impl Fn(u8) -> bool) -> usize {
    let mut at = from;
    while bytes.get(at).is_some_and(|byte| accept(*byte)) {
        at += 1;
    }
    at
}

/// The factor of a suffix.
#[derive(Clone, Copy)]
enum Suffix {
    Decimal {
        exponent: i32,
        format: Format,
    },
    /// 2^bits
    Binary {
        bits: u32,
    },
}

impl Suffix {
    fn parse(text: &str) -> Option<Self> {
        let si = |exponent| Some(Self::Decimal { exponent, format: Format::DecimalSi });
        match text {
            "" => si(0),
            "n" => si(-9),
            "u" => si(-6),
            "m" => si(-3),
            "k" => si(3),
            "M" => si(6),
            "G" => si(9),
            "T" => si(12),
            "P" => si(15),
            "E" => si(18),
            "Ki" => Some(Self::Binary { bits: 10 }),
            "Mi" => Some(Self::Binary { bits: 20 }),
            "Gi" => Some(Self::Binary { bits: 30 }),
            "Ti" => Some(Self::Binary { bits: 40 }),
            "Pi" => Some(Self::Binary { bits: 50 }),
            "Ei" => Some(Self::Binary { bits: 60 }),
            _ => {
                let exponent = text.strip_prefix(['e', 'E']).filter(|rest| !rest.is_empty())?;
                // Kubernetes reads 64 bits and keeps 32 of them.
                let exponent = exponent.parse::<i64>().ok()? as i32;
                Some(Self::Decimal { exponent, format: Format::DecimalExponent })
            }
        }
    }
}

/// Returns the quantity if its digits surely fit 64 bits.
fn small_form(text: &str, parts: &Parts<'_>, suffix: Suffix) -> Option<Quantity> {
    let (factor, exponent, format) = match suffix {
        Suffix::Decimal { exponent, format } => {
            let length = parts.integer.len() + parts.fraction.len();
            // 32-bit as in Kubernetes, where the smallest exponent wraps too.
            let exponent = exponent.wrapping_sub(parts.fraction.len() as i32);
            if length > SMALL_DIGITS || exponent < NANO {
                return None;
            }
            (1, exponent, format)
        }
        Suffix::Binary { bits } => {
            let fits = match bits {
                10 => 11,
                20 => 8,
                30 => 5,
                40 => 2,
                _ => 0,
            };
            if !parts.fraction.is_empty() || parts.integer.len() > fits {
                return None;
            }
            (1i64 << bits, 0, Format::BinarySi)
        }
    };
    let with_digits = |number: i64, digits: &str| {
        digits.bytes().fold(number, |number, digit| number * 10 + i64::from(digit - b'0'))
    };
    let number = with_digits(with_digits(0, parts.integer), parts.fraction);
    let kept = match suffix {
        // Not with a leading zero, nor with three at the end.
        Suffix::Decimal { .. } => exponent % 3 == 0 && parts.integer != "0" && number % 1000 != 0,
        Suffix::Binary { .. } => number % 8 != 0,
    };
    let mantissa = number * factor * if parts.negative { -1 } else { 1 };
    let mut quantity = Quantity::small(mantissa, exponent, format);
    if kept {
        // Any other text is the canonical one, and is made again when it is printed.
        quantity.keeps_text = true;
        let has_own_form = format == Format::DecimalExponent || !parts.fraction.is_empty();
        let plain = parts.integer.len() + usize::from(parts.negative);
        if has_own_form || parts.number.len() != plain {
            quantity.other_text = Some(text.into());
        }
    }
    Some(quantity)
}

/// Returns the quantity in arbitrary precision, rounded to nanos and capped as Kubernetes does.
fn big_form(parts: &Parts<'_>, suffix: Suffix) -> Result<Quantity, ParseQuantityError> {
    if !parts.number.bytes().any(|byte| byte.is_ascii_digit()) {
        return Err(ParseQuantityError::Numeric);
    }
    if parts.number.len() > MAX_DIGITS as usize {
        return Err(ParseQuantityError::TooManyDigits);
    }
    // Both parts are digits; the fraction may be empty.
    let mut unscaled = BigInt::from_str(&[parts.integer, parts.fraction].concat())
        .map_err(|_| ParseQuantityError::Numeric)?;
    if parts.negative {
        unscaled = -unscaled;
    }
    let mut scale = parts.fraction.len() as i32;
    let mut format = match suffix {
        Suffix::Decimal { exponent, format } => {
            if exponent.unsigned_abs() > MAX_DIGITS {
                return Err(ParseQuantityError::TooManyDigits);
            }
            scale -= exponent;
            format
        }
        Suffix::Binary { bits } => {
            unscaled <<= bits;
            Format::BinarySi
        }
    };
    let mut decimal = Decimal { unscaled, scale };
    if !decimal.unscaled.is_zero() {
        decimal = decimal.rounded_away_from_zero(-NANO);
    }
    if format == Format::BinarySi {
        let magnitude = decimal.unscaled.abs();
        // A zero keeps its own scale, all others have that of nanos here.
        if magnitude > BigInt::from(i64::MAX) * power_of_ten(-NANO as u32) {
            let limit = if decimal.unscaled.is_negative() { -i64::MAX } else { i64::MAX };
            decimal = Decimal { unscaled: limit.into(), scale: 0 };
        } else if !magnitude.is_zero() && magnitude < power_of_ten(-NANO as u32) {
            format = Format::DecimalSi;
        }
    }
    Ok(Quantity::new(Amount::Big(Box::new(decimal)), format))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_kept_text_prints_as_it_was_written(
            text in r"[+-]?[0-9]{1,19}(\.[0-9]{0,6})?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|[eE][+-]?[0-9]{1,2})?"
        ) {
            let quantity: Quantity = text.parse().expect("a quantity");
            if quantity.keeps_text {
                prop_assert_eq!(quantity.to_string(), text);
            } else {
                prop_assert_eq!(quantity.to_string(), quantity.canonical());
            }
        }
    }

    #[test]
    fn texts_that_are_no_quantities() {
        use ParseQuantityError::{Format, Numeric, Suffix, TooManyDigits};
        let long = "1".repeat(10_001);
        for (name, text, expected) in [
            ("empty", "", Format),
            ("blank before the suffix", "1 Gi", Format),
            ("blank around", " 1", Format),
            ("two points", "1.2.3", Format),
            ("not ASCII", "1µ", Format),
            ("unknown suffix", "1mm", Suffix),
            ("exponent without digits", "1e", Suffix),
            ("binary suffix with digits", "1Ki5", Suffix),
            ("letters only", "Ei", Numeric),
            ("no digit at all", ".Ei", Numeric),
            ("more zeros than memory", "1e-2000000000", TooManyDigits),
            ("more digits than anybody needs", &long, TooManyDigits),
        ] {
            assert_eq!(text.parse::<Quantity>().unwrap_err(), expected, "{name}");
        }
    }
}
