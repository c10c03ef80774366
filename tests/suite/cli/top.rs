//! `kq top`: frames, recordings, and the terminal, which is whole again however kq ends.

use super::agreement::changed;
use super::fake_node::FakeNode;
use super::{kq, matches, repository};
use kq_core::question::top::{PlannedShares, TopOptions, frame};
use kq_core::top::{Body, Frame, Key, Panel, State, Trends, draw};
use kq_facts::timestamp::Timestamp;
use kq_io::snapshot_file::read_snapshot;
use kq_output::units;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use serde_json::{Value, json};
use snapbox::Data;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A node with usage, throttling and pressure.
const NIGHT: &str = "examples/night/worker-3.json";

/// Returns two frames of a stored node, two seconds apart, the second with more CPU time.
fn frames() -> (Frame, Trends) {
    let path = repository().join(NIGHT);
    let snapshot = read_snapshot(path.to_str().expect("a path")).expect("a snapshot");
    let options = TopOptions { is_stored: true, ..TopOptions::default() };
    let mut shown =
        frame(&snapshot, Panel::Pods, &options, &mut PlannedShares::default()).expect("a frame");
    let mut trends = Trends::default();
    trends.add(&shown);
    shown.at = Timestamp(shown.at.0 + 2_000_000_000);
    if let Body::Pods(rows) = &mut shown.body {
        for (row, more) in rows.iter_mut().zip((1..).map(|number: u64| number * 20_000)) {
            row.counters.cpu_usec = row.counters.cpu_usec.map(|used| used + more);
        }
    }
    trends.add(&shown);
    (shown, trends)
}

fn drawn(state: &mut State, frame: &Frame, trends: &Trends, columns: u16, rows: u16) -> String {
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    draw(state, Some(frame), trends, false, &mut buffer);
    let line = |y| {
        let cells = (0..columns).map(|x| buffer[(x, y)].symbol());
        format!("{}\n", cells.collect::<String>().trim_end())
    };
    (0..rows).map(line).collect()
}

#[test]
fn frames_fit_small_and_large_terminals() {
    let (frame, trends) = frames();
    let golden = repository().join("tests/suite/cli/top");
    for (columns, rows) in [(80, 24), (200, 60)] {
        let mut state = State::default();
        let text = drawn(&mut state, &frame, &trends, columns, rows);
        let file = golden.join(format!("{columns}x{rows}.txt"));
        matches(text, Data::read_from(&file, None));
    }
    // Throttling and restarts are on the screen of an ordinary terminal.
    let text = drawn(&mut State::default(), &frame, &trends, 80, 24);
    let heading = text.lines().find(|line| line.starts_with("POD")).unwrap_or_default();
    for column in ["CPU", "OF QUOTA", "THROTTLED", "MEMORY", "RESTARTS"] {
        assert!(heading.contains(column), "{text}");
    }
    let mut state = State::default();
    for (columns, rows) in [(1, 1), (20, 5), (19, 60), (300, 4), (21, 6)] {
        drawn(&mut state, &frame, &trends, columns, rows);
    }
    // A selection beyond the screen scrolls.
    for key in [Key::End, Key::Right, Key::Right] {
        state.press(key, Some(&frame), &trends);
    }
    let last = match &frame.body {
        Body::Pods(rows) => rows.last().expect("a row").label.clone(),
        _ => panic!("pods"),
    };
    assert!(drawn(&mut state, &frame, &trends, 80, 10).contains(&last));
}

