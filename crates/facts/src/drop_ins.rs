//! The settings of systemd's drop-ins for the units that are cgroups of pods.
//!
//! `systemctl set-property` writes one below `system.control`; for units that the kubelet and the runtime made over
//! D-Bus, systemd keeps all drop-ins below `/run/systemd/transient` (`unit_drop_in_dir` in its `src/core/unit.c`).

use crate::cgroup_file::CgroupFile;
use serde::{Deserialize, Serialize};

/// The folders with drop-ins, and their writers.
pub const FOLDERS: [&str; 4] = [
    "/etc/systemd/system.control",
    "/run/systemd/system.control",
    "/run/systemd/transient",
    "/etc/systemd/system",
];

/// A property that a drop-in sets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct UnitProperty {
    /// The unit, which is the last part of a cgroup's path.
    pub unit: String,
    /// The property, as `CPUQuota`.
    pub property: String,
    pub value: String,
    pub path: String,
}

impl UnitProperty {
    /// Reads the properties of cgroups in a drop-in. The last of a name counts.
    pub fn read(unit: &str, path: &str, text: &str) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for line in text.lines() {
            let Some((property, value)) = line.split_once('=') else { continue };
            let (property, value) = (property.trim(), value.trim());
            if files_of(property).is_empty() || value.is_empty() {
                continue;
            }
            found.retain(|known| known.property != property);
            let [unit, property, value, path] =
                [unit, property, value, path].map(ToOwned::to_owned);
            found.push(Self { unit, property, value, path });
        }
        found
    }

    /// Returns true if the property is about a file of the unit.
    pub fn is_about(&self, file: CgroupFile) -> bool {
        files_of(&self.property).contains(&file)
    }

    /// Returns true if the kernel has this value in a file of the unit.
    pub fn explains(&self, file: CgroupFile, actual: &str) -> bool {
        if !self.is_about(file) {
            return false;
        }
        match (file, self.value.as_str()) {
            (CgroupFile::CpuMax, value) => {
                let Some((quota, period)) = actual.split_once(' ') else { return false };
                match (hundredths(value), quota.parse::<u64>(), period.trim().parse::<u64>()) {
                    (Some(percent), Ok(quota), Ok(period)) => {
                        quota.checked_mul(10_000) == percent.checked_mul(period)
                    }
                    (None, Err(_), _) => value == "infinity" && quota == "max",
                    _ => false,
                }
            }
            // Without its period, a quota of cgroup v1 is that of the usual one.
            (CgroupFile::CpuCfsQuota, value) => match (hundredths(value), actual.parse::<u64>()) {
                (Some(percent), Ok(quota)) => quota.checked_mul(10) == percent.checked_mul(100),
                _ => false,
            },
            (_, "infinity") => actual == "max",
            (_, value) if file.is_bytes() => match (bytes(value), actual.parse::<u64>()) {
                (Some(bytes), Ok(actual)) => is_kept(bytes, actual),
                _ => false,
            },
            (_, value) => value == actual,
        }
    }
}

/// Returns true if the kernel keeps this of an amount: whole pages.
fn is_kept(bytes: u64, actual: u64) -> bool {
    bytes == actual || PAGE_SIZES.iter().any(|page| bytes - bytes % page == actual)
}

/// The sizes of pages of the kernels that run kubelets.
const PAGE_SIZES: [u64; 3] = [4096, 16384, 65536];

/// Returns the files that a property sets; none for a property that is not about them.
fn files_of(property: &str) -> &'static [CgroupFile] {
    match property {
        "CPUWeight" => &[CgroupFile::CpuWeight],
        "CPUShares" => &[CgroupFile::CpuShares],
        "CPUQuota" => &[CgroupFile::CpuMax, CgroupFile::CpuCfsQuota],
        "MemoryMax" | "MemoryLimit" => &[CgroupFile::MemoryMax],
        "MemoryHigh" => &[CgroupFile::MemoryHigh],
        "MemoryLow" => &[CgroupFile::MemoryLow],
        "MemoryMin" => &[CgroupFile::MemoryMin],
        "MemorySwapMax" => &[CgroupFile::MemorySwapMax],
        "TasksMax" => &[CgroupFile::PidsMax],
        "AllowedCPUs" => &[CgroupFile::CpusetCpus],
        _ => &[],
    }
}

