//! The fake kubelet: a loop that takes what comes in, writes the checkpoint and reports events, one after the other.

mod plugin_calls;
mod requests;

use super::control::{Answer, Request};
use anyhow::{Context, anyhow};
use kq_answer::Failure;
use kq_io::clock::moment;
use kq_io::host::host_root;
use kq_k8s::duration::GoDuration;
use kq_linux::device_plugin::folder::{FolderError, KUBELET_SOCKET, claim};
use kq_linux::device_plugin::socket_registry::{REGISTERED, Registered, lock, remove_stale};
use kq_linux::device_plugin::{Caller, Incoming, PluginClient, RegistrationServer, Timeouts};
use kq_managers::fake_kubelet::{Event, Manager, Throttle, TimedEvent};
use kq_managers::manager::{DIAL_PATIENCE, ManagerState};
use plugin_calls::{CheckpointWriter, restore};
use requests::send;
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, pending};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::time::Duration;

/// The longest wait. A changed clock and a removed socket are noticed after it.
const LONGEST: Duration = Duration::from_secs(2);

/// The wait until held-back lines are counted.
const SOON: Duration = Duration::from_millis(250);

/// The number of requests that can wait while pods are admitted.
const WAITING: usize = 64;

/// The options of a fake kubelet.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The folder of the sockets; created if it does not exist.
    pub folder: PathBuf,
    /// The time limit for a call to a plugin.
    pub call_timeout: Duration,
    /// How long a resource is kept after its plugin ends.
    pub grace_period: Duration,
    /// The root of the node whose kubelet must not be disturbed.
    pub host_root: Option<PathBuf>,
}

/// The state of the loop.
struct ServeLoop<'e> {
    manager: Manager,
    /// The plugins whose streams are open, by connection.
    clients: BTreeMap<u64, PluginClient>,
    checkpoint: CheckpointWriter,
    /// The sockets of plugins that registered.
    registered: Registered,
    events: EventWriter<'e>,
    /// Requests that wait until pods are admitted, with their callers. Callers are dropped before the sockets.
    waiting: VecDeque<(Request, Caller)>,
    server: RegistrationServer,
    call_timeout: Duration,
    /// The names of pods, by UID.
    names: BTreeMap<String, String>,
    /// Pods are being admitted, one at a time, as in a kubelet.
    is_admitting: bool,
    is_stopping: bool,
}

/// Serves until it is interrupted. `emit` writes an event; a second interrupt calls `give_up`.
///
/// # Errors
///
/// Refuses a folder of another program, and fails for a lost socket, an unwritten checkpoint and a failed `emit`.
pub fn serve(
    options: &ServeOptions,
    emit: &mut dyn FnMut(&TimedEvent) -> Result<(), Failure>,
    give_up: fn(),
) -> Result<(), Failure> {
    let (root, _) = host_root(options.host_root.as_deref());
    let folder = claim(&options.folder, &root).map_err(refuse)?;
    let mut events = EventWriter::new(emit);
    let held = lock(&folder).map_err(refuse)?;
    let cleared = remove_stale(&held)
        .with_context(|| format!("cannot remove stale sockets in {}", folder.display()))
        .map_err(Failure::missing)?;
    events.write(cleared.removed.into_iter().map(|name| Event::StaleRemoved { name }))?;
    events.write(cleared.listening.into_iter().map(|name| Event::LeftAlone { name }))?;
    let checkpoint = CheckpointWriter::new(&held);
    let timeouts = Timeouts {
        dial: Duration::from_nanos(DIAL_PATIENCE.0.unsigned_abs()),
        call: options.call_timeout,
    };
    let grace = GoDuration(i64::try_from(options.grace_period.as_nanos()).unwrap_or(i64::MAX));
    let server = RegistrationServer::start(&held, timeouts, give_up)
        .context("cannot listen")
        .map_err(Failure::missing)?;
    // Files are moved only once the sockets are served.
    let mut registered = Registered::read(&held);
    let (state, restored) = restore(&held, registered.is_there)?;
    events.write(restored)?;
    events.write(registered.unreadable.take().map(odd_list))?;
    events.write(registered.begin().err().map(|it| odd_list(it.to_string())))?;
    let socket = folder.join(KUBELET_SOCKET).display().to_string();
    events.write([Event::Listening { socket }])?;
    let mut serving = ServeLoop {
        manager: Manager::new(state, grace),
        clients: BTreeMap::new(),
        checkpoint,
        registered,
        events,
        waiting: VecDeque::new(),
        server,
        call_timeout: options.call_timeout,
        names: BTreeMap::new(),
        is_admitting: false,
        is_stopping: false,
    };
    while !serving.is_stopping {
        serving.step()?;
    }
    serving.settle(Vec::new())?;
    serving.events.write([Event::Stopping])?;
    match &serving.checkpoint.failed {
        None => Ok(()),
        Some(error) => Err(Failure::missing(anyhow!("{error}")).hint(
            "the changes since the last write are lost: the next fake kubelet starts without them",
        )),
    }
}

