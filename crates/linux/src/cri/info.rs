//! The runtime's own configuration: `Status` with `verbose`, `info["config"]`.
//!
//! The CRI leaves the content to the runtime. kq reads that of containerd (`PluginConfig` in
//! `pkg/cri/config/config.go`; 1.6, 1.7 and 2.x agree in these fields):
//!
//! ```text
//! {"containerd": {"defaultRuntimeName": "runc", "runtimes": {"runc":
//!   {"runtimeType": "io.containerd.runc.v2", "options": {"BinaryName": "", "SystemdCgroup": true}}}}}
//! ```
//!
//! and of CRI-O (`server/runtime_status.go`; older versions report only the sandbox image):
//!
//! ```text
//! {"crio": {"DefaultRuntime": "crun", "Runtimes": {"crun": {"RuntimePath": "/usr/bin/crun"}}}}
//! ```
//!
//! The runtime names the program that creates containers. Its version is read from its file, if the file is trusted.

use super::connect::words;
use super::reason::chain;
use kq_facts::cgroup_mode::CgroupDriver;
use kq_facts::distribution::{Place, of_runtime};
use kq_facts::kubelet_unit::PROGRAM_FOLDERS;
use kq_facts::runtime::{AnnotatedCpus, LowLevelRuntime};
use kq_io::host::{ReadError, open};
use kq_io::package_version::package_version;
use kq_io::program_version::program_version;
use kq_io::trust::TrustedProgram;
use rustix::fs::OFlags;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A runtime's own configuration.
#[derive(Debug)]
pub(super) struct RuntimeInfo(Value);

/// The program that creates containers, as the configuration names it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamedProgram {
    /// A name, or a path.
    pub(super) program: String,
    /// What was known before: who calls it.
    pub(super) runtime: String,
}

/// A runtime of the configuration.
struct Configured<'a> {
    name: &'a str,
    value: &'a Value,
}

impl RuntimeInfo {
    /// Reads the `info` of a `StatusResponse`.
    pub(super) fn read(info: &BTreeMap<String, String>) -> Result<Self, String> {
        let config = info.get("config").ok_or("does not report its configuration")?;
        serde_json::from_str(config)
            .map(Self)
            .map_err(|error| format!("info[\"config\"] is not JSON: {error}"))
    }

    /// Returns the cgroup driver, and the field that sets it.
    pub(super) fn cgroup_driver(&self) -> Result<(CgroupDriver, String), String> {
        let runtime = self.containerd()?;
        let field = format!("config.containerd.runtimes.{}.options.SystemdCgroup", runtime.name);
        match runtime.value.pointer("/options/SystemdCgroup") {
            Some(Value::Bool(true)) => Ok((CgroupDriver::Systemd, field)),
            Some(Value::Bool(false)) => Ok((CgroupDriver::Cgroupfs, field)),
            // An unset field is false for containerd's own runtimes; other types may lack the field.
            None | Some(Value::Null) if is_runc(runtime.kind()) => {
                Ok((CgroupDriver::Cgroupfs, format!("{field} (not set, so false)")))
            }
            None | Some(Value::Null) => Err(format!(
                "its default runtime {:?} is of type {:?}, which does not report the cgroup driver",
                runtime.name,
                runtime.kind()
            )),
            Some(other) => Err(format!("{field} is {other}, expected true or false")),
        }
    }

