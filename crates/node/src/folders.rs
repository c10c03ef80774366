//! The folders that the kubelet and its runtime fill: their paths, file systems and usage.

use super::config::KubeletConfig;
use super::source_order::NodeInQuestion;
use kq_facts::fact_key::FactKey;
use kq_facts::filesystems::{Filesystem, FolderRole, NodeFolder};
use kq_facts::host::HostFacts;
use kq_facts::lookup::{FailedSource, Lookup};
use kq_facts::mounts::Mounts;
use kq_facts::needs::Needs;
use kq_facts::runtime::RuntimeFacts;
use kq_io::host::{read_filesystem, read_usage};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Where the kubelet writes the logs of pods, unless `podLogsDir` says otherwise.
const LOGS: &str = "/var/log/pods";

/// The name of containerd's content store, next to the folder of its snapshotter.
const CONTENT: &str = "io.containerd.content.v1.content";

/// Why the file systems of a copy are not those of its node.
const OF_COPY: &str =
    "not measured: --host-root is a copy of a node's files, on another file system";

/// Measures the folders, all at the same time, so that together they take no longer than the time limit.
pub fn gather(
    needs: Needs,
    (node, root): (NodeInQuestion, &Path),
    host: &HostFacts,
    runtime: &Lookup<RuntimeFacts>,
    settings: &KubeletConfig,
    time: Duration,
) -> BTreeMap<FolderRole, NodeFolder> {
    if !needs.has(FactKey::Filesystems) {
        return BTreeMap::new();
    }
    let mounts = host.mounts().unwrap_or_default();
    let mut folders = BTreeMap::new();
    for (role, place) in places(runtime, settings) {
        let folder = match place {
            Ok(path) => {
                let filesystem = match node {
                    NodeInQuestion::Copied => Lookup::failed(&*path, OF_COPY),
                    _ => filesystem(root, &path, &mounts),
                };
                // Other runtimes store nothing there.
                if role == FolderRole::Content && filesystem.found.is_none() {
                    continue;
                }
                NodeFolder { path, filesystem, usage: Lookup::default() }
            }
            Err(tried) => {
                let filesystem = Lookup { found: None, tried };
                NodeFolder { filesystem, ..NodeFolder::default() }
            }
        };
        folders.insert(role, folder);
    }
    if needs.has(FactKey::FolderUsage) {
        let mounts = &mounts;
        thread::scope(|scope| {
            for folder in folders.values_mut().filter(|folder| folder.filesystem.found.is_some()) {
                scope.spawn(move || {
                    folder.usage = match read_usage(root, &folder.path, mounts, time) {
                        Ok(usage) => Lookup::found(&*folder.path, usage),
                        Err(reason) => Lookup::failed(&*folder.path, reason),
                    };
                });
            }
        });
    }
    folders
}

/// The path of a folder, or the failed sources.
type Place = Result<String, Vec<FailedSource>>;

/// Returns where the folders are on the node.
fn places(runtime: &Lookup<RuntimeFacts>, settings: &KubeletConfig) -> Vec<(FolderRole, Place)> {
    let mut places = Vec::new();
    let filesystems = runtime.value().map(|runtime| &runtime.image_filesystems);
    match filesystems.and_then(Lookup::value) {
        Some(filesystems) => {
            // The kubelet also uses the first of each.
            let first = |list: &[kq_facts::runtime::FilesystemUsage]| {
                let mountpoint = list.first().map(|usage| usage.mountpoint.clone());
                mountpoint.filter(|path| path.starts_with('/'))
            };
            let images = first(&filesystems.image);
            if let Some(containers) =
                first(&filesystems.container).filter(|path| Some(path) != images.as_ref())
            {
                places.push((FolderRole::Containers, Ok(containers)));
            }
            let parent = images.as_deref().and_then(|images| Path::new(images).parent()?.to_str());
            if let Some(parent) = parent {
                let content = format!("{}/{CONTENT}", parent.trim_end_matches('/'));
                places.push((FolderRole::Content, Ok(content)));
            }
            let source = source_of(runtime);
            places.push((FolderRole::Images, images.ok_or_else(|| silent(source))));
        }
        None => {
            // The reason of a missing runtime is reported with the runtime.
            let no_runtime = || {
                let source = "the container runtime".to_owned();
                vec![FailedSource { source, reason: "did not answer".to_owned() }]
            };
            let tried =
                filesystems.map_or_else(no_runtime, |filesystems| filesystems.tried.clone());
            places.push((FolderRole::Images, Err(tried)));
        }
    }
    places.push((FolderRole::Kubelet, Ok(settings.root_dir.clone())));
    let logs = settings.value().and_then(|config| config.get("podLogsDir")).and_then(Value::as_str);
    let logs = logs.filter(|logs| !logs.is_empty()).unwrap_or(LOGS);
    places.push((FolderRole::Logs, Ok(logs.to_owned())));
    places
}

