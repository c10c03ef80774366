//! A number as a bar.

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
