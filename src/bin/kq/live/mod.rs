//! A node as it is: gathers the facts from wherever they are, or reads those that were stored.

mod args;
mod config;
mod devices;
mod folders;
mod gather;
mod pods;
mod remote;
mod runtime;
mod stats;
mod wants;

pub use args::SourceArgs;
pub use config::forget_secrets;
pub use devices::of_named_file;
pub use gather::{gather, is_of_this_machine};
pub use pods::{api_server, of_files};
pub use runtime::environment;
pub use stats::of_stats_file;
pub use wants::{DevicesWanted, PodsWanted, TreeDetail, Wants};
