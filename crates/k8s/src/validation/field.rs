//! Errors about fields, printed as `k8s.io/apimachinery/pkg/util/validation/field` prints them.

use crate::go_text::quote;
use std::fmt;

/// A mistake in one field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {kind}")]
pub struct FieldError {
    /// The field, such as `spec.containers[0].name`.
    pub path: String,
    pub kind: FieldErrorKind,
}

/// The errors of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// It must be set.
    Required {
        /// Why; may be empty.
        detail: String,
    },
    /// Its value is not allowed.
    Invalid {
        value: BadValue,
        /// The allowed values.
        detail: String,
    },
    /// Its value must be unique and is not.
    Duplicate { value: String },
    /// Its value is not one of the supported ones.
    NotSupported {
        value: String,
        /// The supported values, sorted.
        supported: &'static [&'static str],
    },
    /// It must not be set here.
    Forbidden { detail: String },
}

/// A value that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadValue {
    /// A text, which is shown in quotes.
    Text(String),
    /// A number, which is shown as it is.
    Number(i64),
}

impl FieldErrorKind {
    /// Returns the name of the kind (`ErrorType`).
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Required { .. } => "FieldValueRequired",
            Self::Invalid { .. } => "FieldValueInvalid",
            Self::Duplicate { .. } => "FieldValueDuplicate",
            Self::NotSupported { .. } => "FieldValueNotSupported",
            Self::Forbidden { .. } => "FieldValueForbidden",
        }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&quote(text)),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl fmt::Display for FieldErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required { detail } if detail.is_empty() => f.write_str("Required value"),
            Self::Required { detail } => write!(f, "Required value: {detail}"),
            Self::Invalid { value, detail } => write!(f, "Invalid value: {value}: {detail}"),
            Self::Duplicate { value } => write!(f, "Duplicate value: {}", quote(value)),
            Self::NotSupported { value, supported } => {
                write!(f, "Unsupported value: {}: supported values: ", quote(value))?;
                for (at, known) in supported.iter().enumerate() {
                    write!(f, "{}{known:?}", if at == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Self::Forbidden { detail } => write!(f, "Forbidden: {detail}"),
        }
    }
}

/// The path of a field, linked to the root so that text is built only for an error.
#[derive(Clone, Copy)]
pub(super) enum Path<'a> {
    Root(&'a str),
    Child(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
    Key(&'a Path<'a>, &'a str),
}

impl<'a> Path<'a> {
    pub(super) fn child(&'a self, name: &'a str) -> Self {
        Self::Child(self, name)
    }

    pub(super) fn index(&'a self, at: usize) -> Self {
        Self::Index(self, at)
    }

    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    pub(super) fn required(&self, detail: &str) -> FieldError {
        self.error(FieldErrorKind::Required { detail: detail.to_owned() })
    }

    pub(super) fn invalid(&self, value: impl ToString, detail: impl Into<String>) -> FieldError {
        let value = BadValue::Text(value.to_string());
        self.error(FieldErrorKind::Invalid { value, detail: detail.into() })
    }

    pub(super) fn invalid_number(&self, value: impl Into<i64>, detail: &str) -> FieldError {
        let value = BadValue::Number(value.into());
        self.error(FieldErrorKind::Invalid { value, detail: detail.to_owned() })
    }

    pub(super) fn duplicate(&self, value: &str) -> FieldError {
        self.error(FieldErrorKind::Duplicate { value: value.to_owned() })
    }

    pub(super) fn not_supported(
        &self,
        value: &str,
        supported: &'static [&'static str],
    ) -> FieldError {
        self.error(FieldErrorKind::NotSupported { value: value.to_owned(), supported })
    }

    pub(super) fn forbidden(&self, detail: &str) -> FieldError {
        self.error(FieldErrorKind::Forbidden { detail: detail.to_owned() })
    }

    fn error(&self, kind: FieldErrorKind) -> FieldError {
        FieldError { path: self.to_string(), kind }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(name) => f.write_str(name),
            Self::Child(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, at) => write!(f, "{parent}[{at}]"),
            Self::Key(parent, key) => write!(f, "{parent}[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_kubernetes_does() {
        let spec = Path::Root("spec");
        let (containers, resources) = (spec.child("containers"), spec.child("resources"));
        let (second, requests) = (containers.index(1), resources.child("requests"));
        let rows = [
            ("required", containers.required(""), "spec.containers: Required value"),
            ("with detail", spec.required("why"), "spec: Required value: why"),
            (
                "invalid",
                requests.key("cpu").invalid("2", "too much"),
                r#"spec.resources.requests[cpu]: Invalid value: "2": too much"#,
            ),
            (
                "duplicate",
                second.child("name").duplicate("a"),
                r#"spec.containers[1].name: Duplicate value: "a""#,
            ),
            (
                "not supported",
                spec.not_supported("x", &["a", "b"]),
                r#"spec: Unsupported value: "x": supported values: "a", "b""#,
            ),
            ("forbidden", spec.forbidden("no"), "spec: Forbidden: no"),
            ("number", spec.invalid_number(-1, "no"), "spec: Invalid value: -1: no"),
            (
                "unusual characters",
                spec.invalid("\u{1}'\u{e4}\u{200b}", "no"),
                "spec: Invalid value: \"\\x01'\u{e4}\\u200b\": no",
            ),
        ];
        for (name, error, text) in rows {
            assert_eq!(error.to_string(), text, "{name}");
        }
    }
}
