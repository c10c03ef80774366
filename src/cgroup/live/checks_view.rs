//! The checks of a node for people.

use crate::cgroup::live::checks::{Check, Status};
use crate::output::table::Table;

/// More of what was found is cut off in a table: reasons can be long, and `wide` has all of them.
const SHOWN: usize = 120;

/// Returns a line for each check.
pub fn table(checks: &[Check]) -> Table {
    let mut table = Table::new(["CHECK", "STATUS", "FOUND", "SOURCE"].map(str::to_owned).to_vec());
    for check in checks {
        let [name, status, found, source] = cells(check);
        table.add(vec![name, status, brief(found), brief(source)]);
    }
    table
}

/// Returns a line for each check, with what to do.
pub fn wide(checks: &[Check]) -> Table {
    let headings = ["CHECK", "STATUS", "FOUND", "SOURCE", "ADVICE"];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    for check in checks {
        let advice = check.advice.clone().unwrap_or_else(dash);
        table.add(cells(check).into_iter().chain([advice]).collect());
    }
    table
}

/// Returns what to do about each check that is not as it should be: `CHECK: ADVICE`; what is wrong
/// first.
pub fn advice(checks: &[Check]) -> Vec<String> {
    let order = [Status::Fail, Status::Warn, Status::Unknown];
    let of = |status: Status| checks.iter().filter(move |check| check.status == status);
    let told = order.into_iter().flat_map(of).filter_map(|check| {
        let advice = check.advice.as_ref()?;
        Some(format!("{}: {advice}", check.name))
    });
    told.collect()
}

fn cells(check: &Check) -> [String; 4] {
    [
        check.name.to_owned(),
        check.status.to_string(),
        check.found.clone(),
        check.source.clone().unwrap_or_else(dash),
    ]
}

fn brief(text: String) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &'static str, status: Status, found: &str, advice: Option<&str>) -> Check {
        Check {
            name,
            status,
            found: found.to_owned(),
            source: None,
            advice: advice.map(str::to_owned),
        }
    }

    #[test]
    fn what_is_wrong_is_told_first() {
        let checks = [
            check("a", Status::Ok, "fine", None),
            check("b", Status::Unknown, "?", Some("look")),
            check("c", Status::Warn, "hm", Some("mind")),
            check("d", Status::Fail, "bad", Some("act")),
        ];
        assert_eq!(advice(&checks), ["d: act", "c: mind", "b: look"]);
        let shown = table(&checks[..1]).to_string();
        assert_eq!(shown, "CHECK   STATUS   FOUND   SOURCE\na       OK       fine    -\n");
    }

    #[test]
    fn only_wide_has_all_of_a_long_reason() {
        let long = "ä".repeat(SHOWN + 1);
        let checks = [check("a", Status::Unknown, &long, None)];
        assert!(wide(&checks).to_string().contains(&long));
        let shown = table(&checks).to_string();
        assert!(!shown.contains(&long) && shown.contains("ä..."), "{shown}");
    }
}
