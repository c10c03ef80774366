//! The runtime's process: it can die in the middle of something, and come again.

use super::ImageNode;
use super::node::{PATIENCE, text};
use crate::real::runtime::Runtime;
use kq_linux::cri::v1;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

impl ImageNode {
    /// Kills the runtime; its containers go on.
    #[track_caller]
    pub fn kill(&self) {
        kill_process(self.process, Signal::KILL).expect("the runtime can be killed");
        self.wait_until("nobody listens", |node| UnixStream::connect(&node.socket).is_err());
    }

    /// Starts the runtime again after it was killed, and returns when it answers.
    #[track_caller]
    pub fn revive(&mut self) {
        let log = File::options().append(true).open(self.folder.join("containerd.log"));
        let log = log.expect("the runtime has a log");
        let mut command = Command::new("setsid");
        command.arg("containerd").arg("--config").arg(self.folder.join("config.toml"));
        if let Some(programs) = &self.programs {
            let path = std::env::var("PATH").unwrap_or_default();
            command.env("PATH", format!("{}:{path}", text(programs)));
        }
        let again = log.try_clone().expect("a file can be had twice");
        let child = command.stdin(Stdio::null()).stdout(log).stderr(again).spawn();
        let child = child.expect("the runtime can be started");
        // `setsid` becomes the runtime. What `start` noted stays: by it the node is known to be ours.
        self.process = Pid::from_child(&child);
        self.revived = Some(child);
        let begun = Instant::now();
        self.runtime = loop {
            match Runtime::connect(&self.socket) {
                Ok(runtime) if answers(&runtime) => break runtime,
                _ => assert!(begun.elapsed() < PATIENCE, "the runtime does not answer"),
            }
            thread::sleep(Duration::from_millis(20));
        };
    }
}

/// Returns true if the part of the runtime that speaks the CRI is ready.
fn answers(runtime: &Runtime) -> bool {
    // In containerd 2 these are two parts.
    runtime.call(runtime.images().list_images(v1::ListImagesRequest {})).is_ok()
        && runtime.call(runtime.client().list_containers(v1::ListContainersRequest {})).is_ok()
}
