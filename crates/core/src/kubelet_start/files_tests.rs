//! Starts that end by a file, the client, or the runtime.

use super::{ConfigContent, ConfigText, Stage, StartFacts, StartProblem, examine};
use kq_facts::kubelet_process::as_started;
use kq_facts::start_files::{
    CredentialProviders, Kubeconfig, Pem, PemCertificate, PublicKey, StartFile, StartFiles,
};
use kq_facts::timestamp::Timestamp;
use kq_k8s::version::KubeletVersion;
use serde_json::{Value, json};

const KUBECONFIG: &str = "/etc/kubernetes/kubelet.conf";
const BOOTSTRAP: &str = "/etc/kubernetes/bootstrap-kubelet.conf";
const PKI: &str = "/var/lib/kubelet/pki";
const SOCKET: &str = "/run/containerd/containerd.sock";

fn pem(labels: &[&str], end: i64) -> StartFile {
    let certificates = labels.iter().filter(|it| **it == "CERTIFICATE");
    let not_after = Some(Timestamp::from_seconds(end));
    StartFile::Pem(Pem {
        is_empty: labels.is_empty(),
        labels: labels.iter().map(|it| (*it).to_owned()).collect(),
        certificates: certificates.map(|_| PemCertificate { not_after, key: None }).collect(),
        key: None,
    })
}

/// A certificate and a key of another one.
fn strangers(end: i64) -> Pem {
    let StartFile::Pem(mut pem) = pair(end) else { unreachable!("it is a file of PEM") };
    let key = |hash: &str| Some(PublicKey { algorithm: "1.2".to_owned(), hash: hash.to_owned() });
    pem.certificates[0].key = key("aa");
    pem.key = key("bb");
    pem
}

fn pair(end: i64) -> StartFile {
    pem(&["CERTIFICATE", "EC PRIVATE KEY"], end)
}

fn kubeconfig(user: &Value) -> StartFile {
    let document = json!({
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"user": "u", "cluster": "k"}}],
        "users": [{"name": "u", "user": user}],
        "clusters": [{"name": "k", "cluster": {"server": "https://192.0.2.1:6443"}}],
    });
    StartFile::Kubeconfig(Box::new(Kubeconfig::of(&document, "/etc/kubernetes", |_| {
        Some(Pem::default())
    })))
}

/// A node whose kubelet starts, at the second 100: its certificate ends at 200.
fn node() -> StartFiles {
    let current = format!("{PKI}/kubelet-client-current.pem");
    let user = json!({"client-certificate": current, "client-key": current});
    let mut files = StartFiles::default();
    for (path, file) in [
        (KUBECONFIG.to_owned(), kubeconfig(&user)),
        (BOOTSTRAP.to_owned(), StartFile::Absent),
        (current, pair(200)),
        (format!("{PKI}/kubelet-client-updated.pem"), StartFile::Absent),
        (format!("{PKI}/kubelet.crt"), pem(&["CERTIFICATE"], 200)),
        (format!("{PKI}/kubelet.key"), pem(&["RSA PRIVATE KEY"], 0)),
        ("/ca.crt".to_owned(), pem(&["CERTIFICATE"], 200)),
        (SOCKET.to_owned(), StartFile::Socket),
    ] {
        files.files.insert(path, file);
    }
    files
}

const FLAGS: [&str; 2] = [
    "--kubeconfig=/etc/kubernetes/kubelet.conf",
    "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
];

/// Returns the problems that are not about cgroups, which these nodes do not have.
fn start(flags: &[&str], config: Value, files: &StartFiles, minor: u32) -> Vec<StartProblem> {
    let line = ["kubelet", "--config=/c"].into_iter().chain(flags.iter().copied());
    let process = as_started(&line.map(str::to_owned).collect::<Vec<_>>()).expect("a kubelet");
    let mut document = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "failCgroupV1": false,
    });
    let fields = document.as_object_mut().expect("an object");
    fields.extend(config.as_object().expect("an object").clone());
    let content = ConfigContent::document(document);
    let examined = examine(&StartFacts {
        version: Some(KubeletVersion::new(1, minor)),
        process: Some(&process),
        config_file: Some(ConfigText { path: "/c".to_owned(), content }),
        files: Some(files),
        now: Some(Timestamp::from_seconds(100)),
        runtime_answers: Some(true),
        ..StartFacts::default()
    });
    examined.problems
}

