//! The flags that a distribution gives its kubelet.
//!
//! k3s, MicroK8s and MicroShift run the kubelet in their own process, and so its flags are in none. rke2, k0s and Talos start
//! one, whose flags are the same ones as long as it does not run. The rules:
//!
//! | distribution | its flags | read in |
//! |---|---|---|
//! | k3s, rke2 | the drop-ins below the folder of data, and `kubelet-arg` | `pkg/daemons/agent/agent_linux.go`, `pkg/configfilearg/parser.go` |
//! | MicroK8s | a file of arguments | `ReadArgsFromFile` of `cmd/kubelite/app/options/options.go` |
//! | k0s | a file below `/run/k0s` | `pkg/component/worker/kubelet.go` |
//! | Talos | a file below `/etc/kubernetes` | `internal/app/machined/pkg/controllers/k8s/kubelet_spec.go` |
//! | MicroShift | a file below its data, and the node's name in its own configuration | `pkg/node/kubelet.go` |

use super::Program;
use crate::distribution::{Owner, Place};
use crate::kubelet_unit::unit_service;
use kq_k8s::yaml;
use serde_json::Value;

/// The trusted files of a node.
pub trait NodeFiles {
    /// Returns the text of a file.
    fn text(&self, path: &str) -> Option<String>;
    /// Returns the names in a folder, in order; `None`: there is none.
    fn names(&self, folder: &str) -> Option<Vec<String>>;
    /// Returns the target of a link; `None`: the path is none.
    fn link(&self, path: &str) -> Option<String>;
}

/// No files, for a node whose process is not trusted.
pub struct NoFiles;

impl NodeFiles for NoFiles {
    fn text(&self, _: &str) -> Option<String> {
        None
    }

    fn names(&self, _: &str) -> Option<Vec<String>> {
        None
    }

    fn link(&self, _: &str) -> Option<String> {
        None
    }
}

/// The arguments of a kubelet, as they would stand on its command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    pub arguments: Vec<String>,
    /// The files that they are from; empty: not all of them are known.
    pub files: Vec<String>,
    /// Unknown parts: sentences.
    pub notes: Vec<String>,
}

/// Returns the arguments of the kubelet in the process of another program. `given` are the words after its name.
pub(super) fn embedded(program: Program, given: &[String], files: &dyn NodeFiles) -> Arguments {
    match program {
        Program::Kubelet => Arguments { arguments: given.to_vec(), ..Arguments::default() },
        Program::K3s => {
            let verb = given.first().filter(|verb| !verb.starts_with('-'));
            let words = verb.map_or(given, |_| &given[1..]);
            // The program hides its flags, and then those of its unit count.
            let unit = words.is_empty().then(|| unit(Owner::K3s, verb.map(String::as_str), files));
            let unit = unit.flatten();
            let words = unit.as_ref().map_or(words, |(_, words)| words);
            let mut made = of_rancher(Owner::K3s, words, files);
            if !made.files.is_empty() {
                made.files.extend(unit.map(|(path, _)| path));
            }
            made
        }
        Program::Kubelite => of_kubelite(given, files),
        Program::Microshift => {
            let mut made = of_microshift(files);
            if made.files.is_empty() {
                let config = Owner::MicroShift.paths(Place::Config, None).join(", ");
                made.notes
                    .push(format!("the kubelet's configuration is in {config}, which is not read"));
            }
            made
        }
    }
}

/// The distributions that start their kubelet by themselves, and not through a unit called kubelet.
const STARTING: [Owner; 6] =
    [Owner::K3s, Owner::Rke2, Owner::MicroK8s, Owner::K0s, Owner::Talos, Owner::MicroShift];

/// Returns the arguments of the kubelet of a distribution that does not run; `None`: it is not installed.
pub fn stopped(files: &dyn NodeFiles) -> Option<(Owner, Arguments)> {
    STARTING.into_iter().find_map(|owner| {
        let (_, words) = unit(owner, None, files).unzip();
        let words = words.unwrap_or_default();
        let made = match owner {
            Owner::MicroK8s => of_kubelite(&[], files),
            Owner::K0s => of_k0s(&words, files),
            Owner::Talos => of_talos(files),
            Owner::MicroShift => of_microshift(files),
            _ => of_rancher(owner, &words, files),
        };
        (!made.files.is_empty()).then_some((owner, made))
    })
}

/// Returns the unit of a distribution and the words after its verb.
fn unit(owner: Owner, verb: Option<&str>, files: &dyn NodeFiles) -> Option<(String, Vec<String>)> {
    owner.rows(Place::Unit).find_map(|row| {
        let (path, service) = unit_service(row.path, files)?;
        let (own_verb, words) = service.command.get(1..)?.split_first()?;
        verb.is_none_or(|verb| verb == own_verb).then(|| (path, words.to_vec()))
    })
}

/// The flags of a distribution whose value, after a space too, is flags of the kubelet or their file.
const OF_KUBELET: [&str; 3] = ["kubelet-arg", "kubelet-args-file", "kubelet-extra-args"];

