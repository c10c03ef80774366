//! The drop-ins of systemd for the cgroups of pods.

use super::host::ReadError;
use super::trust::{list_trusted, read_trusted};
use kq_facts::cgroup_tree::CgroupTree;
use kq_facts::drop_ins::{FOLDERS, UnitProperty, applies};
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use std::collections::BTreeSet;
use std::path::Path;

/// The largest drop-in that is read.
const LIMIT: u64 = 16 << 10;

/// The most drop-ins that are read.
const MOST: usize = 4096;

/// Reads what drop-ins set for the units in a tree.
pub fn read_drop_ins(root: &Path, tree: &CgroupTree) -> Lookup<Vec<UnitProperty>> {
    let is_of_pods = |path: &str| path.split('/').any(|part| part.starts_with("kubepods"));
    let paths = tree.cgroups.keys().filter(|path| is_of_pods(path.as_str()));
    let units: BTreeSet<&str> = paths
        .map(|path| path.name())
        .filter(|name| name.ends_with(".slice") || name.ends_with(".scope"))
        .collect();
    let (mut value, mut tried, mut files) = (Vec::new(), Vec::new(), 0);
    let folders = if units.is_empty() { &[][..] } else { &FOLDERS[..] };
    for folder in folders {
        let names = match list_trusted(root, folder) {
            Ok(names) => names,
            Err(ReadError::Absent) => continue,
            Err(error) => {
                tried.push(failed(folder, &error.to_string()));
                continue;
            }
        };
        for name in names.iter().filter(|name| name.ends_with(".d")) {
            let own: Vec<&str> = units.iter().copied().filter(|unit| applies(name, unit)).collect();
            if own.is_empty() {
                continue;
            }
            let path = format!("{folder}/{name}");
            for file in list_trusted(root, &path).unwrap_or_else(|error| {
                tried.push(failed(&path, &error.to_string()));
                Vec::new()
            }) {
                let path = format!("{path}/{file}");
                files += 1;
                if !file.ends_with(".conf") {
                    continue;
                }
                if files > MOST {
                    tried.push(failed(&path, "more drop-ins than kq reads"));
                    return Lookup { found: None, tried };
                }
                match read_trusted(root, &path, LIMIT) {
                    Ok(text) => {
                        let text = String::from_utf8_lossy(&text);
                        value
                            .extend(own.iter().flat_map(|it| UnitProperty::read(it, &path, &text)));
                    }
                    Err(ReadError::Absent) => {}
                    Err(error) => tried.push(failed(&path, &error.to_string())),
                }
            }
        }
    }
    Lookup { found: Some(Sourced { source: FOLDERS.join(", "), value }), tried }
}

fn failed(source: &str, reason: &str) -> FailedSource {
    FailedSource { source: source.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts};
    use std::fs;
    use std::sync::Arc;

    #[test]
    fn drop_ins_of_units_of_pods_are_read() {
        let root = tempfile::tempdir().expect("a folder can be made");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
            fs::write(path, text).expect("a file can be written");
        };
        let unit = "kubepods-podu1.slice";
        write(
            &format!("run/systemd/transient/{unit}.d/50-CPUQuota.conf"),
            "[Slice]\nCPUQuota=20%\n",
        );
        write(&format!("run/systemd/transient/{unit}.d/note.txt"), "CPUWeight=1\n");
        write("etc/systemd/system/slice.d/x.conf", "[Slice]\nTasksMax=9\n");
        write("etc/systemd/system/system.slice.d/x.conf", "[Slice]\nTasksMax=9\n");
        write(&format!("etc/systemd/system.control/{unit}.d/big.conf"), &"#".repeat(20 << 10));
        let tree = |path: &str| CgroupTree {
            cgroups: Arc::new([(CgroupPath::new(path), CgroupTexts::default())].into()),
            ..CgroupTree::default()
        };
        let read = read_drop_ins(root.path(), &tree(&format!("/kubepods.slice/{unit}")));
        let found = read.found.as_ref().expect("they were read");
        let of =
            |it: &UnitProperty| format!("{} {}={} {}", it.unit, it.property, it.value, it.path);
        assert_eq!(
            found.value.iter().map(of).collect::<Vec<_>>(),
            [
                format!("{unit} CPUQuota=20% /run/systemd/transient/{unit}.d/50-CPUQuota.conf"),
                format!("{unit} TasksMax=9 /etc/systemd/system/slice.d/x.conf"),
            ]
        );
        assert_eq!(read.tried.len(), 1, "the large one is not: {:?}", read.tried);
        let none = read_drop_ins(root.path(), &tree("/kubepods/podu1"));
        assert_eq!(none.value().map(Vec::len), Some(0), "no unit, no drop-in");
    }
}