#[test]
fn figures_are_those_of_cgroup_show() {
    let plain = kq(&format!("top --plain --snapshot {NIGHT}")).run();
    assert_eq!(plain.code, 0, "{}", plain.text());
    let shown = kq(&format!("cgroup show --snapshot {NIGHT}")).json();
    let items = shown["items"].as_array().expect("cgroups").iter();
    let items: Vec<&Value> = items
        .filter(|item| ["pod", "container"].contains(&item["level"].as_str().expect("a level")))
        .collect();
    let lines: Vec<&str> = plain
        .stdout
        .lines()
        .filter(|line| line.starts_with("pod ") || line.starts_with("container "))
        .collect();
    assert_eq!(lines.len(), items.len(), "{}", plain.stdout);
    for (line, item) in lines.iter().zip(items) {
        let name = item["container"].as_str().or(item["pod"].as_str()).expect("a name");
        assert!(line.contains(name), "{line}: {name}");
        let usage = &item["usage"];
        if let Some(bytes) = usage["memoryBytes"].as_u64() {
            assert!(line.contains(&format!("memory {}", units::bytes(bytes))), "{line}");
        }
        if let (Some(throttled), Some(periods @ 1..)) =
            (usage["throttledPeriods"].as_u64(), usage["periods"].as_u64())
        {
            let percent = units::percent(throttled, periods).expect("periods");
            assert!(line.contains(&format!("throttled {percent}")), "{line}");
        }
        if let Some(pressure) = usage["cpuPressure"].as_str() {
            assert!(line.contains(&format!("pressure {pressure}/")), "{line}");
        }
    }
}

#[test]
fn panels_are_the_answers_of_their_commands() {
    for (panel, commands) in [
        ("images", &["gc dry-run"][..]),
        (
            "eviction",
            &["evict rank --signal memory", "evict rank --signal disk", "evict rank --signal pid"],
        ),
    ] {
        let plain = kq(&format!("top --plain --panel {panel} --snapshot {NIGHT}")).run();
        let answer = |command: &&str| kq(&format!("{command} --snapshot {NIGHT}")).run().stdout;
        let answers: Vec<String> = commands.iter().map(answer).collect();
        let panel: Vec<&str> = plain.stdout.lines().skip(1).collect();
        assert_eq!(panel, answers.join("\n").lines().collect::<Vec<_>>(), "{commands:?}");
    }
    for panel in ["devices", "probes"] {
        let plain = kq(&format!("top --plain --panel {panel} --snapshot {NIGHT}")).run();
        assert_eq!(plain.code, 0, "{}", plain.text());
        assert!(plain.stdout.lines().count() > 2, "{}", plain.stdout);
    }
}

#[test]
fn a_panel_without_any_answer_is_missing() {
    let folder = changed(|node| {
        node["pods"] = json!({"found": null, "tried": [{"source": "X", "reason": "refused"}]});
    });
    let plain = kq("top --plain --panel eviction --snapshot s.json").within(folder.path()).run();
    assert_eq!(plain.code, 3, "{}", plain.text());
    let told = "unavailable: the pods of the node are unknown: X: refused";
    assert_eq!(plain.stdout.lines().nth(1), Some(told), "{}", plain.text());
}

#[test]
fn a_recording_gives_the_same_frames() {
    let node = FakeNode::as_planned();
    let web = "/kubepods/burstable/podaaaa-1";
    let set = move |node: &FakeNode, used: u64| {
        let text = format!("usage_usec {used}\nnr_periods {used}\nnr_throttled {}", used / 4);
        node.set(web, "cpu.stat", &text);
    };
    set(&node, 1_000);
    let node = Arc::new(node);
    for name in ["night.zst", "night.json"] {
        let is_over = Arc::new(AtomicBool::new(false));
        let (writes, ends) = (Arc::clone(&node), Arc::clone(&is_over));
        let writer = thread::spawn(move || {
            let mut used = 1_000;
            while !ends.load(Ordering::Relaxed) {
                used += 10_000;
                set(&writes, used);
                thread::sleep(Duration::from_millis(20));
            }
        });
        let line = format!("top --plain --count 4 --interval 100ms --record {name}");
        let recorded = node.described(&line).run();
        is_over.store(true, Ordering::Relaxed);
        writer.join().expect("it writes");
        assert_eq!(recorded.code, 0, "{}", recorded.text());
        assert_eq!(recorded.stdout.matches("pod shop/web:").count(), 4, "{}", recorded.stdout);
        let played = kq(&format!("top --plain --replay {name} --kubelet-config kubelet.yaml --kubelet-version 1.36 --runtime runc=1.3.6"))
            .within(node.folder())
            .run();
        assert_eq!(played.stdout, recorded.stdout, "{}", played.stderr);
        let again = node.described(&line).run();
        assert_eq!(again.code, 3, "a recording is never overwritten: {}", again.text());
    }
    // The first line alone is a snapshot, and the next ones are small.
    let text = fs::read_to_string(node.folder().join("night.json")).expect("lines");
    let mut lines = text.lines();
    let first = lines.next().expect("a line");
    let longest = lines.map(str::len).max().expect("more lines");
    assert!(longest * 4 < first.len(), "{longest} of {}", first.len());
    fs::write(node.folder().join("first.json"), first).expect("a file");
    let shown = kq("cgroup show --snapshot first.json").within(node.folder()).run();
    assert_eq!(shown.code, 0, "{}", shown.text());
}

