//! YAML as Kubernetes reads it: documents, scalars, aliases, merge keys.
//!
//! The one home of serde-saphyr. Kubernetes turns every YAML document into JSON first
//! (`sigs.k8s.io/yaml`) and reads the JSON into its types, so a number where a string belongs is an
//! error; a [`serde_json::Value`] is what comes out of here as well. Pure: text in, values out.

mod documents;
mod reader;

pub use documents::{Document, Step, documents, locate};
pub use reader::{DuplicateKey, MAX_BYTES, MAX_DEPTH, Read, YamlError, read};
