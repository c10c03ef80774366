//! The loop of a stand-in: what comes in is taken, written and told, one after the other.

use super::Args;
use super::event_writer::EventWriter;
use super::plugin_calls::Asking;
use super::pods::pods;
use super::request::{Answer, Request};
use super::restore::{Saver, restore};
use crate::devices::topology::{parse_node, refuse_twice};
use crate::exit::{Code, Failure};
use anyhow::{Context, anyhow};
use kq::device::fake_kubelet::{DeviceAllocation, Event, Manager, TopologyConfig, admit};
use kq::device::manager::{DIAL_PATIENCE, ManagerState};
use kq::edge::clock::moment;
use kq::edge::device_plugin::folder::{FolderError, KUBELET_SOCKET, claim};
use kq::edge::device_plugin::socket_registry::{REGISTERED, Registered, lock, remove_stale};
use kq::edge::device_plugin::{
    Caller, Incoming, MAX_CONTROL_BYTES, PluginClient, RegistrationServer, Timeouts,
};
use kq::edge::host::host_root;
use kq::k8s::duration::GoDuration;
use kq::k8s::pod::Pod;
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, pending};
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::time::Duration;

/// How long to wait where nothing is due: a clock that was set, and a socket that is gone, is seen by then.
const LONGEST: Duration = Duration::from_secs(2);

/// How long until lines that were held back are counted.
const SOON: Duration = Duration::from_millis(250);

/// How many requests can wait while pods are admitted.
const WAITING: usize = 64;

/// What the loop goes on with.
pub struct ServeLoop {
    pub manager: Manager,
    /// The plugins whose streams are open, by connection.
    clients: BTreeMap<u64, PluginClient>,
    saver: Saver,
    /// The sockets of plugins that registered.
    registered: Registered,
    teller: EventWriter,
    /// What waits until pods are admitted, and whom to answer. Those are let go before the sockets are.
    waiting: VecDeque<(Request, Caller)>,
    stand_in: RegistrationServer,
    pub call_timeout: Duration,
    /// The names of pods, by UID.
    names: BTreeMap<String, String>,
    /// Pods are being admitted: one at a time, as in a kubelet.
    is_admitting: bool,
    /// It is to end.
    pub is_stopping: bool,
}

/// Serves until it is interrupted.
pub fn run(args: &Args) -> Result<Code, Failure> {
    let (root, _) = host_root(args.host_root.as_deref());
    let folder = claim(&args.dir, &root).map_err(refuse)?;
    let mut teller = EventWriter::new(args.output);
    let held = lock(&folder).map_err(refuse)?;
    let cleared = remove_stale(&held)
        .with_context(|| format!("cannot remove stale sockets in {}", folder.display()))
        .map_err(Failure::missing)?;
    teller.tell(cleared.removed.into_iter().map(|name| Event::StaleRemoved { name }))?;
    teller.tell(cleared.listening.into_iter().map(|name| Event::LeftAlone { name }))?;
    let saver = Saver::new(&held);
    let patience = Timeouts {
        dial: Duration::from_nanos(DIAL_PATIENCE.0.unsigned_abs()),
        call: args.call_timeout,
    };
    let grace = GoDuration(i64::try_from(args.grace_period.as_nanos()).unwrap_or(i64::MAX));
    let stand_in = RegistrationServer::start(&held, patience, give_up)
        .context("cannot listen")
        .map_err(Failure::missing)?;
    // Only once it can serve is anything put aside.
    let mut registered = Registered::read(&held);
    let (state, events) = restore(&held, registered.is_there)?;
    teller.tell(events)?;
    teller.tell(registered.unreadable.take().map(odd_list))?;
    teller.tell(registered.begin().err().map(|it| odd_list(it.to_string())))?;
    let socket = folder.join(KUBELET_SOCKET).display().to_string();
    teller.tell([Event::Listening { socket }])?;
    let mut turning = ServeLoop {
        manager: Manager::new(state, grace),
        clients: BTreeMap::new(),
        saver,
        registered,
        teller,
        waiting: VecDeque::new(),
        stand_in,
        call_timeout: args.call_timeout,
        names: BTreeMap::new(),
        is_admitting: false,
        is_stopping: false,
    };
    while !turning.is_stopping {
        turning.turn()?;
    }
    turning.settle(Vec::new())?;
    turning.teller.tell([Event::Stopping])?;
    match &turning.saver.failed {
        None => Ok(Code::Answered),
        Some(error) => Err(Failure::missing(anyhow!("{error}"))
            .hint("what changed since it was written last is lost: the next one will not know it")),
    }
}

/// Tells of a list of the sockets of plugins that cannot be read or written: the next stand-in leaves them.
fn odd_list(text: String) -> Event {
    Event::Odd { resource: REGISTERED.to_owned(), text }
}

/// Ends at once: whoever asks a second time does not want to wait.
#[expect(clippy::disallowed_methods, reason = "there is nothing left to do in order")]
fn give_up() {
    std::process::exit(130);
}

