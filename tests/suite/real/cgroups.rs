//! The kernel's hierarchies, as the kubelet uses them.

use kq_cgroup::files::CgroupVersion;
use kq_cgroup::plan::controller;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The hierarchies of this machine.
pub struct Hierarchies {
    /// Which interface the kubelet would use here.
    pub version: CgroupVersion,
    mounted: Vec<Hierarchy>,
}

/// A hierarchy and what it controls.
struct Hierarchy {
    root: PathBuf,
    unified: bool,
    controllers: Vec<String>,
}

impl Hierarchies {
    /// Reads what is mounted.
    pub fn of_machine() -> io::Result<Self> {
        let mut mounted: Vec<Hierarchy> = Vec::new();
        for line in std::fs::read_to_string("/proc/self/mounts")?.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let [_, root, kind, options, ..] = fields[..] else { continue };
            let root = PathBuf::from(root);
            let (unified, controllers): (bool, Vec<String>) = match kind {
                "cgroup" => (false, options.split(',').map(str::to_owned).collect()),
                "cgroup2" => (true, controllers_of(&root)?),
                _ => continue,
            };
            let again = mounted.iter().any(|other| other.controllers == controllers);
            if !again {
                mounted.push(Hierarchy { root, unified, controllers });
            }
        }
        let v1 = mounted.iter().any(|hierarchy| !hierarchy.unified);
        let version = if v1 { CgroupVersion::V1 } else { CgroupVersion::V2 };
        Ok(Self { version, mounted })
    }

    /// Returns true if a controller is available.
    pub fn has(&self, controller: &str) -> bool {
        self.used().any(|hierarchy| hierarchy.controls(controller))
    }

    /// Returns where a file of a cgroup is; a file of no controller is in the first hierarchy.
    pub fn file(&self, cgroup: &str, file: &str) -> PathBuf {
        let controlled = self.used().find(|found| found.controls(controller(file)));
        let hierarchy = controlled.or(self.used().next()).expect("a version has a hierarchy");
        below(&hierarchy.root, cgroup).join(file)
    }

    /// Reads a file of a cgroup.
    pub fn read(&self, cgroup: &str, file: &str) -> io::Result<String> {
        std::fs::read_to_string(self.file(cgroup, file)).map(|text| text.trim_end().to_owned())
    }

    /// Writes a file of a cgroup.
    #[track_caller]
    pub fn write(&self, cgroup: &str, file: &str, value: &str) {
        let path = self.file(cgroup, file);
        std::fs::write(&path, value)
            .unwrap_or_else(|error| panic!("{value:?} to {}: {error}", path.display()));
    }

    /// Returns the processes of a cgroup.
    pub fn processes(&self, cgroup: &str) -> Vec<u32> {
        let file = match self.version {
            CgroupVersion::V1 => self.file(cgroup, "cpu.shares").with_file_name("cgroup.procs"),
            CgroupVersion::V2 => self.file(cgroup, "cgroup.procs"),
        };
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Makes a cgroup and all above it in every hierarchy that the kubelet uses, ready for its values.
    #[track_caller]
    pub fn create(&self, cgroup: &str) {
        for hierarchy in self.used() {
            let mut parent = hierarchy.root.clone();
            for name in cgroup.split('/').filter(|name| !name.is_empty()) {
                if hierarchy.unified {
                    hierarchy.enable(&parent);
                }
                let child = parent.join(name);
                match std::fs::create_dir(&child) {
                    Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                        panic!("{}: {error}", child.display())
                    }
                    Err(_) => {}
                    Ok(()) if hierarchy.controls("cpuset") && !hierarchy.unified => {
                        inherit_cpuset(&parent, &child);
                    }
                    Ok(()) => {}
                }
                parent = child;
            }
        }
    }

    /// Removes a cgroup with all below it from every hierarchy. The processes must have ended or be
    /// about to.
    pub fn remove(&self, cgroup: &str) -> Result<(), String> {
        for hierarchy in &self.mounted {
            let path = below(&hierarchy.root, cgroup);
            let mut tries = 0;
            while let Err(error) = remove_all(&path) {
                tries += 1;
                if tries == 100 {
                    return Err(format!("{}: {error}", path.display()));
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }

    /// Returns the hierarchies that the kubelet uses: beside controllers of version 1, the unified one
    /// is not among them, whatever it controls.
    fn used(&self) -> impl Iterator<Item = &Hierarchy> {
        let unified = self.version == CgroupVersion::V2;
        self.mounted.iter().filter(move |hierarchy| hierarchy.unified == unified)
    }
}

impl Hierarchy {
    fn controls(&self, controller: &str) -> bool {
        self.controllers.iter().any(|own| own == controller)
    }

    /// Lets the children of a cgroup have every controller.
    #[track_caller]
    fn enable(&self, cgroup: &Path) {
        let all: Vec<String> = self.controllers.iter().map(|name| format!("+{name}")).collect();
        let path = cgroup.join("cgroup.subtree_control");
        std::fs::write(&path, all.join(" "))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

fn controllers_of(root: &Path) -> io::Result<Vec<String>> {
    let text = std::fs::read_to_string(root.join("cgroup.controllers"))?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// A new cpuset of version 1 has no CPUs, and nothing can run in it.
#[track_caller]
fn inherit_cpuset(parent: &Path, child: &Path) {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let text = std::fs::read_to_string(parent.join(file));
        text.and_then(|text| std::fs::write(child.join(file), text))
            .unwrap_or_else(|error| panic!("{}: {file}: {error}", child.display()));
    }
}

fn below(root: &Path, cgroup: &str) -> PathBuf {
    root.join(cgroup.trim_start_matches('/'))
}

/// Removes folders from the leaves up; the kernel's files go with them.
fn remove_all(path: &Path) -> io::Result<()> {
    let entries = match std::fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_all(&entry.path())?;
        }
    }
    std::fs::remove_dir(path)
}
