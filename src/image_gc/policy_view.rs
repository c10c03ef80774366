//! The policy of garbage collection for people.

use crate::image_gc::loops::Garbage;
use crate::image_gc::policy_report::{GcPolicy, LoopInForce, PolicySetting};
use crate::output::table::Table;
use serde_json::Value;

/// Returns a line for each loop and each setting.
pub fn table(policy: &GcPolicy) -> Table {
    let mut table = Table::new(["NAME", "VALUE", "ORIGIN", "MEANING"].map(str::to_owned).to_vec());
    for gc in &policy.loops {
        let [name, value, _] = loop_cells(gc);
        table.add(vec![name, value, dash(), gc.meaning.clone()]);
    }
    for item in &policy.items {
        let [name, value, _, origin] = cells(item);
        table.add(vec![name, value, origin, item.meaning.clone()]);
    }
    table
}

/// Returns a line for each loop and each setting, with the default.
pub fn wide(policy: &GcPolicy) -> Table {
    let headings = ["NAME", "VALUE", "DEFAULT", "ORIGIN", "MEANING"];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    for gc in &policy.loops {
        let [name, value, default] = loop_cells(gc);
        table.add(vec![name, value, default, dash(), gc.meaning.clone()]);
    }
    for item in &policy.items {
        table.add(cells(item).into_iter().chain([item.meaning.clone()]).collect());
    }
    table
}

fn loop_cells(gc: &LoopInForce) -> [String; 3] {
    let name = match gc.garbage {
        Garbage::Images => "image garbage collection",
        Garbage::Containers => "container garbage collection",
    };
    [name, if gc.runs { "on" } else { "off" }, "on"].map(str::to_owned)
}

fn cells(item: &PolicySetting) -> [String; 4] {
    [item.name.to_owned(), text(&item.value), text(&item.default), item.origin.to_string()]
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::kubelet_config::{KubeletConfiguration, effective};
    use crate::image_gc::policy_report::PolicySources;
    use crate::k8s::feature_gates::FeatureGates;
    use crate::k8s::version::KubeletVersion;
    use std::collections::BTreeMap;

    #[test]
    fn loops_come_before_settings() {
        let version = KubeletVersion::NEWEST;
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
