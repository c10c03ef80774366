//! The plugins that give credentials for images: `RegisterCredentialProviderPlugins` in
//! `pkg/credentialprovider/plugin/plugin.go`, and their configuration in `config.go` there. The kubelet exits while it
//! is created. Patterns of images and `tokenAttributes` are not checked.

use super::kubeconfig::Refusal;
use super::{Stage, Start, StartExamination, StartRule};
use kq_facts::start_files::{CredentialProvider, StartFile, StartFiles};
use kq_k8s::go_text::{aggregate, quote};
use std::collections::BTreeSet;

const CONFIG: &str = "image-credential-provider-config";
const FOLDER: &str = "image-credential-provider-bin-dir";

/// The versions of the requests that plugins answer.
const VERSIONS: [&str; 3] = [
    "credentialprovider.kubelet.k8s.io/v1",
    "credentialprovider.kubelet.k8s.io/v1alpha1",
    "credentialprovider.kubelet.k8s.io/v1beta1",
];

/// Registers the plugins.
pub(super) fn plugins(start: &Start<'_>, found: &mut StartExamination) {
    let Some(process) = start.facts.process else { return };
    let config = process.path_of(CONFIG).unwrap_or_default();
    let folder = process.path_of(FOLDER).unwrap_or_default();
    if config.is_empty() && folder.is_empty() {
        return;
    }
    let none = StartFiles::default();
    let files = start.facts.files.unwrap_or(&none);
    let (by, path) = match files.get(&folder) {
        _ if folder.is_empty() => (FOLDER, &folder),
        Some(StartFile::Absent) => (FOLDER, &folder),
        _ => (CONFIG, &config),
    };
    let refusal = match by {
        FOLDER => {
            Ok(Some(Refusal::certain(format!("plugin binary directory {folder} did not exist"))))
        }
        _ => registered(files, &config, &folder),
    };
    match refusal {
        Ok(None) => {}
        Ok(Some(refusal)) => {
            let rule = StartRule::NamedFile { by, path: path.clone(), error: refusal.text };
            found.stop(Stage::CredentialProviders, (rule, refusal.certainty));
        }
        Err(()) => {
            let what = "plugins for credentials of images";
            found.skip_of(what, "the configuration of the plugins", [config, folder]);
        }
    }
}

/// Reads the configuration and looks for the programs; `Err`: a file is not known.
fn registered(files: &StartFiles, config: &str, folder: &str) -> Result<Option<Refusal>, ()> {
    if config.is_empty() {
        return Ok(Some(Refusal::certain("credential provider config path is empty")));
    }
    let paths: Vec<&str> = match files.get(config).ok_or(())? {
        StartFile::Absent => {
            return Ok(Some(Refusal::certain(format!(
                "unable to access path {}: stat {config}: no such file or directory",
                quote(config)
            ))));
        }
        StartFile::Folder => {
            let prefix = format!("{}/", config.trim_end_matches('/'));
            let below = files.files.iter().filter(|(path, file)| {
                path.starts_with(&prefix)
                    && matches!(file, StartFile::Providers(_) | StartFile::Unreadable(_))
            });
            below.map(|(path, _)| path.as_str()).collect()
        }
        _ => vec![config],
    };
    if paths.is_empty() {
        let text = format!("no configuration files found in directory {}", quote(config));
        return Ok(Some(Refusal::certain(text)));
    }
    let mut all: Vec<&CredentialProvider> = Vec::new();
    for path in paths {
        let StartFile::Providers(read) = files.get(path).ok_or(())? else { return Err(()) };
        if let Some(error) = &read.error {
            let text = format!("error decoding config {}: {error}", quote(path));
            return Ok(Some(Refusal::likely(text)));
        }
        all.extend(&read.providers);
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = all.iter().find(|it| !names.insert(&it.name)) {
        let name = quote(&twice.name);
        let text = format!("duplicate provider name {name} found in configuration file(s)");
        return Ok(Some(Refusal::certain(text)));
    }
    let errors = errors(&all);
    if !errors.is_empty() {
        let text = format!("failed to validate credential provider config: {}", aggregate(&errors));
        return Ok(Some(Refusal::certain(text)));
    }
    for provider in all {
        let path = format!("{}/{}", folder.trim_end_matches('/'), provider.name);
        match files.get(&path).ok_or(())? {
            StartFile::Present { is_program: true, .. } => {}
            // Go's `LookPath` returns no path with its error.
            StartFile::Absent => {
                return Ok(Some(Refusal::certain("plugin binary executable  did not exist")));
            }
            other => {
                let why = if *other == StartFile::Folder {
                    "is a directory"
                } else {
                    "permission denied"
                };
                let text =
                    format!("error inspecting binary executable : exec: {}: {why}", quote(&path));
                return Ok(Some(Refusal::certain(text)));
            }
        }
    }
    Ok(None)
}

/// `validateCredentialProviderConfig`
fn errors(providers: &[&CredentialProvider]) -> Vec<String> {
    if providers.is_empty() {
        return vec![
            "providers: Required value: at least 1 item in plugins is required".to_owned(),
        ];
    }
    let mut errors = Vec::new();
    for provider in providers {
        let name = &provider.name;
        let mut invalid = |why: &str| {
            errors.push(format!(
                "providers.name: Invalid value: {}: provider name {why}",
                quote(name)
            ));
        };
        if name.contains('/') {
            invalid("cannot contain '/'");
        }
        if name.contains(' ') {
            invalid("cannot contain spaces");
        }
        if matches!(name.as_str(), "." | "..") {
            invalid(&format!("cannot be '{name}'"));
        }
        let version = &provider.api_version;
        if version.is_empty() {
            errors.push("providers.apiVersion: Required value".to_owned());
        } else if !VERSIONS.contains(&version.as_str()) {
            let known = VERSIONS.map(quote).join(", ");
            let version = quote(version);
            errors.push(format!(
                "providers.apiVersion: Unsupported value: {version}: supported values: {known}"
            ));
        }
        if !provider.has_images {
            let why = "at least 1 item in matchImages is required";
            errors.push(format!("providers.matchImages: Required value: {why}"));
        }
        if !provider.has_cache_duration {
            errors.push("providers.defaultCacheDuration: Required value".to_owned());
        }
    }
    errors
}
