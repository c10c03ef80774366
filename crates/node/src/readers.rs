//! The readers of the facts that are below the root of a node.

use super::config::KubeletConfig;
use super::devices;
use super::gather::tree;
use super::spec::NodeSpec;
use kq_facts::config_on_disk::{ConfigContent, ConfigOnDisk};
use kq_facts::fact_key::FactKey;
use kq_facts::host::HostFacts;
use kq_facts::image_records::DEFAULT_PATH;
use kq_facts::lookup::Lookup;
use kq_facts::needs::Needs;
use kq_facts::redaction::forget_secrets;
use kq_facts::snapshot::Snapshot;
use kq_facts::start_files::named_files;
use kq_io::certificates::{CertificateSources, read_certificates};
use kq_io::drop_ins::read_drop_ins;
use kq_io::image_records::read_records;
use kq_io::kubelet_files::read_config_on_disk;
use kq_io::start_files::read_start_files;
use kq_io::trust::NamedBy;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// The root of a node, and the facts gathered so far.
pub(super) struct Below<'a> {
    pub spec: &'a NodeSpec,
    pub root: &'a Path,
    pub host: &'a HostFacts,
    pub settings: &'a KubeletConfig,
}

/// Reads a fact into a snapshot.
type Reader = fn(&Below<'_>, Needs, &mut Snapshot);

/// Returns the reader of a fact; `None`: [`gather`](super::gather::gather) reads it in its order, because others depend on
/// it, or together with another fact.
fn reader(key: FactKey) -> Option<Reader> {
    Some(match key {
        FactKey::ConfigOnDisk => config_on_disk,
        FactKey::StartFiles => start_files,
        FactKey::ImageRecords => image_records,
        FactKey::DeviceCheckpoint => device_checkpoint,
        FactKey::PodResources => pod_resources,
        FactKey::Certificates => certificates,
        FactKey::CgroupTree => cgroups,
        FactKey::DropIns => drop_ins,
        FactKey::Node
        | FactKey::KubeletConfig
        | FactKey::Pods
        | FactKey::PodNames
        | FactKey::Events
        | FactKey::CgroupDriver
        | FactKey::LowLevelRuntime
        | FactKey::Sandboxes
        | FactKey::Containers
        | FactKey::Images
        | FactKey::ImageFilesystems
        | FactKey::ImageVolumes
        | FactKey::ContainerStatuses
        | FactKey::WritableLayers
        | FactKey::ImageStorage
        | FactKey::SandboxImage
        | FactKey::CgroupUsage
        | FactKey::CgroupStatistics
        | FactKey::Processes
        | FactKey::StateFiles
        | FactKey::Filesystems
        | FactKey::FolderUsage
        | FactKey::StatsSummary => return None,
    })
}

/// Reads the needed facts that are below the root of the node.
pub(super) fn read(below: &Below<'_>, needs: Needs, snapshot: &mut Snapshot) {
    for key in FactKey::ALL.iter().filter(|key| needs.has(**key)) {
        if let Some(read) = reader(*key) {
            read(below, needs, snapshot);
        }
    }
}

fn config_on_disk(below: &Below<'_>, _: Needs, snapshot: &mut Snapshot) {
    let mut read = read_config_on_disk(below.root, snapshot.kubelet.value());
    if let Some(found) = &mut read.found {
        let ConfigOnDisk { file, drop_ins, .. } = &mut found.value;
        for text in file.iter_mut().chain(drop_ins) {
            if let ConfigContent::Document { value, .. } = &mut text.content {
                forget_secrets(Arc::make_mut(value));
            }
        }
    }
    snapshot.kubelet_config_on_disk = read;
}

/// Reads the files that the next start reads. Its command line and its configuration were read before.
fn start_files(below: &Below<'_>, _: Needs, snapshot: &mut Snapshot) {
    let Some(on_disk) = &snapshot.kubelet_config_on_disk.found else { return };
    let ConfigOnDisk { process, file, drop_ins, .. } = &on_disk.value;
    let configs = file.iter().chain(drop_ins).filter_map(|text| match &text.content {
        ConfigContent::Document { value, .. } => Some(&**value),
        _ => None,
    });
    let named = named_files(process.as_ref(), configs.chain(below.settings.value()));
    let found = read_start_files(below.root, &named);
    snapshot.start_files = Lookup::found("the files of the node", found);
}

fn image_records(below: &Below<'_>, _: Needs, snapshot: &mut Snapshot) {
    snapshot.image_records = read_records(below.root, DEFAULT_PATH, NamedBy::Node);
}

fn device_checkpoint(below: &Below<'_>, _: Needs, snapshot: &mut Snapshot) {
    devices::read_checkpoint(below, snapshot.devices.get_or_insert_default());
}

fn pod_resources(below: &Below<'_>, _: Needs, snapshot: &mut Snapshot) {
    snapshot.devices.get_or_insert_default().pod_resources = devices::pod_resources(below);
}

fn certificates(below: &Below<'_>, _: Needs, snapshot: &mut Snapshot) {
    let config = below.settings.value();
    let authority = |config: &Value| {
        let authority = config.get("authentication")?.get("x509")?.get("clientCAFile")?;
        authority.as_str().map(str::to_owned)
    };
    let authority = config.and_then(authority);
    let sources = CertificateSources {
        folder: &below.settings.cert_dir,
        kubeconfig: below.settings.kubeconfig.as_deref(),
        tls_cert_file: config.and_then(|config| config.get("tlsCertFile")?.as_str()),
        client_ca_file: authority.as_deref(),
    };
    snapshot.certificates = read_certificates(below.root, sources);
}

fn cgroups(below: &Below<'_>, needs: Needs, snapshot: &mut Snapshot) {
    snapshot.cgroups = tree(below, needs);
}

fn drop_ins(below: &Below<'_>, _: Needs, snapshot: &mut Snapshot) {
    snapshot.drop_ins = match snapshot.cgroups.value() {
        Some(tree) => read_drop_ins(below.root, tree),
        None => Lookup::failed("systemd's drop-ins", "the cgroups are unknown"),
    };
}
