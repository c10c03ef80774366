//! Amounts of resources, exactly as Kubernetes parses, adds, compares, rounds and prints them.
//!
//! Mirrors `Quantity` of `staging/src/k8s.io/apimachinery/pkg/api/resource/` (`quantity.go`,
//! `amount.go`, `math.go`, `scale_int.go`, `suffix.go`), read in 1.36.2, including where that
//! arithmetic wraps or loses a sign: the kubelet acts on those numbers. Pinned by the vectors
//! `quantity.jsonl`. No float comes near an amount.
//!
//! * `parse`: text to amount.
//! * `arithmetic`: add, subtract, compare, round; amount to 64-bit units.
//! * `print`: amount to text; serde.

mod arithmetic;
mod parse;
mod print;

pub use parse::ParseQuantityError;

use num_bigint::BigInt;

/// An amount of a resource.
///
/// Two quantities are equal (`==`) when they are the same amount in the same form with the same
/// text; [`Quantity::compare`] compares the amounts alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantity {
    amount: Amount,
    format: Format,
    /// Kubernetes prints the input text, not the canonical text.
    keeps_text: bool,
    /// The input text, where it differs from the canonical text.
    other_text: Option<Box<str>>,
}

/// How a quantity prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Of a quantity that was never set; prints as `DecimalExponent`.
    #[default]
    Unset,
    /// `250m`, `1`, `2k`
    DecimalSi,
    /// `64Mi`; below 1024 and with fractions as `DecimalSi`.
    BinarySi,
    /// `12e6`
    DecimalExponent,
}

impl Format {
    /// Returns Kubernetes' name of the format; empty for a quantity never set.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unset => "",
            Self::DecimalSi => "DecimalSI",
            Self::BinarySi => "BinarySI",
            Self::DecimalExponent => "DecimalExponent",
        }
    }
}

/// The number. Its form decides how conversions to 64 bits go wrong, so the
/// form is carried along as Kubernetes carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Amount {
    /// mantissa x 10^exponent
    Small { mantissa: i64, exponent: i32 },
    /// Boxed: almost every amount on a node is small.
    Big(Box<Decimal>),
}

impl Default for Amount {
    fn default() -> Self {
        Self::Small { mantissa: 0, exponent: 0 }
    }
}

/// unscaled / 10^scale
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decimal {
    unscaled: BigInt,
    scale: i32,
}

impl Quantity {
    /// Returns a number of whole units (bytes, cores, counts).
    pub fn from_units(units: i64, format: Format) -> Self {
        Self::small(units, 0, format)
    }

    /// Returns a number of thousandths (milli-CPU).
    pub fn from_milli(milli: i64, format: Format) -> Self {
        Self::small(milli, -3, format)
    }

    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns true if the amount is zero.
    pub fn is_zero(&self) -> bool {
        self.sign() == 0
    }

    /// Returns -1, 0 or 1.
    pub fn sign(&self) -> i32 {
        match &self.amount {
            Amount::Small { mantissa, .. } => mantissa.signum() as i32,
            Amount::Big(decimal) => match decimal.unscaled.sign() {
                num_bigint::Sign::Minus => -1,
                num_bigint::Sign::NoSign => 0,
                num_bigint::Sign::Plus => 1,
            },
        }
    }

    fn small(mantissa: i64, exponent: i32, format: Format) -> Self {
        Self::new(Amount::Small { mantissa, exponent }, format)
    }

    fn big(unscaled: BigInt, scale: i32, format: Format) -> Self {
        Self::new(Amount::Big(Box::new(Decimal { unscaled, scale })), format)
    }

    fn new(amount: Amount, format: Format) -> Self {
        Self { amount, format, keeps_text: false, other_text: None }
    }

    /// Drops the input text.
    fn forget_text(&mut self) {
        self.keeps_text = false;
        self.other_text = None;
    }
}

/// Returns 10^k if it fits 64 bits.
fn small_power_of_ten(k: u32) -> Option<i64> {
    const POWERS: [i64; 19] = {
        let mut powers = [1; 19];
        let mut k = 1;
        while k < powers.len() {
            powers[k] = powers[k - 1] * 10;
            k += 1;
        }
        powers
    };
    POWERS.get(k as usize).copied()
}

/// Returns 10^k.
fn power_of_ten(k: u32) -> BigInt {
    small_power_of_ten(k).map_or_else(|| BigInt::from(10u8).pow(k), BigInt::from)
}
