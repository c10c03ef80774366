//! The kubelet's configuration: reading it strictly, drop-ins, defaults, validation, and the lists
//! of reservations and thresholds that it holds as text.
//!
//! Pure. [`DecodedConfig`] reads the text of a file as the kubelet does.

mod carrier;
mod decode;
mod defaults;
mod document;
mod drop_ins;
mod eviction;
mod fields;
mod go_time;
mod go_url;
mod image_gc;
mod image_name;
mod logging;
mod read;
mod schema;
mod signal;
mod validation;
mod validation_error;

pub use carrier::{Carried, carried};
pub use decode::{DecodeProblem, Decoding, decode, decode_problem, unknown_fields};
pub use defaults::{
    EffectiveConfiguration, default_eviction_hard, effective, effective_with_flags, write_out_empty,
};
pub use document::{
    BrokenDocument, ConfigDocument, ConfigTextError, DecodedConfig, DocumentHead, is_other_kind,
    resolve_paths, unregistered,
};
pub use drop_ins::{DropIns, MergeError, drop_in_order, known_as, merge, merge_over};
pub use eviction::{
    EvictionError, EvictionSettings, EvictionThreshold, RefusedEntry, ThresholdOperator,
    ThresholdValue, eviction_thresholds, parse_eviction_thresholds, parse_hard_thresholds,
    possible_eviction_errors, with_allocatable_thresholds,
};
pub use image_gc::{ImageGcConfigError, image_gc_errors};
pub use logging::{logging_errors, unsupported_format};
pub use read::{
    A_MAP, API_VERSION, ConfigError, KIND, KubeletConfiguration, MemoryReservation, MemorySwap,
    Reading, Source, read, read_typed,
};
#[cfg(test)]
pub(crate) use schema::field_exists;
pub use schema::is_list_of_texts;
pub use schema::{
    QosReservedError, ReservedError, ReservedProblem, field_names, field_of_part, other_defaults,
    parse_qos_reserved, parse_reserved_list, path_parts,
};
pub use signal::{PressureCondition, Signal, SignalFs, StarvedResource};
pub use validation::{CgroupMode, aggregate, validate, validate_with_flags, validate_with_logging};
pub use validation_error::{ImagePatternError, ValidationError};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod validation_tests;
