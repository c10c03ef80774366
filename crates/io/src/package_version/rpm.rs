//! The database of rpm: an SQLite database with a header for each package. (`lib/backend/sqlite.c` and `lib/header.c` of
//! rpm)
//!
//! Older formats, Berkeley DB and NDB, are not read.

use super::is_program;
use super::sqlite::{Database, SqliteError, Value};
use crate::trust::{kind_trusted, open_trusted};
use crate::watchdog::reading;
use kq_facts::read_error::ReadError;
use std::path::Path;

/// Where the database is: the place of Fedora, openSUSE and image-based systems, and the older one.
const FILES: [&str; 2] = ["/usr/lib/sysimage/rpm/rpmdb.sqlite", "/var/lib/rpm/rpmdb.sqlite"];

/// The tags of a header. (`include/rpm/rpmtag.h`)
const VERSION: u32 = 1001;
const RELEASE: u32 = 1002;
const DIR_INDEXES: u32 = 1116;
const BASE_NAMES: u32 = 1117;
const DIR_NAMES: u32 = 1118;

/// Types of the values of a header.
const INT32: u32 = 4;
const STRING: u32 = 6;
const STRING_ARRAY: u32 = 8;

/// Returns the path of the database; `None`: the node has none.
pub(super) fn database(root: &Path) -> Option<&'static str> {
    FILES.into_iter().find(|path| kind_trusted(root, path).is_ok())
}

/// Returns the database's file and the version of the package that installed a program; else the reason.
pub(super) fn version(
    root: &Path,
    database: &str,
    package: &str,
    program: &str,
) -> Result<(String, String), String> {
    let _reading = reading(database);
    let said = |reason: &str| format!("{database}: {reason}");
    // SQLite keeps changes in this file before they are part of the database.
    let log = format!("{database}-wal");
    let has_changes = match open_trusted(root, &log) {
        Ok(file) => file.metadata().map_or(true, |file| file.len() > 0),
        // One that cannot be looked at may have some.
        Err(error) => error != ReadError::Absent,
    };
    if has_changes {
        return Err(said(&format!("{log} may have changes that are not in it yet")));
    }
    let file = open_trusted(root, database).map_err(|error| said(&error.to_string()))?;
    let found = installed(&file, package).map_err(|error| said(&error.to_string()))?;
    let mut others = Vec::new();
    for header in &found {
        let header = Header::of(header).ok_or_else(|| said("a header is malformed"))?;
        let version = header.text(VERSION).ok_or_else(|| said("a header has no version"))?;
        let full = format!("{package}-{version}-{}", header.text(RELEASE).unwrap_or_default());
        if header.has_file(program) {
            let source = format!("{database} (package {full})");
            // rpm has a tilde before what precedes a release: 1.2.0~rc.1.
            return Ok((source, version.replace('~', "-")));
        }
        others.push(full);
    }
    Err(match others.as_slice() {
        [] => said(&format!("has no installed package {package}")),
        _ => said(&format!("{} does not have {program}", others.join(", "))),
    })
}

/// Returns the headers of the installed packages of a name.
fn installed(file: &std::fs::File, package: &str) -> Result<Vec<Vec<u8>>, SqliteError> {
    let database = Database::read(file)?;
    let numbers = database.table("Name")?.select(|row| match row {
        [Value::Bytes(name), Value::Integer(number), ..] if *name == package.as_bytes() => {
            Some(*number)
        }
        _ => None,
    })?;
    let packages = database.table("Packages")?;
    let mut headers = Vec::new();
    for number in numbers {
        headers.extend(packages.row(number, |row| match row {
            [_, Value::Bytes(header), ..] => Some(header.to_vec()),
            _ => None,
        })?);
    }
    Ok(headers)
}

/// A header: an index of tags, and the values that it points to.
struct Header<'h> {
    index: &'h [u8],
    values: &'h [u8],
}

impl<'h> Header<'h> {
    fn of(bytes: &'h [u8]) -> Option<Self> {
        let length = |at: usize| usize::try_from(word(bytes, at)?).ok();
        let (entries, size) = (length(0)?, length(4)?);
        let (index, values) = bytes.get(8..)?.split_at_checked(entries.checked_mul(16)?)?;
        Some(Self { index, values: values.get(..size)? })
    }

    /// Returns the number of values of a tag, and the bytes that they begin with.
    fn values(&self, tag: u32, kind: u32) -> Option<(usize, &'h [u8])> {
        let is_it = |entry: &&[u8]| word(entry, 0) == Some(tag) && word(entry, 4) == Some(kind);
        let entry = self.index.chunks_exact(16).find(is_it)?;
        let offset = usize::try_from(word(entry, 8)?).ok()?;
        Some((usize::try_from(word(entry, 12)?).ok()?, self.values.get(offset..)?))
    }