fn check(name: &str, problems: &[StartProblem], expected: &str) {
    let said = problems.first().map_or("", |problem| problem.text.as_str());
    assert_eq!(said, expected, "{name}");
}

#[test]
fn the_client_needs_a_certificate_that_counts() {
    let no_bootstrap = "failed to run Kubelet: unable to load bootstrap kubeconfig: stat \
                        /etc/kubernetes/bootstrap-kubelet.conf: no such file or directory";
    type Change = fn(&mut StartFiles);
    let gone: Change = |files| {
        files.files.insert(KUBECONFIG.to_owned(), StartFile::Absent);
    };
    let token: Change = |files| {
        files.files.insert(BOOTSTRAP.to_owned(), kubeconfig(&json!({"token": "t"})));
    };
    let broken: Change = |files| {
        files.files.insert(format!("{PKI}/kubelet-client-current.pem"), pem(&["CERTIFICATE"], 200));
    };
    let interrupted: Change = |files| {
        files.files.insert(format!("{PKI}/kubelet-client-current.pem"), StartFile::Absent);
        let file = StartFile::Present { is_link: false, is_program: false };
        files.files.insert(format!("{PKI}/kubelet-client-updated.pem"), file);
    };
    let expired: Change = |files| {
        files.files.insert(format!("{PKI}/kubelet-client-current.pem"), pair(99));
    };
    for (name, flags, rotates, changes, expected) in [
        ("as it is", &FLAGS[..], false, &[] as &[Change], ""),
        ("expired", &FLAGS, false, &[expired], no_bootstrap),
        ("expired with rotation", &FLAGS, true, &[expired], no_bootstrap),
        ("no kubeconfig", &FLAGS, true, &[gone], no_bootstrap),
        ("a bootstrap token", &FLAGS, true, &[gone, token], ""),
        ("expired without bootstrap", &FLAGS[..1], true, &[expired], ""),
        (
            "no kubeconfig and no bootstrap",
            &FLAGS[..1],
            true,
            &[gone],
            "failed to run Kubelet: unable to load kubeconfig: stat /etc/kubernetes/kubelet.conf: no such file or \
             directory",
        ),
        (
            "no rotation",
            &FLAGS[..1],
            false,
            &[gone],
            "failed to run Kubelet: invalid kubeconfig: stat /etc/kubernetes/kubelet.conf: no such file or directory",
        ),
        (
            "a pair without its key",
            &FLAGS[..1],
            true,
            &[broken],
            "failed to run Kubelet: failed to initialize client certificate manager: could not convert data from \
             \"/var/lib/kubelet/pki/kubelet-client-current.pem\" into cert/key pair: tls: found a certificate rather \
             than a key in the PEM for the private key",
        ),
        (
            "an interrupted change",
            &FLAGS,
            true,
            &[interrupted],
            "failed to run Kubelet: unable to build bootstrap cert store",
        ),
    ] {
        let mut files = node();
        changes.iter().for_each(|change| change(&mut files));
        let problems = start(flags, json!({"rotateCertificates": rotates}), &files, 36);
        check(name, &problems, expected);
    }
}

