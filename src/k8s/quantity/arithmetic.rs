//! Adding, subtracting, comparing and rounding: `Add`, `Sub`, `Cmp` and `RoundUp` of `quantity.go`,
//! the same of `amount.go`.

use super::convert::{Multiplied, divide_away_from_zero, multiply_by_power_of_ten};
use super::parse::MAX_DIGITS;
use super::{Amount, Decimal, Format, Quantity, power_of_ten};
use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use std::cmp::Ordering;
use std::ops::{AddAssign, SubAssign};

impl AddAssign<&Quantity> for Quantity {
    fn add_assign(&mut self, right: &Quantity) {
        self.kept = None;
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
        self.kept = None;
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
    let at_exponent = |mantissa: i64, from: i32| match multiply_by_power_of_ten(
        mantissa,
        from.wrapping_sub(exponent),
    ) {
        Multiplied::Exact(value) => Some(value),
        Multiplied::Wrapped(_) | Multiplied::Lost => None,
    };
    let mantissa = at_exponent(left_mantissa, left_exponent)?
        .checked_add(at_exponent(right_mantissa, right_exponent)?)?;
    Some(Amount::Small { mantissa, exponent })
}

impl Quantity {
    /// Compares the amounts, whatever their forms and texts.
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

    /// Becomes the larger of the two; stays what it is on a tie, which decides the text.
    pub fn max_with(&mut self, other: &Self) {
        if other.compare(self) == Ordering::Greater {
            self.clone_from(other);
        }
    }

    /// Returns the amount as a format prints it, dropping a kept text.
    pub fn with_format(mut self, format: Format) -> Self {
        self.format = format;
        self.kept = None;
        self
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
            // A whole number already, of more zeros than can be written out.
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
    /// Amounts whose exponents are further apart than [`MAX_DIGITS`] allows would need a number that
    /// the kubelet could not build either; the larger one stands for the sum.
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
