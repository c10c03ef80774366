//! Runs of kq that are met half-way: at a question, or in the middle of what they do.

use super::ImageNode;
use super::node::text;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

/// What the kubelet of these nodes is told.
const CONFIG: &str =
    r#"{"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}"#;

impl ImageNode {
    /// Returns the arguments of `kq LINE` on this node, with pods of which each has a phase.
    pub fn arguments(&self, line: &str, pods: &[(&str, &str)]) -> Vec<String> {
        let (config, list) = (self.folder.join("kubelet.json"), self.folder.join("pods.json"));
        std::fs::write(&config, CONFIG).expect("a file can be written");
        let pod = |(name, phase): &(&str, &str)| {
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": "gc", "uid": format!("uid-of-{name}")},
                "spec": {"containers": [{"name": name, "image": name}]},
                "status": {"phase": phase},
            })
        };
        let items: Vec<Value> = pods.iter().map(pod).collect();
        let items = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        std::fs::write(&list, items).expect("a file can be written");
        let mut arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        option("--runtime-endpoint", self.endpoint());
        option("--kubelet-config", text(&config));
        option("--pods", text(&list));
        option("--kubelet-version", "1.36".to_owned());
        option("--timeout", "30s".to_owned());
        arguments
    }
}

/// A run whose standard output holds one line: it waits with each until the one before was read.
pub struct HalfWay {
    child: Child,
    said: File,
    /// The terminal at which it asks, where it asks.
    terminal: Option<File>,
}

/// Starts kq with a terminal at its standard input.
pub fn asking(arguments: &[String]) -> HalfWay {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal can be had");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("it can be opened");
    let path = ptsname(&master, Vec::new()).expect("it has a name").into_string();
    let slave = File::options().read(true).write(true).open(path.expect("a path"));
    let slave = slave.expect("the terminal can be opened");
    start(arguments, Stdio::from(slave), Some(File::from(master)))
}

/// Starts kq with nobody to ask.
pub fn telling(arguments: &[String]) -> HalfWay {
    start(arguments, Stdio::null(), None)
}

fn start(arguments: &[String], stdin: Stdio, terminal: Option<File>) -> HalfWay {
    let (read, write) = pipe_with(PipeFlags::DIRECT | PipeFlags::CLOEXEC).expect("a pipe");
    fcntl_setpipe_size(&write, 4096).expect("a small pipe");
    let child = Command::new(env!("CARGO_BIN_EXE_kq"))
        .args(arguments)
        .env_clear()
        .stdin(stdin)
        .stdout(Stdio::from(write))
        .stderr(Stdio::piped())
        .spawn()
        .expect("kq starts");
    HalfWay { child, said: File::from(read), terminal }
}

impl HalfWay {
    /// Reads what it says until it has said something, and returns everything up to there.
    #[track_caller]
    pub fn until(&mut self, mark: &str) -> String {
        let mut said = String::new();
        let mut packet = [0; 4096];
        while !said.contains(mark) {
            let count = self.said.read(&mut packet).expect("the pipe can be read");
            assert!(count > 0, "it ended without {mark:?}: {said}");
            said.push_str(&String::from_utf8_lossy(&packet[..count]));
        }
        said
    }

    /// Waits for its question; what it says before is read.
    #[track_caller]
    pub fn question(&mut self) {
        let mut stderr = self.child.stderr.take().expect("it was not taken yet");
        let mut said = self.said.try_clone().expect("a file can be had twice");
        // The plan is written before the question, and may be larger than the pipe.
        std::thread::spawn(move || {
            let mut packet = [0; 4096];
            while said.read(&mut packet).is_ok_and(|count| count > 0) {}
        });
        let mut asked = String::new();
        let mut byte = [0];
        while !asked.ends_with("[y/N] ") {
            let count = stderr.read(&mut byte).expect("the pipe can be read");
            assert!(count > 0, "it ended without a question: {asked}");
            asked.push(char::from(byte[0]));
        }
        self.child.stderr = Some(stderr);
    }

    /// Answers its question.
    #[track_caller]
    pub fn answer(&mut self, answer: &str) {
        let terminal = self.terminal.as_mut().expect("there is a terminal");
        writeln!(terminal, "{answer}").expect("it can be answered");
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// Reads the rest, waits for its end and returns its exit code with what it said.
    #[track_caller]
    pub fn end(mut self) -> (i32, String) {
        let mut said = String::new();
        let mut packet = [0; 4096];
        // Another reader may have it already. A packet that is read in part is lost.
        while let Ok(count @ 1..) = self.said.read(&mut packet) {
            said.push_str(&String::from_utf8_lossy(&packet[..count]));
        }
        let mut stderr = String::new();
        let taken = self.child.stderr.take();
        taken.map(|mut pipe| pipe.read_to_string(&mut stderr)).transpose().expect("UTF-8");
        let status = self.child.wait().expect("it ends");
        assert!(!stderr.contains("panicked"), "{stderr}");
        (status.code().unwrap_or(-1), said + &stderr)
    }
}