#[test]
fn a_client_needs_a_server_and_authorities() {
    let with = |cluster: Value, rotates: bool| {
        let document = json!({
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"user": "", "cluster": "k"}}],
            "clusters": [{"name": "k", "cluster": cluster}],
        });
        let mut files = node();
        let config = Kubeconfig::of(&document, "/", |_| Some(Pem::default()));
        files.files.insert(KUBECONFIG.to_owned(), StartFile::Kubeconfig(Box::new(config)));
        start(&FLAGS[..1], json!({"rotateCertificates": rotates}), &files, 36)
    };
    let no_url = with(json!({"server": "192.0.2.1:6443/api"}), false);
    check(
        "no URL",
        &no_url,
        "failed to run Kubelet: failed to initialize kubelet client: host must be a URL or a host:port pair: \
         \"192.0.2.1:6443/api\"",
    );
    let cluster = json!({"server": "https://a", "certificate-authority-data": "x"});
    for (rotates, words) in [
        (false, "failed to initialize kubelet client"),
        (true, "unable to configure TLS for the rest client"),
    ] {
        let expected = format!(
            "failed to run Kubelet: {words}: unable to load root certificates: unable to parse bytes as PEM block"
        );
        check(words, &with(cluster.clone(), rotates), &expected);
    }
}

#[test]
fn an_embedded_key_belongs_to_its_certificate() {
    let mismatch = "tls: private key does not match public key";
    let document = json!({
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"user": "u", "cluster": "k"}}],
        "users": [{"name": "u", "user": {"client-certificate-data": "x", "client-key-data": "x"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://a"}}],
    });
    let embedded = |pem: fn(&str) -> Option<Pem>| {
        let config = Kubeconfig::of(&document, "/", pem);
        StartFile::Kubeconfig(Box::new(config))
    };
    let bootstrap = "failed to run Kubelet: unable to load bootstrap kubeconfig: stat \
                     /etc/kubernetes/bootstrap-kubelet.conf: no such file or directory";
    for (flags, rotates, is_base64, expected) in [
        (
            &FLAGS[..1],
            false,
            true,
            format!("failed to run Kubelet: failed to initialize kubelet client: {mismatch}"),
        ),
        (
            &FLAGS[..1],
            true,
            true,
            format!(
                "failed to run Kubelet: failed to initialize client certificate manager: {mismatch}"
            ),
        ),
        // The kubelet turns to its bootstrap kubeconfig.
        (&FLAGS, true, true, bootstrap.to_owned()),
        (&FLAGS, true, false, bootstrap.to_owned()),
    ] {
        let mut files = node();
        let current = format!("{PKI}/kubelet-client-current.pem");
        files.files.insert(current, StartFile::Absent);
        let config = embedded(match is_base64 {
            true => |_| Some(strangers(200)),
            false => |_| None,
        });
        files.files.insert(KUBECONFIG.to_owned(), config);
        let problems = start(flags, json!({"rotateCertificates": rotates}), &files, 36);
        check(&expected, &problems, &expected);
    }
    // Those of files are read for each connection.
    let mut files = node();
    let current = format!("{PKI}/kubelet-client-current.pem");
    files.files.insert(current, StartFile::Pem(strangers(200)));
    assert_eq!(start(&FLAGS[..1], json!({"rotateCertificates": false}), &files, 36), []);
}

#[test]
fn a_certificate_that_was_not_read_is_not_judged() {
    let mut files = node();
    files.files.remove(&format!("{PKI}/kubelet-client-current.pem"));
    assert_eq!(start(&FLAGS, json!({}), &files, 36), []);
    files.files.remove(KUBECONFIG);
    assert_eq!(start(&FLAGS, json!({}), &files, 36), []);
}

