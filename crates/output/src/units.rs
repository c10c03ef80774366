//! Amounts for people: short, with the exact unit, or as a bar.

use kq_k8s::duration::GoDuration;
use std::fmt;

/// How a sentence writes amounts of bytes and lengths of time: exactly with `{}`, short with `{:#}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// `6442450944`, `547h7m21s`.
    Exact,
    /// `6Gi`, `22d`.
    Short,
}

impl Precision {
    /// Returns what a formatter asks for.
    pub fn of(f: &fmt::Formatter<'_>) -> Self {
        if f.alternate() { Self::Short } else { Self::Exact }
    }

    /// Writes an amount of bytes without a unit.
    pub fn bytes(self, amount: i64) -> String {
        match self {
            Self::Exact => amount.to_string(),
            Self::Short if amount < 0 => format!("-{}", bytes(amount.unsigned_abs())),
            Self::Short => bytes(amount.unsigned_abs()),
        }
    }

    /// Returns what follows an amount of bytes.
    fn unit(self) -> &'static str {
        match self {
            Self::Exact => " bytes",
            Self::Short => "",
        }
    }

    /// Writes a length of time in nanoseconds, without parts of a second.
    pub fn time(self, nanoseconds: i64) -> String {
        match self {
            Self::Exact => GoDuration(nanoseconds - nanoseconds % 1_000_000_000).to_string(),
            Self::Short => age(nanoseconds),
        }
    }

    /// Writes a sentence or a value.
    pub fn text(self, value: &impl fmt::Display) -> String {
        match self {
            Self::Exact => format!("{value}"),
            Self::Short => format!("{value:#}"),
        }
    }
}

/// An amount in a sentence, which is written with the sentence's [`Precision`].
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// Bytes, with the unit.
    Bytes(i64),
    /// Bytes whose unit stands elsewhere in the sentence.
    Number(i64),
    /// A length of time in nanoseconds.
    Time(i64),
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = Precision::of(f);
        match *self {
            Self::Bytes(amount) => write!(f, "{}{}", precision.bytes(amount), precision.unit()),
            Self::Number(amount) => f.write_str(&precision.bytes(amount)),
            Self::Time(nanoseconds) => f.write_str(&precision.time(nanoseconds)),
        }
    }
}

/// Returns a number of things: `1 pod`, `2 pods`.
pub fn counted(number: usize, one: &str) -> String {
    let plural = match one.strip_suffix('y').filter(|it| !it.ends_with(['a', 'e', 'o', 'u'])) {
        _ if number == 1 => one.to_owned(),
        Some(stem) => format!("{stem}ies"),
        None => format!("{one}s"),
    };
    format!("{number} {plural}")
}

/// Returns a regular verb in the present tense, behind so many: `restarts` for one, `restart` otherwise.
pub fn verb(number: usize, plural: &str) -> String {
    let ending = if number == 1 { "s" } else { "" };
    format!("{plural}{ending}")
}

/// Returns the first few of many: `a, b and 3 more`.
pub fn first_few<T: fmt::Display>(most: usize, names: impl IntoIterator<Item = T>) -> String {
    let mut names = names.into_iter();
    let named: Vec<String> = names.by_ref().take(most).map(|it| it.to_string()).collect();
    named.join(", ") + &and_more(names.count())
}

/// Counts what is not named: ` and 3 more`, or nothing.
pub fn and_more(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(" and {count} more"),
    }
}

/// Returns a place: `1st`, `2nd`, `11th`.
pub fn ordinal(number: usize) -> String {
    let end = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

/// Returns an amount of bytes with a binary unit, such as `11.8Mi`.
pub fn bytes(amount: u64) -> String {
    const UNITS: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if amount < 1024 {
        return amount.to_string();
    }
    // In tenths of the unit, rounded to the nearest; the next unit when that makes 1024 of it.
    let mut unit = 0;
    let tenths = |unit: usize| {
        let size = 1_u128 << (10 * (unit + 1));
        (u128::from(amount) * 10 + size / 2) / size
    };
    while unit + 1 < UNITS.len() && tenths(unit) >= 10_240 {
        unit += 1;
    }
    let tenths = tenths(unit);
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole}{}", UNITS[unit]),
        (whole, tenth) => format!("{whole}.{tenth}{}", UNITS[unit]),
    }
}

