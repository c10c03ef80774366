//! How systemd starts the kubelet: its unit with the drop-ins, and the resulting command line. It has the
//! configuration of a stopped kubelet. Pure.
//!
//! `systemd.unit(5)`, `systemd.service(5)` and `systemd.exec(5)` of systemd 257 say how units are put together and
//! how variables are expanded; `10-kubeadm.conf` of the Kubernetes packages is what most nodes have.

use crate::kubelet_process::NodeFiles;
use std::collections::{BTreeMap, BTreeSet};

/// The folders in which a unit of systemd finds programs; `/sbin` and `/bin` for nodes where these are not links.
pub const PROGRAM_FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The folders of units, the one that wins first.
pub const UNIT_FOLDERS: [&str; 5] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];

pub const UNIT: &str = "kubelet.service";

/// The configuration that kubeadm writes.
pub const KUBEADM_CONFIG: &str = "/var/lib/kubelet/config.yaml";

/// The unit of the Kubernetes packages for kubeadm, for a node whose unit was not found.
pub const KUBEADM_UNIT: &str = "[Service]
Environment=\"CONFIG=--config=/var/lib/kubelet/config.yaml\"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
EnvironmentFile=-/etc/sysconfig/kubelet
ExecStart=/usr/bin/kubelet --kubeconfig=/etc/kubernetes/kubelet.conf $CONFIG $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
";

/// Returns the drop-ins of a unit in the order in which they are read: by name; of those with the same name the
/// one of the folder that wins. `listed` are folders with their files, the one that wins first.
pub fn drop_ins(listed: &[(String, Vec<String>)]) -> Vec<String> {
    let mut by_name = BTreeMap::new();
    for (folder, names) in listed {
        for name in names.iter().filter(|name| name.ends_with(".conf")) {
            by_name.entry(name.clone()).or_insert_with(|| format!("{folder}/{name}"));
        }
    }
    by_name.into_values().collect()
}

/// What systemd runs for a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// `ExecStart=`
    pub command: Vec<String>,
    /// The files that `ExecStartPre=` removes before each start.
    pub removes: Vec<String>,
}

/// Returns the file that masks a unit: the one of its files that wins is empty, or a link to `/dev/null`.
pub fn masked_by(unit: &str, files: &dyn NodeFiles) -> Option<String> {
    let mut paths = UNIT_FOLDERS.iter().map(|folder| format!("{folder}/{unit}"));
    let is_masked = |path: &str| match files.link(path) {
        Some(target) if target == "/dev/null" => Some(true),
        _ => files.text(path).map(|text| text.is_empty()),
    };
    let (is_masked, path) = paths.find_map(|path| Some((is_masked(&path)?, path)))?;
    is_masked.then_some(path)
}

/// Returns the path of a unit and its service.
pub fn unit_service(unit: &str, files: &dyn NodeFiles) -> Option<(String, Service)> {
    let paths = UNIT_FOLDERS.iter().map(|folder| format!("{folder}/{unit}"));
    let (text, path) = paths.into_iter().find_map(|path| Some((files.text(&path)?, path)))?;
    let listed = UNIT_FOLDERS.map(|folder| {
        let folder = format!("{folder}/{unit}.d");
        let names = files.names(&folder).unwrap_or_default();
        (folder, names)
    });
    let drop_ins = drop_ins(&listed);
    let drop_ins = drop_ins.iter().filter_map(|path| files.text(path));
    let texts: Vec<String> = std::iter::once(text).chain(drop_ins).collect();
    Some((path, service(&texts, |path| files.text(path))?))
}

/// Returns the service of a unit and its drop-ins; `None`: it has none. `read` returns the text of a file of environment
/// variables.
pub fn service(texts: &[String], read: impl Fn(&str) -> Option<String>) -> Option<Service> {
    let (mut variables, mut files, mut command) = (BTreeMap::new(), Vec::new(), None);
    let mut before = Vec::new();
    for text in texts {
        for (name, value) in settings(text) {
            match (name.as_str(), value.is_empty()) {
                ("Environment", true) => variables.clear(),
                ("Environment", false) => {
                    variables.extend(words(&value).iter().filter_map(|word| {
                        word.split_once('=')
                            .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    }))
                }
                ("EnvironmentFile", true) => files.clear(),
                ("EnvironmentFile", false) => files.push(value),
                ("ExecStart", true) => command = None,
                ("ExecStart", false) => command = Some(value),
                ("ExecStartPre", true) => before.clear(),
                ("ExecStartPre", false) => before.push(value),
                _ => {}
            }
        }
    }
    // Files win over what stands in the unit, and the later file over the earlier. A file that is named again is
    // read at its last place only, which comes to the same.
    let mut read_already = BTreeSet::new();
    files.reverse();
    files.retain(|file| read_already.insert(file.clone()));
    for file in files.iter().rev() {
        let text = read(file.trim_start_matches('-'));
        variables.extend(text.iter().flat_map(|text| assignments(text)));
    }
    let words = |command: &str| expanded(command.trim_start_matches(PREFIXES), &variables);
    let command = words(&command?);
    Some(Service { command, removes: before.iter().flat_map(|it| removed(&words(it))).collect() })
}

