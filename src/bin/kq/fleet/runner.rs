//! Runs a command on nodes by short-lived pods: one pod for each node, made, waited for, read and deleted.

use crate::exit::{Failure, note, warn};
use crate::interval::parse_interval;
use crate::progress;
use anyhow::anyhow;
use kq::edge::api_server::ApiServer;
use kq::edge::clock::{moment, steady};
use kq::edge::interrupt::Interrupts;
use kq::facts::node_list::{ListedNode, read_node_list};
use kq::fleet::{NoAnswer, Packed, PodSettings, PodState, uid_of_run};
use kq::k8s::duration::GoDuration;
use kq::k8s::label_selector::LabelSelector;
use kq::k8s::nearest::nearest;
use kq::k8s::validation::is_pod_name;
use kq::node::NodeSpec;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::question::MAX_ANSWER_BYTES;

/// The largest log that is read: the kubelet rotates logs of 10 MiB.
const MAX_LOG_BYTES: u64 = 32 << 20;

/// How long kq waits before it looks at a pod again.
const PAUSE: Duration = Duration::from_millis(500);

/// How often a pod is asked to go, or looked for.
const ATTEMPTS: usize = 3;

/// So much longer than kq waits, the kubelet lets the pod run.
const GRACE: Duration = Duration::from_secs(30);

/// Which nodes are asked, and how.
#[derive(Clone, Debug, clap::Args)]
pub struct RunnerArgs {
    /// The nodes (default: all)
    #[arg(value_name = "NODE")]
    nodes: Vec<String>,

    /// Only nodes with these labels, such as pool=gpu; the syntax is kubectl's
    #[arg(short = 'l', long, value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    selector: Option<LabelSelector>,

    /// Only so many of them, evenly spread over their names
    #[arg(long, value_name = "NUMBER")]
    sample: Option<NonZero<usize>>,

    /// The image of kq, as in docs/release.md
    #[arg(long, value_name = "IMAGE")]
    image: String,

    /// Always, IfNotPresent or Never
    #[arg(long, value_name = "POLICY", value_parser = ["Always", "IfNotPresent", "Never"])]
    image_pull_policy: Option<String>,

    /// The namespace of the pods; it must allow privileged ones
    #[arg(short, long, value_name = "NAMESPACE", default_value = "kube-system")]
    namespace: String,

    /// The service account of the pods; its token is not mounted
    #[arg(long, value_name = "NAME")]
    service_account: Option<String>,

    /// The priority class of the pods
    #[arg(long, value_name = "NAME")]
    priority_class: Option<String>,

    /// How many pods run at a time
    #[arg(long, value_name = "NUMBER", default_value = "20")]
    parallel: NonZero<usize>,

    /// How long one node may take, with the pull of the image
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = parse_interval)]
    timeout: Duration,

    /// Show the first pod and the nodes, and make nothing
    #[arg(long)]
    dry_run: bool,

    /// Make the pods without a question
    #[arg(long)]
    yes: bool,

    /// The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config)
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// The context in the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// A node that is asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its name, which is that of a node.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// A fleet that is ready to be asked.
pub struct Runner {
    server: ApiServer,
    settings: PodSettings,
    /// The nodes, in the order of their names.
    pub nodes: Vec<Asked>,
    /// How many at a time.
    pub parallel: usize,
    timeout: Duration,
    interrupts: Interrupts,
    left: AtomicUsize,
}

