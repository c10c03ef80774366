//! The checks of a plugin at its registration, pinned by `device_register.jsonl`.

use kq_k8s::duration::GoDuration;
use kq_k8s::go_text::quote;
use kq_k8s::validation::is_extended_resource;

/// The only version of the device plugin API that kubelets speak.
pub const API_VERSION: &str = "v1beta1";

/// How long the kubelet waits for the socket of a plugin (`dial` in `plugin/v1beta1/client.go`).
pub const DIAL_PATIENCE: GoDuration = GoDuration(10 * GoDuration::SECOND.0);

/// Why a plugin is refused, in the kubelet's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationError {
    /// It registers with another version (`errUnsupportedVersion`).
    #[error(
        "requested API version {} is not supported by kubelet. Supported version is [{}]",
        quote(_0),
        quote(API_VERSION)
    )]
    Version(String),
    /// The kubelet found it by its socket, and it speaks other versions (`ValidatePlugin`).
    #[error(
        "manager version, {API_VERSION}, is not among plugin supported versions [{}]", _0.join(" ")
    )]
    Versions(Vec<String>),
    /// It registers a name that no extended resource can have (`errInvalidResourceName`).
    #[error("the ResourceName {} is invalid", quote(_0))]
    Name(String),
    /// The same, of a plugin that was found by its socket.
    #[error("invalid name of device plugin socket: the ResourceName {} is invalid", quote(_0))]
    NameOfSocket(String),
    /// No process answers on its socket: the error of the connection (`errFailedToDialDevicePlugin`).
    #[error("failed to dial device plugin: {_0}")]
    Dial(String),
    /// It cannot say what it offers: the error of the call.
    #[error("failed to get device plugin options: {_0}")]
    Options(String),
}

impl RegistrationError {
    /// Returns the error of a plugin whose socket did not answer within [`DIAL_PATIENCE`].
    pub fn no_answer() -> Self {
        Self::Dial("context deadline exceeded".to_owned())
    }
}

/// Checks what a plugin says when it registers (`Register`).
/// Fails when the kubelet would refuse it.
pub fn check_registration(version: &str, resource: &str) -> Result<(), RegistrationError> {
    if version != API_VERSION {
        return Err(RegistrationError::Version(version.to_owned()));
    }
    if !is_extended_resource(resource) {
        return Err(RegistrationError::Name(resource.to_owned()));
    }
    Ok(())
}

/// Checks what a plugin says whose socket the kubelet found among those of all plugins
/// (`ValidatePlugin`).
/// Fails when the kubelet would refuse it.
pub fn check_plugin(versions: &[String], resource: &str) -> Result<(), RegistrationError> {
    if !versions.iter().any(|version| version == API_VERSION) {
        return Err(RegistrationError::Versions(versions.to_vec()));
    }
    if !is_extended_resource(resource) {
        return Err(RegistrationError::NameOfSocket(resource.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_checked_before_the_name() {
        let refused = check_registration("v1", "gpu").map_err(|error| error.to_string());
        let expected = "requested API version \"v1\" is not supported by kubelet. Supported version \
                        is [\"v1beta1\"]";
        assert_eq!(refused, Err(expected.to_owned()));
        let versions = ["v1".to_owned(), "v1alpha".to_owned()];
        let refused = check_plugin(&versions, "gpu").map_err(|error| error.to_string());
        let expected =
            "manager version, v1beta1, is not among plugin supported versions [v1 v1alpha]";
        assert_eq!(refused, Err(expected.to_owned()));
        assert_eq!(check_plugin(&["v1beta1".to_owned()], "a/b"), Ok(()));
    }
}