    /// Returns true if containerd may not lower `oom_score_adj` below its own.
    pub(super) fn restricts_oom_score(&self) -> bool {
        self.0.get("restrictOOMScoreAdj").and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns true if containerd leaves out the limits of huge pages (`DisableHugetlbController` in
    /// `internal/cri/config/config.go`); `None`: the configuration is not laid out as that of containerd.
    pub(super) fn disables_hugetlb(&self) -> Option<bool> {
        self.0.get("disableHugetlbController").and_then(Value::as_bool)
    }

    /// Returns the handlers whose pods run in a virtual machine of Kata Containers, the empty one for the default runtime.
    ///
    /// containerd knows them by their shim, `io.containerd.kata.v2`; CRI-O by the program of a runtime of type `vm`.
    pub(super) fn kata_handlers(&self) -> BTreeSet<String> {
        let is_kata = |runtime: &Value| match self.crio_default().is_some() {
            true => {
                let program = text(runtime, "RuntimePath").unwrap_or_default();
                text(runtime, "RuntimeType") == Some("vm") && program.contains("kata")
            }
            false => {
                let kind = text(runtime, "runtimeType").unwrap_or_default();
                let program = text(runtime, "runtimePath").unwrap_or_default();
                kind.contains("kata") || program.contains("containerd-shim-kata")
            }
        };
        self.handlers_that(|_, runtime| is_kata(runtime))
    }

    /// Returns what CRI-O lets annotations of pods change in their cgroups.
    pub(super) fn annotated_cpus(&self) -> AnnotatedCpus {
        if self.crio_default().is_none() {
            return AnnotatedCpus::default();
        }
        let allows = |runtime: &Value| {
            let allowed = runtime.get("AllowedAnnotations").and_then(Value::as_array);
            let mut allowed = allowed.into_iter().flatten().filter_map(Value::as_str);
            allowed.any(|annotation| CPU_ANNOTATIONS.iter().any(|it| annotation.starts_with(it)))
        };
        let handlers = self
            .handlers_that(|name, runtime| name.contains("high-performance") || allows(runtime));
        let workloads = self.0.pointer("/crio/Workloads").and_then(Value::as_object);
        let changes_cpus = |workload: &Value| {
            let resources = workload.get("Resources").and_then(Value::as_object);
            // A default that is there can be replaced by an annotation, and so can one that is not.
            resources.is_some_and(|resources| !resources.is_empty())
                || prefix_of(workload).is_some()
        };
        let workloads = workloads.into_iter().flatten().filter(|(_, it)| changes_cpus(it));
        AnnotatedCpus { handlers, workloads: workloads.map(|(name, _)| name.clone()).collect() }
    }

    /// Returns the handlers of the runtimes for which something holds, the empty one for the default runtime.
    fn handlers_that(&self, holds: impl Fn(&str, &Value) -> bool) -> BTreeSet<String> {
        let (at, default) = match self.crio_default() {
            Some(name) => ("/crio/Runtimes", name.ok()),
            None => {
                let default = self.0.pointer("/containerd/defaultRuntimeName");
                ("/containerd/runtimes", default.and_then(Value::as_str))
            }
        };
        let runtimes = self.0.pointer(at).and_then(Value::as_object);
        let named = runtimes.into_iter().flatten().filter(|(name, runtime)| holds(name, runtime));
        named
            .flat_map(|(name, _)| {
                let empty = (default == Some(name.as_str())).then(String::new);
                std::iter::once(name.clone()).chain(empty)
            })
            .collect()
    }

    /// Returns the name of the sandbox image. containerd 2 no longer reports it here.
    pub(super) fn sandbox_image(&self) -> Result<String, String> {
        text(&self.0, "sandboxImage")
            .map(str::to_owned)
            .ok_or_else(|| "its configuration does not name the image of sandboxes".to_owned())
    }

    /// Returns the program that creates containers by default.
    pub(super) fn program(&self) -> Result<NamedProgram, String> {
        match self.crio_default() {
            Some(name) => self.crio_program(name?),
            None => program_of(&self.containerd()?),
        }
    }

    /// Returns the programs of all runtimes, each with its handler; those that are no programs are left out.
    pub(super) fn programs(&self) -> Vec<NamedProgram> {
        let crio = self.crio_default().is_some();
        let at = if crio { "/crio/Runtimes" } else { "/containerd/runtimes" };
        let Some(runtimes) = self.0.pointer(at).and_then(Value::as_object) else { return vec![] };
        let program = |(name, value): (&String, &Value)| match crio {
            true => self.crio_program(name).ok(),
            false => program_of(&Configured { name, value }).ok(),
        };
        runtimes.iter().filter_map(program).collect()
    }

    /// Returns CRI-O's default runtime; `None`: this is not CRI-O.
    fn crio_default(&self) -> Option<Result<&str, String>> {
        let crio = self.0.get("crio")?;
        let unset = || "config.crio.DefaultRuntime is not set".to_owned();
        Some(text(crio, "DefaultRuntime").ok_or_else(unset))
    }

    /// Returns containerd's default runtime.
    fn containerd(&self) -> Result<Configured<'_>, String> {
        let containerd = self.0.get("containerd").ok_or(
            "its configuration is not laid out as that of containerd, which names a default runtime",
        )?;
        let name = text(containerd, "defaultRuntimeName")
            .ok_or("config.containerd.defaultRuntimeName is not set")?;
        let value = containerd
            .get("runtimes")
            .and_then(|runtimes| runtimes.get(name))
            .ok_or_else(|| format!("config.containerd.runtimes lacks the default {name:?}"))?;
        Ok(Configured { name, value })
    }

    /// Returns the program of a runtime of CRI-O; without a path, CRI-O searches for the runtime's name.
    fn crio_program(&self, name: &str) -> Result<NamedProgram, String> {
        let runtime = self
            .0
            .pointer("/crio/Runtimes")
            .and_then(|runtimes| runtimes.get(name))
            .ok_or_else(|| format!("config.crio.Runtimes lacks the default {name:?}"))?;
        if let Some(kind @ ("vm" | "pod")) = text(runtime, "RuntimeType") {
            return Err(format!(
                "the default runtime {name:?} is of type {kind:?}, which is not runc-compatible"
            ));
        }
        let program = text(runtime, "RuntimePath").unwrap_or(name);
        Ok(NamedProgram { program: program.to_owned(), runtime: name.to_owned() })
    }
}

/// The annotations with which a pod of CRI-O changes the quota and the CPUs of its cgroups (`pkg/annotations/v2`).
const CPU_ANNOTATIONS: [&str; 3] =
    ["cpu-quota.crio.io", "cpu-shared.crio.io", "cpu-load-balancing.crio.io"];

/// Returns the prefix of the annotations that give the containers of a workload their CPUs.
fn prefix_of(workload: &Value) -> Option<&str> {
    text(workload, "AnnotationPrefix")
}

/// Returns the program of a runtime of containerd.
fn program_of(runtime: &Configured<'_>) -> Result<NamedProgram, String> {
    let kind = runtime.kind();
    if !is_runc(kind) {
        let what = match kind {
            kind if kind.contains("kata") => " (Kata Containers: a virtual machine)",
            kind if kind.contains("runsc") => " (gVisor: a kernel of its own)",
            _ => "",
        };
        return Err(format!(
            "the default runtime {:?} is of type {kind:?}{what}, which is not runc-compatible",
            runtime.name
        ));
    }
    let program = match runtime.value.pointer("/options/BinaryName") {
        None | Some(Value::Null) => "runc",
        Some(Value::String(name)) if name.is_empty() => "runc",
        Some(Value::String(name)) => name,
        Some(other) => return Err(format!("BinaryName is {other}, expected a string")),
    };
    Ok(NamedProgram { program: program.to_owned(), runtime: runtime.name.to_owned() })
}

impl Configured<'_> {
    fn kind(&self) -> &str {
        text(self.value, "runtimeType").unwrap_or_default()
    }
}