fn source_of(runtime: &Lookup<RuntimeFacts>) -> String {
    let filesystems = runtime.value().and_then(|runtime| runtime.image_filesystems.found.as_ref());
    filesystems.map(|found| found.source.clone()).unwrap_or_default()
}

fn silent(source: String) -> Vec<FailedSource> {
    vec![FailedSource { source, reason: "reports no image file system".to_owned() }]
}

fn filesystem(root: &Path, path: &str, mounts: &Mounts) -> Lookup<Filesystem> {
    match read_filesystem(root, path, mounts) {
        Ok(filesystem) => Lookup::found(path, filesystem),
        Err(reason) => Lookup::failed(path, reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::runtime::{FilesystemUsage, ImageFilesystems};

    #[test]
    fn folders_are_where_the_runtime_and_the_kubelet_say() {
        let overlay = "/data/containerd/io.containerd.snapshotter.v1.overlayfs";
        let content = "/data/containerd/io.containerd.content.v1.content";
        let usage = |path: &&str| FilesystemUsage {
            mountpoint: (*path).to_owned(),
            ..FilesystemUsage::default()
        };
        let filesystems = |image: &[&str], container: &[&str]| {
            let filesystems = ImageFilesystems {
                image: image.iter().map(usage).collect(),
                container: container.iter().map(usage).collect(),
            };
            let image_filesystems = Lookup::found("s ImageFsInfo", filesystems);
            Lookup::found("s", RuntimeFacts { image_filesystems, ..RuntimeFacts::default() })
        };
        let silent = RuntimeFacts {
            image_filesystems: Lookup::failed("s ImageFsInfo", "refused"),
            ..RuntimeFacts::default()
        };
        let rows = [
            (
                "containerd",
                filesystems(&[overlay], &[]),
                format!("Content {content}, Images {overlay}, "),
            ),
            (
                "another place for containers",
                filesystems(&[overlay, "/other"], &["/c"]),
                format!("Containers /c, Content {content}, Images {overlay}, "),
            ),
            (
                "the same place for containers",
                filesystems(&[overlay], &[overlay]),
                format!("Content {content}, Images {overlay}, "),
            ),
            (
                "none",
                filesystems(&[], &[]),
                "Images (s ImageFsInfo: reports no image file system), ".to_owned(),
            ),
            (
                "no path",
                filesystems(&["containerd"], &[]),
                "Images (s ImageFsInfo: reports no image file system), ".to_owned(),
            ),
            ("refused", Lookup::found("s", silent), "Images (s ImageFsInfo: refused), ".to_owned()),
            (
                "no runtime",
                Lookup::failed("s", "absent"),
                "Images (the container runtime: did not answer), ".to_owned(),
            ),
        ];
        for (name, runtime, expected) in rows {
            let settings = KubeletConfig::of(None, None);
            let found = places(&runtime, &settings).into_iter().map(|(role, place)| {
                let reasons = |tried: Vec<FailedSource>| {
                    let tried: Vec<String> = tried.iter().map(ToString::to_string).collect();
                    format!("({})", tried.join("; "))
                };
                format!("{role:?} {}", place.unwrap_or_else(reasons))
            });
            let found: Vec<String> = found.collect();
            let always = "Kubelet /var/lib/kubelet, Logs /var/log/pods";
            assert_eq!(found.join(", "), format!("{expected}{always}"), "{name}");
        }
        let config = serde_json::json!({"podLogsDir": "/logs"});
        let settings = KubeletConfig::of(Some(&config), None);
        let logs = places(&Lookup::default(), &settings).pop();
        assert_eq!(logs, Some((FolderRole::Logs, Ok("/logs".to_owned()))));
    }
}
