//! The kubelet's own API: trust, credentials, permissions.

use super::http_server::pki::{Authority, Certified};
use super::http_server::{AMPLE, Server, Wire, answer, failure, json};
use kq_api::kubelet_api::{Credentials, HttpError, KubeletApi, ServerTrust, hint};
use rustls::version::{TLS12, TLS13};
use std::path::PathBuf;

const TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJrcSJ9.c2lnbmF0dXJl";
const PODS: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}"#;

fn api(server: &Server, credentials: Credentials, trust: ServerTrust) -> KubeletApi {
    KubeletApi { url: server.url("https"), credentials, server: trust }
}

#[track_caller]
fn tls_reason(result: Result<Vec<u8>, HttpError>) -> String {
    match result {
        Err(HttpError::Tls { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_certificate_from_the_authority_is_believed() {
    let authority = Authority::new();
    let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
    let server = Server::saying(wire, json(PODS));
    let api = api(&server, Credentials::None, ServerTrust::Authority(authority.file()));
    assert_eq!(api.get("/pods", AMPLE).expect("an answer"), PODS.as_bytes());
    assert_eq!(server.only().certificates, 0);
}

#[test]
fn a_certificate_from_elsewhere_is_not_believed() {
    let (trusted, other) = (Authority::new(), Authority::named("other"));
    let alike = Authority::new();
    for (name, certificate, expected) in [
        ("another authority", other.sign(&["127.0.0.1"]), "not from a trusted authority"),
        ("one of the same name", alike.sign(&["127.0.0.1"]), "another authority of the same name"),
        ("nobody", Certified::by_itself("127.0.0.1"), "not from a trusted authority"),
        ("another name", trusted.sign(&["worker-1"]), "for another name or address"),
    ] {
        let server = Server::saying(Wire::Tls(certificate.server()), json(PODS));
        let strict = api(&server, Credentials::None, ServerTrust::Authority(trusted.file()));
        let reason = tls_reason(strict.get("/pods", AMPLE));
        assert!(reason.contains(expected), "{name}: {reason}");
        assert!(server.seen().is_empty(), "{name}: nothing is asked of a stranger");
        // The same server is queried if the caller allows it.
        let lax = api(&server, Credentials::None, ServerTrust::Insecure);
        assert_eq!(lax.get("/pods", AMPLE).expect(name), PODS.as_bytes(), "{name}");
    }
}

#[test]
fn a_certificate_that_is_named_itself_is_believed() {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, date_time_ymd};
    let ca = |params: &mut CertificateParams| {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    };
    let of_past = |params: &mut CertificateParams| {
        ca(params);
        params.not_after = date_time_ymd(2020, 1, 1);
    };
    let of_future = |params: &mut CertificateParams| {
        ca(params);
        params.not_before = date_time_ymd(2200, 1, 1);
    };
    let itself = "127.0.0.1";
    for (name, certificate, expected) in [
        ("no authority", Certified::by_itself(itself), None),
        ("an authority", Certified::by_itself_with(itself, ca), None),
        ("signed by one that is not named", Authority::new().sign(&[itself]), None),
        (
            "another name",
            Certified::by_itself_with("worker-1", ca),
            Some("for another name or address"),
        ),
        ("expired", Certified::by_itself_with(itself, of_past), Some("has expired")),
        ("early", Certified::by_itself_with(itself, of_future), Some("is not valid yet")),
    ] {
        let folder = Authority::named("another");
        let both = format!("{}{}", folder.pem(), certificate.certificate);
        let server = Server::saying(Wire::Tls(certificate.server()), json(PODS));
        for named in [certificate.certificate.clone(), both] {
            let trust = ServerTrust::Authority(folder.write("server.crt", &named));
            let asked = api(&server, Credentials::None, trust).get("/pods", AMPLE);
            match expected {
                None => assert_eq!(asked.expect(name), PODS.as_bytes(), "{name}"),
                Some(expected) => {
                    let reason = tls_reason(asked);
                    assert!(reason.contains(expected), "{name}: {reason}");
                }
            }
        }
    }
    let certified = Certified::by_itself_with(itself, ca);
    let folder = Authority::new();
    let trust = ServerTrust::Authority(folder.write("server.crt", &certified.certificate));
    for version in [&TLS12, &TLS13] {
        let config = certified.stolen_by(&Certified::by_itself("thief"), version);
        let server = Server::saying(Wire::Tls(config), json(PODS));
        tls_reason(api(&server, Credentials::None, trust.clone()).get("/pods", AMPLE));
        assert!(server.seen().is_empty(), "{version:?}: nothing is asked of a thief");
    }
}

#[test]
fn a_certificate_without_its_key_is_not_believed_by_anybody() {
    let authority = Authority::new();
    let thief = Certified::by_itself("thief");
    for version in [&TLS12, &TLS13] {
        let config = authority.sign(&["127.0.0.1"]).stolen_by(&thief, version);
        let server = Server::saying(Wire::Tls(config), json(PODS));
        for trust in [ServerTrust::Authority(authority.file()), ServerTrust::Insecure] {
            let reason = tls_reason(api(&server, Credentials::None, trust).get("/pods", AMPLE));
            assert!(reason.contains("does not have the key to it"), "{version:?}: {reason}");
        }
        assert!(server.seen().is_empty());
    }
}

#[test]
fn a_bundle_of_authorities_is_read_whole() {
    let (first, second) = (Authority::new(), Authority::new());
    let bundle = first.write("bundle.pem", &format!("{}\n# b\n{}", first.pem(), second.pem()));
    for authority in [&first, &second] {
        let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
        let server = Server::saying(wire, json(PODS));
        let api = api(&server, Credentials::None, ServerTrust::Authority(bundle.clone()));
        api.get("/pods", AMPLE).expect("an answer");
    }
}

#[test]
fn a_client_certificate_is_shown_where_one_is_demanded() {
    let authority = Authority::new();
    let client = authority.sign(&["system:node:a"]);
    let certificate = authority.write("client.crt", &client.certificate);
    let key = authority.write("client.key", &client.key);
    let both = authority.write("current.pem", &format!("{}{}", client.certificate, client.key));
    let stranger = Authority::new().sign(&["stranger"]);
    let other = authority.write("other.pem", &format!("{}{}", stranger.certificate, stranger.key));
    for version in [&TLS12, &TLS13] {
        let wire = || Wire::Tls(authority.sign(&["127.0.0.1"]).demanding(&authority, &[version]));
        for (certificate, key) in [(&certificate, &key), (&both, &both)] {
            let server = Server::saying(wire(), json(PODS));
            let credentials = Credentials::ClientCertificate {
                certificate: certificate.clone(),
                key: key.clone(),
            };
            let api = api(&server, credentials, ServerTrust::Authority(authority.file()));
            assert_eq!(api.get("/pods", AMPLE).expect("an answer"), PODS.as_bytes());
            assert_eq!(server.only().certificates, 1);
        }
        let server = Server::saying(wire(), json(PODS));
        let without = api(&server, Credentials::None, ServerTrust::Insecure);
        let reason = tls_reason(without.get("/pods", AMPLE));
        assert!(reason.contains("demands a client certificate"), "{version:?}: {reason}");
        let strange =
            Credentials::ClientCertificate { certificate: other.clone(), key: other.clone() };
        let strange = api(&server, strange, ServerTrust::Insecure);
        let reason = tls_reason(strange.get("/pods", AMPLE));
        assert!(reason.contains("client certificate"), "{version:?}: {reason}");
        assert!(server.seen().is_empty());
    }
}

#[test]
fn a_token_is_sent_and_never_shown() {
    let authority = Authority::new();
    let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
    let server = Server::start(wire, |_, seen, to| {
        let said = match seen.header("authorization") {
            Some(header) if header == format!("Bearer {TOKEN}") => json(PODS),
            // A server that returns the client's request.
            Some(header) => failure("401 Unauthorized", &[], "Unauthorized", header),
            None => failure("401 Unauthorized", &[], "Unauthorized", "Unauthorized"),
        };
        to.write_all(said.as_bytes())
    });
    let trust = ServerTrust::Authority(authority.file());
    let good = authority.write("token", &format!("{TOKEN}\n"));
    let api_with = |credentials| api(&server, credentials, trust.clone());
    let body = api_with(Credentials::TokenFile(good)).get("/pods", AMPLE).expect("an answer");
    assert_eq!(body, PODS.as_bytes());

    let wrong = authority.write("wrong", "  wrong-and-secret \n");
    let wrong = api_with(Credentials::TokenFile(wrong));
    let error = wrong.get("/pods", AMPLE).expect_err("a wrong token");
    assert_eq!(error.status(), Some(401));
    assert!(error.to_string().contains("Bearer [credentials]"), "{error}");
    for text in [format!("{error} {error:?} {wrong:?}"), format!("{:?}", hint(&error))] {
        assert!(!text.contains("wrong-and-secret"), "{text}");
    }
    assert!(hint(&error).is_some_and(|hint| hint.contains("--kubelet-token-file")));
    let sent: Vec<_> =
        server.seen().iter().map(|s| s.header("authorization").map(str::to_owned)).collect();
    assert_eq!(sent, [Some(format!("Bearer {TOKEN}")), Some("Bearer wrong-and-secret".to_owned())]);
}

#[test]
fn a_refusal_says_what_is_needed() {
    let wire = Wire::Tls(Certified::by_itself("node").server());
    for (status, body, path, expected) in [
        ("401 Unauthorized", "Unauthorized", "/pods", "authentication.x509.clientCAFile"),
        (
            "403 Forbidden",
            "Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods \
             proxy])",
            "/pods",
            "did not authenticate kq",
        ),
        (
            "403 Forbidden",
            "Forbidden (user=jane, verb=get, resource=nodes, subresource(s)=[pods proxy])",
            "/pods",
            "nodes/pods where the kubelet's feature gate KubeletFineGrainedAuthz is on: kubectl create clusterrole \
             kq-kubelet-api --verb=get --resource=nodes/configz,nodes/pods,nodes/stats && kubectl create \
             clusterrolebinding kq-kubelet-api --clusterrole=kq-kubelet-api --user=jane",
        ),
        ("403 Forbidden", "Forbidden", "/configz", "nodes/configz"),
        ("404 Not Found", "404 page not found", "/logs/", "enableDebuggingHandlers"),
    ] {
        let server = Server::saying(wire.clone(), answer(status, &[], body));
        let api = api(&server, Credentials::None, ServerTrust::Insecure);
        let error = api.get(path, AMPLE).expect_err(status);
        let shown = format!("127.0.0.1:{} answered {status}: {body}", server.port);
        assert_eq!(error.to_string(), shown);
        let hint = hint(&error).unwrap_or_default();
        assert!(hint.contains(expected), "{status}: {hint}");
    }
    let server = Server::saying(wire, answer("500 Internal Server Error", &[], "oops"));
    let api = api(&server, Credentials::None, ServerTrust::Insecure);
    let error = api.get("/pods", AMPLE).expect_err("500");
    assert_eq!(hint(&error), None);
}

#[test]
fn nothing_secret_goes_out_without_tls() {
    let authority = Authority::new();
    let server = Server::saying(Wire::Plain, json(PODS));
    let token = authority.write("token", TOKEN);
    let url = server.url("http");
    let credentials = Credentials::TokenFile(token);
    let api = KubeletApi { url, credentials, server: ServerTrust::Insecure };
    let error = api.get("/pods", AMPLE).expect_err("in the clear");
    assert!(matches!(error, HttpError::Clear { .. }), "{error}");
    assert!(server.seen().is_empty());
    let open = KubeletApi { credentials: Credentials::None, ..api };
    assert_eq!(open.get("/pods", AMPLE).expect("an answer"), PODS.as_bytes());
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let authority = Authority::new();
    let (a, b) = (authority.sign(&["a"]), authority.sign(&["b"]));
    let write = |name: &str, content: &str| authority.write(name, content);
    let missing = authority.folder().join("missing");
    let folder = authority.folder().to_owned();
    let (cert, key) = (write("a.crt", &a.certificate), write("b.key", &b.key));
    let token = Credentials::TokenFile;
    let pair = |certificate: &PathBuf, key: &PathBuf| Credentials::ClientCertificate {
        certificate: certificate.clone(),
        key: key.clone(),
    };
    let broken = "-----BEGIN PRIVATE KEY-----\n!!secret!!\n-----END PRIVATE KEY-----\n";
    let not_der = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let lax = || ServerTrust::Insecure;
    let rows: Vec<(Credentials, ServerTrust, &str, &str)> = vec![
        (token(missing.clone()), lax(), "token file", "no such file or directory"),
        (token(folder), lax(), "token file", "is not a regular file"),
        (token(PathBuf::from("/dev/zero")), lax(), "token file", "is not a regular file"),
        (token(write("empty", " \n")), lax(), "token file", "is empty"),
        (token(write("two", "secret\nsecret")), lax(), "token file", "no token can hold"),
        (pair(&missing, &key), lax(), "client certificate", "no such file"),
        (pair(&cert, &missing), lax(), "client key", "no such file"),
        (pair(&cert, &cert), lax(), "client key", "holds no private key"),
        (pair(&key, &key), lax(), "client certificate", "holds no certificate"),
        (pair(&cert, &key), lax(), "client certificate", "belongs to another certificate"),
        (pair(&cert, &write("broken", broken)), lax(), "client key", "is not PEM"),
        (
            Credentials::None,
            ServerTrust::Authority(missing.clone()),
            "certificate authority",
            "no such file",
        ),
        (
            Credentials::None,
            ServerTrust::Authority(write("not-der", not_der)),
            "certificate authority",
            "invalid peer certificate",
        ),
        (
            Credentials::None,
            ServerTrust::Authority(key.clone()),
            "certificate authority",
            "holds no certificate",
        ),
    ];
    let server = Server::saying(Wire::Tls(a.server()), json(PODS));
    for (credentials, trust, what, expected) in rows {
        let shown = format!("{credentials:?} {trust:?}");
        let error = api(&server, credentials, trust).get("/pods", AMPLE).expect_err(&shown);
        let text = error.to_string();
        assert!(text.starts_with(&format!("cannot use {what} /")), "{shown}: {text}");
        assert!(text.contains(expected), "{shown}: {text}");
        assert!(!format!("{text} {error:?}").contains("secret"), "{shown}: {text}");
    }
    assert!(server.seen().is_empty());
}

#[test]
fn a_kubelet_behind_a_path_is_asked_beneath_it() {
    let server = Server::saying(Wire::Plain, json(PODS));
    let api = KubeletApi {
        url: format!("{}/api/v1/nodes/a/proxy/", server.url("http")),
        credentials: Credentials::None,
        server: ServerTrust::Insecure,
    };
    api.get("/stats/summary?only_cpu_and_memory=true", AMPLE).expect("an answer");
    assert_eq!(
        server.only().line,
        "GET /api/v1/nodes/a/proxy/stats/summary?only_cpu_and_memory=true HTTP/1.1"
    );
}