impl RunnerArgs {
    /// Finds the nodes and asks whether pods may be made; `None`: the plan was shown, and nothing more is wanted.
    ///
    /// # Errors
    ///
    /// Fails where the nodes are unknown, for a node that there is not, and where the answer is no.
    pub fn prepare(&self, question: &[String]) -> Result<Option<Runner>, Failure> {
        let spec = NodeSpec {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            timeout: self.timeout,
            ..NodeSpec::default()
        };
        let unreachable = |reason: String| {
            Failure::missing(anyhow!("the API server: {reason}"))
                .hint("name a kubeconfig with --kubeconfig")
        };
        let server = spec.connect().map_err(|error| unreachable(error.reason()))?;
        let pages = progress::waiting("asking for the nodes", || server.nodes(self.timeout));
        let pages = pages.map_err(|error| unreachable(error.reason()))?;
        let mut all = Vec::new();
        for page in &pages {
            let read = read_node_list(page);
            all.extend(read.map_err(|error| unreachable(format!("its nodes: {error}")))?);
        }
        let nodes = self.chosen(all)?;
        let seconds = (self.timeout + GRACE).as_secs();
        let settings = PodSettings {
            namespace: self.namespace.clone(),
            image: self.image.clone(),
            image_pull_policy: self.image_pull_policy.clone(),
            service_account: self.service_account.clone(),
            priority_class: self.priority_class.clone(),
            deadline_seconds: seconds,
            run: run_name(),
        };
        self.plan(&server, &settings, &nodes, question);
        if self.dry_run {
            return Ok(None);
        }
        if !self.yes {
            crate::confirm::ask("Make these pods?")?;
        }
        let first = |signal| note("interrupted", &format!("{signal}: the pods are being deleted"));
        let interrupts = Interrupts::watch(first, || {})
            .map_err(|error| Failure::refused(anyhow!("signals cannot be watched: {error}")))?;
        Ok(Some(Runner {
            server,
            settings,
            nodes,
            parallel: self.parallel.get(),
            timeout: self.timeout,
            interrupts,
            left: AtomicUsize::new(0),
        }))
    }

    /// Says what is about to be made.
    fn plan(
        &self,
        server: &ApiServer,
        settings: &PodSettings,
        nodes: &[Asked],
        question: &[String],
    ) {
        let (count, first) = (nodes.len(), &nodes[0].name);
        let others = match count {
            1 => String::new(),
            _ => format!(" and {} more nodes", count - 1),
        };
        note(
            "plan",
            &format!(
                "a pod on {first}{others} of {}, in namespace {}, at most {} at a time, each for at most {}s",
                server.url(),
                settings.namespace,
                self.parallel.get().min(count),
                settings.deadline_seconds,
            ),
        );
        note(
            "plan",
            &format!(
                "image {}; privileged, in the network and among the processes of the node, its files read-only \
                 in /host; deleted afterwards",
                settings.image
            ),
        );
        if self.dry_run {
            note("pod", &settings.pod(0, first, question).to_string());
        }
    }

    /// Chooses among the nodes of the cluster.
    fn chosen(&self, all: Vec<ListedNode>) -> Result<Vec<Asked>, Failure> {
        if let Some(odd) = all.iter().find(|node| !is_pod_name(&node.name)) {
            return Err(Failure::missing(anyhow!(
                "the API server: {:?} is no name of a node",
                odd.name
            )));
        }
        let names: BTreeSet<&str> = all.iter().map(|node| node.name.as_str()).collect();
        if let Some(unknown) = self.nodes.iter().find(|name| !names.contains(name.as_str())) {
            let failure = Failure::usage(anyhow!("the cluster has no node {unknown}"));
            return Err(match nearest(unknown, names.iter().copied()) {
                Some(near) => failure.hint(format!("did you mean {near}?")),
                None => failure,
            });
        }
        let labels = |node: &ListedNode| {
            node.object.as_ref().map(|object| object.metadata.labels.clone()).unwrap_or_default()
        };
        let mut nodes: Vec<Asked> = all
            .iter()
            .map(|node| Asked { name: node.name.clone(), labels: labels(node) })
            .filter(|node| self.nodes.is_empty() || self.nodes.contains(&node.name))
            .filter(|node| self.selector.as_ref().is_none_or(|it| it.matches(&node.labels)))
            .collect();
        nodes.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        if let Some(sample) = self.sample.map(NonZero::get).filter(|it| *it < nodes.len()) {
            let count = nodes.len();
            let spread: BTreeSet<usize> = (0..sample).map(|at| at * count / sample).collect();
            let numbered = nodes.into_iter().enumerate();
            nodes = numbered.filter(|(at, _)| spread.contains(at)).map(|(_, it)| it).collect();
        }
        match nodes.is_empty() {
            false => Ok(nodes),
            true => Err(Failure::usage(anyhow!("no node of the cluster is meant")).hint(
                "--selector and NODE choose among the nodes of kubectl get nodes --show-labels",
            )),
        }
    }
}

/// Returns a name for this run that no other has.
fn run_name() -> String {
    let nanoseconds = moment().0.unsigned_abs();
    format!("{:08x}{:05x}", nanoseconds >> 20 & 0xffff_ffff, std::process::id() & 0xf_ffff)
}

