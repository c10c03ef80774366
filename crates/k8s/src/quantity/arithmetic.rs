//! Adding, subtracting, comparing and rounding: `Add`, `Sub`, `Cmp` and `RoundUp` of `quantity.go`,
//! the same of `amount.go`.
//!
//! Quantity to 64-bit units: `Value`, `MilliValue` and `ScaledValue` of `quantity.go`,
//! `AsScaledInt64` of `amount.go`, `scaledValue` of `scale_int.go`.

use super::parse::MAX_DIGITS;
use super::{Amount, Decimal, Quantity, power_of_ten, small_power_of_ten};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use std::cmp::Ordering;
use std::ops::{AddAssign, SubAssign};

impl AddAssign<&Quantity> for Quantity {
    fn add_assign(&mut self, right: &Quantity) {
        self.forget_text();
        if let (
            Amount::Small { mantissa, exponent },
            Amount::Small { mantissa: rm, exponent: re },
        ) = (&self.amount, &right.amount)
        {
            if *mantissa == 0 {
                self.format = right.format;
            }
            if let Some(amount) = add_small((*mantissa, *exponent), (*rm, *re)) {
                self.amount = amount;
                return;
            }
        } else if self.is_zero() {
            self.format = right.format;
        }
        self.amount = Amount::Big(Box::new(self.to_decimal().add(right.to_decimal())));
    }
}

impl SubAssign<&Quantity> for Quantity {
    fn sub_assign(&mut self, right: &Quantity) {
        self.forget_text();
        if self.is_zero() {
            self.format = right.format;
        }
        if let (Amount::Small { mantissa, exponent }, Amount::Small { mantissa: rm, exponent: re }) =
            (&self.amount, &right.amount)
            && let Some(negated) = rm.checked_neg()
            && let Some(amount) = add_small((*mantissa, *exponent), (negated, *re))
        {
            self.amount = amount;
            return;
        }
        let mut right = right.to_decimal();
        right.unscaled = -right.unscaled;
        self.amount = Amount::Big(Box::new(self.to_decimal().add(right)));
    }
}

/// Adds in the small form, unless something overflows.
fn add_small(left: (i64, i32), right: (i64, i32)) -> Option<Amount> {
    let ((left_mantissa, left_exponent), (right_mantissa, right_exponent)) = (left, right);
    if right_mantissa == 0 {
        return Some(Amount::Small { mantissa: left_mantissa, exponent: left_exponent });
    }
    if left_mantissa == 0 {
        return Some(Amount::Small { mantissa: right_mantissa, exponent: right_exponent });
    }
    let exponent = left_exponent.min(right_exponent);
    // 32-bit as in Kubernetes: exponents that are too far apart wrap, and multiply by nothing.
    let at_exponent = |mantissa: i64, from: i32| match from.wrapping_sub(exponent) {
        ..=0 => Some(mantissa),
        power => small_power_of_ten(power.cast_unsigned())?.checked_mul(mantissa),
    };
    let mantissa = at_exponent(left_mantissa, left_exponent)?
        .checked_add(at_exponent(right_mantissa, right_exponent)?)?;
    Some(Amount::Small { mantissa, exponent })
}

impl Quantity {
    /// Compares the amounts, independent of their forms and texts.
    pub fn compare(&self, other: &Self) -> Ordering {
        if let (
            Amount::Small { mantissa: left, exponent: left_exponent },
            Amount::Small { mantissa: right, exponent: right_exponent },
        ) = (&self.amount, &other.amount)
        {
            let exponent = *left_exponent.min(right_exponent);
            let at_exponent = |mantissa: i64, from: i32| {
                let factor = 10i128.checked_pow(from.abs_diff(exponent))?;
                i128::from(mantissa).checked_mul(factor)
            };
            if let Some(left) = at_exponent(*left, *left_exponent)
                && let Some(right) = at_exponent(*right, *right_exponent)
            {
                return left.cmp(&right);
            }
        }
        self.sign().cmp(&other.sign()).then_with(|| {
            let magnitudes = self.to_decimal().compare_magnitude(&other.to_decimal());
            if self.sign() < 0 { magnitudes.reverse() } else { magnitudes }
        })
    }

    /// Rounds away from zero to thousandths, as API defaulting does with every amount
    /// (`pkg/apis/core/v1/defaults.go`, `SetDefaults_ResourceList`).
    pub fn round_up_to_milli(&mut self) {
        match &self.amount {
            Amount::Small { exponent, .. } if *exponent >= -3 => {}
            Amount::Small { mantissa, exponent } => {
                let mantissa = divide_away_from_zero(*mantissa, exponent.abs_diff(-3));
                *self = Self::small(mantissa, -3, self.format);
            }
            Amount::Big(decimal) => {
                let Decimal { unscaled, scale } = decimal.rounded_away_from_zero(3);
                *self = Self::big(unscaled, scale, self.format);
            }
        }
    }

