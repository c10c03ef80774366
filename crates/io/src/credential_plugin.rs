//! Runs the credential plugin of the operator's kubeconfig: the one program other than kq itself that kq starts.
//!
//! Who may name one is decided before ([`Namer`](crate::trust::Namer)). The plugin gets kq's own environment and standard
//! error, as kubectl's plugins do, and standard input only where it may ask the person at the terminal. Its output is bounded
//! in size and time.

use crate::input::plain;
use crate::own_program::{Process, beginning_of};
use crate::trust::{TrustedProgram, is_root};
use std::io::{self, IsTerminal};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often a program is started that is still open for writing: it has just been installed.
const STARTS: u32 = 10;

/// The pause between two starts.
const PAUSE: Duration = Duration::from_millis(20);

/// A view uses the whole terminal.
static HAS_VIEW: AtomicBool = AtomicBool::new(false);

/// No plugin is run.
static IS_OFF: AtomicBool = AtomicBool::new(false);

/// What is done around a run, so that the plugin has the terminal for itself.
static AROUND: OnceLock<fn(&mut dyn FnMut())> = OnceLock::new();

/// From now on a view uses the whole terminal: plugins can neither ask nor write there.
pub fn take_terminal() {
    HAS_VIEW.store(true, Ordering::Relaxed);
}

/// From now on no plugin is run: a shell waits for candidates, and a plugin could ask the person.
pub fn turn_off() {
    IS_OFF.store(true, Ordering::Relaxed);
}

/// Does something around each run of a plugin, such as hiding a line of progress. The first call counts.
pub fn run_within(around: fn(&mut dyn FnMut())) {
    AROUND.get_or_init(|| around);
}

/// Returns true if a plugin can ask the person at the terminal.
pub fn can_ask() -> bool {
    !HAS_VIEW.load(Ordering::Relaxed) && io::stdin().is_terminal()
}

/// Returns true if a person sees what a plugin writes to standard error.
pub fn is_seen() -> bool {
    !HAS_VIEW.load(Ordering::Relaxed) && io::stderr().is_terminal()
}

/// Why the program of a command cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoProgram {
    /// There is none.
    Absent,
    /// It may not be run: a lowercase fragment.
    Refused(String),
}

/// Finds the program of a command, as Go does (`exec.LookPath`): a path is used as it is, a name is searched in `PATH`.
/// Root runs only a program that is trusted, with every folder above it.
pub fn find_program(command: &Path) -> Result<PathBuf, NoProgram> {
    if IS_OFF.load(Ordering::Relaxed) {
        return Err(NoProgram::Refused("a completion runs no plugins".to_owned()));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = find_in(command, std::env::split_paths(&path))?;
    // What is checked is what is run.
    let program = std::path::absolute(&program).unwrap_or(program);
    if is_root() {
        let checked = TrustedProgram::find(Path::new("/"), &program.to_string_lossy());
        checked.map_err(|error| NoProgram::Refused(error.to_string()))?;
    }
    Ok(program)
}

fn find_in(command: &Path, folders: impl Iterator<Item = PathBuf>) -> Result<PathBuf, NoProgram> {
    let mut parts = command.components();
    let is_name = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    if !is_name {
        return executable(command).ok_or(NoProgram::Absent);
    }
    for folder in folders {
        let Some(found) = executable(&folder.join(command)) else { continue };
        // `exec.ErrDot`: a program of the current folder runs only where it is named as such.
        return match found.is_absolute() {
            true => Ok(found),
            false => Err(NoProgram::Refused(format!(
                "{} is found by a relative folder of PATH",
                found.display()
            ))),
        };
    }
    Err(NoProgram::Absent)
}

#[cfg(not(windows))]
fn executable(path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(path).ok()?;
    (metadata.is_file() && metadata.permissions().mode() & 0o111 != 0).then(|| path.to_owned())
}

#[cfg(windows)]
fn executable(path: &Path) -> Option<PathBuf> {
    let with = |extension: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(extension);
        PathBuf::from(name)
    };
    let names = ["", ".exe", ".cmd", ".bat", ".com"].into_iter().map(with);
    names.into_iter().find(|path| path.extension().is_some() && path.is_file())
}

/// A run of a plugin.
pub struct PluginRun<'a> {
    pub program: &'a Path,
    pub arguments: &'a [String],
    /// Added to the environment of kq.
    pub environment: &'a [(String, String)],
    /// The plugin gets standard input; else an empty one.
    pub asks: bool,
    pub deadline: Duration,
    /// The most bytes of its output.
    pub limit: u64,
}

/// Why a run gave no output.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// The system did not start it, or it could not be read.
    #[error("could not be run: {}", plain(.0))]
    System(#[from] io::Error),
    /// It was ended at the deadline.
    #[error("did not end within {0:?}, and was ended")]
    TimedOut(Duration),
    /// It was ended because its output exceeds the limit.
    #[error("wrote more than {0} bytes, and was ended")]
    Large(u64),
    /// It ended with this code; `None`: a signal ended it.
    #[error("failed with {}", code.map_or("a signal".to_owned(), |code| format!("exit code {code}")))]
    Failed { code: Option<i32> },
}

/// Runs a plugin, and returns its output.
/// Fails if it cannot be started, at the deadline, above the limit, and if it reports a failure.
pub fn run_plugin(run: &PluginRun<'_>) -> Result<Vec<u8>, PluginError> {
    let Some(around) = AROUND.get() else { return output_of(run) };
    let mut output = None;
    around(&mut || output = Some(output_of(run)));
    output.unwrap_or_else(|| output_of(run))
}

