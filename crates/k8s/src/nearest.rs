//! Finds the name that a misspelt one probably means.

/// The longest name with suggestions: no name in Kubernetes is longer, with a namespace.
const MAX_LETTERS: usize = 512;

/// The number of unknown names of one source with suggestions: a list of thousands is not misspelt.
pub const MOST_HINTS: usize = 100;

/// Returns the candidate closest to a name, if one is close enough to be a misspelling of it.
///
/// Case is ignored. Of several equally close ones the first wins.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters =
        |text: &str| text.chars().flat_map(char::to_lowercase).take(MAX_LETTERS + 1).collect();
    let left: Vec<char> = letters(name);
    if left.len() > MAX_LETTERS {
        return None;
    }
    // One above the accepted distance; each candidate must be closer than the best so far.
    let mut least = (name.chars().count() / 3).clamp(1, 4) + 1;
    let mut best = None;
    for candidate in candidates {
        // A letter has one byte at least; in lower case it may have more than in upper case, three at most.
        if candidate.len() + least <= left.len() / 3 || candidate.len() >= (left.len() + least) * 12
        {
            continue;
        }
        let right: Vec<char> = letters(candidate);
        if let Some(distance) = distance_below(least, &left, &right) {
            (least, best) = (distance, Some(candidate));
        }
    }
    best
}

/// Returns how many letters must be added, removed or changed to turn one text into the other, where these are
/// fewer than a bound. Computes only cells below the bound, and stops where none is left.
fn distance_below(bound: usize, left: &[char], right: &[char]) -> Option<usize> {
    if left.len().abs_diff(right.len()) >= bound {
        return None;
    }
    let mut row: Vec<usize> = (0..=right.len()).map(|at| at.min(bound)).collect();
    for (i, from) in left.iter().enumerate() {
        let begin = (i + 1).saturating_sub(bound);
        let end = right.len().min(i + bound);
        let mut diagonal = row[begin];
        row[begin] = if begin == 0 { (i + 1).min(bound) } else { bound };
        let mut least = row[begin];
        for j in begin..end {
            let changed = diagonal + usize::from(*from != right[j]);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1).min(bound);
            least = least.min(row[j + 1]);
        }
        if least >= bound {
            return None;
        }
    }
    row.get(right.len()).copied().filter(|distance| *distance < bound)
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

    /// Returns the distance by its definition.
    fn plainly(left: &[char], right: &[char]) -> usize {
        match (left, right) {
            ([], rest) | (rest, []) => rest.len(),
            ([a, left_rest @ ..], [b, right_rest @ ..]) => {
                let changed = plainly(left_rest, right_rest) + usize::from(a != b);
                changed.min(plainly(left_rest, right) + 1).min(plainly(left, right_rest) + 1)
            }
        }
    }

    #[test]
    fn distances_are_those_of_the_definition() {
        let words: Vec<Vec<char>> =
            ["", "a", "b", "ab", "ba", "abc", "bca", "aabb", "abab", "bbaab", "cabba", "abcabc"]
                .map(|word| word.chars().collect())
                .into();
        for left in &words {
            for right in &words {
                let distance = plainly(left, right);
                for bound in 1..6 {
                    let expected = Some(distance).filter(|it| *it < bound);
                    assert_eq!(
                        distance_below(bound, left, right),
                        expected,
                        "{left:?} {right:?} {bound}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_very_long_name_is_no_misspelling() {
        let long = "x".repeat(70_000);
        assert_eq!(nearest(&long, [long.as_str()]), None);
        assert_eq!(nearest("x", [long.as_str()]), None);
    }
}