/// Returns a part of a whole in percent with one digit after the point; `None` of nothing.
pub fn percent(part: u64, whole: u64) -> Option<String> {
    let whole = u128::from(whole);
    let tenths = (u128::from(part) * 1000 + whole / 2).checked_div(whole)?;
    Some(format!("{}.{}%", tenths / 10, tenths % 10))
}

/// Returns the CPUs of a quota as Kubernetes writes them: `500m`, `2`.
pub fn milli_cpu(quota: u64, period: u64) -> String {
    let period = u128::from(period.max(1));
    match (u128::from(quota) * 1000 + period / 2) / period {
        whole if whole % 1000 == 0 => (whole / 1000).to_string(),
        milli => format!("{milli}m"),
    }
}

/// Returns a time in microseconds as seconds, minutes or hours: `0.25s`, `12m5s`, `30h0m`.
pub fn microseconds(amount: u64) -> String {
    let seconds = amount / 1_000_000;
    match seconds {
        0..60 => format!("{seconds}.{:02}s", amount % 1_000_000 / 10_000),
        60..3600 => format!("{}m{}s", seconds / 60, seconds % 60),
        _ => format!("{}h{}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Returns a length of time in nanoseconds as kubectl writes ages: `45s`, `12m`, `7h`, `3d`.
pub fn age(nanoseconds: i64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    match seconds {
        ..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Returns a bar of at most `width` cells for a part of a whole, in eighths of a cell.
pub fn bar(part: f64, whole: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if whole <= 0.0 || !part.is_finite() {
        return String::new();
    }
    let eighths = ((part / whole).clamp(0.0, 1.0) * (width * 8) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_short_and_near() {
        for (amount, expected) in [
            (0, "0"),
            (1023, "1023"),
            (1024, "1Ki"),
            (1536, "1.5Ki"),
            (1_048_575, "1Mi"),
            (12_345_678, "11.8Mi"),
            (u64::MAX, "16Ei"),
        ] {
            assert_eq!(bytes(amount), expected, "{amount}");
        }
    }

    #[test]
    fn sentences_are_exact_or_short() {
        struct Freed(i64, i64);
        impl fmt::Display for Freed {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Amount::Bytes(self.0).fmt(f)?;
                f.write_str(" ")?;
                Amount::Time(self.1).fmt(f)?;
                f.write_str(" ago")
            }
        }
        let freed = Freed(6_606_028_800, 1_969_641_500_000_000);
        assert_eq!(Precision::Exact.text(&freed), "6606028800 bytes 547h7m21s ago");
        assert_eq!(Precision::Short.text(&freed), "6.2Gi 22d ago");
        assert_eq!(Precision::Short.bytes(-2048), "-2Ki");
    }

    #[test]
    fn percents_and_times() {
        assert_eq!(percent(1, 3).as_deref(), Some("33.3%"));
        assert_eq!(percent(7, 7).as_deref(), Some("100.0%"));
        assert_eq!(percent(0, 0), None);
        assert_eq!(
            [(50_000, 100_000), (200_000, 100_000), (1, 3)].map(|(q, p)| milli_cpu(q, p)),
            ["500m", "2", "333m"]
        );
        for (amount, expected) in [
            (250_000, "0.25s"),
            (59_999_999, "59.99s"),
            (725_000_000, "12m5s"),
            (108_000_000_000, "30h0m"),
        ] {
            assert_eq!(microseconds(amount), expected, "{amount}");
        }
    }

    #[test]
    fn ages_are_short() {
        for (seconds, expected) in
            [(0, "0s"), (119, "119s"), (120, "2m"), (7_199, "119m"), (7_200, "2h"), (172_800, "2d")]
        {
            assert_eq!(age(seconds * 1_000_000_000), expected);
        }
    }

    #[test]
    fn bars_are_as_long_as_their_part() {
        for (name, part, whole, expected) in [
            ("nothing", 0.0, 4.0, ""),
            ("half", 2.0, 4.0, "██"),
            ("a bit", 0.125, 4.0, "▏"),
            ("all", 4.0, 4.0, "████"),
            ("more than all", 9.0, 4.0, "████"),
            ("of nothing", 1.0, 0.0, ""),
        ] {
            assert_eq!(bar(part, whole, 4), expected, "{name}");
        }
    }
}