    /// Replaces the amount with the larger of the two; a tie keeps its own text.
    pub fn max_with(&mut self, other: &Self) {
        if other.compare(self) == Ordering::Greater {
            self.clone_from(other);
        }
    }

    pub(super) fn to_decimal(&self) -> Decimal {
        match &self.amount {
            Amount::Small { mantissa, exponent } => {
                Decimal { unscaled: (*mantissa).into(), scale: exponent.saturating_neg() }
            }
            Amount::Big(decimal) => (**decimal).clone(),
        }
    }
}

impl Decimal {
    /// Returns the amount with so many decimals.
    pub(super) fn rounded_away_from_zero(&self, scale: i32) -> Self {
        let drop = self.scale.saturating_sub(scale);
        if drop < -(2 * MAX_DIGITS as i32) {
            // A whole number, with more zeros than can be written out.
            return self.clone();
        }
        if drop <= 0 {
            let unscaled = &self.unscaled * power_of_ten(drop.unsigned_abs());
            return Self { unscaled, scale };
        }
        let divisor = power_of_ten(drop as u32);
        let mut unscaled = &self.unscaled / &divisor;
        if !(&self.unscaled % divisor).is_zero() {
            unscaled += self.unscaled.signum();
        }
        Self { unscaled, scale }
    }

    /// Adds exactly, with the larger number of decimals.
    ///
    /// Amounts whose exponents differ by more than [`MAX_DIGITS`] would need a number that
    /// the kubelet could not build either; the sum is then the larger one.
    fn add(self, right: Self) -> Self {
        let (mut fine, mut coarse) =
            if self.scale >= right.scale { (self, right) } else { (right, self) };
        let apart = fine.scale.saturating_sub(coarse.scale);
        if apart > 2 * MAX_DIGITS as i32 {
            return if coarse.unscaled.is_zero() { fine } else { coarse };
        }
        coarse.unscaled *= power_of_ten(apart as u32);
        fine.unscaled += coarse.unscaled;
        fine
    }

    /// Compares without regard to the signs, which the caller has compared.
    fn compare_magnitude(&self, other: &Self) -> Ordering {
        if self.unscaled.is_zero() || other.unscaled.is_zero() {
            return other.unscaled.is_zero().cmp(&self.unscaled.is_zero());
        }
        // The place of the first digit decides, unless it is the same; then the scales are close.
        let first_digit = |decimal: &Self| {
            decimal.unscaled.magnitude().to_string().len() as i64 - i64::from(decimal.scale)
        };
        first_digit(self).cmp(&first_digit(other)).then_with(|| {
            let scale = self.scale.max(other.scale);
            let at_scale = |decimal: &Self| -> BigInt {
                decimal.unscaled.abs() * power_of_ten(scale.abs_diff(decimal.scale))
            };
            at_scale(self).cmp(&at_scale(other))
        })
    }
}

impl Quantity {
    /// Returns the amount in whole units as the kubelet gets it: rounded away from zero, but wrapped
    /// or 0 where it does not fit (see [`Quantity::value_is_exact`]).
    pub fn value(&self) -> i64 {
        self.scaled(0)
    }

    /// Returns the amount in whole units if it is kept in the small form and is one (`AsInt64`): so `1536Mi`, and not
    /// `1.5Gi`, `1500m` or `1e30`.
    pub fn as_int64(&self) -> Option<i64> {
        match &self.amount {
            Amount::Small { mantissa: 0, exponent: 0.. } => Some(0),
            Amount::Small { mantissa, exponent: exponent @ 0.. } => {
                small_power_of_ten(exponent.unsigned_abs())?.checked_mul(*mantissa)
            }
            Amount::Small { .. } | Amount::Big(_) => None,
        }
    }

    /// Returns the amount in thousandths as the kubelet gets it, with the same losses.
    pub fn milli_value(&self) -> i64 {
        self.scaled(3)
    }

    /// Returns true if [`Quantity::value`] is the amount rounded away from zero.
    pub fn value_is_exact(&self) -> bool {
        self.is_exact(0)
    }

    /// Returns true if [`Quantity::milli_value`] is the amount rounded away from zero.
    pub fn milli_value_is_exact(&self) -> bool {
        self.is_exact(3)
    }

    /// Returns true if the amount is so far from 64 bits that thousands of its kind add up in them.
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
            // The case of almost every amount: nothing overflows, and the cut digits were rounded.
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

/// The result of a multiplication by a power of ten.
pub(super) enum Multiplied {
    /// It fits.
    Exact(i64),
    /// It does not fit, and Kubernetes continues with the low 64 bits.
    Wrapped(i64),
    /// It does not fit, and Kubernetes continues with 0.
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
    let factor = small_power_of_ten(power as u32);
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
    match small_power_of_ten(power) {
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
