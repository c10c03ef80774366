//! Credential plugins (`users[].exec`): programs that give a token or a client certificate, as for kubectl
//! (`plugin/pkg/client/auth/exec/exec.go` of client-go).
//!
//! A plugin is run before the first request, after what it gave has expired, and once after the server did not accept it. A
//! process runs a plugin for all of its requests and connections together: others wait for the run. Whether a kubeconfig may
//! name a program is decided before ([`kubeconfig`](super::kubeconfig)).

mod exec_credential;
mod settings;

pub(super) use settings::PluginCluster;

use crate::api_server::ApiError;
use crate::api_server::credentials::{Current, bearer};
use exec_credential::Given;
use kq_io::credential_plugin::{
    NoProgram, PluginError, PluginRun, can_ask, find_program, is_seen, run_plugin,
};
use kq_io::trust::is_root;
use kube::config::ExecConfig;
use settings::{InteractiveMode, Settings};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most bytes of what a plugin writes.
const MAX_OUTPUT: u64 = 1 << 20;

/// The time of a run, for each second that a request may take.
const TIMES: u32 = 20;

/// The longest run without a question to the user.
const LONGEST: Duration = Duration::from_secs(60);

/// The longest run that a person may have to answer, in a terminal or in a browser.
const LONGEST_WITH_PERSON: Duration = Duration::from_secs(5 * 60);

/// The shortest time between two runs, whatever the plugin says about the expiration.
const PAUSE: Duration = Duration::from_secs(1);

/// The shortest time between two runs after which the server accepted nothing.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_secs(60);

/// The plugins of this process: a command that refreshes its answer connects again each time.
static PLUGINS: Mutex<Vec<Arc<Plugin>>> = Mutex::new(Vec::new());

/// The most plugins that are kept.
const MOST: usize = 8;

/// A plugin and what it gave.
pub(super) struct Plugin {
    settings: Settings,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    given: Option<Given>,
    /// How many runs gave credentials.
    run: u64,
    /// When the last run ended.
    at: Option<Instant>,
    /// The last run is for a refusal by the server, which has accepted nothing since.
    is_refused: bool,
}

impl Plugin {
    /// Returns the plugin of a user, which is the one of an earlier connection if nothing differs. `path` is the kubeconfig.
    /// Fails for settings that kubectl refuses.
    pub(super) fn of(
        exec: &ExecConfig,
        cluster: Option<PluginCluster<'_>>,
        path: &str,
        deadline: Duration,
    ) -> Result<Arc<Self>, ApiError> {
        let settings = Settings::of(exec, cluster, path, deadline)?;
        let mut plugins = PLUGINS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = plugins.iter().find(|known| known.settings == settings) {
            return Ok(Arc::clone(known));
        }
        let plugin = Arc::new(Self { settings, held: Mutex::default() });
        if plugins.len() >= MOST {
            plugins.remove(0);
        }
        plugins.push(Arc::clone(&plugin));
        Ok(plugin)
    }

    /// Returns what counts now; runs the plugin if nothing does.
    pub(super) fn current(&self) -> Result<Current, ApiError> {
        let mut held = self.lock();
        let is_recent = held.at.is_some_and(|at| at.elapsed() < PAUSE);
        match &held.given {
            Some(given) if is_recent || !given.has_expired() => {}
            _ => self.run(&mut held)?,
        }
        Ok(held.current())
    }

    /// Takes note that the server accepted what a run gave.
    pub(super) fn accepted(&self, run: u64) {
        let mut held = self.lock();
        held.is_refused &= held.run != run;
    }

    /// Runs the plugin again, unless another request has already done so. Returns false where that is pointless: the last run
    /// was for the same reason.
    pub(super) fn renew(&self, refused: u64) -> Result<bool, ApiError> {
        let mut held = self.lock();
        if held.run != refused {
            return Ok(true);
        }
        let is_late = held.at.is_none_or(|at| at.elapsed() >= PAUSE_AFTER_REFUSAL);
        if held.is_refused && !is_late {
            return Ok(false);
        }
        self.run(&mut held)?;
        held.is_refused = true;
        Ok(true)
    }

    /// Returns what counts now as a text for another process of kq; runs the plugin if nothing does.
    pub(super) fn lend(&self) -> Result<Vec<u8>, ApiError> {
        self.current()?;
        Ok(self.lock().given.as_ref().map(Given::to_bytes).unwrap_or_default())
    }

