//! The checks of a node for people.

use crate::cgroup::live::checks::{Check, Status};
use crate::output::table::{Column, Rows, Table, or_dash};

/// More of what was found is cut off in a table: reasons can be long, and `wide` has all of them.
const SHOWN: usize = 120;

const COLUMNS: &[Column<Check>] = &[
    Column::new("CHECK", |check| check.name.to_owned()),
    Column::new("STATUS", |check| check.status.to_string()),
    Column::narrow("FOUND", |check| brief(check.found.clone())),
    Column::wide("FOUND", |check| check.found.clone()),
    Column::narrow("SOURCE", |check| brief(or_dash(check.source.as_ref()))),
    Column::wide("SOURCE", |check| or_dash(check.source.as_ref())),
    Column::wide("ADVICE", |check| or_dash(check.advice.as_ref())),
];

/// Returns a line for each check.
pub fn table(checks: &[Check]) -> Table {
    Rows::of(checks).table(COLUMNS)
}

/// Returns a line for each check, with what to do.
pub fn wide(checks: &[Check]) -> Table {
    Rows::of(checks).wide(true).table(COLUMNS)
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

fn brief(text: String) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
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
