//! Quantity to 64-bit units: `Value`, `MilliValue` and `ScaledValue` of `quantity.go`,
//! `AsScaledInt64` of `amount.go`, `scaledValue` of `scale_int.go`.

use super::{Amount, Decimal, Quantity, power_of_ten};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

impl Quantity {
    /// Returns the amount in whole units as the kubelet gets it: rounded away from zero, but wrapped
    /// or 0 where it does not fit (see [`Quantity::value_is_exact`]).
    pub fn value(&self) -> i64 {
        self.scaled(0)
    }

    /// Returns the amount in thousandths as the kubelet gets it, with the same losses.
    pub fn milli_value(&self) -> i64 {
        self.scaled(3)
    }

    /// Tells whether [`Quantity::value`] is the amount rounded away from zero.
    pub fn value_is_exact(&self) -> bool {
        self.is_exact(0)
    }

    /// Tells whether [`Quantity::milli_value`] is the amount rounded away from zero.
    pub fn milli_value_is_exact(&self) -> bool {
        self.is_exact(3)
    }

    /// Tells whether the amount is so far from 64 bits that thousands of its kind add up in them.
    pub fn is_modest(&self) -> bool {
        // 10^15 units are a petabyte, or as many CPUs.
        matches!(self.amount, Amount::Small { exponent: ..=0, .. })
            && (-1_000_000_000_000_000..1_000_000_000_000_000).contains(&self.value())
    }

    fn scaled(&self, decimals: i32) -> i64 {
        match &self.amount {
            Amount::Small { mantissa, exponent } => scale_small(*mantissa, *exponent, decimals),
            Amount::Big(decimal) => scale_big(decimal, decimals),
        }
    }

    fn is_exact(&self, decimals: i32) -> bool {
        let got = self.scaled(decimals);
        match &self.amount {
            Amount::Small { mantissa: 0, .. } => got == 0,
            // Almost every amount there is: nothing can overflow, and what is cut was rounded.
            Amount::Small { mantissa, exponent: ..=0 } if mantissa.checked_mul(1000).is_some() => {
                true
            }
            // No 64-bit number has more than 19 digits.
            Amount::Small { exponent, .. } if i64::from(*exponent) + i64::from(decimals) > 19 => {
                false
            }
            _ => {
                let decimal = self.to_decimal().rounded_away_from_zero(decimals);
                decimal.unscaled == BigInt::from(got)
            }
        }
    }
}

fn scale_small(mantissa: i64, exponent: i32, decimals: i32) -> i64 {
    if exponent < -decimals {
        return divide_away_from_zero(mantissa, exponent.abs_diff(-decimals));
    }
    // 32-bit as in Kubernetes: the largest exponents wrap and multiply by nothing.
    match multiply_by_power_of_ten(mantissa, exponent.wrapping_add(decimals)) {
        Multiplied::Exact(value) | Multiplied::Wrapped(value) => value,
        Multiplied::Lost => 0,
    }
}

/// What became of a multiplication by a power of ten.
pub(super) enum Multiplied {
    /// It fits.
    Exact(i64),
    /// It does not fit, and Kubernetes goes on with the low 64 bits.
    Wrapped(i64),
    /// It does not fit, and Kubernetes goes on with 0.
    Lost,
}

/// Multiplies by 10^power: `positiveScaleInt64`, where the common powers are one multiplication
/// that wraps and all others are made in steps that give up.
pub(super) fn multiply_by_power_of_ten(mantissa: i64, power: i32) -> Multiplied {
    if power <= 0 || mantissa == 0 {
        return Multiplied::Exact(mantissa);
    }
    if mantissa == i64::MIN {
        return Multiplied::Lost;
    }
    let factor = 10i64.checked_pow(power as u32);
    match (factor.and_then(|factor| mantissa.checked_mul(factor)), factor) {
        (Some(value), _) => Multiplied::Exact(value),
        (None, Some(factor)) if matches!(power, 1 | 2 | 3 | 6 | 9) => {
            Multiplied::Wrapped(mantissa.wrapping_mul(factor))
        }
        _ => Multiplied::Lost,
    }
}

/// Divides by 10^power and rounds away from zero.
pub(super) fn divide_away_from_zero(mantissa: i64, power: u32) -> i64 {
    match 10i64.checked_pow(power) {
        Some(divisor) if mantissa % divisor == 0 => mantissa / divisor,
        Some(divisor) => mantissa / divisor + mantissa.signum(),
        None => mantissa.signum(),
    }
}

fn scale_big(decimal: &Decimal, decimals: i32) -> i64 {
    let unscaled = &decimal.unscaled;
    let drop = decimal.scale.saturating_sub(decimals);
    if drop <= 0 {
        // 10^k as amd64 converts it from a float that is too large.
        let factor = 10i64.checked_pow(drop.unsigned_abs()).unwrap_or(i64::MIN);
        return low_bits(unscaled).wrapping_mul(factor);
    }
    let divisor = power_of_ten(drop as u32);
    if drop < 19 && *unscaled < BigInt::from(i64::MAX) {
        let (value, divisor) = (low_bits(unscaled), 10i64.pow(drop as u32));
        // Kubernetes adds one for a remainder of either sign here.
        return value / divisor + i64::from(value % divisor != 0);
    }
    let mut quotient = unscaled / &divisor;
    let remainder = unscaled % &divisor;
    if remainder.is_negative() {
        quotient -= 1;
    }
    if !remainder.is_zero() {
        quotient += 1;
    }
    low_bits(&quotient)
}

/// Returns the low 64 bits, two's complement.
fn low_bits(number: &BigInt) -> i64 {
    number.to_i64().unwrap_or_else(|| {
        let low = number.magnitude().iter_u64_digits().next().unwrap_or(0) as i64;
        if number.is_negative() { low.wrapping_neg() } else { low }
    })
}