#[test]
fn the_server_needs_its_files() {
    let junk = |files: &mut StartFiles, path: &str, file: StartFile| {
        files.files.insert(path.to_owned(), file);
    };
    let authority = json!({"authentication": {"x509": {"clientCAFile": "/ca.crt"}}});
    let tls = json!({"tlsCertFile": "/s.crt", "tlsPrivateKeyFile": "/s.key"});
    let manager = "failed to run Kubelet: failed to create kubelet: failed to initialize file based certificate manager: \
                   unable to set up dynamic certificate manager for kubelet server cert files: ";
    for (name, config, change, minor, expected) in [
        (
            "half of the own pair",
            json!({}),
            (format!("{PKI}/kubelet.key"), StartFile::Absent),
            36,
            "failed to construct kubelet dependencies: error reading /var/lib/kubelet/pki/kubelet.key, certificate \
             and key must be supplied as a pair"
                .to_owned(),
        ),
        (
            "no authorities",
            authority.clone(),
            ("/ca.crt".to_owned(), StartFile::Absent),
            36,
            "failed to run Kubelet: open /ca.crt: no such file or directory".to_owned(),
        ),
        (
            "no authorities, before 1.36",
            authority.clone(),
            ("/ca.crt".to_owned(), StartFile::Absent),
            35,
            "failed to construct kubelet dependencies: unable to load client CA file /ca.crt: open /ca.crt: no such \
             file or directory"
                .to_owned(),
        ),
        (
            "an empty file of authorities",
            authority.clone(),
            ("/ca.crt".to_owned(), pem(&[], 0)),
            36,
            "failed to run Kubelet: missing content for CA bundle \"client-ca-bundle::/ca.crt\"".to_owned(),
        ),
        (
            "a key in place of the authorities",
            authority,
            ("/ca.crt".to_owned(), pem(&["PRIVATE KEY"], 0)),
            36,
            "failed to run Kubelet: error loading CA bundle for \"client-ca-bundle::/ca.crt\": data does not contain \
             any valid RSA or ECDSA certificates"
                .to_owned(),
        ),
        (
            "no certificate",
            tls.clone(),
            ("/s.crt".to_owned(), StartFile::Absent),
            36,
            format!("{manager}open /s.crt: no such file or directory"),
        ),
        ("both unknown", tls, ("/other".to_owned(), StartFile::Absent), 36, String::new()),
    ] {
        let mut files = node();
        let (path, file) = change;
        junk(&mut files, &path, file);
        check(name, &start(&FLAGS, config, &files, minor), &expected);
    }
}

#[test]
fn a_kubelet_alone_has_no_webhooks() {
    let files = node();
    for (name, config, expected) in [
        (
            "the defaults of a file",
            json!({}),
            "failed to run Kubelet: no client provided, cannot use webhook authentication",
        ),
        (
            "authorization alone",
            json!({"authentication": {"webhook": {"enabled": false}, "anonymous": {"enabled": true}}}),
            "failed to run Kubelet: no client provided, cannot use webhook authorization",
        ),
        (
            "no method",
            json!({"authentication": {"webhook": {"enabled": false}}, "authorization": {"mode": "AlwaysAllow"}}),
            "failed to run Kubelet: no authentication method configured",
        ),
    ] {
        check(name, &start(&[], config, &files, 36), expected);
    }
}

#[test]
fn plugins_need_their_programs() {
    let flags = |more: &[&'static str]| {
        FLAGS.iter().copied().chain(more.iter().copied()).collect::<Vec<_>>()
    };
    let both = flags(&[
        "--image-credential-provider-config=/p.yaml",
        "--image-credential-provider-bin-dir=/bin",
    ]);
    let document = json!({
        "apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig",
        "providers": [{
            "name": "ecr", "apiVersion": "credentialprovider.kubelet.k8s.io/v1", "matchImages": ["*.ecr"],
            "defaultCacheDuration": "12h",
        }],
    });
    let providers = StartFile::Providers(CredentialProviders::of(&document));
    let wrong = StartFile::Providers(CredentialProviders::of(&json!({
        "apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig",
        "providers": [{"name": "a b", "apiVersion": "v9"}],
    })));
    let program = StartFile::Present { is_link: false, is_program: true };
    for (name, files, expected) in [
        (
            "no folder",
            [
                ("/p.yaml", providers.clone()),
                ("/bin", StartFile::Absent),
                ("/bin/ecr", program.clone()),
            ],
            "plugin binary directory /bin did not exist",
        ),
        (
            "no file",
            [
                ("/p.yaml", StartFile::Absent),
                ("/bin", StartFile::Folder),
                ("/bin/ecr", program.clone()),
            ],
            "unable to access path \"/p.yaml\": stat /p.yaml: no such file or directory",
        ),
        (
            "a wrong file",
            [("/p.yaml", wrong), ("/bin", StartFile::Folder), ("/bin/ecr", program.clone())],
            "failed to validate credential provider config: [providers.name: Invalid value: \"a b\": provider name \
             cannot contain spaces, providers.apiVersion: Unsupported value: \"v9\": supported values: \
             \"credentialprovider.kubelet.k8s.io/v1\", \"credentialprovider.kubelet.k8s.io/v1alpha1\", \
             \"credentialprovider.kubelet.k8s.io/v1beta1\", providers.matchImages: Required value: at least 1 item in \
             matchImages is required, providers.defaultCacheDuration: Required value]",
        ),
        (
            "no program",
            [
                ("/p.yaml", providers.clone()),
                ("/bin", StartFile::Folder),
                ("/bin/ecr", StartFile::Absent),
            ],
            "plugin binary executable  did not exist",
        ),
        ("good", [("/p.yaml", providers), ("/bin", StartFile::Folder), ("/bin/ecr", program)], ""),
    ] {
        let mut all = node();
        all.files.extend(files.map(|(path, file)| (path.to_owned(), file)));
        check(name, &start(&both, json!({}), &all, 36), expected);
    }
}

