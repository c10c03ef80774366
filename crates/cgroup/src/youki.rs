//! What youki writes of a container's settings where systemd manages cgroups.
//!
//! Read in youki 0.7.0 (`bc787206`), `crates/libcgroups/src`. `Manager::apply` of `systemd/manager.rs` sets properties of the
//! scope and writes no file: what systemd has no property for, or youki does not pass on, is not set at all.
//!
//! | setting                        | what youki does                                             | function             |
//! |--------------------------------|-------------------------------------------------------------|----------------------|
//! | shares                         | `CPUWeight`                                                 | `Cpu::apply`         |
//! | quota and period               | `CPUQuotaPerSecUSec`, not rounded to percents of a CPU      | `Cpu::apply`         |
//! | memory limit                   | `MemoryMax`                                                 | `Memory::apply`      |
//! | memory and swap together       | less the memory limit `MemorySwapMax`; a difference of 0 counts from 0.7.0 on | `Memory::apply_swap` |
//! | `memory.min`, `.low`, `.high`  | `MemoryMin`, `MemoryLow`, `MemoryHigh`                      | `Unified::apply`     |
//! | `memory.oom.group`, `memory.swap.max` | left out, with a warning                             | `Unified::apply`     |
//! | huge pages                     | left out                                                    | `CONTROLLER_TYPES`   |
//!
//! With the driver `cgroupfs`, youki writes the files that runc writes (`v2/manager.rs`, `v1/manager.rs`), also those of
//! reservations of huge pages.

use crate::container::RuntimeResources;
use crate::derivation::Derived;
use crate::files::{CgroupDriver, CgroupVersion};
use crate::rule::Rule;
use crate::settings::CgroupSettings;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::weight_formula::UnderSystemd;

/// Returns what is left of a request to the runtime, and the driver that rounds its quota.
pub fn written(
    mut resources: RuntimeResources,
    under_systemd: UnderSystemd,
    settings: &CgroupSettings,
) -> (RuntimeResources, CgroupDriver) {
    let UnderSystemd::Properties { closes_swap } = under_systemd else {
        return (resources, settings.driver);
    };
    if settings.version == CgroupVersion::V1 || settings.driver == CgroupDriver::Cgroupfs {
        return (resources, settings.driver);
    }
    resources.hugepage_limits.clear();
    let swap_max = CgroupFile::MemorySwapMax.v2_name();
    resources.unified.remove(CgroupFile::MemoryOomGroup.v2_name());
    resources.unified.remove(swap_max);
    // The container runtime asks for no swap above memory wherever the kernel limits swap.
    if closes_swap && resources.memory_limit.value > 0 && settings.kernel.swap_controller {
        let mut because = resources.memory_limit.because.clone();
        because.push(Rule::NoSwapAboveMemory.into());
        resources.unified.insert(swap_max, Derived::new("0".to_owned(), because));
    }
    (resources, CgroupDriver::Cgroupfs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Owner, RuntimeFormula, plan};
    use kq_answer::origin::Origin;
    use kq_facts::describe::{ConfigSource, NodeSources, describe};
    use kq_facts::overrides::Overrides;
    use kq_facts::settings::assign;
    use kq_k8s::manifest::load;
    use std::collections::BTreeMap;

    const PODS: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"one","namespace":"n","uid":"u1"},
      "spec":{"containers":[
        {"name":"limited","resources":{"requests":{"cpu":"15m","memory":"64Mi"},"limits":{"cpu":"15m","memory":"64Mi"}}},
        {"name":"free","resources":{"requests":{"cpu":"1","memory":"64Mi"}}}]}}"#;

    /// Returns the files of the containers with their texts.
    fn files(
        (name, version): (&str, &str),
        driver: CgroupDriver,
        cgroups: CgroupVersion,
    ) -> BTreeMap<String, String> {
        let mut config = ConfigSource::default();
        for (field, text) in [
            ("cgroupDriver", driver.to_string().as_str()),
            ("failSwapOn", "false"),
            ("memorySwap.swapBehavior", "LimitedSwap"),
        ] {
            assign(&mut config, field, text, Origin::Flag("--set")).expect("YAML");
        }
        let list = "cpu=4,memory=8Gi,pid=32768,hugepages-2Mi=64Mi".split(',').map(|pair| {
            let (name, amount) = pair.split_once('=').expect("a pair");
            (name.into(), amount.parse().expect("an amount"))
        });
        let overrides = Overrides {
            cgroup_version: Some(cgroups),
            capacity: list.collect(),
            swap_capacity: Some(1 << 30),
            swap_controller: Some(true),
            page_size: Some(4096),
            ..Overrides::default()
        };
        let sources =
            NodeSources { config: &config, object: None, overrides: &overrides, live: None };
        let node = describe(sources).expect("a node");
        let pods = load("pods.json", PODS.as_bytes()).pods;
        let formula = RuntimeFormula::of_runtime(name, version).expect("it is known");
        let formula = RuntimeFormula { disables_hugetlb: Some(false), ..formula };
        let planned = plan(&pods, &node, formula).expect("a plan");
        let mut found = BTreeMap::new();
        for root in &planned.roots {
            root.walk(0, &mut |cgroup, _| {
                if let Owner::Container { name, .. } = cgroup.owner {
                    let texts = cgroup.files.iter().map(|it| (it.file.to_string(), &it.value));
                    found
                        .extend(texts.map(|(file, text)| (format!("{name} {file}"), text.clone())));
                }
            });
        }
        found
    }

    /// Returns the texts of a file of both containers; `-`: it is not written.
    fn both(found: &BTreeMap<String, String>, file: &str) -> [String; 2] {
        ["limited", "free"].map(|name| {
            found.get(&format!("{name} {file}")).map_or_else(|| "-".to_owned(), String::clone)
        })
    }

    #[test]
    fn under_systemd_only_what_has_a_property_is_set() {
        let (v2, systemd) = (CgroupVersion::V2, CgroupDriver::Systemd);
        let runc = files(("runc", "1.3.6"), systemd, v2);
        let new = files(("youki", "0.7.0"), systemd, v2);
        let middle = files(("youki", "0.6.0"), systemd, v2);
        let old = files(("youki", "0.5.6"), systemd, v2);
        for (file, found, expected) in [
            ("cpu.weight", &runc, ["5", "100"]),
            ("cpu.weight", &new, ["5", "100"]),
            ("cpu.weight", &middle, ["5", "100"]),
            ("cpu.weight", &old, ["1", "39"]),
            ("cpu.max", &runc, ["2000 100000", "max 100000"]),
            ("cpu.max", &new, ["1500 100000", "max 100000"]),
            ("memory.max", &new, ["67108864", "-"]),
            ("memory.oom.group", &runc, ["1", "1"]),
            ("memory.oom.group", &new, ["-", "-"]),
            ("memory.swap.max", &runc, ["0", "8388608"]),
            ("memory.swap.max", &new, ["0", "-"]),
            ("memory.swap.max", &middle, ["-", "-"]),
            ("hugetlb.2MB.max", &runc, ["0", "0"]),
            ("hugetlb.2MB.max", &new, ["-", "-"]),
        ] {
            assert_eq!(both(found, file), expected, "{file} {found:?}");
        }
    }

    #[test]
    fn without_systemd_it_writes_what_runc_writes() {
        for version in [CgroupVersion::V1, CgroupVersion::V2] {
            let [runc, youki] = [("runc", "1.3.6"), ("youki", "0.7.0")]
                .map(|program| files(program, CgroupDriver::Cgroupfs, version));
            assert!(!runc.is_empty());
            assert_eq!(runc, youki);
        }
    }
}
