//! `kq gc images`

use super::question::GcNodeArgs;
use crate::exit::{Code, Failure, tell};
use crate::output_format::{OutputFormat, formats_with};
use crate::watch::WatchArgs;
use kq::image_gc::images::{ImageList, table, wide};
use kq::question::image_gc::{image_list, image_list_needs};

/// List the images with size, age, last use, pinned state and users
///
/// SEEN is the time since kq gc record first found the image. LAST-USED is the
/// time since a container last ran from it, from the runtime or the records;
/// "now" if one runs. A question mark means unknown.
///
/// Examples:
///
///   kq gc images
///   kq gc images -o wide
///   kq gc images -q
///   kq gc images -o json | jq '.items[] | select(.usedBy == []) | .id'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Print the IDs only, as -o name does
    #[arg(short, long, conflicts_with = "output")]
    quiet: bool,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The IDs of the images"))]
    output: OutputFormat,

    #[command(flatten)]
    watch: WatchArgs,

    #[command(flatten)]
    node: GcNodeArgs,
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        self.watch.run(|| self.once())
    }

    /// Runs the command.
    fn once(&self) -> Result<Code, Failure> {
        let node = self.node.gather(image_list_needs())?;
        let list = image_list(&node)?;
        let ids = |list: &ImageList| list.items.iter().map(|image| image.id.clone()).collect();
        let output = if self.quiet { OutputFormat::Name } else { self.output };
        output.write_or_names(&list, table, wide, ids)?;
        if self.output.is_for_people() {
            tell(&list.basis);
        }
        Ok(if list.basis.is_complete() { Code::Answered } else { Code::Missing })
    }
}
