//! The loop of a stand-in: what comes in is taken, written and told, one after the other.

use super::Args;
use super::admission::admit;
use super::asking::Asking;
use super::request::{Answer, Request};
use super::restore::{Saver, restore};
use super::teller::Teller;
use crate::exit::{Code, Failure};
use anyhow::{Context, anyhow};
use kq::device::manager::DIAL_PATIENCE;
use kq::device::stand_in::{Event, Manager};
use kq::edge::clock::moment;
use kq::edge::device_plugin::folder::{FolderError, claim};
use kq::edge::device_plugin::owned::{Registered, remove_stale};
use kq::edge::device_plugin::{Incoming, KUBELET_SOCKET, Patience, PluginClient, StandIn};
use kq::edge::host::host_root;
use kq::k8s::manifest::load;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long to wait where nothing is due: a clock that was set, and a socket that is gone, is seen by then.
const LONGEST: Duration = Duration::from_secs(2);

/// How long until lines that were held back are counted.
const SOON: Duration = Duration::from_millis(250);

/// What the loop goes on with.
struct Turning {
    manager: Manager,
    /// The plugins whose streams are open, by connection.
    clients: BTreeMap<u64, PluginClient>,
    saver: Saver,
    /// The sockets of plugins that registered.
    registered: Registered,
    teller: Teller,
    stand_in: StandIn,
    call_timeout: Duration,
    /// The names of pods, by UID.
    names: BTreeMap<String, String>,
}

/// Serves until it is interrupted.
pub fn run(args: &Args) -> Result<Code, Failure> {
    let (root, _) = host_root(args.host_root.as_deref());
    let folder = claim(&args.dir, &root).map_err(refuse)?;
    let mut teller = Teller::new(args.output);
    let removed = remove_stale(&folder)
        .with_context(|| format!("cannot remove stale sockets in {}", folder.display()))
        .map_err(Failure::missing)?;
    let (state, events) = restore(&folder)?;
    let saver = Saver::new(&folder);
    let patience = Patience {
        dial: Duration::from_nanos(DIAL_PATIENCE.0.unsigned_abs()),
        call: args.call_timeout,
    };
    let stand_in = StandIn::start(&folder, patience, give_up)
        .context("cannot listen")
        .map_err(Failure::missing)?;
    teller.tell(removed.into_iter().map(|name| Event::StaleRemoved { name }))?;
    teller.tell(events)?;
    let socket = folder.join(KUBELET_SOCKET).display().to_string();
    teller.tell([Event::Listening { socket }])?;
    let mut turning = Turning {
        manager: Manager::new(state),
        clients: BTreeMap::new(),
        saver,
        registered: Registered::read(&folder),
        teller,
        stand_in,
        call_timeout: args.call_timeout,
        names: BTreeMap::new(),
    };
    while turning.turn()? {}
    turning.teller.tell([Event::Stopping])?;
    Ok(Code::Answered)
}

/// Ends at once: whoever asks a second time does not want to wait.
#[expect(clippy::disallowed_methods, reason = "there is nothing left to do in order")]
fn give_up() {
    std::process::exit(130);
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
        FolderError::Taken { .. } => {
            Failure::refused(error).hint("end the other one first, or name another folder")
        }
        FolderError::TooLong { .. } => {
            Failure::usage(error).hint("name a folder with a shorter path, such as /tmp/plugins")
        }
        FolderError::System { .. } => Failure::missing(error),
    }
}

impl Turning {
    /// Takes what comes next; `false`: it is to end.
    fn turn(&mut self) -> Result<bool, Failure> {
        let incoming = self.stand_in.next(self.wait());
        let now = moment();
        if self.manager.next_expiry().is_some_and(|expiry| expiry <= now) {
            let events = self.manager.expire(now);
            self.settle(events)?;
        }
        let is_over = matches!(incoming, Some(Incoming::Stop));
        if let Some(name) = self.stand_in.lost().filter(|_| !is_over) {
            return Err(Failure::missing(anyhow!(
                "{name} was removed or replaced: nobody can reach this stand-in any more"
            ))
            .hint("start it again; what it knew is in the checkpoint"));
        }
        match incoming {
            None => self.teller.settle()?,
            Some(Incoming::Stop) => return Ok(false),
            Some(Incoming::Refused { resource, endpoint, reason, detail }) => {
                self.teller.tell([Event::Refused { resource, endpoint, reason, detail }])?;
            }
            Some(Incoming::NotUnderstood { reason }) => {
                self.teller.tell([Event::NotUnderstood { reason }])?;
            }
            Some(Incoming::Connected { id, resource, endpoint, options, plugin, taken }) => {
                let mut events = self.manager.connected(id, &resource, &endpoint, options);
                let unknown = self.registered.add(&endpoint).err();
                events.extend(unknown.map(|it| Event::CheckpointFailed { error: it.to_string() }));
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
            Some(Incoming::Control { request, reply }) => {
                let answer = self.answer(&request)?;
                let answer = serde_json::to_vec(&answer).map_err(Failure::missing)?;
                // Whoever asked may have gone.
                let _ = reply.send(answer);
            }
        }
        Ok(true)
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

    fn answer(&mut self, request: &[u8]) -> Result<Answer, Failure> {
        let request = match serde_json::from_slice::<Request>(request) {
            Ok(request) => request,
            Err(error) => return Ok(Answer::Refused(format!("not understood: {error}"))),
        };
        match request {
            Request::Plugins => Ok(Answer::Plugins(self.manager.plugins())),
            Request::End { pod } => self.end(&pod),
            Request::Allocate { file, text, start } => self.allocate(&file, &text, start),
        }
    }

    fn allocate(&mut self, file: &str, text: &str, start: bool) -> Result<Answer, Failure> {
        let loaded = load(file, text.as_bytes());
        if let Some(problem) = loaded.problems.first() {
            return Ok(Answer::Refused(problem.to_string()));
        }
        let mut reports = Vec::new();
        for loaded in loaded.pods {
            let mut pod = loaded.pod;
            let mut asking = self.asking();
            let manager = &mut self.manager;
            let (report, events) = admit(manager, &mut self.saver, &mut asking, &mut pod, start);
            let name = format!("{}/{}", report.namespace, report.name);
            self.names.insert(report.uid.clone(), name);
            self.teller.tell(events)?;
            reports.push(report);
        }
        Ok(Answer::Allocated(reports))
    }

    /// Returns the plugins to ask: the endpoints that were not stopped.
    fn asking(&self) -> Asking {
        let resources = self.manager.state.endpoints.keys();
        let clients = resources.filter_map(|resource| {
            let plugin = self.clients.get(&self.manager.connection(resource)?)?;
            Some((resource.clone(), plugin.clone()))
        });
        Asking {
            caller: self.stand_in.caller(),
            clients: clients.collect(),
            patience: self.call_timeout,
            calls: Vec::new(),
        }
    }

    /// Shows a pod as it may be named to end it. A checkpoint has UIDs alone.
    fn shown(&self, uid: &str) -> String {
        match self.names.get(uid) {
            Some(name) => format!("{name} (UID {uid})"),
            None => format!("UID {uid} (restored from the checkpoint, which holds no names)"),
        }
    }

    fn end(&mut self, pod: &str) -> Result<Answer, Failure> {
        let active = self.manager.active();
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
        self.teller.tell(ended)?;
        Ok(Answer::Ended(uid.clone()))
    }
}