/// What may stand before the program of a command (`systemd.service(5)`, "Command lines").
const PREFIXES: [char; 6] = ['@', '-', ':', '+', '!', '|'];

/// Returns the files that a command removes: `rm`, or a shell with simple commands of it.
fn removed(command: &[String]) -> Vec<String> {
    let Some((program, arguments)) = command.split_first() else { return Vec::new() };
    match (program.rsplit('/').next(), arguments) {
        (Some("rm"), files) => files.iter().filter(|file| file.starts_with('/')).cloned().collect(),
        (Some("sh" | "bash"), [flag, script]) if flag == "-c" => {
            let commands = script.split([';', '&', '\n']).map(words);
            commands
                .filter(|it| it.first().is_some_and(|it| it.ends_with("rm")))
                .flat_map(|it| removed(&it))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the settings of the section `[Service]` in their order.
fn settings(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut is_service = false;
    for line in joined_lines(text) {
        if line.starts_with('[') {
            is_service = line == "[Service]";
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_service) {
            found.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    found
}

/// Returns the lines that are not empty or comments; a backslash at the end joins the next.
fn joined_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines().map(str::trim) {
        let is_comment = line.starts_with(['#', ';']);
        if is_comment || (line.is_empty() && open.is_none()) {
            continue;
        }
        let mut whole = open.take().map(|begun| begun + " ").unwrap_or_default();
        match line.strip_suffix('\\') {
            Some(begun) => {
                whole.push_str(begun);
                open = Some(whole);
            }
            None => {
                whole.push_str(line);
                lines.push(whole);
            }
        }
    }
    lines.extend(open);
    lines
}

/// Returns the variables of a file of them.
fn assignments(text: &str) -> Vec<(String, String)> {
    let lines = joined_lines(text);
    let assigned = lines.iter().filter_map(|line| line.split_once('='));
    assigned
        .map(|(name, value)| {
            // Several words without quotes are one value as well.
            let value = value.trim();
            let is_quoted = value.starts_with(['"', '\'']);
            let value = if is_quoted { words(value).join(" ") } else { value.to_owned() };
            (name.trim().to_owned(), value)
        })
        .collect()
}

/// Splits a text at blanks; quotes keep words together, and a backslash the next character.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                word.get_or_insert_default().extend(characters.next());
            }
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Expands the variables of a command line: a word that is one is as many words as its value has, and within a
/// word it is the value as it stands.
fn expanded(command: &str, variables: &BTreeMap<String, String>) -> Vec<String> {
    let value = |name: &str| variables.get(name).map(String::as_str).unwrap_or_default();
    let is_name = |text: &str| {
        text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !text.is_empty()
    };
    let mut line = Vec::new();
    for word in words(command) {
        match word.strip_prefix('$').filter(|name| is_name(name)) {
            Some(name) => line.extend(words(value(name))),
            None => line.push(substituted(&word, value)),
        }
    }
    line
}

/// Replaces `${NAME}` by its value, and `$$` and `%%` by one of them.
fn substituted<'v>(word: &str, value: impl Fn(&str) -> &'v str) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some(at) = rest.find(['$', '%']) {
        text.push_str(&rest[..at]);
        let (sign, after) = rest[at..].split_at(1);
        let braced = after.strip_prefix('{').and_then(|it| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = it.find(|c| !is_name(c))?;
            Some((&it[..end], it[end..].strip_prefix('}')?))
        });
        rest = match (sign, braced) {
            ("$", Some((name, after))) => {
                text.push_str(value(name));
                after
            }
            _ => {
                text.push_str(sign);
                after.strip_prefix(sign).unwrap_or(after)
            }
        };
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGED: &str =
        "[Unit]\nDescription=kubelet\n[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\n";

    const DROP_IN: &str = "# Note: kubeadm
[Service]
Environment=\"KUBECONFIG_ARGS=--bootstrap-kubeconfig=/b --kubeconfig=/k\" OTHER=1
Environment=\"CONFIG_ARGS=--config=/c.yaml\"
EnvironmentFile=-/flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBECONFIG_ARGS $CONFIG_ARGS \\
  $KUBEADM_ARGS $EXTRA_ARGS
";

    fn line(texts: &[&str], files: &[(&str, &str)]) -> Option<String> {
        let read = |path: &str| {
            let mut named = files.iter().filter(|(name, _)| *name == path);
            named.next().map(|(_, text)| (*text).to_owned())
        };
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        service(&texts, read).map(|service| service.command.join("|"))
    }

    #[test]
    fn a_command_line_is_expanded_as_by_systemd() {
        let flags = ("/flags.env", "KUBEADM_ARGS=\"--a=1 --b='2 3'\"\n");
        let extra = ("/etc/default/kubelet", "# none\nEXTRA_ARGS=--c=${X}\n");
        for (name, texts, files, expected) in [
            ("the package alone", &[PACKAGED][..], &[][..], Some("/usr/bin/kubelet")),
            (
                "kubeadm's drop-in",
                &[PACKAGED, DROP_IN],
                &[flags],
                Some(
                    "/usr/bin/kubelet|--bootstrap-kubeconfig=/b|--kubeconfig=/k|--config=/c.yaml|--a=1|--b=2 3",
                ),
            ),
            (
                "a value is not expanded again",
                &[PACKAGED, DROP_IN],
                &[extra],
                Some(
                    "/usr/bin/kubelet|--bootstrap-kubeconfig=/b|--kubeconfig=/k|--config=/c.yaml|--c=${X}",
                ),
            ),
            (
                "within a word",
                &[
                    "[Service]\nEnvironment=A='x y'\nExecStart=-+kubelet --a=${A} \"b c\" $$HOME 5%% ${NONE}z\n",
                ],
                &[],
                Some("kubelet|--a=x y|b c|$HOME|5%|z"),
            ),
            ("no service", &["[Unit]\nExecStart=/usr/bin/kubelet\n"], &[], None),
            ("taken back", &[PACKAGED, "[Service]\nExecStart=\n"], &[], None),
        ] {
            assert_eq!(line(texts, files).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn a_service_removes_files_before_its_start() {
        let unit = "[Service]
ExecStartPre=/bin/mkdir --parents /etc/kubernetes/manifests
ExecStartPre=/bin/rm -f /var/lib/kubelet/cpu_manager_state
Environment=STATE=memory_manager_state
ExecStartPre=-/usr/bin/rm -f -- /k/${STATE} relative
ExecStartPre=/bin/sh -c 'rm -f \"/k/a b\" && test -e /k/c; rm /k/d'
ExecStart=/usr/bin/kubelet
";
        let removes = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            service(&texts, |_| None).expect("a service").removes
        };
        let all =
            ["/var/lib/kubelet/cpu_manager_state", "/k/memory_manager_state", "/k/a b", "/k/d"];
        assert_eq!(removes(&[unit]), all);
        assert_eq!(removes(&[unit, "[Service]\nExecStartPre=\n"]), Vec::<String>::new());
    }

    #[test]
    fn a_file_of_the_environment_wins() {
        let unit =
            "[Service]\nEnvironment=A=unit B=unit\nEnvironmentFile=/e\nExecStart=k $A $B $C\n";
        let file = ("/e", "A=file\n;C=comment\nC = one two\n");
        assert_eq!(line(&[unit], &[file]).as_deref(), Some("k|file|unit|one|two"));
        let reset = "[Service]\nEnvironment=\nEnvironmentFile=\n";
        assert_eq!(line(&[unit, reset], &[file]).as_deref(), Some("k"));
    }

    #[test]
    fn drop_ins_are_read_by_name_and_the_stronger_folder_wins() {
        let listed =
            [("/etc/d", vec!["20-b.conf", "x.bak"]), ("/lib/d", vec!["10-a.conf", "20-b.conf"])]
                .map(|(folder, names)| {
                    (folder.to_owned(), names.into_iter().map(str::to_owned).collect())
                });
        assert_eq!(drop_ins(&listed), ["/lib/d/10-a.conf", "/etc/d/20-b.conf"]);
    }

    #[test]
    fn the_unit_of_kubeadm_names_its_files() {
        let files = [
            ("/var/lib/kubelet/kubeadm-flags.env", "KUBELET_KUBEADM_ARGS=\"--x=1\"\n"),
            ("/etc/default/kubelet", "KUBELET_EXTRA_ARGS=--node-ip=::1 --y\n"),
        ];
        assert_eq!(
            line(&[KUBEADM_UNIT], &files).as_deref(),
            Some(
                "/usr/bin/kubelet|--kubeconfig=/etc/kubernetes/kubelet.conf|\
                 --config=/var/lib/kubelet/config.yaml|--x=1|--node-ip=::1|--y"
            )
        );
    }
}
