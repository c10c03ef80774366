//! `kq gc explain` and `kq gc images`

use super::question::{GcNodeArgs, UsageArgs, write_notes};
use crate::exit::{Code, Failure, tell};
use crate::output_format::{OutputFormat, formats, formats_with};
use crate::source_args::WatchArgs;
use kq_core::question::image_gc::explain::{
    image_disk, image_disk_needs, image_story, image_story_needs,
};
use kq_core::question::image_gc::{image_list, image_list_needs};
use kq_image_gc::images::{ImageList, table, wide};
use kq_image_gc::{disk, explain};

/// Explain the state and fate of one image, or the disk that holds the images
///
/// For an image: its properties and shared layers, its users, the times that the
/// kubelet may have recorded, the outcome of each trigger now, and the earliest
/// possible removal by age, for space and under disk pressure. IMAGE is an ID,
/// the unique start of one with at least 4 digits, a tag (nginx means
/// docker.io/library/nginx:latest), or a name with a digest.
///
/// For the disk (--disk): the file system that the kubelet measures, which of
/// nodefs, imagefs and containerfs are the same and the effect on eviction, the
/// largest consumers, and the reasons why statfs, the runtime and the kubelet
/// report different numbers. Measuring directories takes time; --timeout limits
/// it.
///
/// Nothing is changed. Exit code 2: there is no such image, or IMAGE is
/// ambiguous. 3: data required for an answer is unavailable, such as the location
/// of the images.
///
/// Examples:
///
///   kq gc explain nginx:1.25
///   kq gc explain 3f8a00 -o wide
///   kq gc explain nginx --at-usage 90%
///   kq gc explain nginx -o json | jq '.earliest[] | {by, state, notBefore}'
///   kq gc explain --disk
///   kq gc explain --disk -o json | jq '.parts[] | {what, path, bytes}'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    what: What,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,

    #[command(flatten)]
    usage: UsageArgs,

    #[command(flatten)]
    node: GcNodeArgs,
}

/// The subject of the explanation.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct What {
    /// The image: an ID, the start of one, a tag, or a name with a digest
    #[arg(value_name = "IMAGE")]
    image: Option<String>,

    /// Explain the disk that holds the images
    #[arg(long, conflicts_with_all = ["at_usage", "image_fs_capacity"])]
    disk: bool,
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        match &self.what.image {
            Some(name) => self.explain_image(name),
            None => self.explain_disk(),
        }
    }

    fn explain_image(&self, name: &str) -> Result<Code, Failure> {
        let node = self.node.gather(image_story_needs())?;
        let story = image_story(&node, name, &self.usage.usage())?;
        self.output.write(&story, explain::describe, explain::describe_wide)?;
        if self.output.is_for_people() {
            write_notes(&story.basis);
        }
        Ok(Code::Answered.unless(node.lacks_config() || story.is_unknown()))
    }

    fn explain_disk(&self) -> Result<Code, Failure> {
        let node = self.node.gather(image_disk_needs())?;
        let disk = image_disk(&node);
        self.output.write(&disk, disk::describe, disk::describe_wide)?;
        if self.output.is_for_people() {
            tell(&disk.basis);
        }
        Ok(Code::Answered.unless(disk.judged.unknown.is_some() || !disk.layout.is_known()))
    }
}

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
pub struct ImagesArgs {
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

impl ImagesArgs {
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
