//! What the kubelet's image manager does in one cycle, bit for bit: the part that the vectors pin.
//!
//! Facts about the world come in as they are; what removes an image is a function that is handed in. The same code
//! predicts, executes, and is tested against the kubelet's recorded answers.
//!
//! Pinned by `image_gc_cycles.jsonl`.

mod collection;
mod detection;
mod passes;
mod usage;

pub use collection::{
    Collection, Considered, Cycle, Event, GcInputs, PassedOver, delete_unused_images,
    detect_images, garbage_collect,
};
pub use detection::{
    ImageUser, KeyMap, Keys, ListedImage, Record, Records, detect, image_key, images_in_use,
};
pub(crate) use detection::{StrMap, StrSet};
pub use passes::{
    AgeVerdict, Candidate, Candidates, Remove, SpaceVerdict, age_of, age_order, age_pass_runs,
    candidates, is_old, space_pass, spared, ties,
};
pub use usage::{ImageFs, Usage, size_text};
