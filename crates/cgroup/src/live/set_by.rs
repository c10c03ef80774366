//! The writer of an unplanned value, as far as facts show it.

use kq_answer::reason::Reason;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_tree::CgroupPath;
use kq_facts::drop_ins::UnitProperty;

/// The writer of a value.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum SetBy {
    /// systemd: a drop-in has this value.
    #[text(
        if path.starts_with("/etc/systemd/system/") =>
        "set by systemd: {property}={value} in {path}"
    )]
    #[text(
        if path.starts_with("/run/systemd/transient/") =>
        "set by systemd: {property}={value} in {path}, as systemctl set-property writes it, and as \
         the kubelet or the runtime do over D-Bus"
    )]
    #[text("set by systemd: {property}={value} in {path}, as systemctl set-property writes it")]
    Systemd {
        property: String,
        value: String,
        /// The drop-in.
        path: String,
    },
    /// A drop-in of systemd has another value.
    #[text(
        "systemd has {property}={value} in {path}: another value was written into the file by hand \
         or by another program, and systemd writes its own again when a property of the unit is \
         set"
    )]
    Beside {
        property: String,
        value: String,
        /// The drop-in.
        path: String,
    },
    /// No record of the kubelet, and no drop-in of systemd, has this value.
    #[text(
        "neither the kubelet's records nor systemd's drop-ins have this value: it was written by \
         hand or by another program"
    )]
    Other,
}

/// The facts that show the writer of a value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writers<'a> {
    /// What drop-ins of systemd set; `None`: unknown.
    pub drop_ins: Option<&'a [UnitProperty]>,
    /// Every drop-in and every record of the kubelet was read.
    pub are_complete: bool,
    /// The runtime's formula of weights was assumed: another weight can be the runtime's own.
    pub is_formula_assumed: bool,
}

impl Writers<'_> {
    /// Returns who wrote what the kernel has in a file; `None`: unknown.
    pub(super) fn of(
        self,
        cgroup: &str,
        file: &str,
        actual: &str,
        is_of_pod: bool,
    ) -> Option<SetBy> {
        let is_certain = !(self.is_formula_assumed && file == "cpu.weight");
        let (file, path) = (CgroupFile::named(file)?, CgroupPath::new(cgroup));
        let is_own = |it: &&UnitProperty| it.unit == path.name() && it.is_about(file);
        let own = || self.drop_ins.unwrap_or_default().iter().filter(is_own);
        let parts = |it: &UnitProperty| (it.property.clone(), it.value.clone(), it.path.clone());
        self.drop_ins?;
        if let Some((property, value, path)) = own().find(|it| it.explains(file, actual)).map(parts)
        {
            return Some(SetBy::Systemd { property, value, path });
        }
        // Of an amount in words, it is not known what the kernel makes of it.
        let is_amount = |it: &&UnitProperty| it.value.bytes().all(|it| it.is_ascii_digit());
        match own().find(is_amount).map(parts) {
            Some((property, value, path)) => Some(SetBy::Beside { property, value, path }),
            None => (self.are_complete && is_of_pod && is_certain).then_some(SetBy::Other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_of_an_unknown_formula_is_nobodys() {
        let writers = |is_formula_assumed| Writers {
            drop_ins: Some(&[]),
            are_complete: true,
            is_formula_assumed,
        };
        let of = |is_formula_assumed, file| writers(is_formula_assumed).of("/a", file, "9", true);
        assert_eq!(of(false, "cpu.weight"), Some(SetBy::Other));
        assert_eq!(of(true, "cpu.weight"), None);
        assert_eq!(of(true, "cpu.max"), Some(SetBy::Other));
    }

    #[test]
    fn a_value_beside_a_drop_in_was_written_into_the_file() {
        let property = |value: &str| {
            let [unit, property, value, path] =
                ["a.slice", "CPUWeight", value, "/p"].map(str::to_owned);
            [UnitProperty { unit, property, value, path }]
        };
        let of = |value: &str, file, actual| {
            let drop_ins = property(value);
            let writers = Writers { drop_ins: Some(&drop_ins), ..Writers::default() };
            writers.of("/a.slice", file, actual, false).map(|it| it.to_string())
        };
        let beside = of("500", "cpu.weight", "300").expect("a writer");
        assert!(beside.starts_with("systemd has CPUWeight=500 in /p"), "{beside}");
        assert!(of("300", "cpu.weight", "300").is_some_and(|it| it.starts_with("set by systemd")));
        assert_eq!(of("500", "memory.max", "300"), None);
        assert_eq!(of("idle", "cpu.weight", "300"), None);
    }

    #[test]
    fn a_transient_drop_in_is_of_systemctl_or_of_the_kubelet() {
        let of = |path: &str| {
            let [property, value, path] = ["CPUWeight", "5", path].map(str::to_owned);
            SetBy::Systemd { property, value, path }.to_string()
        };
        assert!(of("/run/systemd/transient/a.slice.d/50.conf").contains("over D-Bus"));
        assert!(of("/etc/systemd/system.control/a").ends_with("systemctl set-property writes it"));
        assert!(of("/etc/systemd/system/a.slice.d/x.conf").ends_with("x.conf"));
    }
}