/// The settings of a distribution in their order: names without dashes, and values.
#[derive(Default)]
struct Settings(Vec<(String, String)>);

impl Settings {
    /// Adds the flags of a command line.
    fn of_words(&mut self, words: &[String]) {
        let mut rest = words.iter().peekable();
        while let Some(word) = rest.next() {
            let Some(flag) = word.strip_prefix('-') else { continue };
            let flag = flag.trim_start_matches('-');
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => {
                    let takes_flags = OF_KUBELET.contains(&flag);
                    let value = rest.next_if(|next| takes_flags || !next.starts_with('-'));
                    (flag, value.cloned().unwrap_or_default())
                }
            };
            let name = if name == "d" { "data-dir" } else { name };
            self.0.push((name.to_owned(), value));
        }
    }

    /// Adds a file of settings: a later file replaces a setting, or adds to it where its name ends in `+`.
    fn of_file(&mut self, text: &str) -> Result<(), String> {
        let read = yaml::read(text).map_err(|error| error.to_string())?;
        let fields = match read.value {
            Value::Null => return Ok(()),
            Value::Object(fields) => fields,
            _ => return Err("holds no fields".to_owned()),
        };
        for (name, value) in fields {
            let adds = name.ends_with('+');
            let name = name.trim_end_matches('+').to_owned();
            if !adds {
                self.0.retain(|(known, _)| *known != name);
            }
            let values = match value {
                Value::Array(values) => values,
                value => vec![value],
            };
            let text = |value: Value| match value {
                Value::String(text) => text,
                Value::Null => String::new(),
                value => value.to_string(),
            };
            self.0.extend(values.into_iter().map(|value| (name.clone(), text(value))));
        }
        Ok(())
    }

    fn all<'s>(&'s self, name: &'static str) -> impl DoubleEndedIterator<Item = &'s str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn last(&self, name: &'static str) -> Option<&str> {
        self.all(name).next_back().filter(|value| !value.is_empty())
    }
}

/// Returns the arguments of the kubelet of k3s or rke2.
fn of_rancher(owner: Owner, words: &[String], files: &dyn NodeFiles) -> Arguments {
    let mut made = Arguments::default();
    let mut given = Settings::default();
    given.of_words(words);
    let usual = owner.paths(Place::OwnConfig, None).into_iter().next();
    let named = given.last("config").or(given.last("c")).map(str::to_owned);
    let own_config = named.or(usual).unwrap_or_default();
    let folder = format!("{own_config}.d");
    let mut names = files.names(&folder).unwrap_or_default();
    names.retain(|name| name.ends_with(".yaml") || name.ends_with(".yml"));
    let drop_ins = names.iter().map(|name| format!("{folder}/{name}"));
    let mut settings = Settings::default();
    let mut read = Vec::new();
    for path in std::iter::once(own_config.clone()).chain(drop_ins) {
        let Some(text) = files.text(&path) else { continue };
        match settings.of_file(&text) {
            Ok(()) => read.push(path),
            Err(reason) => made.notes.push(format!("{path} of {owner}: {reason}")),
        }
    }
    settings.0.extend(given.0);
    let data = settings.last("data-dir");
    let path = |place| owner.paths(place, data).into_iter().next().unwrap_or_default();
    let kubeconfig = path(Place::Kubeconfig);
    let mut flag = |name: &str, value: &str| made.arguments.push(format!("--{name}={value}"));
    flag("kubeconfig", &kubeconfig);
    flag("read-only-port", "0");
    if let Some(name) = settings.last("node-name") {
        flag("hostname-override", name);
    }
    let folder = path(Place::ConfigFolder);
    if files.names(&folder).is_some() {
        flag("config-dir", &folder);
        made.files = std::iter::once(folder).chain(read).collect();
    } else {
        // Before 1.32 it gave them as flags, more than these.
        let socket = format!("unix://{}", path(Place::RuntimeSocket));
        flag("pod-manifest-path", &path(Place::StaticPods));
        flag(
            "container-runtime-endpoint",
            settings.last("container-runtime-endpoint").unwrap_or(&socket),
        );
        flag("tls-cert-file", &path(Place::ServingCertificate));
        flag("tls-private-key-file", &path(Place::ServingKey));
        made.notes.push(format!(
            "{owner} gives its kubelet more flags than those of its command line and {own_config}: {folder} does not exist"
        ));
    }
    let own = settings.all("kubelet-arg").map(|argument| {
        let argument = argument.trim_start_matches('-');
        let is_whole = argument.contains('=');
        format!("--{argument}{}", if is_whole { "" } else { "=true" })
    });
    made.arguments.extend(own);
    made
}

