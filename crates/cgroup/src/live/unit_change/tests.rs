//! Steps of units, on a machine that the tests make up.

use super::*;
use crate::files::CgroupDriver;
use crate::live::apply::{Rollback, RollbackState, apply, check_all, roll_back, rollback_states};
use kq_facts::node_config::Kernel;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

const CAUTION: Caution = Caution {
    allow_oom: false,
    rounding: Rounding {
        version: CgroupVersion::V2,
        driver: CgroupDriver::Systemd,
        kernel: Kernel { swap_controller: false, page_size: 4096 },
    },
};

/// Values by cgroup and name.
type Named<T> = BTreeMap<(String, String), T>;

/// A scope and a slice, whose files systemd writes from its properties.
#[derive(Clone, Default)]
struct Machine {
    files: RefCell<Named<String>>,
    properties: RefCell<Named<Property>>,
    /// How many changes there may be before kq is killed.
    left: Cell<usize>,
}

const SCOPE: &str = "/kubepods.slice/kubepods-pod1.slice/cri-containerd-1.scope";
const SLICE: &str = "/kubepods.slice";

impl Machine {
    /// Returns units with these texts in files that differ from what systemd wrote.
    fn with(by_hand: &[(&str, &str, &str)]) -> Self {
        let machine = Self { left: Cell::new(usize::MAX), ..Self::default() };
        for cgroup in [SCOPE, SLICE] {
            for (name, value) in [
                ("CPUWeight", 39),
                (PER_SECOND, 500_000),
                (PERIOD, 100_000),
                ("MemoryMin", 0),
                ("MemoryLow", 0),
                ("MemoryHigh", u64::MAX),
                ("MemoryMax", 1 << 20),
                ("MemorySwapMax", 0),
                ("TasksMax", u64::MAX),
            ] {
                let at = (cgroup.to_owned(), name.to_owned());
                machine.properties.borrow_mut().insert(at, Property::Number(value));
            }
            machine.write_files(cgroup);
            machine.put(cgroup, "memory.current", "8192");
            machine.put(cgroup, "pids.current", "3");
        }
        machine.put(SCOPE, "memory.oom.group", "1");
        by_hand.iter().for_each(|(cgroup, file, text)| machine.put(cgroup, file, text));
        machine
    }

    fn put(&self, cgroup: &str, file: &str, text: &str) {
        self.files.borrow_mut().insert((cgroup.to_owned(), file.to_owned()), text.to_owned());
    }

    fn get(&self, cgroup: &str, file: &str) -> String {
        self.read(cgroup, file).ok().flatten().unwrap_or_default()
    }

    /// systemd applies a unit: it writes all of its files, and those of the slices around it.
    fn write_files(&self, cgroup: &str) {
        let first = std::iter::once((cgroup, CgroupFile::CpuWeight));
        for (cgroup, file) in first.chain(written_with(cgroup, CgroupFile::CpuWeight)) {
            if !self.properties.borrow().keys().any(|(unit, _)| unit == cgroup) {
                continue;
            }
            if let Ok(Some(text)) = systemd_text(file, cgroup, self) {
                self.put(cgroup, file.v2_name(), &text);
            }
        }
    }

    fn changes(&self) -> Result<(), String> {
        let left = self.left.get().checked_sub(1).ok_or("killed")?;
        self.left.set(left);
        Ok(())
    }

    fn state(&self) -> (Named<String>, Named<Property>) {
        (self.files.borrow().clone(), self.properties.borrow().clone())
    }
}

impl CgroupFiles for Machine {
    fn read(&self, cgroup: &str, file: &str) -> Result<Option<String>, String> {
        Ok(self.files.borrow().get(&(cgroup.to_owned(), file.to_owned())).cloned())
    }

    fn write(&self, cgroup: &str, file: &str, text: &str) -> Result<(), String> {
        self.changes()?;
        self.put(cgroup, file, text);
        Ok(())
    }

    fn property(&self, cgroup: &str, name: &str) -> Result<Property, String> {
        let found = self.properties.borrow().get(&(cgroup.to_owned(), name.to_owned())).cloned();
        Ok(found.unwrap_or(Property::Bits(Vec::new())))
    }

    fn set_properties(&self, cgroup: &str, properties: &Properties) -> Result<(), String> {
        self.changes()?;
        for (name, value) in properties {
            let at = (cgroup.to_owned(), name.clone());
            self.properties.borrow_mut().insert(at, value.clone());
        }
        self.write_files(cgroup);
        Ok(())
    }
}

fn step(cgroup: &str, file: &str, from: &str, to: &str) -> Step {
    Step {
        cgroup: cgroup.to_owned(),
        owner: String::new(),
        file: file.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        writer: "kubelet".to_owned(),
        unit: None,
    }
}

