//! What a kubeconfig says, and what it must not say.

use super::super::http_server::pki::{Authority, Certified};
use super::super::http_server::{AMPLE, SHORT, Seen, Server, Wire, answer, json, timed};
use super::{EMPTY, TOKEN, write_kubeconfig};
use k8s_openapi::ByteString;
use kq_api::api_server::{ApiError, KubeconfigChoice, KubeconfigPlace, connect};
use kq_api::http::HttpError;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Writes a kubeconfig, requests pods with it, and returns the server's view of the requests.
fn ask(folder: &Path, server: &Server, cluster: &str, user: &str) -> Result<Seen, ApiError> {
    let cluster = format!("server: {}\n{cluster}", server.url("https"));
    let path = write_kubeconfig(folder, &cluster, user);
    connect(KubeconfigPlace::Named(&path), &KubeconfigChoice::default(), AMPLE)?
        .pods_of_node("worker-1", AMPLE)?;
    Ok(server.only())
}

fn base64(text: &str) -> String {
    let value = serde_json::to_value(ByteString(text.as_bytes().to_vec())).expect("base64");
    value.as_str().expect("a text").to_owned()
}

#[test]
fn a_user_is_who_the_kubeconfig_says() {
    let authority = Authority::new();
    authority.file();
    authority.write("token", &format!("{TOKEN}\n"));
    let bearer = format!("Bearer {TOKEN}");
    for (name, user, expected) in [
        ("a token", format!("token: {TOKEN}"), Some(bearer.as_str())),
        ("a file beside it", "tokenFile: token".to_owned(), Some(&bearer)),
        ("the file counts more", "tokenFile: token\ntoken: old".to_owned(), Some(&bearer)),
        ("a file that is gone", format!("tokenFile: gone\ntoken: {TOKEN}"), Some(&bearer)),
        ("a password", "username: u\npassword: p".to_owned(), Some("Basic dTpw")),
        ("nobody", "{}".to_owned(), None),
    ] {
        let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
        let server = Server::saying(wire, json(EMPTY));
        let seen = ask(authority.folder(), &server, "certificate-authority: ca.crt", &user)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(seen.header("authorization"), expected, "{name}");
    }
}