#[test]
fn the_recorded_example_ends_where_the_snapshot_is() {
    let played = kq("top --plain --replay examples/night/minute.zst").run();
    assert_eq!(played.code, 0, "{}", played.text());
    let frames: Vec<&str> = played.stdout.split("\n\n").collect();
    assert_eq!(frames.len(), 31, "{}", played.stdout);
    // The training job stops after half a minute, and the shop's load doubles what throttles it.
    let of = |frame: &str, name: &str| {
        let line = frame.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
        let cpu = line.split_once("cpu ").and_then(|(_, rest)| rest.split_once('m'));
        cpu.and_then(|(milli, _)| milli.parse::<u64>().ok()).unwrap_or_default()
    };
    assert!(of(frames[5], "container train:") > 1_400, "{}", frames[5]);
    assert!(of(frames[20], "container train:") < 100, "{}", frames[20]);
    assert!(frames[15].contains("of quota 100.0%"), "{}", frames[15]);
    // What is counted since the frame before is new; the rest is the snapshot's.
    let stored = kq(&format!("top --plain --snapshot {NIGHT}")).run();
    let without = |frame: &str| -> Vec<String> {
        let part =
            |it: &&str| !["cpu ", "of quota ", "now "].iter().any(|name| it.starts_with(name));
        let line = |line: &str| {
            let (name, rest) = line.split_once(": ").unwrap_or((line, ""));
            let rest: Vec<&str> = rest.split(", ").filter(part).collect();
            format!("{name}: {}", rest.join(", "))
        };
        frame.trim().lines().filter(|line| line.starts_with("container ")).map(line).collect()
    };
    assert_eq!(without(frames[30]), without(&stored.stdout));
}

#[test]
fn what_is_no_recording_is_refused() {
    let folder = super::folder_with(&[
        ("empty", ""),
        ("text", "hello\n"),
        ("pod", "{\"kind\":\"Pod\"}\n"),
        ("patch", "{\"kind\":\"NodeSnapshotPatch\",\"patch\":{}}\n"),
        ("packed", "\u{28}\u{b5}/"),
    ]);
    fs::write(folder.path().join("frame"), [0x28, 0xb5, 0x2f, 0xfd, 0xff]).expect("a file");
    for name in ["empty", "text", "pod", "patch", "packed", "frame", "absent"] {
        let ran = kq(&format!("top --plain --replay {name}")).within(folder.path()).run();
        assert_eq!(ran.code, if name == "absent" { 3 } else { 2 }, "{name}: {}", ran.text());
        assert!(ran.stderr.starts_with("kq: ") && ran.stderr.contains(name), "{}", ran.text());
    }
}