type Case = (&'static str, Vec<(&'static str, &'static str, &'static str)>, Vec<Step>);

fn cases() -> Vec<Case> {
    vec![
        ("by hand", vec![(SLICE, "cpu.weight", "77")], vec![step(SLICE, "cpu.weight", "77", "39")]),
        ("over D-Bus", vec![], vec![step(SLICE, "cpu.weight", "39", "55")]),
        (
            "beside a file that systemd resets",
            vec![(SCOPE, "memory.max", "2097152")],
            vec![step(SCOPE, "memory.max", "2097152", "1048576")],
        ),
        (
            "two files of a controller",
            vec![(SCOPE, "cpu.weight", "77"), (SCOPE, "cpu.max", "1000 100000")],
            vec![
                step(SCOPE, "cpu.weight", "77", "39"),
                step(SCOPE, "cpu.max", "1000 100000", "max 100000"),
            ],
        ),
        (
            "two units",
            vec![(SLICE, "memory.min", "4096"), (SCOPE, "memory.low", "4096")],
            vec![
                step(SLICE, "memory.min", "4096", "12288"),
                step(SCOPE, "memory.low", "4096", "0"),
                step(SCOPE, "pids.max", "max", "100"),
            ],
        ),
    ]
}

fn planned(machine: &Machine, steps: &[Step]) -> Vec<Step> {
    let mut steps = steps.to_vec();
    assert_eq!(add_units(&mut steps, machine, CAUTION.rounding), []);
    assert!(steps.iter().all(|step| step.unit.is_some()), "{steps:?}");
    steps
}

#[test]
fn what_is_set_stays_when_systemd_applies_the_unit_and_can_be_taken_back() {
    for (name, by_hand, steps) in cases() {
        let machine = Machine::with(&by_hand);
        let before = machine.state();
        let steps = planned(&machine, &steps);
        assert_eq!(check_all(&steps, &machine, CAUTION), Ok(()), "{name}");
        assert_eq!(machine.state(), before, "{name}: a check changes nothing");
        let outcome = apply(&steps, &machine, CAUTION, &mut |_, _, _| Ok(()));
        assert_eq!(outcome.stopped, None, "{name}");
        assert_eq!(machine.get(SCOPE, "memory.oom.group"), "1", "{name}");
        let has_all = |when: &str| {
            for step in &steps {
                assert_eq!(machine.get(&step.cgroup, &step.file), step.to, "{name}: {when}");
            }
        };
        has_all("after it");
        let applied = machine.clone();
        for step in &steps {
            machine.write_files(&step.cgroup);
        }
        has_all("after systemd applied the unit");
        let rollback = Rollback::of(&steps, String::new());
        let outcome = roll_back(&rollback, &applied, CAUTION, &mut |_, _, _| Ok(()));
        assert_eq!(outcome.stopped, None, "{name}");
        assert_eq!(applied.state(), before, "{name}");
    }
}

#[test]
fn killed_at_any_change_it_can_be_taken_back() {
    for (name, by_hand, steps) in cases() {
        for left in 0.. {
            let machine = Machine::with(&by_hand);
            let before = machine.state();
            let steps = planned(&machine, &steps);
            machine.left.set(left);
            let outcome = apply(&steps, &machine, CAUTION, &mut |_, _, _| Ok(()));
            let stored = serde_json::to_vec(&Rollback::of(&steps, String::new())).expect("JSON");
            let rollback = Rollback::parse(&stored).expect("it can be read");
            // The rollback is killed as well, at any change, and comes again.
            for left in 0..4 {
                machine.left.set(left);
                roll_back(&rollback, &machine, CAUTION, &mut |_, _, _| Ok(()));
            }
            machine.left.set(usize::MAX);
            let again = roll_back(&rollback, &machine, CAUTION, &mut |_, _, _| Ok(()));
            assert_eq!(again.stopped, None, "{name}, killed after {left}");
            assert_eq!(machine.state(), before, "{name}, killed after {left}");
            let looked = rollback_states(&rollback.steps, &machine, CAUTION);
            let is_done = |it: &Result<RollbackState, String>| *it == Ok(RollbackState::Already);
            assert!(looked.iter().all(is_done), "{name}, killed after {left}: {looked:?}");
            if outcome.stopped.is_none() {
                break;
            }
        }
    }
}

