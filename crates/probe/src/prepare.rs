//! Prepares a probe to be sent; missing facts are reported, never guessed.

use super::address::{TcpTarget, tcp_target};
use super::attempt::{Attempt, Cause, Output};
use super::exec::{ExecRequest, ExpansionNote, MAX_COMMAND_BYTES, expand};
use super::grpc::{CHECK_PATH, GrpcTarget, grpc_target, request_fields};
use super::http::{BuildError, HttpProbeRequest, build_request};
use super::reason::{NamedPort, ProbeNote};
use super::retry::unusable;
use super::subject::Subject;
use kq_answer::MissingFact;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Handler, IntOrString};

/// What is to be done for a probe.
#[derive(Clone, Debug)]
pub enum Job {
    /// Get a URL.
    Http(Box<HttpProbeRequest>),
    /// Open a connection.
    Tcp(TcpTarget),
    /// Ask the gRPC health service.
    Grpc {
        /// The address and the service.
        target: GrpcTarget,
        /// How the probe calls itself.
        user_agent: String,
    },
    /// Run a command in a container.
    Exec(ExecRequest),
    /// Nothing can be sent: the kubelet's prober errs before.
    Refused(Box<Attempt>),
}

/// What has to be known to send a probe.
#[derive(Clone, Copy, Debug)]
pub struct JobFacts<'a> {
    /// The pod's IP; else why it is not known.
    pub pod_ip: Result<&'a str, &'a str>,
    /// The runtime's id of the container; else why it is not known.
    pub container_id: Result<&'a str, &'a str>,
    /// How the kubelet's probes call themselves.
    pub user_agent: &'a str,
    /// The same over gRPC.
    pub grpc_user_agent: &'a str,
    /// The kubelet's rules.
    pub rules: KubeletRules,
}

/// A fact without which there is nothing to send.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsendable {
    /// The pod's IP.
    #[error("the pod's IP is unknown (--pod-ip sets that of one pod): {0}")]
    PodIp(String),
    #[error("{0}")]
    Container(String),
    /// The command.
    #[error(
        "snapshots and reports do not store the command: read the pod from the node or a manifest"
    )]
    Command,
    /// The command, with the values of its variables.
    #[error(
        "the command becomes longer than {MAX_COMMAND_BYTES} bytes with the values of its variables, \
         and Linux starts none that is longer"
    )]
    CommandTooLong,
    /// The commands of all probes, with the values of their variables.
    #[error(
        "the commands of these probes become {limit} bytes longer with the values of their variables, \
         and kq expands no more: ask about one container or probe (-c, --type)"
    )]
    CommandsTooLong {
        /// How much longer they may become.
        limit: usize,
    },
    /// What follows the path.
    #[error(
        "snapshots and reports do not store the query of the path: read the pod from the node or a manifest"
    )]
    Query,
    /// The value of a header.
    #[error(
        "snapshots and reports do not store the value of header {0}: read the pod from the node or a manifest"
    )]
    Header(String),
}

impl Unsendable {
    /// Returns the fact that is missing.
    pub fn fact(&self) -> MissingFact {
        match self {
            Self::PodIp(_) => MissingFact::PodIp,
            Self::Container(_) => MissingFact::Containers,
            Self::Command
            | Self::CommandTooLong
            | Self::CommandsTooLong { .. }
            | Self::Query
            | Self::Header(_) => MissingFact::ProbeAction,
        }
    }
}

impl Job {
    /// Prepares a probe. What is odd about it goes to the notes.
    /// Fails when a fact is missing without which there is nothing to send.
    pub fn of(
        subject: &Subject<'_>,
        facts: &JobFacts<'_>,
        notes: &mut Vec<ProbeNote>,
    ) -> Result<Self, Unsendable> {
        let probe = subject.probe;
        if let Some(attempt) = unusable(probe, &subject.pod.metadata, subject.container) {
            notes.extend(unnamed_port(subject));
            return Ok(Self::Refused(Box::new(attempt)));
        }
        let ports = &subject.container.ports;
        let pod_ip = || facts.pod_ip.map_err(|reason| Unsendable::PodIp(reason.to_owned()));
        Ok(match probe.handler() {
            None => Self::Refused(Box::default()),
            Some(Handler::HttpGet(get)) if get.query_withheld => return Err(Unsendable::Query),
            Some(Handler::Exec(exec)) if exec.command_withheld => return Err(Unsendable::Command),
            Some(Handler::HttpGet(get)) => {
                let ip = if get.host.is_empty() { pod_ip()? } else { "" };
                match build_request(get, ports, ip, facts.user_agent) {
                    Ok(request) => Self::Http(Box::new(request)),
                    Err(BuildError::HeaderWithheld { name }) => {
                        return Err(Unsendable::Header(name));
                    }
                    Err(error) => refused(&error),
                }
            }
            Some(Handler::TcpSocket(socket)) => {
                let ip = if socket.host.is_empty() { pod_ip()? } else { "" };
                match tcp_target(socket, ports, ip) {
                    Ok(target) => Self::Tcp(target),
                    Err(error) => refused(&error),
                }
            }
            Some(Handler::Grpc(grpc)) => Self::Grpc {
                target: grpc_target(grpc, pod_ip()?),
                user_agent: facts.grpc_user_agent.to_owned(),
            },
            Some(Handler::Exec(exec)) => {
                let expanded = expand(&exec.command, &subject.container.env, &facts.rules);
                if expanded.is_too_long {
                    return Err(Unsendable::CommandTooLong);
                }
                notes.extend(expanded.notes.into_iter().map(expansion_note));
                let id = facts.container_id;
                let id = id.map_err(|reason| Unsendable::Container(reason.to_owned()))?;
                Self::Exec(ExecRequest {
                    container_id: id.to_owned(),
                    command: expanded.command,
                    timeout_seconds: super::worker::ProbeTiming::of(probe).timeout_seconds,
                })
            }
        })
    }