fn output_of(run: &PluginRun<'_>) -> Result<Vec<u8>, PluginError> {
    let end = Instant::now() + run.deadline;
    let mut process = start(run)?;
    let output = beginning_of(process.0.stdout.take(), run.limit.saturating_add(1));
    let left = end.saturating_duration_since(Instant::now());
    let late = |_| PluginError::TimedOut(run.deadline);
    let output = output.recv_timeout(left).map_err(late)??;
    if u64::try_from(output.len()).is_ok_and(|length| length > run.limit) {
        return Err(PluginError::Large(run.limit));
    }
    match process.ended(end)? {
        None => Err(PluginError::TimedOut(run.deadline)),
        Some(status) if status.success() => Ok(output),
        Some(status) => Err(PluginError::Failed { code: status.code() }),
    }
}

/// Starts it in the group of this process, so that an interrupt of the terminal ends both.
fn start(run: &PluginRun<'_>) -> io::Result<Process> {
    let mut command = Command::new(run.program);
    command
        .args(run.arguments)
        .envs(run.environment.iter().map(|(name, value)| (name, value)))
        .stdin(if run.asks { Stdio::inherit() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(match HAS_VIEW.load(Ordering::Relaxed) {
            true => Stdio::null(),
            false => Stdio::inherit(),
        });
    let mut starts = 1;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && starts < STARTS => {
                starts += 1;
                thread::sleep(PAUSE);
            }
            child => return Ok(Process(child?)),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    fn shell<'a>(arguments: &'a [String], deadline: Duration) -> PluginRun<'a> {
        PluginRun {
            program: Path::new("/bin/sh"),
            arguments,
            environment: &[],
            asks: false,
            deadline,
            limit: 64,
        }
    }

    #[test]
    fn the_output_of_a_run_is_bounded() {
        const AMPLE: Duration = Duration::from_secs(20);
        for (script, deadline, expected) in [
            ("echo it; echo never >/dev/null", AMPLE, Ok("it\n")),
            ("cat", AMPLE, Ok("")),
            ("exit 3", AMPLE, Err("failed with exit code 3")),
            ("kill -9 $$", AMPLE, Err("failed with a signal")),
            ("yes", AMPLE, Err("wrote more than 64 bytes, and was ended")),
            (
                "exec sleep 60",
                Duration::from_millis(200),
                Err("did not end within 200ms, and was ended"),
            ),
            // The output is complete, and the program is not.
            (
                "exec >&-; exec sleep 60",
                Duration::from_millis(200),
                Err("did not end within 200ms"),
            ),
        ] {
            let arguments = ["-c".to_owned(), script.to_owned()];
            let begun = Instant::now();
            let output = run_plugin(&shell(&arguments, deadline));
            let output = output.map(|it| String::from_utf8_lossy(&it).into_owned());
            match (output, expected) {
                (Ok(output), Ok(expected)) => assert_eq!(output, expected, "{script}"),
                (Err(error), Err(expected)) => {
                    assert!(error.to_string().starts_with(expected), "{script}: {error}");
                }
                (output, _) => panic!("{script}: {output:?}"),
            }
            assert!(begun.elapsed() < AMPLE, "{script}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_a_plugin_began_ends_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
        let arguments = ["-c".to_owned(), script];
        let output = run_plugin(&shell(&arguments, Duration::from_secs(2)));
        assert!(matches!(output, Err(PluginError::TimedOut(_))), "{output:?}");
        let pid = fs::read_to_string(&file).expect("its child");
        let command = Path::new("/proc").join(pid.trim()).join("cmdline");
        let is_there = || fs::read(&command).is_ok_and(|text| !text.is_empty());
        let until = std::time::Instant::now() + Duration::from_secs(10);
        while is_there() && std::time::Instant::now() < until {
            thread::sleep(PAUSE);
        }
        assert!(!is_there(), "{pid}");
    }

    #[test]
    fn the_environment_is_added() {
        let arguments = ["-c".to_owned(), "echo $KQ_TEST_A; test -n \"$PATH\"".to_owned()];
        let environment = [("KQ_TEST_A".to_owned(), "b".to_owned())];
        let run =
            PluginRun { environment: &environment, ..shell(&arguments, Duration::from_secs(20)) };
        assert_eq!(run_plugin(&run).expect("an output"), b"b\n");
    }

    #[test]
    fn a_name_is_found_in_the_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        for (folder, mode) in [(&one, 0o644), (&two, 0o755)] {
            fs::create_dir(folder).expect("a folder");
            fs::write(folder.join("aws"), "").expect("a file");
            fs::set_permissions(folder.join("aws"), Permissions::from_mode(mode)).expect("a mode");
        }
        let find = |command: &Path| find_in(command, [one.clone(), two.clone()].into_iter());
        assert_eq!(find(Path::new("aws")), Ok(two.join("aws")));
        assert_eq!(find(&two.join("aws")), Ok(two.join("aws")));
        for absent in [one.join("aws"), "gcloud".into(), "./aws".into(), two.clone(), "..".into()] {
            assert_eq!(find(&absent), Err(NoProgram::Absent), "{}", absent.display());
        }
        let here = std::env::current_dir().expect("a folder");
        let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
        let relative = up.join(two.strip_prefix("/").expect("an absolute path"));
        match find_in(Path::new("aws"), [relative].into_iter()) {
            Err(NoProgram::Refused(why)) => {
                assert!(why.contains("a relative folder of PATH"), "{why}")
            }
            found => panic!("{found:?}"),
        }
    }
}
