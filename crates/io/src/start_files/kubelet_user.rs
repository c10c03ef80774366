//! The user `kubelet`, and the ranges of IDs that are set aside for it (`getKubeletMappings` in `pkg/kubelet/kubelet_pods.go`).

use crate::host::{LIMIT, ReadError};
use crate::trust::{kind_trusted, read_trusted};
use kq_facts::kubelet_unit::PROGRAM_FOLDERS;
use kq_facts::start_files::KubeletUser;
use std::path::Path;

const USER: &str = "kubelet";

/// Reads the user and its ranges; `None`: they are not known.
pub(super) fn read(root: &Path, is_copy: bool) -> Option<KubeletUser> {
    let users = text(root, "/etc/passwd")??;
    let user = users.lines().map(|line| line.split(':')).find_map(|mut fields| {
        let is_it = fields.next() == Some(USER);
        is_it.then(|| fields.nth(1).unwrap_or_default().to_owned())
    });
    let Some(number) = user else { return Some(KubeletUser::default()) };
    let program = |folder: &str| kind_trusted(root, &format!("{folder}/getsubids")).is_ok();
    let has_getsubids = PROGRAM_FOLDERS.iter().any(|folder| program(folder));
    if is_copy && !has_getsubids {
        return None;
    }
    Some(KubeletUser {
        exists: true,
        has_getsubids,
        user_ids: ranges(&text(root, "/etc/subuid")?.unwrap_or_default(), &number),
        group_ids: ranges(&text(root, "/etc/subgid")?.unwrap_or_default(), &number),
    })
}

/// Returns the text of a file; `Some(None)`: there is none; `None`: it could not be read.
fn text(root: &Path, path: &str) -> Option<Option<String>> {
    match read_trusted(root, path, LIMIT) {
        Ok(bytes) => Some(String::from_utf8(bytes).ok()),
        Err(ReadError::Absent) => Some(None),
        Err(_) => None,
    }
}

fn ranges(text: &str, number: &str) -> Vec<(u32, u32)> {
    let lines = text.lines().filter_map(|line| {
        let mut fields = line.trim().split(':');
        let owner = fields.next()?;
        let range = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        (owner == USER || owner == number).then_some(range)
    });
    lines.take(16).collect()
}
