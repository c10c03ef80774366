//! Runs of kq that are met half-way: at a question, or in the middle of what they do.

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};

/// A run whose standard output holds one line: it waits with each until the one before was read.
pub struct HalfWay {
    child: Child,
    said: File,
    /// The terminal at which it asks, where it asks.
    terminal: Option<File>,
}

/// Starts kq with a terminal at its standard input.
pub fn asking(arguments: &[String]) -> HalfWay {
    let (person, program) = terminal();
    start(arguments, Stdio::from(program), Some(person))
}

/// Makes a terminal: the side of the person, and that of the program.
pub fn terminal() -> (File, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal can be had");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("it can be opened");
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).expect("it has a size");
    let path = ptsname(&master, Vec::new()).expect("it has a name").into_string();
    let slave = File::options().read(true).write(true).open(path.expect("a path"));
    (File::from(master), slave.expect("the terminal can be opened"))
}

/// Starts kq with nobody to ask.
pub fn telling(arguments: &[String]) -> HalfWay {
    start(arguments, Stdio::null(), None)
}

fn start(arguments: &[String], stdin: Stdio, terminal: Option<File>) -> HalfWay {
    let (read, write) = pipe_with(PipeFlags::DIRECT | PipeFlags::CLOEXEC).expect("a pipe");
    fcntl_setpipe_size(&write, 4096).expect("a small pipe");
    let child = super::kq_with_interrupts()
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

    /// Reads its standard error until it has said something there, and returns everything up to there.
    #[track_caller]
    pub fn until_error(&mut self, mark: &str) -> String {
        let stderr = self.child.stderr.as_mut().expect("it was not taken yet");
        let (mut said, mut byte) = (String::new(), [0]);
        while !said.contains(mark) {
            let count = stderr.read(&mut byte).expect("the pipe can be read");
            assert!(count > 0, "it ended without {mark:?}: {said}");
            said.push(char::from(byte[0]));
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

    /// Ends the input, as Ctrl-D does.
    #[track_caller]
    pub fn end_input(&mut self) {
        let terminal = self.terminal.as_mut().expect("there is a terminal");
        terminal.write_all(b"\x04").expect("it can be answered");
    }

    /// Interrupts it, as a person at a terminal does.
    pub fn interrupt(&mut self) {
        let process = Pid::from_child(&self.child);
        kill_process(process, Signal::INT).expect("it runs");
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