/// Answers; whoever asked may have gone.
fn send(answer: &Answer, caller: Caller) -> Result<(), Failure> {
    let mut bytes = serde_json::to_vec(answer).map_err(Failure::missing)?;
    if bytes.len() as u64 > MAX_CONTROL_BYTES {
        let long = "it was done, and the answer is too long: ask for fewer pods at once".to_owned();
        bytes = serde_json::to_vec(&Answer::Refused(long)).map_err(Failure::missing)?;
    }
    caller.answer(bytes);
    Ok(())
}

fn refuse(error: FolderError) -> Failure {
    match error {
        FolderError::Foreign { .. } => Failure::refused(error).hint(
            "name an empty folder of its own, or end what uses this one; nothing was removed",
        ),
        FolderError::Unknown { .. } => {
            Failure::refused(error).hint("run kq where it sees the node's processes in /proc")
        }
        FolderError::Kubelet { .. } => Failure::refused(error)
            .hint("a kubelet that lives there would lose its plugins: name a folder of its own"),
        FolderError::Taken { .. } | FolderError::Locked { .. } => {
            Failure::refused(error).hint("end the other one first, or name another folder")
        }
        FolderError::TooLong { .. } => {
            Failure::usage(error).hint("name a folder with a shorter path, such as /tmp/plugins")
        }
        FolderError::System { .. } => Failure::missing(error),
    }
}

impl ServeLoop {
    /// Takes what waits, or what comes next.
    fn turn(&mut self) -> Result<(), Failure> {
        if let Some((request, caller)) = self.waiting.pop_front() {
            return self.reply(request, caller);
        }
        match self.next_or(pin!(pending::<()>())) {
            ControlFlow::Break(()) => Ok(()),
            ControlFlow::Continue(incoming) => self.take(incoming),
        }
    }

    /// Waits for the end of a call, or for what comes before it; nothing is `None`.
    pub fn next_or<T>(
        &mut self,
        call: Pin<&mut impl Future<Output = T>>,
    ) -> ControlFlow<T, Option<Incoming>> {
        let patience = self.wait();
        self.stand_in.next_or(patience, call)
    }

