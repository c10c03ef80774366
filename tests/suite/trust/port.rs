//! The server on the kubelet's port is believed only when it is known to be the kubelet.

use super::{Node, Process, in_own_namespaces, lacks, never_asked, says};
use crate::edges::http_server::pki::Certified;
use crate::edges::http_server::{Server, Wire, json};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

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

/// A program that listens on both ports, is the kubelet, and passes each connection to a server of the test, which
/// speaks TLS for it.
const BOTH_PORTS: &str = r#"
use IO::Socket::INET;
use IO::Select;
my ($all, %behind, %peer) = IO::Select->new;
for my $port (8076, 8077) {
    my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $port, Listen => 9, ReuseAddr => 1) or die;
    $behind{$s} = $port + 1000;
    $all->add($s);
}
while (1) {
    for my $s ($all->can_read) {
        if (my $port = $behind{$s}) {
            my $c = $s->accept or next;
            my $o = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port) or next;
            @peer{$c, $o} = ($o, $c);
            $all->add($c, $o);
            next;
        }
        my $o = $peer{$s} or next;
        my $b;
        next if sysread($s, $b, 65536) && syswrite($o, $b);
        $all->remove($s, $o);
        delete @peer{$s, $o};
        close $_ for $s, $o;
    }
}
"#;

/// Starts a program that is the kubelet, and waits until it listens on a port.
fn kubelet_on(node: &Node, program: &str, port: u16) -> Process {
    std::fs::copy("/usr/bin/perl", node.path("usr/bin/kubelet")).expect("perl is there");
    let perl = Command::new(node.path("usr/bin/kubelet"));
    let process = node.start(perl, &["-e", program], &["--config=/etc/kubelet.yaml"]);
    let begin = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(20), "it never listens");
        thread::sleep(Duration::from_millis(20));
    }
    process
}

/// Redirects connections to a port of this machine to another one, as for the host port of a pod. Returns false where
/// that is not possible.
fn redirect(from: u16, to: u16) -> bool {
    let rule = format!(
        "-w -t nat -A OUTPUT -d 127.0.0.1 -p tcp --dport {from} -j REDIRECT --to-ports {to}"
    );
    let done = Command::new("iptables").args(rule.split(' ')).output();
    let is_done = done.as_ref().is_ok_and(|done| done.status.success());
    if !is_done {
        assert!(std::env::var_os("KQ_REAL_NODE").is_none(), "iptables: {done:?}");
        eprintln!("left out, because iptables is missing or cannot redirect: {done:?}");
    }
    is_done
}

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
        let _kubelet = kubelet_on(&node, LISTENER, 8077);
        let said = node.kq("snapshot -v");
        says(&said, "kubelet configuration: read from http://127.0.0.1:8077/configz");
        says(&said, "/etc/kubernetes/manifests");
    });
}

#[test]
fn a_port_that_a_rule_of_the_firewall_redirects_is_not_the_kubelets() {
    let test = "trust::port::a_port_that_a_rule_of_the_firewall_redirects_is_not_the_kubelets";
    in_own_namespaces(test, || {
        let node = Node::new();
        let config = "port: 8076\nreadOnlyPort: 8077\naddress: 127.0.0.1\nmaxPods: 77\n";
        node.write("etc/kubelet.yaml", config);
        node.write(
            "var/lib/kubelet/pki/kubelet.crt",
            &Certified::by_itself("127.0.0.1").certificate,
        );
        let kubelet = kubelet_on(&node, BOTH_PORTS, 8077);
        let closed = says_configz(9176, Wire::Tls(Certified::by_itself("127.0.0.1").server()));
        let open = says_configz(9177, Wire::Plain);
        if !redirect(8076, 9176) || !redirect(8077, 9177) {
            return;
        }
        let said = node.kq("snapshot -v");
        lacks(&said, "/home/eve");
        says(&said, "kubelet configuration: read from /etc/kubelet.yaml");
        let pid = kubelet.pid();
        for port in [8076, 8077] {
            says(
                &said,
                &format!(
                    "the server on 127.0.0.1:{port} is not known to be the kubelet: process {pid} did not accept the \
                     connection"
                ),
            );
        }
        says(
            &said,
            "127.0.0.1:8076: the server's certificate is not the one in the kubelet's folder;",
        );
        never_asked(&closed);
        never_asked(&open);
    });
}

#[test]
fn a_kubelet_with_another_certificate_is_known_by_its_connection() {
    let test = "trust::port::a_kubelet_with_another_certificate_is_known_by_its_connection";
    in_own_namespaces(test, || {
        let node = Node::new();
        node.write("etc/kubelet.yaml", "port: 8076\naddress: 127.0.0.1\nmaxPods: 77\n");
        node.write("var/lib/kubelet/pki/kubelet.crt", &Certified::by_itself("worker").certificate);
        let _kubelet = kubelet_on(&node, BOTH_PORTS, 8077);
        let _server = says_configz(9076, Wire::Tls(Certified::by_itself("worker").server()));
        let said = node.kq("snapshot -v");
        says(&said, "kubelet configuration: read from https://127.0.0.1:8076/configz");
        says(
            &said,
            "https://127.0.0.1:8076: the server's certificate is not the one in the kubelet's folder; the server is \
             verified by its connection",
        );
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