fn is_runc(kind: &str) -> bool {
    kind.starts_with("io.containerd.runc.")
}

/// Returns a field that is a text and not empty.
fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Returns the program's name and its version.
pub(super) fn version(
    named: &NamedProgram,
    socket: &Path,
    host_root: &Path,
) -> Result<LowLevelRuntime, String> {
    let program = find(&named.program, socket, host_root)
        .and_then(|program| behind(program, socket, host_root))
        .map_err(|reason| {
            format!("{:?} of runtime {:?}: {reason}", named.program, named.runtime)
        })?;
    let path = program.path().to_owned();
    let error = match program_version(&program) {
        // Any program in C could print its version as crun does.
        Ok(found) if found.name == "crun" && !path.ends_with("run") && !path.contains("crun") => {
            "its file looks like that of crun, but its name does not".to_owned()
        }
        Ok(found) => return Ok(LowLevelRuntime { name: found.name, version: found.version, path }),
        Err(error) => chain(&error),
    };
    let name = path.rsplit('/').next().unwrap_or_default();
    match package_version(host_root, name, &path) {
        Ok((_, version)) => Ok(LowLevelRuntime { name: name.to_owned(), version, path }),
        Err(reason) => Err(format!("{path}: {error}; {reason}")),
    }
}

/// The programs that only add hooks and then become another one, each with that one: `shimpei` of Bottlerocket, and
/// `nvidia-oci`, a link to it (`RUNC_BIN_PATH` in `sources/shimpei/src/main.rs` of bottlerocket-core-kit, `a10182f9`).
const WRAPPERS: [(&str, &str); 2] = [("shimpei", "/usr/bin/runc"), ("nvidia-oci", "/usr/bin/runc")];