#[test]
fn what_changed_since_the_plan_is_not_written() {
    let machine = Machine::with(&[(SLICE, "cpu.weight", "77")]);
    let steps = planned(&machine, &[step(SLICE, "cpu.weight", "77", "39")]);
    machine
        .set_properties(SLICE, &[("CPUWeight".to_owned(), Property::Number(77))].into())
        .unwrap();
    let (_, reason) = check_all(&steps, &machine, CAUTION).expect_err("another property");
    assert!(reason.contains("systemd has CPUWeight=77, expected CPUWeight=39"), "{reason}");
    let rollback = Rollback::of(&steps, String::new());
    machine.set_properties(SLICE, &[("CPUWeight".to_owned(), Property::Number(5))].into()).unwrap();
    machine.put(SLICE, "cpu.weight", "39");
    let looked = rollback_states(&rollback.steps, &machine, CAUTION);
    assert!(looked[0].as_ref().is_err_and(|it| it.contains("another program changed it")));
}

#[test]
fn systemd_lowers_no_other_limit_below_use() {
    let by_hand = [(SCOPE, "memory.max", "4194304"), (SCOPE, "memory.current", "2097152")];
    let machine = Machine::with(&by_hand);
    let steps = planned(&machine, &[step(SCOPE, "memory.low", "0", "4096")]);
    let (_, reason) = check_all(&steps, &machine, CAUTION).expect_err("1 MiB are less than 2");
    let expected = format!("systemd would also set memory.max of {SCOPE} to 1048576");
    assert!(reason.contains(&expected), "{reason}");
    let caution = Caution { allow_oom: true, ..CAUTION };
    assert_eq!(check_all(&steps, &machine, caution), Ok(()));
    // The limit is there again afterwards.
    apply(&steps, &machine, caution, &mut |_, _, _| Ok(()));
    assert_eq!(machine.get(SCOPE, "memory.max"), "4194304");
}

#[test]
fn a_resize_in_between_is_not_taken_back() {
    let machine = Machine::with(&[(SCOPE, "memory.low", "4096")]);
    let steps = planned(&machine, &[step(SCOPE, "memory.low", "4096", "0")]);
    apply(&steps, &machine, CAUTION, &mut |_, _, _| Ok(()));
    machine
        .set_properties(SCOPE, &[("MemoryMax".to_owned(), Property::Number(2 << 20))].into())
        .unwrap();
    let rollback = Rollback::of(&steps, String::new());
    let outcome = roll_back(&rollback, &machine, CAUTION, &mut |_, _, _| Ok(()));
    assert_eq!(outcome.stopped, None);
    assert_eq!(machine.get(SCOPE, "memory.max"), "2097152", "the kubelet's");
    assert_eq!(machine.get(SCOPE, "memory.low"), "4096");
}

#[test]
fn steps_without_a_property_are_named() {
    let machine = Machine::with(&[]);
    let hugetlb = "hugetlb.2MB.max";
    let mut steps = [
        step(SCOPE, "memory.oom.group", "0", "1"),
        step(SLICE, hugetlb, "0", "max"),
        step("/kubepods/pod1", "cpu.weight", "1", "2"),
        step(&format!("{SCOPE}/container"), "cpu.weight", "1", "2"),
    ];
    let without = add_units(&mut steps, &machine, CAUTION.rounding);
    assert_eq!(without.iter().map(|it| it.file.as_str()).collect::<Vec<_>>(), ["memory.oom.group"]);
    assert!(steps.iter().all(|step| step.unit.is_none()));
}

#[test]
fn texts_become_the_properties_of_libcontainer() {
    for (file, text, expected) in [
        ("cpu.weight", "39", Some("CPUWeight=39")),
        ("cpu.max", "50000 100000", Some("CPUQuotaPerSecUSec=500000 CPUQuotaPeriodUSec=100000")),
        ("cpu.max", "1500 100000", Some("CPUQuotaPerSecUSec=20000 CPUQuotaPeriodUSec=100000")),
        ("cpu.max", "max 50000", Some("CPUQuotaPerSecUSec=infinity CPUQuotaPeriodUSec=50000")),
        ("memory.max", "max", Some("MemoryMax=infinity")),
        ("memory.max", "454596225", Some("MemoryMax=454596225")),
        ("memory.min", "4096", Some("MemoryMin=4096")),
        ("memory.low", "0", Some("MemoryLow=0")),
        ("memory.high", "max", Some("MemoryHigh=infinity")),
        ("memory.swap.max", "0", Some("MemorySwapMax=0")),
        ("pids.max", "0", Some("TasksMax=1")),
        ("pids.max", "max", Some("TasksMax=infinity")),
        ("cpuset.cpus", "0-1,3", Some("AllowedCPUs=0-1,3")),
        ("cpuset.mems", "0", Some("AllowedMemoryNodes=0")),
        ("hugetlb.2MB.max", "0", None),
        ("memory.max", "much", None),
    ] {
        let file = CgroupFile::named(file).expect("a file");
        let properties = properties_of(file, text).map(|found| super::text(&found));
        assert_eq!(properties.as_deref(), expected, "{text}");
    }
}