impl Runner {
    /// Runs the question on one node and returns what kq wrote there. Its pod is deleted, whatever happens.
    ///
    /// # Errors
    ///
    /// Fails where there is no whole answer.
    pub fn ask(&self, at: usize, question: &[String]) -> Result<Packed, NoAnswer> {
        if self.interrupts.caught().is_some() {
            return Err(NoAnswer::Interrupted);
        }
        let (namespace, name) = (&self.settings.namespace, self.settings.name(at));
        let pod = self.settings.pod(at, &self.nodes[at].name, question);
        let (answer, uid) = match self.server.create_pod(namespace, &pod) {
            Ok(uid) => (self.wait(&name, &uid), Ok(Some(uid))),
            // A server that refuses has made none; after another failure there may be one.
            Err(error) if error.status().is_some_and(|code| code < 500) => {
                (Err(NoAnswer::Pod(error.reason())), Ok(None))
            }
            Err(error) => (Err(NoAnswer::Pod(error.reason())), self.find(&name)),
        };
        match uid {
            Ok(Some(uid)) => self.delete(&name, &uid),
            Ok(None) => {}
            Err(reason) => self.leave(&name, &reason),
        }
        answer
    }

    /// Returns how many pods may have been left.
    pub fn left(&self) -> usize {
        self.left.load(Ordering::Relaxed)
    }

    fn wait(&self, name: &str, uid: &str) -> Result<Packed, NoAnswer> {
        let (namespace, end) = (&self.settings.namespace, steady() + self.timeout);
        loop {
            // What it waits for, or why that is not known.
            let so_far = match self.server.read_pod(namespace, name) {
                Ok(None) => return Err(NoAnswer::Pod("another client deleted it".to_owned())),
                // What another pod of the name says is no answer.
                Ok(Some(object))
                    if uid_of_run(&object, &self.settings.run).is_none_or(|other| other != uid) =>
                {
                    return Err(NoAnswer::Pod("another client replaced it".to_owned()));
                }
                Ok(Some(object)) => match PodState::of(&object) {
                    Ok(PodState::Ended) => break,
                    Ok(PodState::Failed { why }) => return Err(NoAnswer::Pod(why)),
                    Ok(PodState::Running { waits_for }) => waits_for,
                    Err(error) => return Err(NoAnswer::Pod(format!("it cannot be read: {error}"))),
                },
                // It may answer again.
                Err(error) => Some(error.reason()),
            };
            if self.interrupts.caught().is_some() {
                return Err(NoAnswer::Interrupted);
            }
            if steady() >= end {
                let timeout =
                    GoDuration(i64::try_from(self.timeout.as_nanos()).unwrap_or(i64::MAX));
                let so_far = so_far.map(|why| format!(": {why}")).unwrap_or_default();
                return Err(NoAnswer::TimedOut(format!("{timeout}{so_far}")));
            }
            self.interrupts.pause(PAUSE);
        }
        let log = self.server.pod_log(namespace, name, MAX_LOG_BYTES);
        let log = log.map_err(|error| NoAnswer::Cut(error.reason()))?;
        Packed::from_log(&log, MAX_ANSWER_BYTES)
    }

    /// Returns the UID of a pod of this run, if it is there.
    fn find(&self, name: &str) -> Result<Option<String>, String> {
        let mut reason = String::new();
        for _ in 0..ATTEMPTS {
            match self.server.read_pod(&self.settings.namespace, name) {
                Ok(None) => return Ok(None),
                Ok(Some(object)) => return Ok(uid_of_run(&object, &self.settings.run)),
                Err(error) => reason = error.reason(),
            }
            std::thread::sleep(PAUSE);
        }
        Err(reason)
    }

    fn delete(&self, name: &str, uid: &str) {
        let namespace = &self.settings.namespace;
        let mut reason = String::new();
        for _ in 0..ATTEMPTS {
            match self.server.delete_pod(namespace, name, uid) {
                Ok(()) => return,
                Err(error) => reason = error.reason(),
            }
            std::thread::sleep(PAUSE);
        }
        self.leave(name, &reason);
    }

    /// Names a pod that may be there still.
    fn leave(&self, name: &str, reason: &str) {
        let namespace = &self.settings.namespace;
        self.left.fetch_add(1, Ordering::Relaxed);
        warn(&format!(
            "pod {namespace}/{name} may be left behind ({reason}); kubectl delete pod -n {namespace} {name}"
        ));
    }
}