#[test]
fn paths_in_the_kubeconfig_of_a_node_begin_at_its_root() {
    let authority = Authority::new();
    authority.file();
    let root = authority.folder();
    fs::create_dir_all(root.join("etc/pki")).expect("a folder");
    fs::rename(root.join("ca.crt"), root.join("etc/pki/ca.crt")).expect("it is there");
    fs::write(root.join("etc/token"), TOKEN).expect("a file");
    let server = Server::saying(Wire::Tls(authority.sign(&["127.0.0.1"]).server()), json(EMPTY));
    let cluster =
        format!("server: {}\ncertificate-authority: /etc/pki/ca.crt", server.url("https"));
    write_kubeconfig(&root.join("etc"), &cluster, "tokenFile: token");
    let place = KubeconfigPlace::OfNode { root, path: "/etc/kubeconfig" };
    connect(place, &KubeconfigChoice::default(), AMPLE)
        .expect("usable")
        .pods_of_node("worker-1", AMPLE)
        .expect("an answer");
    assert_eq!(server.only().header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
    fs::set_permissions(root.join("etc/pki"), Permissions::from_mode(0o777)).expect("a mode");
    let Err(error) = connect(place, &KubeconfigChoice::default(), AMPLE) else {
        panic!("others can replace the authority");
    };
    let expected = "not trusted: folder /etc/pki is writable by every user";
    assert!(error.to_string().ends_with(expected), "{error}");
}

#[test]
fn somebody_else_can_be_played() {
    let authority = Authority::new();
    authority.file();
    let server = Server::saying(Wire::Tls(authority.sign(&["127.0.0.1"]).server()), json(EMPTY));
    let user = format!("token: {TOKEN}\nas: system:node:worker-1\nas-groups: [system:nodes]");
    let seen = ask(authority.folder(), &server, "certificate-authority: ca.crt", &user)
        .expect("an answer");
    assert_eq!(seen.header("impersonate-user"), Some("system:node:worker-1"));
    assert_eq!(seen.header("impersonate-group"), Some("system:nodes"));
}

#[test]
fn a_client_certificate_is_read_from_files_and_from_data() {
    let authority = Authority::new();
    authority.file();
    let client = authority.sign(&["kq"]);
    authority.write("client.crt", &client.certificate);
    authority.write("client.key", &client.key);
    let files = "client-certificate: client.crt\nclient-key: client.key".to_owned();
    let data = format!(
        "client-certificate: gone\nclient-certificate-data: {}\nclient-key-data: {}",
        base64(&client.certificate),
        base64(&client.key)
    );
    let trust_data = format!("certificate-authority-data: {}", base64(&authority.pem()));
    for (trust, user) in [("certificate-authority: ca.crt", files), (&trust_data, data)] {
        let certificate = authority.sign(&["127.0.0.1"]);
        let wire = Wire::Tls(certificate.demanding(&authority, rustls::ALL_VERSIONS));
        let server = Server::saying(wire, json(EMPTY));
        let seen = ask(authority.folder(), &server, trust, &user).expect("an answer");
        assert_eq!(seen.certificates, 1);
        assert_eq!(seen.header("authorization"), None);
    }
}

#[test]
fn a_server_is_believed_as_the_kubeconfig_says() {
    let authority = Authority::new();
    authority.file();
    let other = Authority::named("other");
    other.file();
    let user = format!("token: {TOKEN}");
    let name = "certificate-authority: ca.crt\ntls-server-name: kubernetes";
    let insecure = "insecure-skip-tls-verify: true";
    for (certificate, trust, expected) in [
        (authority.sign(&["127.0.0.1"]), "certificate-authority: ca.crt", None),
        (authority.sign(&["kubernetes"]), name, None),
        (Certified::by_itself("x"), insecure, None),
        (authority.sign(&["127.0.0.1"]), name, Some("for another name")),
        (authority.sign(&["x"]), "certificate-authority: ca.crt", Some("for another name")),
        (
            other.sign(&["127.0.0.1"]),
            "certificate-authority: ca.crt",
            Some("not from a trusted authority"),
        ),
    ] {
        let server = Server::saying(Wire::Tls(certificate.server()), json(EMPTY));
        let asked = ask(authority.folder(), &server, trust, &user);
        match (asked, expected) {
            (Ok(_), None) => {}
            (Err(ApiError::Http(HttpError::Tls { reason, .. })), Some(expected)) => {
                assert!(reason.contains(expected), "{trust}: {reason}");
                assert!(server.seen().is_empty(), "no token goes to a stranger");
            }
            (other, _) => panic!("{trust}: {other:?}"),
        }
    }
}

#[test]
fn a_token_may_be_a_word_of_the_answer() {
    let authority = Authority::new();
    authority.file();
    let trust = "certificate-authority: ca.crt";
    let start =
        |said: String| Server::saying(Wire::Tls(authority.sign(&["127.0.0.1"]).server()), said);
    for token in ["t", "json", "application", "application/json", "PodList", "forbidden"] {
        let user = format!("token: {token}");
        let pods = ask(authority.folder(), &start(json(EMPTY)), trust, &user);
        assert!(pods.is_ok(), "{token}: {pods:?}");
        let status = r#"{"kind":"Status","message":"pods is forbidden","reason":"Forbidden"}"#;
        let refusal = answer("403 Forbidden", &["Content-Type: application/json"], status);
        let error = ask(authority.folder(), &start(refusal), trust, &user).expect_err(token);
        let shown = if token == "forbidden" { "[credentials]" } else { "forbidden" };
        let expected = format!("answered 403 Forbidden: pods is {shown}");
        assert!(error.to_string().ends_with(&expected), "{token}: {error}");
    }
    let echo = format!("Content-Type: text/plain; sent={TOKEN}");
    let server = start(answer("200 OK", &[&echo], ""));
    let user = format!("token: {TOKEN}");
    let error = ask(authority.folder(), &server, trust, &user).expect_err("no JSON");
    assert!(error.to_string().contains("text/plain; sent=[credentials]"), "{error}");
}

#[test]
fn the_context_that_is_named_counts() {
    let authority = Authority::new();
    let path = authority.write(
        "kubeconfig",
        "current-context: b\n\
         contexts:\n- {name: a, context: {cluster: a, user: u}}\n\
         - {name: b, context: {cluster: b}}\n- {name: c, context: {cluster: gone}}\n\
         - {name: d, context: {cluster: a, user: gone}}\n\
         clusters:\n- {name: a, cluster: {server: 'http://a:1'}}\n\
         - {name: b, cluster: {server: 'http://b:2/c'}}\nusers:\n- {name: u, user: {}}\n",
    );
    let url = |context: Option<&str>| {
        let choice = KubeconfigChoice { context: context.map(str::to_owned), ..Default::default() };
        connect(KubeconfigPlace::Named(&path), &choice, AMPLE).map(|api| api.url().to_owned())
    };
    assert_eq!(url(None).expect("the current one"), "http://b:2/c");
    assert_eq!(url(Some("a")).expect("the named one"), "http://a:1/");
    for (context, expected) in [
        ("c", "cluster \"gone\" does not exist"),
        ("d", "user \"gone\" does not exist"),
        ("e", "context \"e\" does not exist"),
    ] {
        let error = url(Some(context)).expect_err(context).to_string();
        assert!(error.contains(expected), "{context}: {error}");
    }
}

#[test]
fn what_kq_does_not_do_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = write_kubeconfig(
        folder.path(),
        "server: https://127.0.0.1:1",
        "auth-provider:\n  name: oidc\n  config: {id-token: secret}",
    );
    let error = connect(KubeconfigPlace::Named(&path), &KubeconfigChoice::default(), AMPLE)
        .expect_err("a plugin of kubectl itself");
    assert!(matches!(error, ApiError::Unsupported { .. }), "{error:?}");
    assert!(error.to_string().contains("plugin \"oidc\""), "{error}");
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    assert!(error.hint().is_some());
    for secret in [format!("token: {TOKEN}"), "username: a\npassword: secret".to_owned()] {
        let path = write_kubeconfig(folder.path(), "server: http://127.0.0.1:1", &secret);
        let error = connect(KubeconfigPlace::Named(&path), &KubeconfigChoice::default(), AMPLE)
            .expect_err("in the clear");
        assert!(matches!(error, ApiError::Http(HttpError::Clear { .. })), "{error:?}");
    }
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_named_and_keeps_its_secrets() {
    let authority = Authority::new();
    let (folder, client) = (authority.folder(), authority.sign(&["kq"]));
    let key = authority.write("client.key", &client.key);
    let key = key.display();
    let https = "server: https://127.0.0.1:1";
    let with = |extra: &str| format!("{https}\n{extra}");
    for (cluster, user, expected) in [
        ("{}", "{}", "server is not set"),
        ("server: 127.0.0.1:6443", "{}", "expected https://HOST:PORT"),
        ("server: https://root:secret@a", "{}", "a user in a URL is not used"),
        (https, "tokenFile: gone", "no such file or directory"),
        (https, "token: \"secret\\nsecret\"", "contains invalid characters"),
        (https, &format!("client-key: {key}"), "a client key without a certificate"),
        (https, "client-certificate-data: '!secret!'", "client-certificate-data is not base64"),
        (https, "client-certificate: gone\nclient-key: gone", "no such file or directory"),
        (&with("certificate-authority-data: c2VjcmV0"), "{}", "holds no certificate"),
        (&with("certificate-authority: gone"), "{}", "no such file or directory"),
        (
            &with("insecure-skip-tls-verify: true\ncertificate-authority-data: c2VjcmV0"),
            "{}",
            "exclude each other",
        ),
        (&with("insecure-skip-tls-verify: true\ntls-server-name: 'a b'"), "{}", "tls-server-name"),
        (https, "token: [secret]", "does not have the fields of a kubeconfig"),
        (https, "token: 'secret", "not YAML"),
    ] {
        let path = write_kubeconfig(folder, cluster, user);
        let error = connect(KubeconfigPlace::Named(&path), &KubeconfigChoice::default(), AMPLE)
            .expect_err(expected);
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    }
    for (path, expected) in [
        (folder.join("gone"), "no such file or directory"),
        (folder.to_owned(), "is not a regular file"),
        (authority.write("empty", ""), "current-context is not set"),
    ] {
        let error = timed(SHORT, |_| {
            connect(KubeconfigPlace::Named(&path), &KubeconfigChoice::default(), AMPLE)
        })
        .expect_err(expected);
        let shown = format!("cannot use kubeconfig {}: ", path.display());
        assert!(error.to_string().starts_with(&shown), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn nothing_secret_is_shown_of_a_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = "server: https://127.0.0.1:1\ninsecure-skip-tls-verify: true";
    let path = write_kubeconfig(folder.path(), cluster, &format!("token: {TOKEN}"));
    let api = connect(KubeconfigPlace::Named(&path), &KubeconfigChoice::default(), AMPLE)
        .expect("a kubeconfig");
    assert_eq!(format!("{api:?}"), "ApiServer { url: \"https://127.0.0.1:1/\", .. }");
}

/// Not a test of its own: what the next one runs in an environment of its own.
#[test]
#[ignore = "another test runs it"]
fn in_its_environment() {
    match connect(KubeconfigPlace::Usual, &KubeconfigChoice::default(), AMPLE) {
        Ok(api) => println!("asks {}", api.url()),
        Err(error) => println!("fails: {error}"),
    }
}

#[test]
fn without_a_file_the_environment_says_where_to_look() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    std::fs::create_dir_all(home.join(".kube")).expect("a folder");
    let own = write_kubeconfig(&home, "server: http://home:1", "{}");
    std::fs::rename(own, home.join(".kube/config")).expect("a file");
    let contexts = folder.path().join("contexts");
    std::fs::write(&contexts, "current-context: x\ncontexts: [{name: x, context: {cluster: y}}]\n")
        .expect("a file");
    let clusters = folder.path().join("clusters");
    std::fs::write(&clusters, "clusters: [{name: y, cluster: {server: 'http://merged:2'}}]\n")
        .expect("a file");
    let list = format!("/gone::{}:{}", contexts.display(), clusters.display());
    for (kubeconfig, home, expected) in [
        (None, home.as_path(), "asks http://home:1/"),
        (Some(""), &home, "asks http://home:1/"),
        (Some(list.as_str()), &home, "asks http://merged:2/"),
        (Some("/gone"), &home, "fails: no kubeconfig: "),
        (None, Path::new("/gone"), "fails: no kubeconfig: "),
    ] {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "--ignored", "--nocapture"]);
        command.arg("edges::api_server::kubeconfig::in_its_environment");
        command.env_clear().env("HOME", home).envs(kubeconfig.map(|list| ("KUBECONFIG", list)));
        let output = command.output().expect("this program runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(expected), "{kubeconfig:?}: {said}");
    }
}