    fn text(&self, tag: u32) -> Option<&'h str> {
        texts(self.values(tag, STRING)?.1).next()
    }

    /// Returns true if the package has a file. A path is a folder of one list and a name of another.
    fn has_file(&self, program: &str) -> bool {
        let list = |tag| {
            let (count, bytes) = self.values(tag, STRING_ARRAY).unwrap_or_default();
            texts(bytes).take(count)
        };
        let folders: Vec<&str> = list(DIR_NAMES).collect();
        let (count, indexes) = self.values(DIR_INDEXES, INT32).unwrap_or_default();
        let indexes = indexes.chunks_exact(4).take(count);
        list(BASE_NAMES).zip(indexes).any(|(name, index)| {
            let index = word(index, 0).and_then(|at| usize::try_from(at).ok());
            let folder = index.and_then(|at| folders.get(at));
            folder.is_some_and(|folder| is_program(program, &format!("{folder}{name}")))
        })
    }
}

/// Returns the texts that end with a zero each. What is not UTF-8 is an empty text.
fn texts(bytes: &[u8]) -> impl Iterator<Item = &str> {
    bytes.split(|byte| *byte == 0).map(|text| std::str::from_utf8(text).unwrap_or_default())
}

/// Returns the number of 4 bytes at a place, the highest byte first.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package_version::package_version;
    use std::fs;

    /// A database that rpm 4.18 made: `tests/packages/make-rpmdb`.
    const DATABASE: &[u8] = include_bytes!("../../../../tests/packages/rpmdb.sqlite");

    fn root_with(database: &[u8], log: &[u8]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("var/lib/rpm");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("rpmdb.sqlite"), database).expect("written");
        fs::write(folder.join("rpmdb.sqlite-wal"), log).expect("written");
        root
    }

    #[test]
    fn a_damaged_database_is_told() {
        const FILE: &str = "/var/lib/rpm/rpmdb.sqlite";
        for (name, database, log, expected) in [
            ("changes", DATABASE, &b"x"[..], "/var/lib/rpm/rpmdb.sqlite-wal may have changes"),
            ("empty", b"", b"", "cannot be read: failed to fill whole buffer"),
            ("other", &[b'x'; 200], b"", "is not an SQLite database with texts in UTF-8"),
            ("cut off", &DATABASE[..8192], b"", "cannot be read: failed to fill whole buffer"),
        ] {
            let root = root_with(database, log);
            let found = version(root.path(), FILE, "kubelet", "/usr/bin/kubelet");
            let reason = found.expect_err(name);
            assert!(reason.contains(expected), "{name}: {reason}");
            assert!(reason.starts_with(FILE), "{name}: {reason}");
        }
    }

    #[test]
    fn a_log_that_cannot_be_read_may_have_changes() {
        let root = root_with(DATABASE, b"");
        let log = root.path().join("var/lib/rpm/rpmdb.sqlite-wal");
        fs::remove_file(&log).expect("it was there");
        let file = "/var/lib/rpm/rpmdb.sqlite";
        let known = |root: &Path| version(root, file, "kubelet", "/usr/bin/kubelet");
        assert_eq!(known(root.path()).map(|(_, version)| version), Ok("1.36.2".to_owned()));
        fs::create_dir(&log).expect("a folder");
        let reason = known(root.path()).expect_err("it may have changes");
        assert!(reason.contains("may have changes"), "{reason}");
    }

    #[test]
    fn no_change_of_a_byte_makes_a_panic_or_an_endless_walk() {
        let mut database = DATABASE.to_vec();
        let file = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().expect("a file");
            std::io::Write::write_all(&mut file, bytes).expect("written");
            file
        };
        for at in (0..database.len()).step_by(97) {
            let before = database[at];
            for other in [0, 0x7f, 0xff, before ^ 1] {
                database[at] = other;
                let _ = installed(&file(&database), "kubelet").map(|found| {
                    found
                        .iter()
                        .filter_map(|it| Header::of(it)?.text(VERSION).map(str::len))
                        .count()
                });
            }
            database[at] = before;
        }
    }

    #[test]
    fn the_version_of_a_package_is_known() {
        let root = root_with(DATABASE, b"");
        for (package, program, expected) in [
            (
                "kubelet",
                "/usr/bin/kubelet",
                "/var/lib/rpm/rpmdb.sqlite (package kubelet-1.36.2-150500.1.1): 1.36.2",
            ),
            (
                "runc",
                "/usr/bin/runc",
                "/var/lib/rpm/rpmdb.sqlite (package runc-1.4.0~rc.1-2): 1.4.0-rc.1",
            ),
            (
                "kubelet",
                "/opt/bin/kubelet",
                "/var/lib/dpkg/info/kubelet.list: no such file; /var/lib/rpm/rpmdb.sqlite: kubelet-1.36.2-150500.1.1 does not have /opt/bin/kubelet",
            ),
            (
                "crun",
                "/usr/bin/crun",
                "/var/lib/dpkg/info/crun.list: no such file; /var/lib/rpm/rpmdb.sqlite: has no installed package crun",
            ),
        ] {
            let found = package_version(root.path(), package, program);
            let found = found
                .map_or_else(|reason| reason, |(source, version)| format!("{source}: {version}"));
            assert_eq!(found, expected, "{package} {program}");
        }
    }
}
