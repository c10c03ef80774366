//! The policy of garbage collection for people.

use crate::loops::Garbage;
use crate::policy_report::{GcPolicy, LoopInForce, PolicySetting};
use kq_output::table::{Column, Rows, Table};
use serde_json::Value;

/// Returns a line for each loop and each setting.
pub fn table(policy: &GcPolicy) -> Table {
    lines(policy, false)
}

/// Returns a line for each loop and each setting, with the default.
pub fn wide(policy: &GcPolicy) -> Table {
    lines(policy, true)
}

enum Row<'p> {
    Loop(&'p LoopInForce),
    Setting(&'p PolicySetting),
}

fn lines(policy: &GcPolicy, is_wide: bool) -> Table {
    let loops = policy.loops.iter().map(Row::Loop);
    let rows: Vec<Row<'_>> = loops.chain(policy.items.iter().map(Row::Setting)).collect();
    Rows::of(&rows).wide(is_wide).table(&[
        Column::name("NAME", |row| {
            match row {
                Row::Loop(LoopInForce { garbage: Garbage::Images, .. }) => {
                    "image garbage collection"
                }
                Row::Loop(_) => "container garbage collection",
                Row::Setting(item) => item.name,
            }
            .to_owned()
        }),
        Column::new("VALUE", |row| match row {
            Row::Loop(gc) => if gc.runs { "on" } else { "off" }.to_owned(),
            Row::Setting(item) => text(&item.value),
        }),
        Column::wide(Column::new("DEFAULT", |row| match row {
            Row::Loop(_) => "on".to_owned(),
            Row::Setting(item) => text(&item.default),
        })),
        Column::new("ORIGIN", |row| match row {
            Row::Loop(_) => "-".to_owned(),
            Row::Setting(item) => item.origin.to_string(),
        }),
        Column::text("MEANING", |row| match row {
            Row::Loop(gc) => gc.meaning.clone(),
            Row::Setting(item) => item.meaning.clone(),
        }),
    ])
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy_report::PolicySources;
    use kq_facts::kubelet_config::{KubeletConfiguration, effective};
    use kq_k8s::feature_gates::FeatureGates;
    use kq_k8s::version::KubeletVersion;
    use std::collections::BTreeMap;

    #[test]
    fn loops_come_before_settings() {
        let version = KubeletVersion::ASSUMED;
        let policy = GcPolicy::of(PolicySources {
            config: &effective(&KubeletConfiguration::default(), version),
            gates: FeatureGates::for_version(version),
            origins: &BTreeMap::new(),
            container_flags: None,
        });
        let shown = table(&policy).to_string();
        let first: Vec<&str> = shown
            .lines()
            .filter_map(|line| line.split("   ").find(|cell| !cell.is_empty()))
            .collect();
        let expected = [
            "NAME",
            "image garbage collection",
            "container garbage collection",
            "imageGCHighThresholdPercent",
            "imageGCLowThresholdPercent",
            "imageMinimumGCAge",
            "imageMaximumGCAge",
            "minimum-container-ttl-duration",
            "maximum-dead-containers-per-container",
            "maximum-dead-containers",
        ];
        assert_eq!(first, expected);
        assert!(shown.contains("2m0s") && !shown.contains('"'), "{shown}");
        assert!(wide(&policy).to_string().starts_with("NAME"), "a wide table");
        assert!(
            wide(&policy).to_string().lines().nth(3).is_some_and(|line| line.contains("85   "))
        );
    }
}