#[test]
fn the_kernel_and_the_flags_are_checked() {
    let mut files = node();
    for (setting, value) in kq_facts::start_files::KERNEL_SETTINGS {
        files.kernel_settings.insert(setting.to_owned(), value);
    }
    let protect = json!({"protectKernelDefaults": true});
    assert_eq!(start(&FLAGS, protect.clone(), &files, 36), []);
    files.kernel_settings.insert("vm/overcommit_memory".to_owned(), 0);
    let problems = start(&FLAGS, protect, &files, 36);
    let expected = "invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0";
    check("a kernel setting", &problems, expected);
    assert_eq!(problems[0].stage, Stage::ContainerManager);
    for (flag, expected) in [
        (
            "--exit-on-lock-contention",
            "failed to run Kubelet: cannot exit on lock file contention: no lock file specified",
        ),
        ("--hostname-override= ", "failed to run Kubelet: empty hostname is invalid"),
        (
            "--node-ip=10.0.0.1,10.0.0.2",
            "failed to run Kubelet: bad --node-ip \"10.0.0.1,10.0.0.2\": must contain either a single IP or a \
             dual-stack pair of IPs",
        ),
        (
            "--cloud-provider=aws",
            "failed to run Kubelet: failed to create kubelet: cloud provider \"aws\" was specified, but built-in \
             cloud providers are disabled. Please set --cloud-provider=external and migrate to an external cloud \
             provider",
        ),
    ] {
        let flags: Vec<&str> = FLAGS.iter().copied().chain([flag]).collect();
        check(flag, &start(&flags, json!({}), &files, 36), expected);
    }
}

#[test]
fn the_runtime_listens_at_its_endpoint() {
    let endpoint = |endpoint: &str, file: Option<StartFile>| {
        let mut files = node();
        files.files.extend(file.map(|file| ("/run/x.sock".to_owned(), file)));
        let config = json!({"imageServiceEndpoint": endpoint});
        start(&FLAGS, config, &files, 36)
    };
    let words = "failed to run Kubelet: validate service connection: validate CRI v1 image API for endpoint \
                 \"unix:///run/x.sock\": rpc error: code = Unavailable desc = connection error: desc = \"transport: \
                 Error while dialing: dial unix /run/x.sock: connect: ";
    let absent = endpoint("unix:///run/x.sock", Some(StartFile::Absent));
    check("absent", &absent, &format!("{words}no such file or directory\""));
    let folder = endpoint("unix:///run/x.sock", Some(StartFile::Folder));
    check("a folder", &folder, &format!("{words}connection refused\""));
    check("unknown", &endpoint("unix:///run/x.sock", None), "");
    check(
        "tcp",
        &endpoint("tcp://a:1", None),
        "failed to run Kubelet: only support unix socket endpoint",
    );
}
