//! One line about the tests that did nothing: `17 skipped: 12 need root; 5 zstd is not installed`. Cargo runs this program after
//! the suite, which leaves a file with a line for each.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "it reads and says what the suite left"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;

fn main() {
    // A list of tests is wanted, of which there is none.
    if std::env::args().any(|it| it == "--list") {
        return;
    }
    let folder = std::fs::read_dir(env!("CARGO_TARGET_TMPDIR")).into_iter().flatten().flatten();
    let left: Vec<PathBuf> = folder
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name().is_some_and(|it| it.to_string_lossy().starts_with("skipped-"))
        })
        .collect();
    let mut reasons = BTreeMap::<String, usize>::new();
    for path in &left {
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            let reason = line.split('\t').next().unwrap_or_default();
            *reasons.entry(reason.to_owned()).or_default() += 1;
        }
        let _ = std::fs::remove_file(path);
    }
    let total: usize = reasons.values().sum();
    let shown: Vec<String> =
        reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    match total {
        0 => println!("\n0 skipped: every test did what it is there for\n"),
        _ => println!("\n{total} skipped: {}\n", shown.join("; ")),
    }
}
