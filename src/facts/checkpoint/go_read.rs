//! Reading a file into what the kubelet has made ready for it.

use crate::k8s::go_json::{GoJsonError, GoValue, decode};

/// Reads a file, and tells why it is not whole.
pub fn read_file<T: GoValue + Default>(bytes: &[u8]) -> (T, Option<String>) {
    let mut value = T::default();
    match decode(bytes, &mut value) {
        Ok(()) => (value, None),
        // Go looks at the whole text before it touches the value.
        Err(GoJsonError::Syntax(error)) => (T::default(), Some(error.to_string())),
        Err(error) => (value, Some(error.to_string())),
    }
}
