//! The client for the API server: `buildKubeletClientConfig` in `cmd/kubelet/app/server.go`, `LoadClientConfig` and
//! `LoadClientCert` in `pkg/kubelet/certificate/bootstrap/bootstrap.go`, and the store of the client certificate
//! (`client-go/util/certificate`).
//!
//! | `rotateCertificates` | bootstrap kubeconfig | the kubeconfig is                | else                       |
//! |----------------------|----------------------|----------------------------------|----------------------------|
//! | on                   | -                    | loaded                           | the kubelet ends           |
//! | on                   | named                | used, if its certificate counts  | the bootstrap one is       |
//! | off                  | named                | used, if its certificate counts  | a certificate is requested |
//! | off                  | -                    | loaded, whatever its certificate | the kubelet ends           |

use super::kubeconfig::{
    Checked, Refusal, Validity, load, read_error, server_error, tls_error, validity,
};
use super::{Stage, Start, StartExamination, StartRule, StartWarning};
use kq_answer::Certainty;
use kq_facts::kubelet_process::{DEFAULT_CERT_DIR, KubeletProcess};
use kq_facts::start_files::{Malformed, Pem, StartFile, StartFiles};
use kq_k8s::go_text::quote;
use serde_json::Value;

/// The client of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// No kubeconfig is named: the kubelet runs alone.
    Standalone,
    Named,
    /// The command line is not known.
    Unknown,
}

/// Returns true if the command line says that there is no kubeconfig.
pub(super) fn says_none(process: Option<&KubeletProcess>) -> bool {
    let mut flags = process.into_iter().flat_map(|process| &process.flags);
    let last = flags.rfind(|flag| flag.name == "kubeconfig");
    last.is_some_and(|flag| flag.value.as_deref() == Some(""))
}

/// Returns whether the kubelet has a client for the API server.
pub(super) fn client(start: &Start<'_>) -> Client {
    let Start { facts, said, .. } = start;
    let hides_flags = facts.process.is_none_or(|process| process.hides_flags());
    // A configuration that no flag names: more flags are missing.
    let lacks_flags = facts.config_file.is_some() && said.flags.config.is_none();
    match &said.flags.kubeconfig {
        Some(_) => Client::Named,
        None if says_none(facts.process) => Client::Standalone,
        None if !said.is_known || hides_flags || lacks_flags => Client::Unknown,
        None => Client::Standalone,
    }
}

/// Makes the client.
pub(super) fn load_client(start: &Start<'_>, found: &mut StartExamination) {
    let Start { facts, said, .. } = start;
    let rotates = found.config.get("rotateCertificates") == Some(&Value::Bool(true));
    let Some(kubeconfig) = said.flags.kubeconfig.as_deref() else { return };
    let Some(files) = facts.files else { return };
    let folder = said.flags.cert_dir.as_deref().unwrap_or(DEFAULT_CERT_DIR);
    let mut used = kubeconfig;
    let loaded = match said.flags.bootstrap_kubeconfig.as_deref() {
        Some(bootstrap) => {
            if rotates && recovers(files, folder, "kubelet-client").is_some() {
                let refusal = Refusal::certain("unable to build bootstrap cert store");
                return stop(start, found, kubeconfig, Some(bootstrap), refusal);
            }
            match validity(files, kubeconfig, facts.now) {
                Validity::Unknown => Checked::Unknown,
                Validity::Valid => Checked::Good,
                Validity::Invalid(logged) => {
                    if let Some(text) = logged {
                        found.warn(StartWarning::ClientConfig { text });
                    }
                    used = bootstrap;
                    match load(files, bootstrap) {
                        Checked::Good if !rotates => {
                            return found.skip(
                                "the request for a client certificate",
                                "the answer of the API server",
                            );
                        }
                        Checked::Bad(refusal) => {
                            let refusal = refusal.after("unable to load bootstrap kubeconfig: ");
                            return stop(start, found, kubeconfig, Some(bootstrap), refusal);
                        }
                        other => other,
                    }
                }
            }
        }
        None => {
            let words =
                if rotates { "unable to load kubeconfig: " } else { "invalid kubeconfig: " };
            match load(files, kubeconfig) {
                Checked::Bad(refusal) => {
                    return stop(start, found, kubeconfig, None, refusal.after(words));
                }
                other => other,
            }
        }
    };
    if loaded == Checked::Unknown {
        found.skip_of(
            "an invalid kubeconfig or an expired client certificate",
            "the kubeconfig and the files that it names",
            [kubeconfig.to_owned()],
        );
    }
    if rotates && let Some(refusal) = stored(files, folder, kubeconfig) {
        return stop(start, found, kubeconfig, None, refusal);
    }
    const NO_CLIENT: &str = "failed to initialize kubelet client: ";
    if loaded != Checked::Good {
        return;
    }
    if let Some(refusal) = tls_error(files, used) {
        let words = match rotates {
            true => "unable to configure TLS for the rest client: ",
            false => NO_CLIENT,
        };
        stop(start, found, used, None, refusal.after(words));
    } else if let Some(refusal) = server_error(files, used) {
        stop(start, found, used, None, refusal.after(NO_CLIENT));
    }
}