    /// Takes what came in, and does what is due.
    pub fn take(&mut self, incoming: Option<Incoming>) -> Result<(), Failure> {
        let now = moment();
        if self.manager.next_expiry().is_some_and(|expiry| expiry <= now) {
            let events = self.manager.expire(now);
            self.settle(events)?;
        }
        if self.saver.failed.is_some() {
            self.settle(Vec::new())?;
        }
        let is_over = matches!(incoming, Some(Incoming::Stop));
        if let Some(name) = self.stand_in.lost().filter(|_| !is_over) {
            let known = match &self.saver.failed {
                None => "what it knew is in the checkpoint".to_owned(),
                Some(error) => format!("what changed last is not in the checkpoint: {error}"),
            };
            return Err(Failure::missing(anyhow!(
                "{name} was removed or replaced: nobody can reach this stand-in any more"
            ))
            .hint(format!("start it again; {known}")));
        }
        match incoming {
            None => self.teller.settle()?,
            Some(Incoming::Stop) => self.is_stopping = true,
            Some(Incoming::Refused { resource, endpoint, reason, detail }) => {
                self.teller.tell([Event::Refused { resource, endpoint, reason, detail }])?;
            }
            Some(Incoming::NotUnderstood { reason }) => {
                self.teller.tell([Event::NotUnderstood { reason }])?;
            }
            Some(Incoming::Connected { id, resource, endpoint, options, plugin, taken }) => {
                let mut events = self.manager.connected(id, &resource, &endpoint, options);
                let unknown = self.registered.add(&endpoint).err();
                events.extend(unknown.map(|it| odd_list(it.to_string())));
                self.clients.insert(id, plugin);
                self.settle(events)?;
                // The plugin is answered now; one that did not wait for it is watched all the same.
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
                        send(&Answer::Refused(format!("not understood: {error}")), caller)?
                    }
                    // Pods come and go one at a time; to look changes nothing.
                    Ok(request) if self.is_admitting && !matches!(request, Request::Plugins) => {
                        if self.waiting.len() < WAITING {
                            self.waiting.push_back((request, caller));
                        } else {
                            let busy = "too many wait for a plugin that has not answered yet";
                            send(&Answer::Refused(busy.to_owned()), caller)?;
                        }
                    }
                    Ok(request) => self.reply(request, caller)?,
                }
            }
        }
        Ok(())
    }

    /// Returns how long nothing is due.
    fn wait(&self) -> Duration {
        let expiry = self.manager.next_expiry().map(|expiry| expiry.since(moment()).max(0));
        let expiry = expiry.and_then(|left| u64::try_from(left).ok());
        let wait = expiry.map_or(LONGEST, Duration::from_nanos).min(LONGEST);
        if self.teller.owes() { wait.min(SOON) } else { wait }
    }

    /// Writes what changed, and then tells of it.
    fn settle(&mut self, events: Vec<Event>) -> Result<(), Failure> {
        let failed = self.saver.save(&self.manager.state);
        self.teller.tell(events.into_iter().chain(failed))
    }

    /// Writes a state that changed while pods are admitted, and returns whether that succeeded.
    pub fn save(&mut self, state: &ManagerState) -> Result<Result<(), String>, Failure> {
        let told = self.saver.save(state);
        self.teller.tell(told)?;
        Ok(self.saver.failed.clone().map_or(Ok(()), Err))
    }

    /// Does what is asked for, unless whoever asked has gone: that one was told that nobody answers.
    fn reply(&mut self, request: Request, caller: Caller) -> Result<(), Failure> {
        if caller.has_gone() {
            return Ok(());
        }
        let answer = match request {
            Request::Plugins => Answer::Plugins(self.manager.plugins()),
            Request::End { pod } => self.end(&pod)?,
            Request::Allocate { file, text, terms } => {
                self.is_admitting = true;
                let answer = self.allocate(&file, &text, &terms, &caller);
                self.is_admitting = false;
                answer?
            }
        };
        send(&answer, caller)
    }

    fn allocate(
        &mut self,
        file: &str,
        text: &str,
        terms: &TopologyConfig,
        caller: &Caller,
    ) -> Result<Answer, Failure> {
        // Whoever speaks on the socket need not have been kq.
        let nodes =
            terms.numa_nodes.iter().try_for_each(|node| parse_node(&node.to_string()).map(drop));
        let nodes = nodes.and_then(|()| refuse_twice(&terms.numa_nodes).map_err(|it| it.reason()));
        let pods = match nodes.and_then(|()| pods(file, text)) {
            Ok(pods) => pods,
            Err(reason) => return Ok(Answer::Refused(reason)),
        };
        let mut reports = Vec::new();
        for (pod, assumption) in pods {
            let mut report = self.admit(pod, terms)?;
            report.basis.assume_all(assumption);
            reports.push(report);
            // A file can be long: nobody else waits for its end.
            if let ControlFlow::Continue(Some(incoming)) =
                self.stand_in.next_or(Duration::ZERO, pin!(pending::<()>()))
            {
                self.take(Some(incoming))?;
            }
            if self.is_stopping || caller.has_gone() {
                break;
            }
        }
        Ok(Answer::Allocated(reports))
    }

    fn admit(&mut self, mut pod: Pod, terms: &TopologyConfig) -> Result<DeviceAllocation, Failure> {
        let mut state = std::mem::take(&mut self.manager.state);
        let mut active = std::mem::take(&mut self.manager.active);
        let mut asking = Asking::new(self);
        let mut report = admit(&mut state, &mut pod, terms, &mut active, &mut asking);
        let Asking { calls, failure, .. } = asking;
        (report.calls, self.manager.state, self.manager.active) = (calls, state, active);
        if let Some(failure) = failure {
            return Err(failure);
        }
        let mut events = vec![report.event()];
        if report.admitted {
            let name = format!("{}/{}", report.namespace, report.name);
            self.manager.begin(&report.uid);
            self.names.insert(report.uid.clone(), name);
        } else if report.failure.is_none() {
            // A pod that was refused is not active any more. One that the kubelet crashes at, or of which
            // nothing can be said, is as it was.
            events.extend(self.manager.end(&report.uid));
            self.names.remove(&report.uid);
        }
        self.settle(events)?;
        Ok(report)
    }

    /// Returns the plugin of a resource's endpoint, unless that was stopped.
    pub fn plugin(&self, resource: &str) -> Option<PluginClient> {
        self.clients.get(&self.manager.connection(resource)?).cloned()
    }

    /// Shows a pod as it may be named to end it. A checkpoint has UIDs alone.
    fn shown(&self, uid: &str) -> String {
        match self.names.get(uid) {
            Some(name) => format!("{name} (UID {uid})"),
            None => format!("UID {uid} (restored from the checkpoint, which holds no names)"),
        }
    }

    fn end(&mut self, pod: &str) -> Result<Answer, Failure> {
        let active = &self.manager.active;
        let is_meant = |uid: &&String| {
            let name = self.names.get(*uid).map(String::as_str).unwrap_or_default();
            let alone = name.split_once('/').map(|(_, name)| name);
            // One whose UID was made up is known by it after a restart as well.
            let of_name = |(made, namespace): (&str, &str)| {
                pod == format!("{namespace}/{made}") || pod == made
            };
            uid.as_str() == pod
                || name == pod
                || alone == Some(pod)
                || uid.rsplit_once('_').is_some_and(of_name)
        };
        let meant: Vec<String> = active.iter().filter(is_meant).cloned().collect();
        let [uid] = meant.as_slice() else {
            let list = |uids: &mut dyn Iterator<Item = &String>| {
                uids.map(|uid| self.shown(uid)).collect::<Vec<_>>().join(", ")
            };
            return Ok(Answer::Refused(match meant.is_empty() {
                true if active.is_empty() => format!("no pod {pod:?}: no pod has been admitted"),
                true => format!("no pod {pod:?}; there are: {}", list(&mut active.iter())),
                false => {
                    format!("{pod:?} names several, say which UID: {}", list(&mut meant.iter()))
                }
            }));
        };
        let ended = self.manager.end(uid);
        self.names.remove(uid);
        self.settle(ended.into_iter().collect())?;
        Ok(Answer::Ended(uid.clone()))
    }
}
