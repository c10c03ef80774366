//! The certificates of the kubelet's own server, and who may use it: `InitializeTLS` and `BuildAuth` in `cmd/kubelet/app`,
//! and the TLS part of `NewMainKubelet` in `pkg/kubelet/kubelet.go`.

use super::credentials::{Client, Current, client, current, pair, recovers, says_none};
use super::flags::Said;
use super::kubeconfig::{Refusal, read_error};
use super::{Stage, Start, StartExamination, StartFacts, StartRule, node_flags};
use kq_facts::kubelet_process::DEFAULT_CERT_DIR;
use kq_facts::start_files::{StartFile, StartFiles};
use kq_k8s::feature_gates::{Gate, gate_state};
use serde_json::Value;
use std::net::{IpAddr, SocketAddr};

/// The fields that decide, from the merged configuration.
pub(super) struct Serving {
    certificate: String,
    key: String,
    authority: String,
    bootstraps: bool,
    anonymous: bool,
    webhook: bool,
    authorizes_by_webhook: bool,
}

impl Serving {
    /// Reads the fields. Without a file, the defaults are those of the flags (`applyLegacyDefaults` in
    /// `cmd/kubelet/app/options/options.go`).
    pub fn of(facts: &StartFacts<'_>, config: &Value) -> Self {
        let has_file = facts.config_file.is_some();
        let field = |path: &str| config.pointer(path);
        let text = |path: &str| field(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let switch = |path: &str, default| field(path).and_then(Value::as_bool).unwrap_or(default);
        let mode = text("/authorization/mode");
        Self {
            certificate: text("/tlsCertFile"),
            key: text("/tlsPrivateKeyFile"),
            authority: text("/authentication/x509/clientCAFile"),
            bootstraps: switch("/serverTLSBootstrap", false),
            anonymous: switch("/authentication/anonymous/enabled", !has_file),
            webhook: switch("/authentication/webhook/enabled", has_file),
            authorizes_by_webhook: mode == "Webhook" || (mode.is_empty() && has_file),
        }
    }

    /// Returns true if the kubelet reads a file that is named: of a certificate without a key it reads neither.
    pub fn reads(&self, path: &str) -> bool {
        let is_pair = !self.certificate.is_empty() && !self.key.is_empty();
        is_pair || (path != self.certificate && path != self.key)
    }

    /// Both files are in the folder of the certificates, and the kubelet makes them where neither is there.
    fn is_own(&self) -> bool {
        !self.bootstraps && self.certificate.is_empty() && self.key.is_empty()
    }
}

fn folder(said: &Said) -> &str {
    said.flags.cert_dir.as_deref().unwrap_or(DEFAULT_CERT_DIR).trim_end_matches('/')
}

fn file(by: &'static str, path: &str, error: String) -> StartRule {
    StartRule::NamedFile { by, path: path.to_owned(), error }
}

/// Lets the servers listen (`ListenAndServeKubeletServer`, `ListenAndServeKubeletReadOnlyServer` in
/// `pkg/kubelet/server/server.go`).
pub(super) fn listens(start: &Start<'_>, found: &mut StartExamination) {
    half_pair(start, found);
    let field = |name: &str| found.config.get(name);
    let port = |name: &str, default| field(name).and_then(Value::as_i64).unwrap_or(default);
    let address = field("address").and_then(Value::as_str).filter(|text| !text.is_empty());
    let address = address.unwrap_or("0.0.0.0").to_owned();
    let serves = field("enableServer") != Some(&Value::Bool(false));
    let (own, read_only) = (port("port", 0), port("readOnlyPort", 0));
    let own = if own == 0 { KUBELET_PORT } else { own };
    if !serves && read_only == 0 {
        return;
    }
    match node_flags::address(&address) {
        None => found.stop(Stage::Servers, StartRule::NoAddress { address }),
        Some(ip) if serves && read_only == own => {
            let any = if ip.is_unspecified() { IpAddr::from([0; 4]) } else { ip };
            let address = SocketAddr::new(any, u16::try_from(own).unwrap_or_default()).to_string();
            found.stop(Stage::Servers, StartRule::PortTwice { address });
        }
        Some(_) => {}
    }
}

/// Loads the pair that is named, where one of both is (until 1.35; `ServeTLS` of Go's `net/http` reads the certificate first).
fn half_pair(start: &Start<'_>, found: &mut StartExamination) {
    let Serving { certificate, key, .. } = &start.serving;
    let lacks = match (certificate.is_empty(), key.is_empty()) {
        (true, false) => "tlsCertFile",
        (false, true) => "tlsPrivateKeyFile",
        _ => return,
    };
    let serves = found.config.get("enableServer") != Some(&Value::Bool(false));
    if !serves || !start.facts.version().needs_both_of_a_pair() {
        return;
    }
    let unread = start.facts.files.and_then(|files| read_error(files, certificate).ok().flatten());
    let error = match unread.filter(|_| !certificate.is_empty()) {
        Some(error) => error,
        None => "open : no such file or directory".to_owned(),
    };
    found.stop(Stage::Servers, StartRule::HalfPair { lacks, error });
}

/// The default of `port`.
const KUBELET_PORT: i64 = 10250;

/// Checks the kubelet's own pair before anything else is done (`InitializeTLS`).
pub(super) fn own_pair(start: &Start<'_>, found: &mut StartExamination) {
    let Start { facts, said, serving, .. } = start;
    let none = StartFiles::default();
    let files = facts.files.unwrap_or(&none);
    if serving.is_own() {
        let paths = ["crt", "key"].map(|it| format!("{}/kubelet.{it}", folder(said)));
        let is_there = paths.each_ref().map(|path| Some(files.get(path)? != &StartFile::Absent));
        let missing = match is_there {
            [Some(false), Some(true)] => Some(&paths[0]),
            [Some(true), Some(false)] => Some(&paths[1]),
            _ => None,
        };
        if let Some(path) = missing {
            let error =
                format!("error reading {path}, certificate and key must be supplied as a pair");
            found.stop(Stage::Dependencies, file("cert-dir", path, error));
        }
    }
}

/// Loads the authorities of the clients. Until 1.35 this was done with the own pair; the gate came with the change.
pub(super) fn early_authority(start: &Start<'_>, found: &mut StartExamination) {
    let facts = start.facts;
    let none = StartFiles::default();
    let files = facts.files.unwrap_or(&none);
    let path = &start.serving.authority;
    let is_early = gate_state("ReloadKubeletClientCAFile", facts.version()).is_none();
    let is_early = is_early && !path.is_empty();
    if is_early
        && let Some(refusal) =
            authority_error(files, path, &format!("error creating pool from {path}"))
    {
        let refusal = refusal.after(&format!("unable to load client CA file {path}: "));
        let rule = file("authentication.x509.clientCAFile", path, refusal.text);
        found.stop(Stage::Dependencies, (rule, refusal.certainty));
    } else if is_early && facts.files.is_some_and(|files| files.get(path).is_none()) {
        skip_authority(path, found);
    }
}

fn skip_authority(path: &str, found: &mut StartExamination) {
    let what = "a file of authorities that cannot be used";
    found.skip_of(what, "the file of clientCAFile", [path.to_owned()]);
}

/// Returns the error of a file with authorities.
fn authority_error(files: &StartFiles, path: &str, words: &str) -> Option<Refusal> {
    if let Some(error) = read_error(files, path).ok()? {
        return Some(Refusal::certain(error));
    }
    let Some(StartFile::Pem(pem)) = files.get(path) else { return None };
    Some(match pem.list_error()? {
        Some(error) => Refusal::certain(format!("{words}: {error}")),
        None => Refusal::likely(format!("{words}: x509: malformed certificate")),
    })
}

/// Decides who may use the kubelet's server (`BuildAuthn`, `BuildAuthz`).
pub(super) fn users(start: &Start<'_>, found: &mut StartExamination) {
    let Start { facts, serving, .. } = start;
    let path = &serving.authority;
    if let Some(files) = facts.files
        && !path.is_empty()
        && gate_state("ReloadKubeletClientCAFile", facts.version()).is_some()
    {
        let name = format!("\"client-ca-bundle::{path}\"");
        let is_empty = matches!(files.get(path), Some(StartFile::Pem(pem)) if pem.is_empty);
        let refusal = match is_empty {
            true => Some(Refusal::certain(format!("missing content for CA bundle {name}"))),
            false => authority_error(files, path, &format!("error loading CA bundle for {name}")),
        };
        if let Some(refusal) = refusal {
            let rule = file("authentication.x509.clientCAFile", path, refusal.text);
            found.stop(Stage::Run, (rule, refusal.certainty));
        }
        if files.get(path).is_none() {
            skip_authority(path, found);
        }
    }
    // A kubelet that runs has started with a client, or needs none, which its command line may not show.
    let has_none = client(start) == Client::Standalone && (!facts.runs || says_none(facts.process));
    let mut stop = |field: &str, error: &str| found.refuse(Stage::Run, field, error);
    if serving.webhook && has_none {
        stop("authentication", "no client provided, cannot use webhook authentication");
    } else if !serving.webhook && !serving.anonymous && path.is_empty() {
        stop("authentication", "no authentication method configured");
    }
    if serving.authorizes_by_webhook && has_none {
        stop("authorization", "no client provided, cannot use webhook authorization");
    }
}

/// Loads the certificate of the server, when the kubelet is created.
pub(super) fn certificate(start: &Start<'_>, found: &mut StartExamination) {
    let Start { facts, read, said, serving, .. } = start;
    let Some(files) = facts.files else { return };
    let folder = folder(said);
    let mut stop = |by: &'static str, path: &str, refusal: Refusal| {
        let rule = file(by, path, refusal.text);
        found.stop(Stage::Create, (rule, refusal.certainty));
    };
    if serving.bootstraps && read.gates.enabled(Gate::RotateKubeletServerCertificate) {
        let words =
            "failed to initialize certificate manager: failed to initialize server certificate ";
        let path = format!("{folder}/kubelet-server-current.pem");
        if let Some(error) = recovers(files, folder, "kubelet-server") {
            stop("cert-dir", &path, Refusal::certain(format!("{words}store: {error}")));
        } else if let Current::Bad(refusal) = current(files, folder, "kubelet-server") {
            stop("cert-dir", &path, refusal.after(&format!("{words}manager: ")));
        }
        return;
    }
    let (certificate, key) = match serving.is_own() {
        true => (format!("{folder}/kubelet.crt"), format!("{folder}/kubelet.key")),
        false => (serving.certificate.clone(), serving.key.clone()),
    };
    // Neither is there, and the kubelet makes both; or one of them, and it has ended before (`own_pair`).
    let is_absent = |path: &String| files.get(path) == Some(&StartFile::Absent);
    let lacks_own = serving.is_own() && [&certificate, &key].into_iter().any(is_absent);
    if certificate.is_empty() || key.is_empty() || lacks_own {
        return;
    }
    let reloads = read.effective.feature_gates.get("ReloadKubeletServerCertificateFile");
    let words = match reloads {
        Some(false) => "failed to load certificate: ",
        _ => {
            "failed to initialize file based certificate manager: unable to set up dynamic certificate manager for \
              kubelet server cert files: "
        }
    };
    let is_empty =
        |path: &String| matches!(files.get(path), Some(StartFile::Pem(pem)) if pem.is_empty);
    let refusal = pair(files, &certificate, &key).map(|refusal| {
        let is_read = [&certificate, &key].iter().all(|path| read_error(files, path) == Ok(None));
        match reloads != Some(&false) && is_read && (is_empty(&certificate) || is_empty(&key)) {
            true => Refusal::certain(format!(
                "missing content for serving cert \"kubelet-server-cert-files::{certificate}::{key}\""
            )),
            false => refusal,
        }
    });
    if let Some(refusal) = refusal {
        let by = if serving.is_own() { "cert-dir" } else { "tlsCertFile" };
        stop(by, &certificate, refusal.after(words));
    } else if [&certificate, &key].iter().any(|path| files.get(path).is_none()) {
        let what = "a serving certificate that cannot be loaded";
        found.skip_of(what, "the files of the certificate", [certificate, key]);
    }
}
