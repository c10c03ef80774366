//! Failures: why a question has no answer, and hints.

use std::error::Error;
use std::fmt;

/// The kinds of failures. The binary has an exit code for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The answer is "no".
    No,
    /// A flag, or a file that a flag names, is not understood, or names an object that the node does not have.
    Usage,
    /// A fact is missing.
    Missing,
    /// A change was rejected; nothing was written.
    Refused,
}

/// Why a question has no answer, with the ways out.
#[derive(Debug)]
pub struct Failure {
    kind: FailureKind,
    error: anyhow::Error,
    hints: Vec<String>,
    is_of_name: bool,
}

impl Failure {
    fn new(kind: FailureKind, error: impl Into<anyhow::Error>) -> Self {
        Self { kind, error: error.into(), hints: Vec::new(), is_of_name: false }
    }

    /// Returns a failure of the kind [`FailureKind::No`].
    pub fn no(error: impl Into<anyhow::Error>) -> Self {
        Self::new(FailureKind::No, error)
    }

    /// Returns a failure of the kind [`FailureKind::Usage`].
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::new(FailureKind::Usage, error)
    }

    /// Returns a failure of the kind [`FailureKind::Missing`].
    pub fn missing(error: impl Into<anyhow::Error>) -> Self {
        Self::new(FailureKind::Missing, error)
    }

    /// Returns a failure of the kind [`FailureKind::Refused`].
    pub fn refused(error: impl Into<anyhow::Error>) -> Self {
        Self::new(FailureKind::Refused, error)
    }

    /// Returns the failure for a named pod, image or other object that was not found: a mistake in the name where
    /// all objects of the kind are known, else undecided. `unknown` is the reason why not all of them are known.
    pub fn not_found(error: impl Into<anyhow::Error>, unknown: Option<&str>) -> Self {
        match unknown {
            None => Self::usage(error),
            Some(reason) => Self::missing(anyhow::anyhow!("{:#}: {reason}", error.into())),
        }
        .of_name()
    }

    /// Says that a named object was not found.
    pub fn of_name(self) -> Self {
        Self { is_of_name: true, ..self }
    }

    /// Returns true if a named object was not found.
    pub fn is_of_name(&self) -> bool {
        self.is_of_name
    }

    /// Adds a way out: one sentence.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Asks whether the nearest name was meant; `None`: no name is near.
    pub fn meant(self, near: Option<impl fmt::Display>) -> Self {
        match near {
            Some(near) => self.hint(format!("did you mean {near}?")),
            None => self,
        }
    }

    /// Returns the kind.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// Adds a hint that is read before the others.
    pub fn hint_first(mut self, hint: impl Into<String>) -> Self {
        self.hints.insert(0, hint.into());
        self
    }

    /// Returns the hints.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Returns the error and its causes in one line.
    pub fn reason(&self) -> String {
        format!("{:#}", self.error)
    }

    /// Returns the error as the type that it was made from.
    pub fn downcast_ref<E: Error + Send + Sync + 'static>(&self) -> Option<&E> {
        self.error.downcast_ref()
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)
    }
}