/// The frames before the place where a recording was cut off are shown, the last of them too.
#[test]
fn a_recording_that_was_cut_off_is_played_up_to_there() {
    let whole = fs::read(repository().join("examples/night/minute.zst")).expect("the example");
    let starts: Vec<usize> = whole
        .windows(4)
        .enumerate()
        .filter(|(_, bytes)| *bytes == [0x28, 0xb5, 0x2f, 0xfd])
        .map(|(at, _)| at)
        .collect();
    let folder = super::folder_with::<&str>(&[]);
    let frames = |end: usize| {
        fs::write(folder.path().join("cut.zst"), &whole[..end]).expect("a file");
        let ran = kq("top --plain --replay cut.zst --interval 100ms").within(folder.path()).run();
        (ran.stdout.matches("container train:").count(), ran)
    };
    let (count, ran) = frames(starts[3]);
    assert_eq!((count, ran.code), (3, 0), "{}", ran.text());
    let (count, ran) = frames(starts[3] + 50);
    assert_eq!((count, ran.code), (3, 2), "{}", ran.text());
    assert!(ran.stderr.contains("cut.zst is cut off or damaged from here on"), "{}", ran.stderr);
}

#[test]
fn what_is_no_terminal_is_refused() {
    let ran = kq(&format!("top --snapshot {NIGHT}")).run();
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stdout.is_empty() && ran.stderr.contains("not a terminal"), "{}", ran.text());
    assert!(ran.stderr.contains("kq cgroup show -w"), "{}", ran.text());
    let (_, dumb) = Session::start(&format!("top --snapshot {NIGHT}"), &[("TERM", "dumb")]).end();
    assert!(dumb.contains("TERM=dumb") && dumb.contains("--plain"), "{dumb}");
}

/// A run at a terminal of its own.
struct Session {
    child: Child,
    master: File,
    slave: File,
    written: Arc<Mutex<String>>,
    news: Receiver<()>,
}

impl Session {
    fn start(line: &str, environment: &[(&str, &str)]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("it can be opened");
        let path = ptsname(&master, Vec::new()).expect("it has a name").into_string();
        let slave = File::options().read(true).write(true).open(path.expect("a path"));
        let (master, slave) = (File::from(master), slave.expect("it can be opened"));
        let own = || slave.try_clone().expect("a file can be had twice");
        resize(&master, 80, 24);
        // kq's session has this terminal, as at a shell, so that the kernel signals a new size.
        let mut command = Command::new("/usr/bin/setsid");
        command.arg("--ctty").arg(env!("CARGO_BIN_EXE_kq")).args(super::split(line));
        command.env_clear().env("TERM", "xterm").envs(environment.iter().copied());
        command.current_dir(repository()).stdin(own()).stdout(own()).stderr(own());
        let child = command.spawn().expect("it starts");
        drop(command);
        let written = Arc::new(Mutex::new(String::new()));
        let (news, hears) = channel();
        let (mut reader, sink) = (master.try_clone().expect("a file"), Arc::clone(&written));
        thread::spawn(move || {
            let mut packet = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut packet) {
                let text = String::from_utf8_lossy(&packet[..count]);
                sink.lock().expect("no reader panics").push_str(&text);
                if news.send(()).is_err() {
                    return;
                }
            }
        });
        Self { child, master, slave, written, news: hears }
    }

    fn text(&self) -> String {
        self.written.lock().expect("no reader panics").clone()
    }

    /// Waits until a text was written.
    #[track_caller]
    fn until(&self, mark: &str) -> String {
        while !self.text().contains(mark) {
            let news = self.news.recv_timeout(super::PATIENCE);
            assert!(news.is_ok(), "{mark:?} was not written: {}", self.text());
        }
        self.text()
    }

    /// Waits until a text is on the screen. The program writes only the cells that change.
    #[track_caller]
    fn until_shown(&self, mark: &str) {
        while !shown(&self.text()).contains(mark) {
            let news = self.news.recv_timeout(super::PATIENCE);
            assert!(news.is_ok(), "{mark:?} is not shown: {}", shown(&self.text()));
        }
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("keys can be pressed");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&self.slave).expect("a terminal").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Waits for the end; returns the exit code and everything that was written.
    #[track_caller]
    fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().expect("it ends");
        assert!(self.is_cooked() || status.code().is_none(), "the terminal is not restored");
        // What the terminal still holds was written before the end.
        while self.news.recv_timeout(Duration::from_millis(300)).is_ok() {}
        let text = self.text();
        assert!(!text.contains("panicked"), "{text}");
        (status.code(), text)
    }
}

