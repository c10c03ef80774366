//! What each program says of the image file system, and why the numbers differ.

use super::DiskFacts;
use kq_facts::filesystems::FolderRole;
use kq_facts::timestamp::Timestamp;
use kq_output::units;
use serde::Serialize;

/// What one program says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Who says so.
    pub source: String,
    /// The size, in bytes; null: not reported.
    pub capacity_bytes: Option<u64>,
    /// What is available, in bytes; null: not reported.
    pub available_bytes: Option<u64>,
    /// What is used, in bytes, as this source counts; null: not reported.
    pub used_bytes: Option<u64>,
    /// When it was measured; null: unknown.
    pub at: Option<Timestamp>,
    /// Why it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// The order of the accounts.
const STATFS: usize = 0;
const RUNTIME: usize = 1;
const FOLDER: usize = 2;
const SUMMARY: usize = 3;

/// Returns the four accounts.
pub(super) fn accounts(facts: DiskFacts<'_>) -> Vec<Account> {
    vec![statfs(facts), runtime(facts), folder(facts), summary(facts)]
}

fn silent(source: &str, reason: String) -> Account {
    Account { source: source.to_owned(), unknown: Some(reason), ..Account::default() }
}

fn statfs(facts: DiskFacts<'_>) -> Account {
    const SOURCE: &str = "statfs";
    match facts.filesystem(FolderRole::Images) {
        Err(reason) => silent(SOURCE, reason),
        Ok(filesystem) => Account {
            source: SOURCE.to_owned(),
            capacity_bytes: Some(filesystem.capacity_bytes),
            available_bytes: Some(filesystem.available_bytes),
            used_bytes: Some(filesystem.capacity_bytes.saturating_sub(filesystem.free_bytes)),
            at: Some(facts.now),
            unknown: None,
        },
    }
}

fn runtime(facts: DiskFacts<'_>) -> Account {
    const SOURCE: &str = "ImageFsInfo";
    match facts.counts() {
        Err(reason) => silent(SOURCE, reason),
        Ok([None, _]) => silent(SOURCE, "it names no file system of images".to_owned()),
        Ok([Some(images), _]) => Account {
            source: SOURCE.to_owned(),
            used_bytes: images.used_bytes,
            at: Some(Timestamp(images.timestamp)).filter(|at| at.0 > 0),
            unknown: images.used_bytes.is_none().then(|| "the runtime did not count".to_owned()),
            ..Account::default()
        },
    }
}

fn folder(facts: DiskFacts<'_>) -> Account {
    const SOURCE: &str = "the blocks of the folder";
    let Some(folder) = facts.folders.get(&FolderRole::Images) else {
        return silent(SOURCE, "not looked for".to_owned());
    };
    match folder.usage.value() {
        None => silent(SOURCE, folder.usage.reason()),
        Some(usage) => Account {
            source: SOURCE.to_owned(),
            used_bytes: Some(usage.bytes),
            at: Some(facts.now),
            ..Account::default()
        },
    }
}

fn summary(facts: DiskFacts<'_>) -> Account {
    const SOURCE: &str = "the kubelet's stats summary";
    let Some(summary) = facts.summary.value() else {
        return silent(SOURCE, facts.summary.reason());
    };
    let runtime = summary.node.runtime.as_ref();
    let Some(measured) = runtime.and_then(|runtime| runtime.image_fs.as_ref()) else {
        return silent(SOURCE, "it has no file system of images".to_owned());
    };
    let at = measured.time.and_then(|time| i64::try_from(time.as_nanosecond()).ok());
    Account {
        source: SOURCE.to_owned(),
        capacity_bytes: measured.capacity_bytes,
        available_bytes: measured.available_bytes,
        used_bytes: measured.used_bytes,
        at: at.map(Timestamp),
        unknown: None,
    }
}

/// Returns why the accounts differ.
pub(super) fn differences(facts: DiskFacts<'_>, accounts: &[Account]) -> Vec<String> {
    let mut differences = Vec::new();
    let of = |index: usize| accounts.get(index).filter(|account| account.unknown.is_none());
    let age = |account: &Account| match account.at {
        Some(at) if at >= facts.now => "now".to_owned(),
        Some(at) => format!("{} before", units::age(facts.now.since(at))),
        None => "at a time that is not known".to_owned(),
    };
    let difference = |a: u64, b: u64| i128::from(a) - i128::from(b);
    if let (Some(statfs), Some(runtime)) = (of(STATFS), of(RUNTIME))
        && let (Some(all), Some(images)) = (statfs.used_bytes, runtime.used_bytes)
    {
        differences.push(format!(
            "ImageFsInfo is {} bytes below statfs: the runtime counts what it unpacked, {}, statfs \
             everything on the file system",
            difference(all, images),
            age(runtime)
        ));
    }
    if let (Some(folder), Some(runtime)) = (of(FOLDER), of(RUNTIME))
        && let (Some(blocks), Some(images)) = (folder.used_bytes, runtime.used_bytes)
        && blocks != images
    {
        differences.push(format!(
            "the folder holds {} bytes more than the runtime counted, {}: it counts at \
             intervals, and omits its other data",
            difference(blocks, images),
            age(runtime)
        ));
    }
    if let (Some(statfs), Some(summary)) = (of(STATFS), of(SUMMARY)) {
        if let (Some(now), Some(then)) = (statfs.available_bytes, summary.available_bytes)
            && now != then
        {
            let what = if now > then { "became available" } else { "were taken" };
            differences.push(format!(
                "since the kubelet measured, {}, {} bytes {what}",
                age(summary),
                now.abs_diff(then)
            ));
        }
        if statfs.capacity_bytes != summary.capacity_bytes && summary.capacity_bytes.is_some() {
            differences.push(
                "the kubelet measured a file system of another size: it may measure another one"
                    .to_owned(),
            );
        }
    }
    if let (Some(runtime), Some(summary)) = (of(RUNTIME), of(SUMMARY))
        && summary.used_bytes.is_some()
    {
        differences.push(match summary.used_bytes == runtime.used_bytes {
            true => {
                "usedBytes of the kubelet's stats summary is the count of the runtime, not that of \
                     statfs"
                    .to_owned()
            }
            false => format!(
                "usedBytes of the kubelet's stats summary is the count of the runtime as it was {}",
                age(summary)
            ),
        });
    }
    differences
}
