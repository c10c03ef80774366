use super::*;
use kq_facts::timestamp::Timestamp;
use rcgen::{
    CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
    date_time_ymd,
};
use std::fs;

fn pem(until: i32) -> String {
    let mut params = CertificateParams::default();
    params.not_before = date_time_ymd(2026, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let key = KeyPair::generate().expect("a key can be made");
    let certificate = params.self_signed(&key).expect("a certificate can be made");
    certificate.pem() + &key.serialize_pem()
}

fn read(root: &Path, named: &[(&str, FileUse)]) -> StartFiles {
    let named = named.iter().map(|(path, wanted)| ((*path).to_owned(), *wanted));
    read_start_files(root, &named.collect())
}

#[test]
fn a_kubeconfig_leads_to_its_files() {
    let root = tempfile::tempdir().expect("a folder can be made");
    let folder = root.path().join("etc/kubernetes");
    fs::create_dir_all(&folder).expect("folders can be made");
    fs::write(folder.join("client.pem"), pem(2028)).expect("written");
    let text = "current-context: c\ncontexts: [{name: c, context: {user: u, cluster: k}}]\n\
                users: [{name: u, user: {client-certificate: client.pem, client-key: client.pem}}]\n\
                clusters: [{name: k, cluster: {server: 'https://a', certificate-authority: pki/ca.crt}}]\n";
    fs::write(folder.join("kubelet.conf"), text).expect("written");
    let path = "/etc/kubernetes/kubelet.conf";
    let files = read(root.path(), &[(path, FileUse::Kubeconfig)]);
    let Some(StartFile::Kubeconfig(config)) = files.get(path) else { panic!("{files:?}") };
    assert_eq!((config.error.as_deref(), config.user.name.as_str()), (None, "u"));
    let Some(StartFile::Pem(client)) = files.get("/etc/kubernetes/client.pem") else {
        panic!("{files:?}")
    };
    assert_eq!(client.labels, ["CERTIFICATE", "PRIVATE KEY"]);
    let end = client.certificates[0].not_after.expect("a certificate");
    assert_eq!(end, "2028-01-01T00:00:00Z".parse::<Timestamp>().expect("a time"));
    // The copy has no folder pki, so that the file is not known to be missing.
    assert_eq!(files.get("/etc/kubernetes/pki/ca.crt"), None);
    let stored = serde_json::to_string(&files).expect("it can be written");
    assert!(!stored.contains("BEGIN"), "{stored}");
}

#[test]
fn a_key_is_compared_with_its_certificate() {
    for algorithm in [&PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P384_SHA384, &PKCS_ED25519] {
        let pem = || {
            let key = KeyPair::generate_for(algorithm).expect("a key can be made");
            let certificate = CertificateParams::default().self_signed(&key);
            read_pem((certificate.expect("a certificate").pem() + &key.serialize_pem()).as_bytes())
        };
        let (one, other) = (pem(), pem());
        assert_eq!(one.pair_error(&one), Ok(None));
        let mismatch = "tls: private key does not match public key".to_owned();
        assert_eq!(one.pair_error(&other), Ok(Some(mismatch)));
    }
}

#[test]
fn what_is_at_a_path_is_seen() {
    let root = tempfile::tempdir().expect("a folder can be made");
    let pki = root.path().join("pki");
    fs::create_dir_all(pki.join("folder")).expect("folders can be made");
    fs::write(pki.join("empty"), "").expect("written");
    fs::write(pki.join("junk"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .expect("written");
    std::os::unix::fs::symlink("/nowhere", pki.join("link")).expect("linked");
    let files = read(
        root.path(),
        &[
            ("/pki/empty", FileUse::Pem),
            ("/pki/junk", FileUse::Pem),
            ("/pki/folder", FileUse::Pem),
            ("/pki/none", FileUse::Pem),
            ("/pki/link", FileUse::Existence),
            ("/run/x.sock", FileUse::Socket),
        ],
    );
    let pem = |path: &str| match files.get(path) {
        Some(StartFile::Pem(pem)) => pem.clone(),
        other => panic!("{path}: {other:?}"),
    };
    assert!(pem("/pki/empty").is_empty);
    assert_eq!(pem("/pki/junk").certificates[0].not_after, None);
    assert_eq!(files.get("/pki/folder"), Some(&StartFile::Folder));
    assert_eq!(files.get("/pki/none"), Some(&StartFile::Absent));
    let link = StartFile::Present { is_link: true, is_program: false };
    assert_eq!(files.get("/pki/link"), Some(&link));
    assert_eq!(files.get("/run/x.sock"), None);
}

#[test]
fn plugins_and_users_are_found() {
    let root = tempfile::tempdir().expect("a folder can be made");
    for folder in ["etc", "plugins", "conf.d", "usr/bin"] {
        fs::create_dir_all(root.path().join(folder)).expect("folders can be made");
    }
    let text = "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\n\
                providers: [{name: ecr, apiVersion: credentialprovider.kubelet.k8s.io/v1}]\n";
    fs::write(root.path().join("conf.d/a.yaml"), text).expect("written");
    fs::write(root.path().join("conf.d/note.txt"), "x").expect("written");
    fs::write(root.path().join("plugins/ecr"), "x").expect("written");
    fs::write(root.path().join("etc/passwd"), "root:x:0:0::/:\nkubelet:x:990:990::/:\n")
        .expect("written");
    fs::write(root.path().join("usr/bin/getsubids"), "").expect("written");
    fs::write(root.path().join("etc/subuid"), "kubelet:65536:7208960\n").expect("written");
    fs::write(root.path().join("etc/subgid"), "990:65536:7208960\nother:1:2\n").expect("written");
    let files =
        read(root.path(), &[("/conf.d", FileUse::Providers), ("/plugins", FileUse::Programs)]);
    assert!(
        matches!(files.get("/conf.d/a.yaml"), Some(StartFile::Providers(it)) if it.providers.len() == 1)
    );
    assert_eq!(files.get("/conf.d/note.txt"), None);
    let program = StartFile::Present { is_link: false, is_program: false };
    assert_eq!(files.get("/plugins/ecr"), Some(&program), "not executable");
    let user = files.kubelet_user.expect("it is known");
    assert!(user.exists && user.has_getsubids);
    assert_eq!(
        (user.user_ids, user.group_ids),
        (vec![(65536, 7_208_960)], vec![(65536, 7_208_960)])
    );
}
