//! The API server behind a proxy: `proxy-url` of the cluster, `HTTPS_PROXY` and `NO_PROXY`.

use super::{Ran, kq, repository};
use crate::edges::http_server::pki::Authority;
use crate::edges::http_server::{Server, Wire, json as ok};
use crate::objects::node;
use rustls::{ServerConfig, ServerConnection};
use serde_json::json;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What a proxy speaks.
#[derive(Clone)]
enum Speaks {
    Http,
    Https(Arc<ServerConfig>),
    Socks,
    /// Refuses every tunnel, with this answer.
    Refusal(&'static str),
}

/// A proxy that leads to one server, whatever it is asked for.
struct Proxy {
    port: u16,
    /// All that clients said outside of tunnels.
    heard: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start(speaks: Speaks, to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let port = listener.local_addr().expect("an address").port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&heard);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (speaks, heard) = (speaks.clone(), Arc::clone(&shared));
                // A client that hangs up is no failure of the proxy's.
                thread::spawn(move || _ = serve(client, &speaks, to, &heard));
            }
        });
        Self { port, heard }
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    fn heard(&self) -> String {
        self.heard.lock().expect("no thread panicked").join("")
    }
}

fn serve(
    mut client: TcpStream,
    speaks: &Speaks,
    to: u16,
    heard: &Mutex<Vec<String>>,
) -> io::Result<()> {
    client.set_read_timeout(Some(Duration::from_secs(20)))?;
    let hear = |text: String| heard.lock().expect("no thread panicked").push(text);
    let established = b"HTTP/1.1 200 Connection established\r\n\r\n";
    match speaks {
        Speaks::Http => {
            hear(head(&mut client)?);
            client.write_all(established)?;
            let server = TcpStream::connect(("127.0.0.1", to))?;
            copy_both(client, server)
        }
        Speaks::Refusal(answer) => {
            hear(head(&mut client)?);
            client.write_all(answer.as_bytes())?;
            client.shutdown(Shutdown::Write)
        }
        Speaks::Socks => {
            let mut said = [0; 3];
            client.read_exact(&mut said)?;
            client.write_all(&[5, 0])?;
            let mut said = [0; 5];
            client.read_exact(&mut said)?;
            let mut host = vec![0; usize::from(said[4]) + 2];
            client.read_exact(&mut host)?;
            hear(format!("SOCKS {}\r\n", String::from_utf8_lossy(&host[..host.len() - 2])));
            client.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 1])?;
            copy_both(client, TcpStream::connect(("127.0.0.1", to))?)
        }
        Speaks::Https(config) => {
            let mut tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
            let mut stream = rustls::Stream::new(&mut tls, &mut client);
            hear(head(&mut stream)?);
            stream.write_all(established)?;
            stream.flush()?;
            tunnel(tls, client, TcpStream::connect(("127.0.0.1", to))?)
        }
    }
}

/// Reads the head of a request.
fn head(client: &mut impl Read) -> io::Result<String> {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        read.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&read).into_owned())
}

fn copy_both(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        _ = io::copy(&mut from, &mut to);
        _ = to.shutdown(Shutdown::Write);
    });
    let (mut from, mut to) = (server, client);
    io::copy(&mut from, &mut to)?;
    to.shutdown(Shutdown::Write)
}