/// Returns the program that creates containers where another one was found that starts it.
fn behind(
    program: TrustedProgram,
    socket: &Path,
    host_root: &Path,
) -> Result<TrustedProgram, String> {
    let name = program.path().rsplit('/').next().unwrap_or_default();
    match WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) {
        Some((_, behind)) => find(behind, socket, host_root),
        None => Ok(program),
    }
}

/// Returns a program of the node.
fn find(program: &str, socket: &Path, host_root: &Path) -> Result<TrustedProgram, String> {
    let found = |path: &str| TrustedProgram::find(host_root, path);
    if program.contains('/') {
        if !program.starts_with('/') {
            return Err("is a relative path".to_owned());
        }
        return found(program).map_err(words);
    }
    // Distributions with their own programs put them before the node's.
    let socket = socket.to_string_lossy();
    let bundled = of_runtime(&socket, Place::Programs).map(|row| row.path);
    let folders: Vec<&str> = bundled.chain(PROGRAM_FOLDERS).collect();
    for folder in &folders {
        match found(&format!("{folder}/{program}")) {
            // Another program of that name would not be the runtime's.
            Err(error @ ReadError::Untrusted(_)) if is_there(host_root, folder, program) => {
                return Err(error.to_string());
            }
            Err(_) => {}
            Ok(program) => return Ok(program),
        }
    }
    Err(format!("not found in {}", folders.join(":")))
}

fn is_there(host_root: &Path, folder: &str, name: &str) -> bool {
    open(host_root, &format!("{folder}/{name}"), OFlags::PATH).is_ok()
}

#[cfg(test)]
#[path = "../../../../tests/support/program_file.rs"]
#[expect(dead_code, reason = "the other files are those of other tests")]
mod program_file;

#[cfg(test)]
mod tests {
    use super::*;

    use super::program_file::runc;

    fn info(config: &str) -> Result<RuntimeInfo, String> {
        let config = match config {
            "-" => None,
            text => Some(("config".to_owned(), text.to_owned())),
        };
        RuntimeInfo::read(&config.into_iter().collect())
    }