/// Reads `20%` or `20.5%` as hundredths of a percent.
fn hundredths(text: &str) -> Option<u64> {
    let number = text.strip_suffix('%')?.trim();
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if part.len() > 2 || !part.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let part: u64 = format!("{part:0<2}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(part)
}

/// Reads an amount of bytes; units are powers of 1024 (`systemd.syntax`).
fn bytes(text: &str) -> Option<u64> {
    let (number, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        b'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Returns true if the drop-ins of a folder apply to a unit: its own, those of a prefix that ends with a dash,
/// and those of its type.
pub fn applies(folder: &str, unit: &str) -> bool {
    let Some(name) = folder.strip_suffix(".d") else { return false };
    let Some((stem, kind)) = unit.rsplit_once('.') else { return false };
    if name == unit || name == kind {
        return true;
    }
    let prefix = name.rsplit_once('.').filter(|(_, own)| *own == kind);
    prefix.is_some_and(|(prefix, _)| prefix.ends_with('-') && stem.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_apply_by_name_prefix_and_type() {
        let unit = "kubepods-burstable-podu1.slice";
        for (folder, expected) in [
            ("kubepods-burstable-podu1.slice.d", true),
            ("kubepods-burstable-.slice.d", true),
            ("kubepods-.slice.d", true),
            ("slice.d", true),
            ("kubepods.slice.d", false),
            ("kubepods-.scope.d", false),
            ("scope.d", false),
            ("kubepods-burstable-podu1.slice", false),
        ] {
            assert_eq!(applies(folder, unit), expected, "{folder}");
        }
    }

    #[test]
    fn a_property_explains_the_text_that_the_kernel_makes_of_it() {
        use CgroupFile::{CpuCfsQuota, CpuMax, CpuWeight, MemoryMax, MemoryMin, PidsMax};
        for (line, file, actual, expected) in [
            ("CPUQuota=20%", CpuMax, "20000 100000", true),
            ("CPUQuota=20.50%", CpuMax, "20500 100000", true),
            ("CPUQuota=20%", CpuMax, "20001 100000", false),
            ("CPUQuota=20%", CpuCfsQuota, "20000", true),
            ("CPUQuota=infinity", CpuMax, "max 100000", true),
            ("CPUQuota=infinity", CpuMax, "1 100000", false),
            ("CPUQuota=20%", CpuWeight, "20", false),
            ("CPUWeight=50", CpuWeight, "50", true),
            ("MemoryMax=1G", MemoryMax, "1073741824", true),
            ("MemoryMax=1073741824", MemoryMax, "1073741824", true),
            ("MemoryMin=454596225", MemoryMin, "454594560", true),
            ("MemoryMin=454596225", MemoryMin, "454586368", false),
            ("MemoryMax=infinity", MemoryMax, "max", true),
            ("MemoryMax=many", MemoryMax, "0", false),
            ("MemoryMax=99999999999T", MemoryMax, "0", false),
            ("TasksMax=7", PidsMax, "7", true),
            ("TasksMax=7", PidsMax, "8", false),
        ] {
            let read = UnitProperty::read("u.slice", "/p", &format!("# made\n[Slice]\n{line}\n"));
            assert_eq!(read.len(), 1, "{line}");
            assert_eq!(read[0].explains(file, actual), expected, "{line} {actual}");
        }
        assert_eq!(UnitProperty::read("u", "/p", "[Slice]\nDescription=x\nCPUWeight=\n"), []);
        let last = UnitProperty::read("u", "/p", "CPUWeight=1\nCPUWeight=2\n");
        assert_eq!(last.iter().map(|it| &*it.value).collect::<Vec<_>>(), ["2"]);
    }
}
