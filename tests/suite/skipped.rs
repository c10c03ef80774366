//! Tests that did nothing here, and why. `tests/summary.rs` counts them at the end of a run.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Says that the test of this thread does nothing, and why: also beside tests that pass, whose output is not shown.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let reason = reason.lines().next().unwrap_or_default();
    let _ = writeln!(std::io::stderr(), "{test} is skipped: {reason}");
    let name = format!("skipped-{}", std::process::id());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(file) {
        // One write, so that lines of two tests do not mix.
        let _ = file.write_all(format!("{reason}\t{test}\n").as_bytes());
    }
}
