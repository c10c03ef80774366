//! Quantity to text: `CanonicalizeBytes`, `String`, `MarshalJSON` and `UnmarshalJSON` of
//! `quantity.go`, `constructBytes` of `suffix.go`.

use super::parse::MAX_DIGITS;
use super::{
    Amount, Decimal, Format, ParseQuantityError, Quantity, power_of_ten, small_power_of_ten,
};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;

impl fmt::Display for Quantity {
    /// Writes the input text if there is one, else the canonical text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.other_text {
            Some(text) => f.pad(text),
            None => f.pad(&self.canonical()),
        }
    }
}

impl Quantity {
    /// Returns the one text that Kubernetes would choose for this amount and format.
    pub fn canonical(&self) -> String {
        let (number, suffix) = match self.small_canonical() {
            Some((number, suffix)) => (number.to_string(), suffix),
            None => self.big_canonical(),
        };
        match suffix {
            Printed::Nothing => number,
            Printed::Suffix(suffix) => number + suffix,
            Printed::Exponent(exponent) => format!("{number}e{exponent}"),
        }
    }

    /// Returns number and suffix of an amount that stays within 64 bits on the way.
    fn small_canonical(&self) -> Option<(i64, Printed)> {
        let (mantissa, exponent) = match &self.amount {
            Amount::Small { mantissa, exponent } => (*mantissa, *exponent),
            Amount::Big(decimal) => (decimal.unscaled.to_i64()?, decimal.scale.checked_neg()?),
        };
        if mantissa == 0 {
            return Some((0, Printed::Nothing));
        }
        if self.format == Format::BinarySi {
            let power = small_power_of_ten(exponent.unsigned_abs())?;
            let units = match exponent {
                0.. => Some(mantissa.checked_mul(power)?),
                _ => (mantissa % power == 0).then(|| mantissa / power),
            };
            if let Some(units) = units.filter(|units| units.unsigned_abs() >= 1024) {
                return Some(in_powers_of_1024(units));
            }
        }
        let (mut number, mut exponent) = (mantissa, i64::from(exponent));
        while number % 10 == 0 {
            number /= 10;
            exponent += 1;
        }
        while exponent % 3 != 0 {
            number = number.checked_mul(10)?;
            exponent -= 1;
        }
        Some((number, self.printed_exponent(exponent)))
    }

    /// Returns number and suffix of any amount.
    fn big_canonical(&self) -> (String, Printed) {
        if self.is_zero() {
            return ("0".to_owned(), Printed::Nothing);
        }
        if self.format == Format::BinarySi
            && let Some(units) = self.whole_units()
            && units.abs() >= BigInt::from(1024)
        {
            return binary_text(units);
        }
        let (number, exponent) = self.canonical_decimal();
        (number.to_string(), self.printed_exponent(exponent))
    }

    fn printed_exponent(&self, exponent: i64) -> Printed {
        match self.format {
            _ if exponent == 0 => Printed::Nothing,
            Format::DecimalSi | Format::BinarySi => Printed::Suffix(decimal_suffix(exponent)),
            Format::Unset | Format::DecimalExponent => Printed::Exponent(exponent),
        }
    }

    /// Returns the fields of the quantity as Go prints them where a log line omits the
    /// text; `None` in the big form, which prints an address.
    pub fn go_struct(&self) -> Option<String> {
        let Amount::Small { mantissa, exponent } = &self.amount else {
            return None;
        };
        let kept = if self.keeps_text { self.to_string() } else { String::new() };
        Some(format!("{{{{{mantissa} {exponent}}} {{<nil>}} {kept} {}}}", self.format.as_str()))
    }

    /// Reads the raw JSON token of a quantity: a string or a bare number.
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

/// What follows the number.
enum Printed {
    Nothing,
    Suffix(&'static str),
    Exponent(i64),
}

/// Divides by 1024 while that is exact. A count without a suffix prints none, as in Kubernetes.
fn in_powers_of_1024(units: i64) -> (i64, Printed) {
    let count = units.trailing_zeros() / 10;
    (units >> (10 * count), Printed::Suffix(binary_suffix(count as usize)))
}

/// As [`in_powers_of_1024`], for any number.
fn binary_text(mut units: BigInt) -> (String, Printed) {
    if let Some(small) = units.to_i64() {
        let (number, suffix) = in_powers_of_1024(small);
        return (number.to_string(), suffix);
    }
    let step = BigInt::from(1024);
    let mut count = 0;
    while (&units % &step).is_zero() {
        units /= &step;
        count += 1;
    }
    (units.to_string(), Printed::Suffix(binary_suffix(count)))
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

crate::schema_as!(Quantity, String);

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
