//! Pages of `kq report` in a real browser: Debian's Chromium, without a window.
//!
//! Elsewhere the tests say that they were skipped, and pass; `KQ_BROWSER=required` makes them fail.

mod browser;
/// Names that are markup, scripts or endless neither run nor break the page.
mod hostile;
/// Search and keyboard.
mod keys;
/// A node with 500 pods and 500 images.
pub mod large;
/// The numbers of the pictures are those of the answers.
mod numbers;
/// Every section in every look, and pictures of them.
mod page;

use crate::cli::{Ran, kq, repository};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The flags of the README's story.
const STORY: &str = "--what-if set%systemReserved.cpu=1500m --preempt-for examples/night/dns.yaml --static \
                     --snapshot examples/night/worker-3.json";

/// A page in a folder of its own.
struct Written {
    folder: tempfile::TempDir,
}

impl Written {
    /// Writes a page; `%` stands for a space within an argument.
    #[track_caller]
    fn of(flags: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let run = kq("report");
        let arguments = flags.split_whitespace().map(|word| word.replace('%', " "));
        let run = arguments.fold(run, |run, argument| run.arg(argument));
        let page = folder.path().join("page.html");
        let ran: Ran = run.arg("-o").arg(page.display().to_string()).run();
        assert!(matches!(ran.code, 0 | 3) && page.exists(), "{}", ran.text());
        Self { folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("page.html")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.file()).expect("the page is there")
    }
}

/// Returns the stored node of the README's story.
pub fn worker() -> Value {
    read(&repository().join("examples/night/worker-3.json"))
}

fn read(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).expect("the file is there")).expect("it is JSON")
}