/// Returns the event of a socket list that cannot be read or written, so that the next fake kubelet leaves the sockets.
fn odd_list(text: String) -> Event {
    Event::Odd { resource: REGISTERED.to_owned(), text }
}

fn refuse(error: FolderError) -> Failure {
    match error {
        FolderError::Foreign { .. } => Failure::refused(error).hint(
            "name an empty folder, or end the program that uses this one; nothing was removed",
        ),
        FolderError::Unknown { .. } => {
            Failure::refused(error).hint("run kq where it sees the node's processes in /proc")
        }
        FolderError::Kubelet { .. } => Failure::refused(error)
            .hint("the kubelet of this folder would lose its plugins: name another folder"),
        FolderError::Taken { .. } | FolderError::Locked { .. } => {
            Failure::refused(error).hint("end the other one first, or name another folder")
        }
        FolderError::TooLong { .. } => {
            Failure::usage(error).hint("name a folder with a shorter path, such as /tmp/plugins")
        }
        FolderError::System { .. } => Failure::missing(error),
    }
}

impl ServeLoop<'_> {
    /// Processes a waiting request, or what comes next.
    fn step(&mut self) -> Result<(), Failure> {
        if let Some((request, caller)) = self.waiting.pop_front() {
            return self.reply(request, caller);
        }
        match self.next_or(pin!(pending::<()>())) {
            ControlFlow::Break(()) => Ok(()),
            ControlFlow::Continue(incoming) => self.take(incoming),
        }
    }

    /// Waits for the end of a call, or for what comes in before it. `None`: the wait is over.
    fn next_or<T>(
        &mut self,
        call: Pin<&mut impl Future<Output = T>>,
    ) -> ControlFlow<T, Option<Incoming>> {
        let longest = self.wait();
        self.server.next_or(longest, call)
    }

    /// Processes what came in, and expired resources.
    fn take(&mut self, incoming: Option<Incoming>) -> Result<(), Failure> {
        let now = moment();
        if self.manager.next_expiry().is_some_and(|expiry| expiry <= now) {
            let events = self.manager.expire(now);
            self.settle(events)?;
        }
        if self.checkpoint.failed.is_some() {
            self.settle(Vec::new())?;
        }
        let is_over = matches!(incoming, Some(Incoming::Stop));
        if let Some(name) = self.server.lost().filter(|_| !is_over) {
            let known = match &self.checkpoint.failed {
                None => "its state is in the checkpoint".to_owned(),
                Some(error) => format!("the last change is not in the checkpoint: {error}"),
            };
            return Err(Failure::missing(anyhow!(
                "{name} was removed or replaced: plugins can no longer reach this fake kubelet"
            ))
            .hint(format!("start it again; {known}")));
        }
        match incoming {
            None => self.events.flush()?,
            Some(Incoming::Stop) => self.is_stopping = true,
            Some(Incoming::Refused { resource, endpoint, reason, detail }) => {
                self.events.write([Event::Refused { resource, endpoint, reason, detail }])?;
            }
            Some(Incoming::NotUnderstood { reason }) => {
                self.events.write([Event::NotUnderstood { reason }])?;
            }
            Some(Incoming::Connected { id, resource, endpoint, options, plugin, taken }) => {
                let mut events = self.manager.connected(id, &resource, &endpoint, options);
                let unknown = self.registered.add(&endpoint).err();
                events.extend(unknown.map(|it| odd_list(it.to_string())));
                self.clients.insert(id, plugin);
                self.settle(events)?;
                // The plugin is answered now. A plugin that did not wait for it is watched too.
                let _ = taken.send(());
            }
            Some(Incoming::Listed { id, devices }) => {
                let events = self.manager.listed(id, devices);
                self.settle(events)?;
            }
            Some(Incoming::Ended { id, reason }) => {
                self.clients.remove(&id);
                let events = self.manager.ended(id, reason, now);
                self.settle(events)?;
            }
            Some(Incoming::Control { request, caller }) => {
                match serde_json::from_slice::<Request>(&request) {
                    Err(error) => {
                        send(&Answer::Refused(format!("invalid request: {error}")), caller)?
                    }
                    // Pods come and go one at a time; listing plugins changes nothing.
                    Ok(request) if self.is_admitting && !matches!(request, Request::Plugins) => {
                        if self.waiting.len() < WAITING {
                            self.waiting.push_back((request, caller));
                        } else {
                            let busy = "too many requests wait for a plugin's answer";
                            send(&Answer::Refused(busy.to_owned()), caller)?;
                        }
                    }
                    Ok(request) => self.reply(request, caller)?,
                }
            }
        }
        Ok(())
    }

    /// Returns the time until something is due.
    fn wait(&self) -> Duration {
        let expiry = self.manager.next_expiry().map(|expiry| expiry.since(moment()).max(0));
        let expiry = expiry.and_then(|left| u64::try_from(left).ok());
        let wait = expiry.map_or(LONGEST, Duration::from_nanos).min(LONGEST);
        if self.events.has_pending() { wait.min(SOON) } else { wait }
    }

    /// Writes the checkpoint, and then the events.
    fn settle(&mut self, events: Vec<Event>) -> Result<(), Failure> {
        let failed = self.checkpoint.write(&self.manager.state);
        self.events.write(events.into_iter().chain(failed))
    }

    /// Writes a state that changed while pods are admitted. The inner result is that of the write.
    fn save(&mut self, state: &ManagerState) -> Result<Result<(), String>, Failure> {
        let event = self.checkpoint.write(state);
        self.events.write(event)?;
        Ok(self.checkpoint.failed.clone().map_or(Ok(()), Err))
    }

    /// Returns the plugin of a resource, unless its endpoint was stopped.
    fn plugin(&self, resource: &str) -> Option<PluginClient> {
        self.clients.get(&self.manager.connection(resource)?).cloned()
    }
}

type Emit<'e> = &'e mut dyn FnMut(&TimedEvent) -> Result<(), Failure>;

struct EventWriter<'e> {
    emit: Emit<'e>,
    throttle: Throttle,
}

impl<'e> EventWriter<'e> {
    fn new(emit: Emit<'e>) -> Self {
        Self { emit, throttle: Throttle::default() }
    }

    /// Writes events.
    fn write(&mut self, events: impl IntoIterator<Item = Event>) -> Result<(), Failure> {
        self.flush()?;
        for event in events {
            if !event.may_flood() || self.throttle.admits(moment()) {
                self.write_one(event)?;
            }
        }
        Ok(())
    }

    /// Writes the number of held-back events, once there is room for it.
    fn flush(&mut self) -> Result<(), Failure> {
        match self.throttle.held_back(moment()) {
            Some(lines) => self.write_one(Event::HeldBack { lines }),
            None => Ok(()),
        }
    }

    /// Returns true if held-back events are still to be counted.
    fn has_pending(&self) -> bool {
        self.throttle.owes()
    }

    fn write_one(&mut self, event: Event) -> Result<(), Failure> {
        (self.emit)(&TimedEvent { time: moment(), event })
    }
}