/// Returns the arguments of the kubelet of MicroK8s.
fn of_kubelite(given: &[String], files: &dyn NodeFiles) -> Arguments {
    let mut settings = Settings::default();
    settings.of_words(given);
    let usual = Owner::MicroK8s.paths(Place::Arguments, None);
    let file = settings.last("kubelet-args-file").map(str::to_owned);
    let file = file.or(usual.into_iter().next()).unwrap_or_default();
    let Some(text) = files.text(&file) else {
        let note = format!("the kubelet's flags are in {file}, which is not read");
        return Arguments { notes: vec![note], ..Arguments::default() };
    };
    let mut made = Arguments { files: vec![file.clone()], ..Arguments::default() };
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.replace(['"', '\''], "");
        for word in line.split(' ').filter(|word| !word.is_empty()) {
            match expanded(word, &file) {
                Some(word) => made.arguments.push(word),
                None => {
                    let name = word.split('=').next().unwrap_or_default();
                    let name: String = name.chars().filter(|c| c.is_ascii_graphic()).collect();
                    made.notes.push(format!(
                        "{file}: {} names a variable that is not known, and was left out",
                        name.chars().take(64).collect::<String>()
                    ));
                }
            }
        }
    }
    made
}

/// Expands the variables of a snap. `file` is in the folder `args` of the snap's data.
fn expanded(word: &str, file: &str) -> Option<String> {
    let data = file.rsplit_once("/args/").map_or("/var/snap/microk8s/current", |(data, _)| data);
    let (above, revision) = data.rsplit_once('/')?;
    let mut text = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let (name, behind) = match after.strip_prefix('{') {
            Some(braced) => braced.split_once('}')?,
            None => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                after.split_at(after.find(|c| !is_name(c)).unwrap_or(after.len()))
            }
        };
        match name {
            "SNAP" => text.push_str(&format!("/snap/microk8s/{revision}")),
            "SNAP_DATA" => text.push_str(data),
            "SNAP_COMMON" => text.push_str(&format!("{above}/common")),
            _ => return None,
        }
        rest = behind;
    }
    text.push_str(rest);
    Some(text)
}

/// Returns the arguments of the kubelet of k0s.
fn of_k0s(words: &[String], files: &dyn NodeFiles) -> Arguments {
    let mut settings = Settings::default();
    settings.of_words(words);
    let data = settings.last("data-dir");
    let path = |place| Owner::K0s.paths(place, data);
    let exists = |path: &String| files.text(path).is_some();
    let Some(config) = path(Place::Config).into_iter().find(exists) else {
        return Arguments::default();
    };
    let root = settings.last("kubelet-root-dir").map(str::to_owned);
    let root = root.or(path(Place::RootFolder).into_iter().next());
    let flags = [
        ("config", Some(config.clone())),
        ("kubeconfig", path(Place::Kubeconfig).into_iter().find(exists)),
        ("cert-dir", root.as_ref().map(|root| format!("{root}/pki"))),
        ("root-dir", root),
    ];
    let arguments =
        flags.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value?)));
    let own = settings.all("kubelet-extra-args").flat_map(str::split_whitespace);
    let arguments = arguments.chain(own.map(str::to_owned)).collect();
    Arguments { arguments, files: vec![config], notes: Vec::new() }
}

/// Returns the flags for the files of a distribution, as far as they are there; none without a configuration.
fn of_files(owner: Owner, files: &dyn NodeFiles) -> Arguments {
    let first = |place| {
        let paths = owner.paths(place, None).into_iter();
        paths.into_iter().find(|path| files.text(path).is_some())
    };
    let Some(config) = first(Place::Config) else { return Arguments::default() };
    let mut arguments = vec![format!("--config={config}")];
    let kubeconfig = first(Place::Kubeconfig);
    arguments.extend(kubeconfig.map(|path| format!("--kubeconfig={path}")));
    let folders = owner.paths(Place::CertificateFolder, None).into_iter();
    arguments.extend(folders.map(|folder| format!("--cert-dir={folder}")));
    Arguments { arguments, files: vec![config], notes: Vec::new() }
}

/// Returns the arguments of the kubelet of Talos. Its name is the host's where nothing else was asked for.
fn of_talos(files: &dyn NodeFiles) -> Arguments {
    of_files(Owner::Talos, files)
}

/// Returns the arguments of the kubelet of MicroShift.
fn of_microshift(files: &dyn NodeFiles) -> Arguments {
    let mut made = of_files(Owner::MicroShift, files);
    if made.files.is_empty() {
        return made;
    }
    let own_config = Owner::MicroShift.paths(Place::OwnConfig, None).into_iter().next();
    let Some(own_config) = own_config else { return made };
    let folder = format!("{}.d", own_config.trim_end_matches(".yaml"));
    let names = files.names(&folder).unwrap_or_default();
    let drop_ins = names.iter().filter(|name| name.ends_with(".yaml"));
    let drop_ins = drop_ins.map(|name| format!("{folder}/{name}"));
    let mut name = None;
    for path in std::iter::once(own_config.clone()).chain(drop_ins) {
        let Some(text) = files.text(&path) else { continue };
        match yaml::read(&text) {
            Ok(read) => {
                let given = read.value.pointer("/node/hostnameOverride").and_then(Value::as_str);
                name = given.filter(|name| !name.is_empty()).map(str::to_owned).or(name);
            }
            Err(reason) => made.notes.push(format!("{path} of {}: {reason}", Owner::MicroShift)),
        }
    }
    made.arguments.extend(name.map(|name| format!("--hostname-override={name}")));
    made
}
