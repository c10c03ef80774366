//! The port of a probe.

use crate::k8s::go_text::{NumError, atoi};
use crate::k8s::pod::{ContainerPort, IntOrString};

/// Why there is no port; the text is the kubelet's, which calls it an error of the prober.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortError {
    /// No port of the container has that name, and it is no number.
    #[error(transparent)]
    Name(NumError),
    /// Not between 1 and 65535.
    #[error("invalid port number: {0}")]
    Number(i64),
}

/// Returns the number of a port: a text is first looked for among the names of the container's ports,
/// and is a number only then (`ResolveContainerPort`, `pkg/probe/util.go`).
///
/// # Errors
///
/// Fails as the kubelet does; such a probe never counts.
pub fn resolve_port(port: &IntOrString, ports: &[ContainerPort]) -> Result<u16, PortError> {
    let number = match port {
        IntOrString::Int(number) => i64::from(*number),
        IntOrString::String(name) => match ports.iter().find(|port| port.name == *name) {
            Some(port) => i64::from(port.container_port),
            None => atoi(name).map_err(PortError::Name)?,
        },
    };
    match u16::try_from(number) {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(PortError::Number(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_before_numbers() {
        let port = |name: &str, number| ContainerPort {
            name: name.to_owned(),
            container_port: number,
            ..ContainerPort::default()
        };
        let ports = [port("http", 8081), port("9090", 9), port("http", 1), port("zero", 0)];
        let text = |text: &str| IntOrString::String(text.to_owned());
        for (port, expected) in [
            (IntOrString::Int(80), Ok(80)),
            (IntOrString::Int(0), Err("invalid port number: 0")),
            (IntOrString::Int(-1), Err("invalid port number: -1")),
            (IntOrString::Int(65536), Err("invalid port number: 65536")),
            (text("http"), Ok(8081)),
            (text("9090"), Ok(9)),
            (text("+80"), Ok(80)),
            (text("080"), Ok(80)),
            (text("zero"), Err("invalid port number: 0")),
            (text("HTTP"), Err("strconv.Atoi: parsing \"HTTP\": invalid syntax")),
            (text(""), Err("strconv.Atoi: parsing \"\": invalid syntax")),
        ] {
            let got = resolve_port(&port, &ports).map_err(|error| error.to_string());
            assert_eq!(got, expected.map_err(str::to_owned), "{port:?}");
        }
    }
}
