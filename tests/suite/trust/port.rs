//! The server on the kubelet's port is believed only when it is known to be the kubelet.

use super::{Node, in_own_namespaces, lacks, never_asked, says};
use crate::edges::http_server::pki::Certified;
use crate::edges::http_server::{Server, Wire, json};
use std::process::Command;

const CONFIGZ: &str = r#"{"kubeletconfig":{"maxPods":66,"staticPodPath":"/home/eve","containerRuntimeEndpoint":"unix:///home/eve/a.sock"}}"#;

/// A program that gives the same answer to every request on a port, and is the kubelet.
const LISTENER: &str = r#"
use IO::Socket::INET;
my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 8077, Listen => 9, ReuseAddr => 1) or die;
while (my $c = $s->accept) {
    while (my $line = <$c>) { last if $line =~ /^\s*$/ }
    my $b = '{"kubeletconfig":{"maxPods":77,"staticPodPath":"/etc/kubernetes/manifests"}}';
    print $c "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " . length($b) . "\r\n\r\n$b";
    close $c;
}
"#;

fn says_configz(port: u16, wire: Wire) -> Server {
    Server::start_on(port, wire, |_, _, to| to.write_all(json(CONFIGZ).as_bytes()))
}

#[test]
fn no_server_is_queried_while_no_kubelet_runs() {
    in_own_namespaces("trust::port::no_server_is_queried_while_no_kubelet_runs", || {
        let node = Node::new();
        let open = says_configz(10255, Wire::Plain);
        let closed = says_configz(10250, Wire::Tls(Certified::by_itself("127.0.0.1").server()));
        for question in [
            "snapshot -v",
            "gc policy -v",
            "evict rank --signal memory -v",
            "cgroup apply --dry-run -v",
        ] {
            let said = node.kq(question);
            lacks(&said, "/home/eve");
            lacks(&said, "maxPods\":66");
        }
        says(
            &node.kq("snapshot -v"),
            "the kubelet's API: not queried, because no trusted kubelet runs here",
        );
        never_asked(&open);
        never_asked(&closed);
    });
}

#[test]
fn a_port_that_another_process_took_is_not_the_kubelets() {
    in_own_namespaces("trust::port::a_port_that_another_process_took_is_not_the_kubelets", || {
        let node = Node::new();
        let config = "port: 8076\nreadOnlyPort: 8077\naddress: 127.0.0.1\nmaxPods: 77\n";
        node.write("etc/kubelet.yaml", config);
        node.write(
            "var/lib/kubelet/pki/kubelet.crt",
            &Certified::by_itself("127.0.0.1").certificate,
        );
        let kubelet = node.kubelet(&["--config=/etc/kubelet.yaml"]);
        let open = says_configz(8077, Wire::Plain);
        let closed = says_configz(8076, Wire::Tls(Certified::by_itself("127.0.0.1").server()));
        let said = node.kq("snapshot -v");
        for port in [8076, 8077] {
            let server = format!("the server on 127.0.0.1:{port} is not known to be the kubelet: ");
            let reason =
                format!("the listening socket does not belong to process {}", kubelet.pid());
            says(&said, &format!("{server}{reason}"));
        }
        says(&said, "kubelet configuration: read from /etc/kubelet.yaml");
        lacks(&said, "/home/eve");
        never_asked(&open);
        never_asked(&closed);
        // The operator can say that it is believed. Its paths are not used all the same.
        let said = node.kq("snapshot -v --kubelet-url http://127.0.0.1:8077");
        says(&said, "kubelet configuration: read from http://127.0.0.1:8077/configz");
        lacks(&said, "/home/eve");
        says(
            &said,
            "http://127.0.0.1:8077: containerRuntimeEndpoint, staticPodPath not used, because the server is not \
             known to be the kubelet",
        );
    });
}

#[test]
fn the_socket_of_the_kubelets_process_is_trusted() {
    in_own_namespaces("trust::port::the_socket_of_the_kubelets_process_is_trusted", || {
        let node = Node::new();
        let config = "port: 8076\nreadOnlyPort: 8077\naddress: 127.0.0.1\nmaxPods: 7\n";
        node.write("etc/kubelet.yaml", config);
        std::fs::copy("/usr/bin/perl", node.path("usr/bin/kubelet")).expect("perl is there");
        let program = Command::new(node.path("usr/bin/kubelet"));
        let _kubelet = node.start(program, &["-e", LISTENER], &["--config=/etc/kubelet.yaml"]);
        let listens = || std::net::TcpStream::connect("127.0.0.1:8077").is_ok();
        while !listens() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let said = node.kq("snapshot -v");
        says(&said, "kubelet configuration: read from http://127.0.0.1:8077/configz");
        says(&said, "/etc/kubernetes/manifests");
    });
}

#[test]
fn the_certificate_in_the_kubelets_folder_is_trusted() {
    in_own_namespaces("trust::port::the_certificate_in_the_kubelets_folder_is_trusted", || {
        let node = Node::new();
        node.write("etc/kubelet.yaml", "port: 8076\naddress: 127.0.0.1\n");
        let token = node.secret("a-token");
        let flags = format!("--kubelet-token-file {}", token.display());
        let (own, other) = (Certified::by_itself("worker"), Certified::by_itself("worker"));
        node.write("var/lib/kubelet/pki/kubelet.crt", &own.certificate);
        let _kubelet = node.kubelet(&["--config=/etc/kubelet.yaml"]);
        {
            let server = says_configz(8076, Wire::Tls(own.server()));
            let said = node.kq(&format!("snapshot -v {flags}"));
            says(&said, "kubelet configuration: read from https://127.0.0.1:8076/configz");
            assert_eq!(server.seen()[0].header("authorization"), Some("Bearer a-token"));
        }
        node.write("etc/kubelet.yaml", "port: 8078\naddress: 127.0.0.1\n");
        let server = says_configz(8078, Wire::Tls(other.server()));
        let said = node.kq(&format!("snapshot -v {flags}"));
        says(&said, "a token is not sent to a server without a verified certificate");
        never_asked(&server);
        // Another process's certificate is not the kubelet's, wherever it is stored.
        std::os::unix::fs::chown(
            node.path("var/lib/kubelet/pki/kubelet.crt"),
            Some(super::EVE),
            None,
        )
        .expect("root may");
        node.write("etc/kubelet.yaml", "port: 8079\naddress: 127.0.0.1\n");
        let server = says_configz(8079, Wire::Tls(own.server()));
        node.kq(&format!("snapshot -v {flags}"));
        never_asked(&server);
    });
}
