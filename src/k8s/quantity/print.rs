//! Quantity to text: `CanonicalizeBytes`, `String`, `MarshalJSON` and `UnmarshalJSON` of
//! `quantity.go`, `constructBytes` of `suffix.go`.

use super::parse::MAX_DIGITS;
use super::{Amount, Decimal, Format, ParseQuantityError, Quantity, power_of_ten};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;

impl fmt::Display for Quantity {
    /// Writes the input text if there is one, else the canonical text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kept {
            Some(text) => f.pad(text),
            None => f.pad(&self.canonical()),
        }
    }
}

impl Quantity {
    /// Returns the one text that Kubernetes would choose for this amount and format.
    pub fn canonical(&self) -> String {
        if self.is_zero() {
            return "0".to_owned();
        }
        if self.format == Format::BinarySi
            && let Some(units) = self.whole_units()
            && units.abs() >= BigInt::from(1024)
        {
            return binary_text(units);
        }
        let (mantissa, exponent) = self.canonical_decimal();
        let decimal_si = matches!(self.format, Format::DecimalSi | Format::BinarySi);
        match (exponent, decimal_si) {
            (0, _) => mantissa.to_string(),
            (_, true) => format!("{mantissa}{}", decimal_suffix(exponent)),
            (_, false) => format!("{mantissa}e{exponent}"),
        }
    }

    /// Returns the fields of the quantity as Go prints them where a log line omits the
    /// text; `None` in the big form, which prints an address.
    pub fn go_struct(&self) -> Option<String> {
        let Amount::Small { mantissa, exponent } = &self.amount else {
            return None;
        };
        let kept = self.kept.as_deref().unwrap_or_default();
        Some(format!("{{{{{mantissa} {exponent}}} {{<nil>}} {kept} {}}}", self.format.as_str()))
    }

    /// Reads the raw JSON token of a quantity: a string or a bare number.
    ///
    /// # Errors
    ///
    /// As parsing a text; escapes in a string are not decoded, as Kubernetes does not either.
    pub fn from_json_token(token: &str) -> Result<Self, ParseQuantityError> {
        if token == "null" {
            return Ok(Self::default());
        }
        let text = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(token);
        text.trim().parse()
    }

    /// Returns the amount if it has no fraction and is of a size that is worth printing in powers
    /// of two.
    fn whole_units(&self) -> Option<BigInt> {
        match &self.amount {
            Amount::Small { mantissa, exponent: 0 } => Some((*mantissa).into()),
            _ => {
                let decimal = self.to_decimal();
                if decimal.scale < -(MAX_DIGITS as i32) {
                    return None;
                }
                let whole = decimal.rounded_away_from_zero(0);
                let (back, exact) = (whole.rounded_away_from_zero(decimal.scale), decimal);
                (back.unscaled == exact.unscaled).then_some(whole.unscaled)
            }
        }
    }

    /// Returns digits without trailing zeros and an exponent that is a multiple of three.
    fn canonical_decimal(&self) -> (BigInt, i64) {
        let Decimal { mut unscaled, scale } = self.to_decimal();
        let mut exponent = -i64::from(scale);
        // Counted in the text and removed at once: one division per zero would be quadratic.
        let digits = unscaled.to_string();
        let zeros = (digits.len() - digits.trim_end_matches('0').len()) as u32;
        if zeros > 0 {
            unscaled /= power_of_ten(zeros);
            exponent += i64::from(zeros);
        }
        while exponent % 3 != 0 {
            unscaled *= 10;
            exponent -= 1;
        }
        (unscaled, exponent)
    }
}

/// Divides by 1024 while that is exact. A count without a suffix prints none, as in Kubernetes.
fn binary_text(mut units: BigInt) -> String {
    if let Some(small) = units.to_i64() {
        let count = small.trailing_zeros() / 10;
        return format!("{}{}", small >> (10 * count), binary_suffix(count as usize));
    }
    let step = BigInt::from(1024);
    let mut count = 0;
    while (&units % &step).is_zero() {
        units /= &step;
        count += 1;
    }
    format!("{units}{}", binary_suffix(count))
}

fn binary_suffix(count: usize) -> &'static str {
    ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(count).unwrap_or(&"")
}

/// Returns the suffix of a power of ten; nothing for one that has none, as in Kubernetes.
fn decimal_suffix(exponent: i64) -> &'static str {
    match exponent {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        _ => "",
    }
}

crate::schema::schema_as!(Quantity, String);

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    /// Reads the raw token, because `1E3` and `1000` are different quantities.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let token = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_json_token(token.get()).map_err(D::Error::custom)
    }
}

impl Quantity {
    /// Returns the amount in whole units if it is one and fits 64 bits.
    pub fn as_units(&self) -> Option<i64> {
        self.whole_units()?.to_i64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn printing_then_parsing_is_the_identity(
            text in r"-?[0-9]{1,12}(\.[0-9]{0,6})?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|e-?[0-9])?"
        ) {
            let quantity: Quantity = text.parse().unwrap();
            // An amount beyond the last suffix prints without one, as in Kubernetes.
            let limit: Quantity = "1e20".parse().unwrap();
            prop_assume!(quantity.compare(&limit).is_lt());
            prop_assume!(quantity.compare(&"-1e20".parse().unwrap()).is_gt());
            let printed: Quantity = quantity.to_string().parse().unwrap();
            prop_assert_eq!(printed.compare(&quantity), std::cmp::Ordering::Equal);
            prop_assert_eq!(printed.to_string(), quantity.to_string());
        }

        #[test]
        fn adding_then_subtracting_is_the_identity(
            left in r"-?[0-9]{1,18}(m|k|Ki)?", right in r"-?[0-9]{1,18}(m|k|Ki|E)?"
        ) {
            let (left, right): (Quantity, Quantity) = (left.parse().unwrap(), right.parse().unwrap());
            let mut sum = left.clone();
            sum += &right;
            prop_assert_eq!(sum.compare(&left).reverse() as i32, -right.sign());
            sum -= &right;
            prop_assert_eq!(sum.compare(&left), std::cmp::Ordering::Equal);
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in r"\PC{0,20}") {
            let _ = text.parse::<Quantity>();
        }
    }
}
