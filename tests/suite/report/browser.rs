//! A browser without a window, driven by the DevTools protocol over a pipe.
//!
//! The protocol: JSON messages that end with a zero byte, requests on file descriptor 3 and answers on 4. A shell puts the
//! standard streams there.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// `required`: a test without a browser fails; else it says that it did nothing.
const VARIABLE: &str = "KQ_BROWSER";

/// The programs that are looked for.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// How long an answer may take: a machine that tests much else is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Browser {
    process: Child,
    requests: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    number: u64,
    events: VecDeque<Value>,
    _profile: tempfile::TempDir,
}

/// Starts a browser; `None`: this machine has none, which is said.
pub fn browser() -> Option<Browser> {
    let is_there = |program: &&str| {
        let mut asked = Command::new(program);
        asked.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    };
    let Some(program) = PROGRAMS.into_iter().find(|program| is_there(program)) else {
        let why =
            format!("no browser: none of {PROGRAMS:?} is installed (apt-get install chromium)");
        assert!(std::env::var(VARIABLE).as_deref() != Ok("required"), "{why}");
        crate::skipped::skip(&why.to_string());
        return None;
    };
    Some(Browser::start(program))
}

impl Browser {
    fn start(program: &str) -> Self {
        let profile = tempfile::tempdir().expect("a folder can be made");
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null", program])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"])
            .args(["--force-color-profile=srgb", "--font-render-hinting=none"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell can be started");
        let requests = process.stdin.take().expect("it is piped");
        let answers = BufReader::new(process.stdout.take().expect("it is piped"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in answers.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("the browser writes JSON");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let (session, events) = (String::new(), VecDeque::new());
        let mut browser =
            Self { process, requests, messages, session, number: 0, events, _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach)["sessionId"].clone();
        browser.session = session.as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Calls a method, and returns its result.
    #[track_caller]
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut request = json!({"id": self.number, "method": method, "params": parameters});
        if !self.session.is_empty() {
            request["sessionId"] = json!(self.session);
        }
        let mut bytes = request.to_string().into_bytes();
        bytes.push(0);
        self.requests.write_all(&bytes).expect("the browser reads");
        loop {
            let message = self.messages.recv_timeout(PATIENCE);
            let message = message.unwrap_or_else(|error| panic!("{method}: no answer: {error}"));
            if message["id"] == json!(self.number) {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    /// Sets the size of the window, and whether the system is dark.
    pub fn look(&mut self, width: u32, is_dark: bool) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = if is_dark { "dark" } else { "light" };
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.call("Emulation.setEmulatedMedia", json!({"features": [feature]}));
    }

    /// Opens a file, and waits until its script has run.
    #[track_caller]
    pub fn open(&mut self, file: &Path) {
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        let begin = Instant::now();
        let is_ready = "document.readyState === 'complete' && document.documentElement.dataset.ready === 'true'";
        while self.value(is_ready) != json!(true) {
            assert!(begin.elapsed() < PATIENCE, "the page is not ready: {:?}", self.complaints());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Counts the work of the page in time of a processor: that of a clock is longer on a machine that tests much else.
    pub fn count_work(&mut self) {
        self.call("Performance.enable", json!({"timeDomain": "threadTicks"}));
    }

    /// Returns the work since the page was opened, in seconds.
    pub fn work(&mut self) -> f64 {
        let metrics = self.call("Performance.getMetrics", json!({}));
        let metrics = metrics["metrics"].as_array().expect("metrics").iter();
        let mut tasks = metrics.filter(|metric| metric["name"] == json!("TaskDuration"));
        let work = tasks.next().and_then(|metric| metric["value"].as_f64());
        work.expect("the browser counts tasks")
    }

    /// Evaluates an expression.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let ask = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", ask);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "text": text}));
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key}));
    }

    /// Types a text.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Clicks into the middle of an element.
    pub fn click(&mut self, selector: &str) {
        let middle = format!(
            "(() => {{ const it = document.querySelector({selector:?}); it.scrollIntoView({{block: 'center', behavior: 'instant'}}); \
             const box = it.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        );
        let middle = self.value(&middle);
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let at = json!({"type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", at);
        }
    }

    /// Takes a picture of an element, as PNG in base64.
    pub fn picture(&mut self, selector: &str) -> String {
        let place = format!(
            "(() => {{ const box = document.querySelector({selector:?}).getBoundingClientRect(); \
             return {{x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: Math.min(box.height, 1400), scale: 1}}; }})()"
        );
        let clip = self.value(&place);
        let ask = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let taken = self.call("Page.captureScreenshot", ask);
        taken["data"].as_str().expect("a picture").to_owned()
    }

    /// Returns the part of the pixels in which two pictures differ to the eye, where they have about the same size.
    pub fn difference(&mut self, one: &str, other: &str) -> f64 {
        const COMPARE: &str = r#"(async (one, other) => {
            const load = async (data) => {
                const image = new Image();
                image.src = "data:image/png;base64," + data;
                await image.decode();
                return image;
            };
            const [first, second] = [await load(one), await load(other)];
            if (first.width !== second.width || Math.abs(first.height - second.height) > 0.04 * first.height) return 1;
            const [width, height] = [first.width, Math.min(first.height, second.height)];
            const pixels = (image) => {
                const canvas = new OffscreenCanvas(width, height), context = canvas.getContext("2d");
                context.drawImage(image, 0, 0);
                return context.getImageData(0, 0, width, height).data;
            };
            const [a, b] = [pixels(first), pixels(second)];
            let differ = 0;
            for (let at = 0; at < a.length; at += 4) {
                const most = Math.max(Math.abs(a[at] - b[at]), Math.abs(a[at + 1] - b[at + 1]), Math.abs(a[at + 2] - b[at + 2]));
                if (most > 60) differ += 1;
            }
            return differ / (width * height);
        })"#;
        // The page itself may load no picture.
        self.call("Page.navigate", json!({"url": "about:blank"}));
        let differ = self.value(&format!("{COMPARE}({one:?}, {other:?})"));
        differ.as_f64().expect("a number")
    }

    /// Returns what the browser said on its console and in its log, and the requests that left.
    pub fn complaints(&mut self) -> Vec<String> {
        let mut complaints = Vec::new();
        for event in self.events.drain(..) {
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded" => {
                    complaints.push(event["params"].to_string());
                }
                "Network.requestWillBeSent" => {
                    let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                    let is_own =
                        url.starts_with("file://") && event["params"]["type"] == "Document";
                    if !is_own && !url.starts_with("data:") {
                        complaints.push(format!("a request for {url}"));
                    }
                }
                _ => {}
            }
        }
        complaints
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