fn stop(
    start: &Start<'_>,
    found: &mut StartExamination,
    path: &str,
    bootstrap: Option<&str>,
    refusal: Refusal,
) {
    let (path, bootstrap) = (path.to_owned(), bootstrap.map(str::to_owned));
    let rule = StartRule::ClientConfig { path, bootstrap, error: refusal.text };
    // A kubelet with another unit may have another kubeconfig.
    let certainty = match start.facts.is_unit_assumed {
        true => refusal.certainty.max(Certainty::Likely),
        false => refusal.certainty,
    };
    found.stop(Stage::Run, (rule, certainty));
}

/// Opens the store of client certificates (`NewKubeletClientCertificateManager`).
fn stored(files: &StartFiles, folder: &str, kubeconfig: &str) -> Option<Refusal> {
    let of_store = "failed to initialize client certificate ";
    if let Some(error) = recovers(files, folder, "kubelet-client") {
        return Some(Refusal::certain(format!("{of_store}store: {error}")));
    }
    let current = current(files, folder, "kubelet-client");
    let named = || {
        let StartFile::Kubeconfig(config) = files.get(kubeconfig)? else { return None };
        let (certificate, key) = (&config.user.certificate, &config.user.key);
        let embedded = || pair_refusal(certificate.data.as_ref()?, key.data.as_ref()?);
        let of_files = || pair(files, certificate.file.as_ref()?, key.file.as_ref()?);
        of_files().or_else(embedded)
    };
    let refusal = match current {
        Current::None => named(),
        Current::Bad(refusal) => Some(refusal),
        Current::Good | Current::Unknown => None,
    };
    refusal.map(|refusal| refusal.after(&format!("{of_store}manager: ")))
}

/// Returns the error of a store whose change was interrupted (`recover` in `certificate_store.go`).
pub(super) fn recovers(files: &StartFiles, folder: &str, name: &str) -> Option<String> {
    let folder = folder.trim_end_matches('/');
    let is_absent = files.get(&format!("{folder}/{name}-current.pem")) == Some(&StartFile::Absent);
    let path = format!("{folder}/{name}-updated.pem");
    let is_file = matches!(
        files.get(&path),
        Some(StartFile::Folder | StartFile::Present { is_link: false, .. })
    );
    (is_absent && is_file)
        .then(|| format!("expected {} to be a symlink but it is a file", quote(&path)))
}

/// The current pair of a store.
pub(super) enum Current {
    None,
    Good,
    Bad(Refusal),
    Unknown,
}

/// Loads the current pair of a store (`Current` in `certificate_store.go`).
pub(super) fn current(files: &StartFiles, folder: &str, name: &str) -> Current {
    let path = format!("{}/{name}-current.pem", folder.trim_end_matches('/'));
    match files.get(&path) {
        None => Current::Unknown,
        Some(StartFile::Absent) => Current::None,
        Some(_) => match pair(files, &path, &path) {
            None => Current::Good,
            Some(refusal) => {
                let quoted = quote(&path);
                let words = format!("could not convert data from {quoted} into cert/key pair: ");
                Current::Bad(refusal.after(&words))
            }
        },
    }
}

/// Loads a certificate and its key (`LoadX509KeyPair` in `crypto/tls/tls.go`).
pub(super) fn pair(files: &StartFiles, certificate: &str, key: &str) -> Option<Refusal> {
    for path in [certificate, key] {
        if let Ok(Some(error)) = read_error(files, path) {
            return Some(Refusal::certain(error));
        }
    }
    let pem = |path: &str| match files.get(path) {
        Some(StartFile::Pem(pem)) => Some(pem),
        _ => None,
    };
    match (pem(certificate), pem(key)) {
        (Some(certificate), Some(key)) => pair_refusal(certificate, key),
        (certificate, key) => {
            let error = certificate.and_then(Pem::certificate_error);
            error.or_else(|| key.and_then(Pem::key_error)).map(Refusal::certain)
        }
    }
}

/// Makes a pair of a certificate and a key (`X509KeyPair` in `crypto/tls/tls.go`).
pub(super) fn pair_refusal(certificate: &Pem, key: &Pem) -> Option<Refusal> {
    match certificate.pair_error(key) {
        Ok(error) => error.map(Refusal::certain),
        Err(Malformed) => Some(Refusal::likely("x509: malformed certificate")),
    }
}
