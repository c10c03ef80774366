//! Reading how systemd starts the kubelet, for a node on which none runs.

use crate::edge::host::LIMIT;
use crate::edge::trust::{list_trusted, read_trusted};
use crate::facts::kubelet_process::{KubeletProcess, as_started};
use crate::facts::kubelet_unit::{
    KUBEADM_CONFIG, KUBEADM_UNIT, UNIT, UNIT_FOLDERS, command_line, drop_ins,
};
use std::path::Path;

/// A kubelet that does not run, as it would be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoppedKubelet {
    /// What says so.
    pub source: String,
    /// Its command line.
    pub process: KubeletProcess,
}

/// Returns the kubelet as its unit would start it; without a unit, as the packages of Kubernetes start one where
/// kubeadm left its configuration. `None`: nothing tells.
pub fn stopped_kubelet(root: &Path) -> Option<StoppedKubelet> {
    let read = |path: &str| {
        let bytes = read_trusted(root, path, LIMIT).ok()?;
        String::from_utf8(bytes).ok()
    };
    let unit = UNIT_FOLDERS.iter().map(|folder| format!("{folder}/{UNIT}"));
    let unit = unit.into_iter().find_map(|path| Some((read(&path)?, path)));
    let (texts, source) = match unit {
        Some((text, path)) => {
            let folders = UNIT_FOLDERS.map(|folder| format!("{folder}/{UNIT}.d"));
            let listed = folders.map(|folder| {
                let names = list_trusted(root, &folder).unwrap_or_default();
                (folder, names)
            });
            let drop_ins = drop_ins(&listed);
            (
                std::iter::once(text)
                    .chain(drop_ins.iter().filter_map(|path| read(path)))
                    .collect(),
                path,
            )
        }
        None => {
            read(KUBEADM_CONFIG)?;
            (vec![KUBEADM_UNIT.to_owned()], "the unit of the Kubernetes packages".to_owned())
        }
    };
    let process = as_started(&command_line(&texts, read)?)?;
    Some(StoppedKubelet { source, process })
}
