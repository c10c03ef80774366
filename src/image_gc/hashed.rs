//! Tables that are only looked up: hashed, as the keys of images are long and begin alike. What is shown of them is put
//! in order.

#![expect(clippy::disallowed_types, reason = "what is shown of them is put in order")]

use foldhash::fast::RandomState;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Values by the keys of images.
pub type KeyMap<V> = HashMap<Arc<str>, V, RandomState>;

/// Keys of images.
pub type Keys = HashSet<Arc<str>, RandomState>;

/// Values by texts of others.
pub(crate) type StrMap<'a, V> = HashMap<&'a str, V, RandomState>;

/// Texts of others.
pub(crate) type StrSet<'a> = HashSet<&'a str, RandomState>;