impl Drop for Session {
    /// Ends the program of a test that failed before its end.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(terminal: &File, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("it has a size");
}

/// Enters and leaves the other screen.
const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";
const SHOW_CURSOR: &str = "\u{1b}[?25h";

/// Returns the lines of the screen after everything that was written to it.
fn shown(written: &str) -> String {
    const COLUMNS: usize = 400;
    let mut lines = vec![vec![' '; COLUMNS]; 100];
    let (mut line, mut column) = (0, 0);
    let mut characters = written.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                let Some('[') = characters.next() else { continue };
                let mut sequence = String::new();
                let end = characters.by_ref().find(|c| {
                    sequence.push(*c);
                    c.is_ascii_alphabetic()
                });
                if end == Some('H') {
                    let place = sequence.trim_end_matches('H').split(';');
                    let mut place = place.map(|number| number.parse().unwrap_or(1_usize) - 1);
                    (line, column) = (place.next().unwrap_or(0), place.next().unwrap_or(0));
                }
            }
            '\r' => column = 0,
            '\n' => line += 1,
            _ => {
                lines[line][column] = character;
                column += 1;
            }
        }
    }
    lines.into_iter().map(|line| line.into_iter().chain(['\n']).collect::<String>()).collect()
}

fn top() -> String {
    format!("top --snapshot {NIGHT}")
}

#[test]
fn keys_open_panels_and_pages_and_end_the_view() {
    let mut session = Session::start(&top(), &[]);
    session.until("q quit");
    assert!(!session.is_cooked());
    let first = session.until("OF LIMIT");
    assert!(first.contains(ENTER) && first.contains("POD"), "{first}");
    session.press("?");
    session.until_shown("scroll the columns");
    session.press("q");
    session.press("\r");
    session.until_shown("TOPIC");
    session.press("q");
    session.press("e");
    session.until_shown("kq cgroup plan ml/train-0 -o wide");
    session.press("q");
    session.press("3");
    session.until_shown("TRIGGER");
    session.press("q");
    let (code, text) = session.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(LEAVE) && text.contains(SHOW_CURSOR), "{text}");
}

#[test]
fn a_new_size_is_drawn() {
    let mut session = Session::start(&top(), &[]);
    assert!(!session.until("q quit").contains("PRESSURE"), "80 columns have no room for it");
    resize(&session.master, 200, 60);
    session.until("PRESSURE");
    session.press("\u{3}");
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn signals_restore_the_terminal() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        let session = Session::start(&top(), &[]);
        session.until("q quit");
        session.signal(signal);
        let (code, text) = session.end();
        assert_eq!(code, Some(0), "{signal:?}: {text}");
        assert!(text.contains(LEAVE) && text.contains(SHOW_CURSOR), "{signal:?}: {text}");
    }
    // No program can do anything about SIGKILL; reset restores the terminal then.
    let session = Session::start(&top(), &[]);
    session.until("q quit");
    session.signal(Signal::KILL);
    let (code, text) = session.end();
    assert_eq!(code, None);
    assert!(!text.contains(LEAVE), "{text}");
}

#[test]
fn colours_are_where_they_are_wanted() {
    let has_colour = |environment: &[(&str, &str)], option: &str| {
        let mut session = Session::start(&format!("{}{option}", top()), environment);
        session.until("q quit");
        session.press("q");
        session.end().1.contains("\u{1b}[38;5;")
    };
    assert!(has_colour(&[], ""));
    assert!(!has_colour(&[("NO_COLOR", "1")], ""));
    assert!(!has_colour(&[], " --color never"));
    assert!(has_colour(&[("NO_COLOR", "1")], " --color always"));
}
