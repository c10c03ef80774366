//! Versions of installed packages, from the databases of dpkg and rpm.
//!
//! A package counts only if its list of files has the program: a program that was copied over has another version.

mod dpkg;
#[cfg(target_os = "linux")]
mod rpm;
#[cfg(target_os = "linux")]
mod sqlite;

use std::path::Path;

/// Returns the database's file and the upstream version of the package that installed a program.
/// Fails with the reason if no database has the package, or the package did not install the program.
pub fn package_version(
    root: &Path,
    package: &str,
    program: &str,
) -> Result<(String, String), String> {
    let of_dpkg = match dpkg::version(root, package, program) {
        Ok(found) => return Ok(found),
        Err(reason) => reason,
    };
    // Where rpm has no database, the reason is that of dpkg alone.
    #[cfg(target_os = "linux")]
    if let Some(database) = rpm::database(root) {
        return rpm::version(root, database, package, program)
            .map_err(|reason| format!("{of_dpkg}; {reason}"));
    }
    Err(of_dpkg)
}

/// Returns true if the program is this entry of a package's list of files. Packages older than the merge of `/bin` and
/// `/usr/bin` name the file where it was.
fn is_program(program: &str, entry: &str) -> bool {
    entry == program || program.strip_prefix("/usr") == Some(entry)
}
