//! Taints and who bears them.
//!
//! Mirrors `Toleration.ToleratesTaint` of `staging/src/k8s.io/api/core/v1/toleration.go`, read in
//! 1.36.2.

use super::read::null_as_default;
use serde::{Deserialize, Serialize};

/// A taint that a pod bears. All fields are texts; an empty one is the same as an absent one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Toleration {
    /// The taint's key; empty for all.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// `Equal`, `Exists`, or, behind a gate, `Lt` and `Gt`; empty for `Equal`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub operator: String,
    /// The taint's value.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The taint's effect; empty for all.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub effect: String,
}

/// A taint.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct Taint<'t> {
    pub key: &'t str,
    pub value: &'t str,
    pub effect: &'t str,
}

/// Which rules of comparing there are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TaintRules {
    /// `Lt` and `Gt` compare numbers (gate TaintTolerationComparisonOperators).
    pub comparison_operators: bool,
}

impl Toleration {
    /// Tells whether a pod with this toleration bears the taint.
    pub fn tolerates(&self, taint: &Taint<'_>, rules: TaintRules) -> bool {
        if !self.effect.is_empty() && self.effect != taint.effect {
            return false;
        }
        if !self.key.is_empty() && self.key != taint.key {
            return false;
        }
        match self.operator.as_str() {
            "" | "Equal" => self.value == taint.value,
            "Exists" => true,
            operator @ ("Lt" | "Gt") if rules.comparison_operators => {
                let (Some(mine), Some(its)) = (number(&self.value), number(taint.value)) else {
                    return false;
                };
                if operator == "Lt" { its < mine } else { its > mine }
            }
            _ => false,
        }
    }
}

/// Reads a plain decimal number: no leading zeros, no plus sign.
fn number(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toleration_covers_a_taint_by_effect_key_and_value() {
        let taint = Taint { key: "k", value: "5", effect: "NoSchedule" };
        // Key, operator, value, effect; without and with numbers compared.
        let rows = [
            ("all of it", ["k", "Equal", "5", "NoSchedule"], true, true),
            ("equal is the default", ["k", "", "5", ""], true, true),
            ("another value", ["k", "", "6", ""], false, false),
            ("another key", ["l", "Exists", "", ""], false, false),
            ("another effect", ["k", "Exists", "", "NoExecute"], false, false),
            ("everything", ["", "Exists", "", ""], true, true),
            ("every key with the value", ["", "Equal", "5", ""], true, true),
            ("exists, whatever the value", ["k", "Exists", "7", ""], true, true),
            ("less", ["k", "Lt", "6", ""], false, true),
            ("not less", ["k", "Lt", "5", ""], false, false),
            ("greater", ["k", "Gt", "-4", ""], false, true),
            ("no plain number", ["k", "Gt", "04", ""], false, false),
            ("plus sign", ["k", "Gt", "+4", ""], false, false),
            ("unknown operator", ["k", "In", "5", ""], false, false),
        ];
        for (name, [key, operator, value, effect], plain, compared) in rows {
            let toleration = Toleration {
                key: key.to_owned(),
                operator: operator.to_owned(),
                value: value.to_owned(),
                effect: effect.to_owned(),
            };
            for (comparison_operators, expected) in [(false, plain), (true, compared)] {
                let rules = TaintRules { comparison_operators };
                assert_eq!(toleration.tolerates(&taint, rules), expected, "{name}");
            }
        }
    }
}