    /// containerd's configuration with one runtime of that content.
    fn containerd(runtime: &str) -> String {
        format!(r#"{{"containerd":{{"defaultRuntimeName":"r","runtimes":{{"r":{runtime}}}}}}}"#)
    }

    #[test]
    fn tells_the_cgroup_driver() {
        let runc = r#""runtimeType":"io.containerd.runc.v2""#;
        let rows = [
            ("set", containerd(r#"{"options":{"SystemdCgroup":true}}"#), "Systemd"),
            ("unset", containerd(r#"{"options":{"SystemdCgroup":false}}"#), "Cgroupfs"),
            ("runc's default", containerd(&format!("{{{runc},\"options\":{{}}}}")), "Cgroupfs"),
            ("no options", containerd(&format!("{{{runc},\"options\":null}}")), "Cgroupfs"),
            (
                "another type",
                containerd(r#"{"runtimeType":"io.containerd.kata.v2"}"#),
                "its default runtime \"r\" is of type \"io.containerd.kata.v2\", which does not report the",
            ),
            (
                "a word",
                containerd(&format!(r#"{{{runc},"options":{{"SystemdCgroup":"yes"}}}}"#)),
                "config.containerd.runtimes.r.options.SystemdCgroup is \"yes\", expected true",
            ),
            ("no info", "-".to_owned(), "does not report its configuration"),
            ("no JSON", "{".to_owned(), "info[\"config\"] is not JSON: "),
            ("a list", "[]".to_owned(), "its configuration is not laid out as that of containerd"),
            ("empty", r#"{"containerd":{}}"#.to_owned(), "config.containerd.defaultRuntimeName is"),
            (
                "no such runtime",
                r#"{"containerd":{"defaultRuntimeName":"a\u0007"}}"#.to_owned(),
                "config.containerd.runtimes lacks the default \"a\\u{7}\"",
            ),
        ];
        for (name, config, expected) in rows {
            let found = info(&config).and_then(|info| info.cgroup_driver());
            let found = found.map_or_else(|reason| reason, |(driver, _)| format!("{driver:?}"));
            assert!(found.starts_with(expected), "{name}: {found}");
        }
    }

    #[test]
    fn names_the_program_that_creates_containers() {
        let of = |kind: &str, rest: &str| {
            containerd(&format!(r#"{{"runtimeType":"io.containerd.{kind}","options":{{{rest}}}}}"#))
        };
        let crio = |runtime: &str| {
            format!(r#"{{"crio":{{"DefaultRuntime":"crun","Runtimes":{{"crun":{runtime}}}}}}}"#)
        };
        let rows = [
            ("the default", of("runc.v2", ""), "runc"),
            ("an empty name", of("runc.v2", r#""BinaryName":"""#), "runc"),
            ("a name", of("runc.v2", r#""BinaryName":"crun""#), "crun"),
            ("a path", of("runc.v1", r#""BinaryName":"/usr/bin/crun""#), "/usr/bin/crun"),
            (
                "a number",
                of("runc.v2", r#""BinaryName":1"#),
                "error: BinaryName is 1, expected a string",
            ),
            (
                "kata",
                of("kata.v2", ""),
                "error: the default runtime \"r\" is of type \"io.containerd.kata.v2\" (Kata",
            ),
            (
                "gVisor",
                of("runsc.v1", ""),
                "error: the default runtime \"r\" is of type \"io.containerd.runsc.v1\" (gVisor",
            ),
            (
                "no type",
                containerd("{}"),
                "error: the default runtime \"r\" is of type \"\", which",
            ),
            (
                "CRI-O",
                crio(r#"{"RuntimePath":"/usr/libexec/crio/crun"}"#),
                "/usr/libexec/crio/crun",
            ),
            ("CRI-O without a path", crio(r#"{"RuntimePath":"","RuntimeType":"oci"}"#), "crun"),
            (
                "CRI-O with machines",
                crio(r#"{"RuntimeType":"vm"}"#),
                "error: the default runtime \"crun\" is of type \"vm\"",
            ),
            (
                "CRI-O of old",
                r#"{"sandboxImage":"p"}"#.to_owned(),
                "error: its configuration is not",
            ),
            ("CRI-O, no name", r#"{"crio":[]}"#.to_owned(), "error: config.crio.DefaultRuntime is"),
        ];
        for (name, config, expected) in rows {
            let found = info(&config).and_then(|info| info.program());
            let found = found.map_or_else(|reason| format!("error: {reason}"), |p| p.program);
            let is_same = if expected.starts_with("error") {
                found.starts_with(expected)
            } else {
                found == expected
            };
            assert!(is_same, "{name}: {found}");
        }
    }

    #[test]
    fn tells_what_it_leaves_out() {
        let of = |config: &str| info(config).expect("a configuration").disables_hugetlb();
        assert_eq!(of(r#"{"disableHugetlbController":true}"#), Some(true));
        assert_eq!(of(r#"{"disableHugetlbController":false}"#), Some(false));
        assert_eq!(of(r#"{"disableHugetlbController":"yes"}"#), None);
        assert_eq!(of(r#"{"crio":{}}"#), None);
    }

    #[test]
    fn knows_virtual_machines_of_kata_containers() {
        let of = |config: &str| {
            let handlers = info(config).expect("a configuration").kata_handlers();
            handlers.into_iter().collect::<Vec<_>>().join(",")
        };
        let containerd = |default: &str| {
            format!(
                r#"{{"containerd":{{"defaultRuntimeName":"{default}","runtimes":{{
                "runc":{{"runtimeType":"io.containerd.runc.v2"}},
                "kata":{{"runtimeType":"io.containerd.kata.v2"}},
                "kata-clh":{{"runtimeType":"io.containerd.runc.v2","runtimePath":"/opt/kata/bin/containerd-shim-kata-v2"}},
                "runsc":{{"runtimeType":"io.containerd.runsc.v1"}}}}}}}}"#
            )
        };
        let crio = r#"{"crio":{"DefaultRuntime":"kata","Runtimes":{"crun":{"RuntimePath":"/usr/bin/crun"},
            "kata":{"RuntimeType":"vm","RuntimePath":"/usr/bin/containerd-shim-kata-v2"},
            "gvisor":{"RuntimeType":"vm","RuntimePath":"/usr/bin/containerd-shim-runsc-v1"}}}}"#;
        for (config, expected) in [
            (containerd("runc").as_str(), "kata,kata-clh"),
            (&containerd("kata"), ",kata,kata-clh"),
            (crio, ",kata"),
            ("{}", ""),
        ] {
            assert_eq!(of(config), expected, "{config}");
        }
    }

    #[test]
    fn knows_what_annotations_change() {
        let of = |config: &str| {
            let AnnotatedCpus { handlers, workloads } =
                info(config).expect("a configuration").annotated_cpus();
            let joined = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(",");
            format!("{} {}", joined(handlers), joined(workloads))
        };
        // As packaging/crio.conf.d of openshift/microshift has them.
        let runtimes = r#""Runtimes":{"crun":{"AllowedAnnotations":["io.kubernetes.cri-o.Devices"]},
            "high-performance":{},"fast":{"AllowedAnnotations":["cpu-c-states.crio.io","cpu-quota.crio.io"]}}"#;
        let workloads = r#""Workloads":{
            "management":{"AnnotationPrefix":"resources.workload.openshift.io","Resources":{"cpuset":"0"}},
            "openshift-builder":{"AnnotationPrefix":"","Resources":{}},"none":{"Resources":null}}"#;
        for (config, expected) in [
            (
                format!(r#"{{"crio":{{"DefaultRuntime":"crun",{runtimes},{workloads}}}}}"#),
                "fast,high-performance management",
            ),
            (
                format!(r#"{{"crio":{{"DefaultRuntime":"fast",{runtimes}}}}}"#),
                ",fast,high-performance ",
            ),
            (format!(r#"{{"containerd":{{"defaultRuntimeName":"fast",{runtimes}}}}}"#), " "),
        ] {
            assert_eq!(of(&config), expected, "{config}");
        }
    }

    #[test]
    fn names_the_programs_of_all_handlers() {
        let config = r#"{"containerd":{"defaultRuntimeName":"runc","runtimes":{
            "runc":{"runtimeType":"io.containerd.runc.v2"},
            "crun":{"runtimeType":"io.containerd.runc.v2","options":{"BinaryName":"/usr/bin/crun"}},
            "kata":{"runtimeType":"io.containerd.kata.v2"}}}}"#;
        let crio = r#"{"crio":{"DefaultRuntime":"crun","Runtimes":{"crun":{},"vm":{"RuntimeType":"vm"}}}}"#;
        for (config, expected) in
            [(config, "crun=/usr/bin/crun runc=runc"), (crio, "crun=crun"), ("{}", "")]
        {
            let named = info(config).expect("a configuration").programs().into_iter();
            let named = named.map(|it| format!("{}={}", it.runtime, it.program));
            assert_eq!(named.collect::<Vec<_>>().join(" "), expected);
        }
    }

    #[test]
    fn a_program_that_only_adds_hooks_stands_for_the_one_behind_it() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("usr/bin");
        std::fs::create_dir_all(&folder).expect("a folder");
        for (name, text) in [("shimpei", b"\x7fELF".to_vec()), ("runc", runc("1.1.14"))] {
            std::fs::write(folder.join(name), text).expect("a file");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(folder.join(name), mode).expect("a mode");
        }
        std::os::unix::fs::symlink("shimpei", folder.join("nvidia-oci")).expect("a link");
        let of = |program: &str| {
            let named = NamedProgram { program: program.to_owned(), runtime: "r".to_owned() };
            version(&named, Path::new("/run/containerd/containerd.sock"), root.path())
        };
        for program in ["shimpei", "nvidia-oci", "/usr/bin/shimpei", "runc"] {
            let found = of(program).expect("a version");
            let found = (found.name.as_str(), found.version.as_str(), found.path.as_str());
            assert_eq!(found, ("runc", "1.1.14", "/usr/bin/runc"), "{program}");
        }
        std::fs::remove_file(folder.join("runc")).expect("it is removed");
        assert!(of("shimpei").is_err_and(|reason| reason.contains("shimpei")));
    }
}
