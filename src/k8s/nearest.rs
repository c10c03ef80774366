//! Finds what a misspelt name probably meant.

/// Returns the candidate closest to a name, if one is close enough to be a misspelling of it.
///
/// Case is ignored. Of several equally close ones the first wins.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).clamp(1, 4);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let distance = edit_distance(&name.to_lowercase(), &candidate.to_lowercase());
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns how many letters must be added, removed or changed to turn one text into the other.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, from) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in right.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_found() {
        let names = ["cgroupDriver", "cgroupRoot", "maxPods"];
        let cases = [
            ("one letter missing", "cgroupDrver", Some("cgroupDriver")),
            ("case", "CgroupRoot", Some("cgroupRoot")),
            ("two letters swapped", "maxPdos", Some("maxPods")),
            ("one letter too many", "maxPodss", Some("maxPods")),
            ("something else", "kubeReserved", None),
            ("empty", "", None),
        ];
        for (name, text, expected) in cases {
            assert_eq!(nearest(text, names), expected, "{name}");
        }
    }
}