    /// Takes what another process of kq lent.
    pub(super) fn borrow(&self, lent: &[u8]) {
        let mut held = self.lock();
        if held.given.is_none()
            && let Some(given) = Given::of_bytes(lent)
        {
            held.take(given);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the program, and holds what it gives.
    fn run(&self, held: &mut Held) -> Result<(), ApiError> {
        let settings = &self.settings;
        let asks = match settings.interactive_mode {
            InteractiveMode::Never => false,
            InteractiveMode::IfAvailable => can_ask(),
            InteractiveMode::Always if can_ask() => true,
            InteractiveMode::Always => {
                let reason = "needs a terminal on standard input (interactiveMode: Always)";
                return Err(settings.fault(reason));
            }
        };
        let program = find_program(Path::new(&settings.command)).map_err(|error| match error {
            NoProgram::Absent => settings.absent(),
            NoProgram::Refused(reason) => ApiError::PluginRefused {
                path: settings.path.clone(),
                command: settings.command.clone(),
                reason,
                hint: owner_hint(),
            },
        })?;
        let output = run_plugin(&PluginRun {
            program: &program,
            arguments: &settings.arguments,
            environment: &settings.environment(asks),
            asks,
            deadline: settings.time(asks || is_seen()),
            limit: MAX_OUTPUT,
        });
        let output = output.map_err(|error| match error {
            PluginError::System(error) if error.kind() == std::io::ErrorKind::NotFound => {
                settings.absent()
            }
            error => settings.fault(error.to_string()),
        })?;
        let given = Given::parse(&output, settings.api_version, &settings.command);
        held.take(given.map_err(|reason| settings.fault(reason))?);
        Ok(())
    }
}

/// Returns the remedy where others may write a kubeconfig or a plugin.
pub(super) fn owner_hint() -> &'static str {
    let is_sudo = std::env::var_os("SUDO_USER").is_some_and(|user| !user.is_empty());
    match (is_root(), is_sudo) {
        (true, true) => {
            "root runs a plugin only where root alone can write the kubeconfig and the plugin: run kq without sudo, and for \
             facts that need root pass the file of sudo kq snapshot -o FILE with --snapshot; or make a kubeconfig of root's"
        }
        (true, false) => {
            "root runs a plugin only where root alone can write the kubeconfig and the plugin, and the folders above them: \
             run kq as the user whose kubeconfig it is, or make a kubeconfig of root's"
        }
        (false, _) => {
            "a kubeconfig that names a program must belong to you or to root, and no other user may have the permission to write it"
        }
    }
}

impl Held {
    fn take(&mut self, given: Given) {
        self.given = Some(given);
        self.run += 1;
        self.at = Some(Instant::now());
        self.is_refused = false;
    }

    fn current(&self) -> Current {
        let (authorization, identity) = match &self.given {
            Some(given) => (given.token.as_deref().and_then(bearer), given.identity.clone()),
            None => (None, None),
        };
        Current { authorization, identity, run: self.run }
    }
}

impl Settings {
    /// Returns the longest time of a run.
    fn time(&self, has_person: bool) -> Duration {
        match has_person {
            true => LONGEST_WITH_PERSON,
            false => self.deadline.saturating_mul(TIMES).clamp(PAUSE, LONGEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_process_has_one_plugin_for_the_same_settings() {
        let of = |argument: &str, path: &str| {
            let exec = json!({
                "apiVersion": "client.authentication.k8s.io/v1", "command": "aws",
                "args": [argument], "interactiveMode": "Never",
            });
            let exec: ExecConfig = serde_json::from_value(exec).expect("fields of exec");
            Plugin::of(&exec, None, path, PAUSE).expect("settings")
        };
        let first = of("a", "config");
        assert!(Arc::ptr_eq(&first, &of("a", "config")));
        assert!(!Arc::ptr_eq(&first, &of("b", "config")));
        assert!(!Arc::ptr_eq(&first, &of("a", "other")));
    }

    #[test]
    fn what_is_lent_counts_until_it_is_refused() {
        let exec = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "command": "/does/not/exist",
            "interactiveMode": "Never",
        });
        let exec: ExecConfig = serde_json::from_value(exec).expect("fields of exec");
        let plugin = Plugin::of(&exec, None, "lent", PAUSE).expect("settings");
        assert!(matches!(plugin.current(), Err(ApiError::Plugin { .. })));
        plugin.borrow(b"no JSON");
        plugin.borrow(br#"{"token":"hunter2"}"#);
        let current = plugin.current().map_err(|error| error.to_string()).expect("the lent one");
        assert_eq!(current.authorization.expect("a token"), "Bearer hunter2");
        let lent = plugin.lend().map_err(|error| error.to_string()).expect("the same");
        let lent: serde_json::Value = serde_json::from_slice(&lent).expect("JSON");
        assert_eq!(lent["token"], "hunter2");
        assert!(plugin.renew(current.run).is_err(), "the plugin is asked");
    }
}
