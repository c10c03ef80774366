//! Names of inputs in messages.

/// Returns the name of an input for messages.
pub fn shown(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}
