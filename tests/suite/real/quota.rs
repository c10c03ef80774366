//! A CPU limit of cgroup v1 is changed below a limited cgroup, as the kernel allows it.

use super::cgroups::Hierarchies;
use super::{must_be_root, skip};
use kq_cgroup::files::{CgroupDriver, CgroupVersion};
use kq_cgroup::live::apply::{Caution, CgroupFiles, Rollback, apply, check_all, roll_back};
use kq_cgroup::live::compare::Rounding;
use kq_cgroup::live::difference::{Difference, Verdict};
use kq_cgroup::live::repair::{Ground, repair};
use kq_cgroup::report::PlaceLevel;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use kq_facts::node_config::Kernel;
use std::sync::Arc;

const QUOTA: &str = "cpu.cfs_quota_us";
const PERIOD: &str = "cpu.cfs_period_us";

/// The cgroup files of this machine.
struct Machine<'h>(&'h Hierarchies);

impl CgroupFiles for Machine<'_> {
    fn read(&self, cgroup: &str, file: &str) -> Result<Option<String>, String> {
        self.0.read(cgroup, file).map(Some).map_err(|error| error.to_string())
    }

    fn write(&self, cgroup: &str, file: &str, text: &str) -> Result<(), String> {
        std::fs::write(self.0.file(cgroup, file), text).map_err(|error| error.to_string())
    }
}

/// Cgroups that go away with the test.
struct Cgroups<'h> {
    machine: &'h Hierarchies,
    root: String,
}

impl Drop for Cgroups<'_> {
    fn drop(&mut self) {
        let _ = self.machine.remove(&self.root);
    }
}

impl Cgroups<'_> {
    fn path(&self, name: &str) -> String {
        format!("{}{name}", self.root)
    }

    /// Sets a limit where there was none.
    fn set(&self, name: &str, (quota, period): (&str, &str)) {
        let path = self.path(name);
        self.machine.write(&path, QUOTA, "-1");
        self.machine.write(&path, PERIOD, period);
        self.machine.write(&path, QUOTA, quota);
    }

    fn get(&self, name: &str) -> (String, String) {
        let read = |file| self.machine.read(&self.path(name), file).expect("a file");
        (read(QUOTA), read(PERIOD))
    }

    fn tree(&self) -> CgroupTree {
        let mut tree = CgroupTree::default();
        for name in ["", "/pod", "/pod/app"] {
            let (quota, period) = self.get(name);
            let texts = [(QUOTA.to_owned(), quota), (PERIOD.to_owned(), period)];
            let texts = CgroupTexts(texts.into_iter().collect());
            Arc::make_mut(&mut tree.cgroups).insert(CgroupPath::new(&self.path(name)), texts);
        }
        tree
    }

    fn drift(&self, name: &str, file: &str, actual: &str, planned: &str) -> Option<Difference<'_>> {
        (actual != planned).then(|| Difference {
            level: PlaceLevel::Pod,
            namespace: None,
            pod: None,
            container: None,
            cgroup: self.path(name),
            file: Some(file.to_owned()),
            planned: Some(planned.to_owned()),
            actual: Some(actual.to_owned()),
            verdict: Verdict::Drift,
            reason: None,
            writer: Some("kubelet"),
            set_by: None,
            is_resizing: false,
            pod_uid: None,
            is_sum: false,
            is_refreshed: false,
            because: std::borrow::Cow::Borrowed(&[]),
        })
    }
}

#[test]
fn a_quota_and_its_period_change_below_a_limited_cgroup() {
    if let Err(reason) = must_be_root() {
        return skip(&reason);
    }
    let machine = Hierarchies::of_machine().expect("hierarchies");
    if machine.version != CgroupVersion::V1 || !machine.has("cpu") {
        // Version 2 takes any quota below any other.
        return;
    }
    type Limit = (&'static str, &'static str);
    let (little, much): (Limit, Limit) = (("2500", "10000"), ("62500", "250000"));
    let none: Limit = ("-1", "100000");
    // The names, the limits of pod and container before, and those after.
    for (name, pod, app, new_pod, new_app) in [
        ("both rise", little, none, much, none),
        ("both fall", much, none, little, none),
        ("both rise, with a container of as much", little, little, much, much),
        ("both fall, with a container of as much", much, much, little, little),
        ("more of less", ("1000", "10000"), ("1000", "10000"), much, much),
        ("less of more", much, much, ("1000", "10000"), ("1000", "10000")),
        ("a container only", little, ("1000", "10000"), little, much),
        ("a limit for all", none, none, much, little),
        ("no limit any more", much, little, none, none),
    ] {
        let root = format!("/kq-test-quota-{}", std::process::id());
        let cgroups = Cgroups { machine: &machine, root };
        for path in ["", "/pod", "/pod/app"] {
            machine.create(&cgroups.path(path));
        }
        cgroups.set("", ("25000", "100000"));
        cgroups.set("/pod", pod);
        cgroups.set("/pod/app", app);
        let mut differences = Vec::new();
        for (path, from, to) in [("/pod", pod, new_pod), ("/pod/app", app, new_app)] {
            differences.extend(cgroups.drift(path, QUOTA, from.0, to.0));
            differences.extend(cgroups.drift(path, PERIOD, from.1, to.1));
        }
        let ground_root = CgroupPath::new(&cgroups.root);
        let ground = Ground { version: CgroupVersion::V1, root: &ground_root, allow_oom: false };
        let planned = repair(&differences, &cgroups.tree(), ground);
        let (version, driver) = (CgroupVersion::V1, CgroupDriver::Cgroupfs);
        let rounding = Rounding { version, driver, kernel: Kernel::default() };
        let caution = Caution { allow_oom: false, rounding };
        let files = Machine(&machine);
        let steps = &planned.steps;
        assert_eq!(check_all(steps, &files, caution), Ok(()), "{name}");
        let outcome = apply(steps, &files, caution, &mut |_, _, _| Ok(()));
        assert_eq!(outcome.stopped, None, "{name}: {steps:#?}");
        let owned = |(quota, period): Limit| (quota.to_owned(), period.to_owned());
        let now = || (cgroups.get("/pod"), cgroups.get("/pod/app"));
        assert_eq!(now(), (owned(new_pod), owned(new_app)), "{name}");
        let rollback = Rollback::of(steps, String::new());
        let outcome = roll_back(&rollback, &files, caution, &mut |_, _, _| Ok(()));
        assert_eq!(outcome.stopped, None, "back from {name}: {steps:#?}");
        assert_eq!(now(), (owned(pod), owned(app)), "back from {name}");
    }
}
