//! The lines that connect the entries of a tree.

/// What stands before an entry and before the lines below it that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Before the entry itself.
    pub branch: String,
    /// Before further lines of the same entry.
    pub below: String,
}

/// Returns the connecting lines of entries that are given by their depths, top down.
pub fn branches(depths: &[usize]) -> Vec<Entry> {
    // From the end, it is known at every depth whether a sibling follows.
    let mut follows: Vec<bool> = Vec::new();
    let mut entries: Vec<Entry> = depths
        .iter()
        .rev()
        .map(|&depth| {
            // What was deeper belongs to this entry, or to one above it.
            let has_children = follows.get(depth + 1).copied().unwrap_or(false);
            follows.truncate(depth + 1);
            follows.resize(depth + 1, false);
            let above: String =
                (1..depth).map(|at| if follows[at] { "│  " } else { "   " }).collect();
            let (branch, line) = match (depth, follows[depth]) {
                (0, _) => ("", ""),
                (_, true) => ("├─ ", "│  "),
                (_, false) => ("└─ ", "   "),
            };
            follows[depth] = true;
            Entry {
                branch: format!("{above}{branch}"),
                below: format!("{above}{line}{}", if has_children { "│  " } else { "   " }),
            }
        })
        .collect();
    entries.reverse();
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_lead_to_the_next_sibling() {
        let shown: Vec<String> =
            branches(&[0, 1, 2, 2, 1, 2, 0, 1]).into_iter().map(|entry| entry.branch).collect();
        assert_eq!(shown, ["", "├─ ", "│  ├─ ", "│  └─ ", "└─ ", "   └─ ", "", "└─ "]);
    }
}