    /// Returns the address that is connected to, and what is sent there.
    pub fn request(&self) -> (Option<String>, Option<Output>) {
        match self {
            Self::Http(request) => match request.prepare() {
                Ok(prepared) => (Some(prepared.dial_address), Some(prepared.bytes.into())),
                Err(_) => (None, None),
            },
            Self::Tcp(target) => (Some(target.address.clone()), None),
            Self::Grpc { target, user_agent } => {
                let mut text = format!("POST {CHECK_PATH}\n");
                // The first line says what the first three do.
                for (name, value) in request_fields(target, user_agent).iter().skip(3) {
                    text.push_str(&format!("{name}: {value}\n"));
                }
                text.push_str(&format!("\nservice: {:?}\n", target.service));
                (Some(target.address.clone()), Some(text.into()))
            }
            Self::Exec(request) => {
                let command: Vec<&str> = request.command.iter().map(String::as_str).collect();
                (None, Some(command.join("\n").into()))
            }
            Self::Refused(_) => (None, None),
        }
    }

    /// Returns the error of a prober that fails before anything is sent.
    pub fn error(&self) -> Option<String> {
        match self {
            Self::Http(request) => {
                let cause = request.prepare().err()?;
                Some(request.failure_text(&cause))
            }
            Self::Refused(attempt) => attempt.error.clone(),
            Self::Tcp(_) | Self::Grpc { .. } | Self::Exec(_) => None,
        }
    }

    /// Returns the request and its destination in one line.
    pub fn target(&self) -> String {
        match self {
            Self::Http(request) => format!("GET {}", request.url_text()),
            Self::Tcp(target) => format!("connect to {}", target.address),
            Self::Grpc { target, .. } => match target.service.as_str() {
                "" => format!("grpc health of {}", target.address),
                service => format!("grpc health of {service:?} at {}", target.address),
            },
            Self::Exec(request) => {
                let words: Vec<String> = request.command.iter().map(|word| shown(word)).collect();
                format!("exec {}", words.join(" "))
            }
            Self::Refused(_) => "nothing".to_owned(),
        }
    }
}

/// Notes which ports a container names, where a probe asks for another one.
fn unnamed_port(subject: &Subject<'_>) -> Option<ProbeNote> {
    let port = match subject.probe.handler()? {
        Handler::HttpGet(get) => &get.port,
        Handler::TcpSocket(socket) => &socket.port,
        Handler::Exec(_) | Handler::Grpc(_) => return None,
    };
    let IntOrString::String(name) = port else { return None };
    let named = subject.container.ports.iter().filter(|port| !port.name.is_empty());
    let named = named.map(|it| NamedPort { name: it.name.clone(), port: it.container_port });
    Some(ProbeNote::UnknownPortName {
        container: subject.container.name.clone(),
        name: name.clone(),
        named: named.collect(),
    })
}

fn refused(error: &dyn std::fmt::Display) -> Job {
    Job::Refused(Box::new(Attempt::error(Cause::Request, error.to_string())))
}

/// Returns a word of a command; one with blanks in it is seen to be one.
fn shown(word: &str) -> String {
    match word.is_empty() || word.contains(|c: char| c.is_whitespace() || c == '"') {
        true => format!("{word:?}"),
        false => word.to_owned(),
    }
}

fn expansion_note(note: ExpansionNote) -> ProbeNote {
    match note {
        ExpansionNote::ValueFrom(name) => ProbeNote::VariableFromElsewhere { name },
        ExpansionNote::Unknown(name) => ProbeNote::UnknownVariable { name },
    }
}