/// Copies between a connection with TLS and one without, a part at a time.
fn tunnel(
    mut tls: ServerConnection,
    mut client: TcpStream,
    mut server: TcpStream,
) -> io::Result<()> {
    client.set_read_timeout(Some(Duration::from_millis(5)))?;
    server.set_read_timeout(Some(Duration::from_millis(5)))?;
    let is_later = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
    };
    let mut part = [0; 16 * 1024];
    loop {
        let mut stream = rustls::Stream::new(&mut tls, &mut client);
        match stream.read(&mut part) {
            Ok(0) => return Ok(()),
            Ok(length) => server.write_all(&part[..length])?,
            Err(error) if is_later(&error) => {}
            Err(error) => return Err(error),
        }
        match server.read(&mut part) {
            Ok(0) => {
                stream.conn.send_close_notify();
                return stream.flush();
            }
            Ok(length) => {
                stream.write_all(&part[..length])?;
                stream.flush()?;
            }
            Err(error) if is_later(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// An API server of a name that only proxies know.
struct Behind {
    server: Server,
    authority: Authority,
}

impl Behind {
    fn new() -> Self {
        let authority = Authority::new();
        authority.file();
        let wire = Wire::Tls(authority.sign(&["api.kq.invalid"]).server());
        let server = Server::start(wire, |_, seen, to| {
            let answer = match seen.line.contains("/api/v1/nodes") {
                true => json!({"kind": "NodeList", "apiVersion": "v1", "items": [node("a")]}),
                false => json!({"kind": "PodList", "apiVersion": "v1", "items": []}),
            };
            to.write_all(ok(&answer.to_string()).as_bytes())
        });
        Self { server, authority }
    }

    fn ask(&self, proxy_url: Option<&str>, environment: &[(&'static str, String)]) -> Ran {
        let mut cluster = json!({
            "server": "https://api.kq.invalid:6443", "certificate-authority": "ca.crt",
        });
        if let Some(url) = proxy_url {
            cluster["proxy-url"] = json!(url);
        }
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": "hunter2-token"}}],
        });
        let path = self.authority.write("kubeconfig", &config.to_string());
        let line = "preempt explain examples/night/dns.yaml --all-nodes --timeout 10s --kubeconfig";
        let mut run = kq(&format!("{line} {}", path.display())).within(repository());
        for (name, value) in environment {
            run = run.env(name, value.clone());
        }
        run.run()
    }
}

#[test]
fn a_proxy_sees_the_name_of_the_server_alone() {
    let behind = Behind::new();
    let port = behind.server.port;
    let certificate = behind.authority.sign(&["127.0.0.1"]).server();
    let connect = "CONNECT api.kq.invalid:6443 HTTP/1.1\r\nHost: api.kq.invalid:6443\r\n";
    for (speaks, scheme, user, heard) in [
        (Speaks::Http, "http", "", format!("{connect}\r\n")),
        (
            Speaks::Http,
            "http",
            "me:hunter2%21@",
            format!("{connect}Proxy-Authorization: Basic bWU6aHVudGVyMiE=\r\n\r\n"),
        ),
        (Speaks::Https(certificate), "https", "", format!("{connect}\r\n")),
        (Speaks::Socks, "socks5", "", "SOCKS api.kq.invalid\r\n".to_owned()),
    ] {
        let proxy = Proxy::start(speaks, port);
        let before = behind.server.seen().len();
        let url = proxy.url(scheme).replace("://", &format!("://{user}"));
        let ran = behind.ask(Some(&url), &[]);
        assert_eq!(ran.code, 0, "{scheme}: {}", ran.text());
        // For the nodes and for the pods.
        assert_eq!(proxy.heard(), heard.repeat(2), "{scheme}");
        let seen = behind.server.seen();
        assert_eq!(seen.len(), before + 2, "{scheme}");
        let last = seen.last().expect("it was asked");
        assert_eq!(last.header("authorization"), Some("Bearer hunter2-token"));
        assert_eq!(last.header("proxy-authorization"), None);
        assert!(!ran.text().contains("hunter2"), "{}", ran.text());
    }
}

#[test]
fn the_environment_names_a_proxy_as_for_kubectl() {
    let behind = Behind::new();
    let proxy = Proxy::start(Speaks::Http, behind.server.port);
    let other = Proxy::start(Speaks::Refusal("HTTP/1.1 500 No\r\n\r\n"), behind.server.port);
    let here = || format!("127.0.0.1:{}", proxy.port);
    for (name, proxy_url, environment, code) in [
        ("of https", None, vec![("HTTPS_PROXY", here())], 0),
        ("in lower case", None, vec![("https_proxy", proxy.url("http"))], 0),
        ("of http", None, vec![("HTTP_PROXY", here())], 3),
        (
            "excluded",
            None,
            vec![("HTTPS_PROXY", here()), ("NO_PROXY", "a, .kq.invalid".to_owned())],
            3,
        ),
        (
            "the kubeconfig's comes first",
            Some(proxy.url("http")),
            vec![("HTTPS_PROXY", other.url("http"))],
            0,
        ),
    ] {
        let ran = behind.ask(proxy_url.as_deref(), &environment);
        assert_eq!(ran.code, code, "{name}: {}", ran.text());
        if code != 0 {
            // Nobody knows the name.
            assert!(ran.stderr.contains("api.kq.invalid:6443"), "{name}: {}", ran.text());
            assert!(!ran.stderr.contains("through the proxy"), "{name}: {}", ran.text());
        }
    }
    assert_eq!(other.heard(), "");
}

#[test]
fn a_proxy_that_gives_no_tunnel_is_named() {
    let behind = Behind::new();
    let port = behind.server.port;
    let start = |answer| Proxy::start(Speaks::Refusal(answer), port);
    let forbidden = start("HTTP/1.1 403 Forbidden\r\nX-Secret: hunter2\r\n\r\n");
    let unknown = start("HTTP/1.1 407 Who\r\n\r\n");
    let silent = start("");
    // Whose certificate is from no authority of the cluster.
    let certificate = Authority::named("other").sign(&["127.0.0.1"]).server();
    let stranger = Proxy::start(Speaks::Https(certificate), port);
    let address = |proxy: &Proxy| format!("127.0.0.1:{}", proxy.port);
    let through = |proxy: &Proxy, reason: &str| {
        let proxy = address(proxy);
        format!("no connection to api.kq.invalid:6443 through the proxy {proxy}: {reason}")
    };
    for (url, said) in [
        (forbidden.url("http"), through(&forbidden, "it refused the tunnel")),
        (unknown.url("http"), through(&unknown, "it does not accept the user and the password")),
        (silent.url("http"), through(&silent, "it closed the connection")),
        (stranger.url("https"), format!("no TLS with {}", address(&stranger))),
        ("http://127.0.0.1:1".to_owned(), "127.0.0.1:1 refused the connection".to_owned()),
        (
            "ftp://me:hunter2@proxy".to_owned(),
            "proxy-url \"ftp://proxy\": expected http://".to_owned(),
        ),
    ] {
        let ran = behind.ask(Some(&url), &[]);
        assert_eq!(ran.code, 3, "{url}: {}", ran.text());
        assert!(ran.stderr.contains(&said), "{url}: {}", ran.text());
        assert!(!ran.text().contains("hunter2"), "{url}: {}", ran.text());
    }
    let ran = behind.ask(None, &[("HTTPS_PROXY", "ftp://me:hunter2@proxy".to_owned())]);
    assert!(
        ran.stderr.contains("cannot use the proxy of HTTPS_PROXY: \"ftp://proxy\""),
        "{}",
        ran.text()
    );
    assert!(behind.server.seen().is_empty());
}
