//! The flags of commands that run kq on the nodes of a cluster.

use crate::exit::{Failure, note, warn};
use crate::kubeconfig_args::ServerArgs;
use crate::progress::waiting;
use crate::source_args::parse_interval;
use anyhow::anyhow;
use kq_core::fleet::PodSettings;
use kq_facts::input_name::shown;
use kq_io::input::read_input;
use kq_k8s::label_selector::LabelSelector;
use kq_k8s::quantity::Quantity;
use kq_node::action::fleet::{FleetEvent, FleetOptions, FleetPlan, FleetRun, Sample};
use kq_output::units::counted;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::Path;
use std::time::Duration;

/// The requests of a container, by resource.
type Requests = BTreeMap<String, String>;

/// The flags that choose nodes and set up their pods.
#[derive(Clone, Debug, clap::Args)]
pub struct NodePodArgs {
    /// The nodes (default: all)
    #[arg(value_name = "NODE")]
    nodes: Vec<String>,

    /// Only nodes with these labels, such as pool=gpu; the syntax is kubectl's
    #[arg(short = 'l', long, value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    selector: Option<LabelSelector>,

    /// A file with the names of more nodes, as from kubectl get nodes -o name; - is standard input
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    nodes_from: Option<String>,

    /// Only this number of nodes, or this part of them, evenly spread over their names
    #[arg(long, value_name = "NUMBER|PERCENT%", value_parser = parse_sample)]
    sample: Option<Sample>,

    /// Always, IfNotPresent or Never
    #[arg(long, value_name = "POLICY", value_parser = ["Always", "IfNotPresent", "Never"], help_heading = "The pods of kq")]
    image_pull_policy: Option<String>,

    /// The namespace of the pods; it must allow pods with the node's files
    #[arg(
        short,
        long,
        value_name = "NAMESPACE",
        default_value = "kube-system",
        help_heading = "The pods of kq"
    )]
    namespace: String,

    /// The service account of the pods; its token is not mounted
    #[arg(long, value_name = "NAME", help_heading = "The pods of kq")]
    service_account: Option<String>,

    /// The priority class of the pods
    #[arg(long, value_name = "NAME", help_heading = "The pods of kq")]
    priority_class: Option<String>,

    /// Give the pods every privilege. By default they run as root with three capabilities
    #[arg(long, help_heading = "The pods of kq")]
    privileged: bool,

    /// The requests of each pod, such as cpu=10m,memory=32Mi (default: none)
    #[arg(long, value_name = "RESOURCE=AMOUNT,...", value_parser = parse_requests, help_heading = "The pods of kq")]
    requests: Option<Requests>,

    /// The number of nodes that are asked at a time
    #[arg(long, value_name = "NUMBER", default_value = "20", help_heading = "The pods of kq")]
    parallel: NonZero<usize>,

    /// Time limit for each node, including the pull of the image
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = parse_interval, help_heading = "The pods of kq")]
    timeout: Duration,

    /// The image of kq, as in docs/release.md; the default is that of the release
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,

    #[command(flatten)]
    server: ServerArgs,
}

/// The image of kq, where the build of a release names one.
const RELEASE_IMAGE: Option<&str> = option_env!("KQ_IMAGE");

/// The flags of a run that reads nodes.
#[derive(Clone, Debug, clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    pods: NodePodArgs,

    /// Create no pods: ask about what the API server has of each node
    #[arg(long, conflicts_with_all = ["image", "image_pull_policy", "service_account", "priority_class", "privileged", "requests"])]
    api_only: bool,

    /// Show the plan and the first pod, and create nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl RunArgs {
    /// Plans, shows the plan and has it confirmed, and begins the run with its number of nodes; `None` with --dry-run, and
    /// where no node is left. Nodes with a snapshot in `stored` are left out.
    /// Fails where the nodes are unknown, for a node that does not exist, and without confirmation.
    pub fn start(
        &self,
        command: &[String],
        stored: Option<&Path>,
    ) -> Result<Option<(FleetRun, usize)>, Failure> {
        let mut plan = self.pods.prepare(self.api_only)?;
        if let Some(folder) = stored {
            let left_out = counted(plan.leave_out_stored(folder), "node");
            let folder = folder.display();
            note("stored", &format!("{left_out} with a snapshot in {folder} before"));
            if plan.nodes.is_empty() {
                return Ok(None);
            }
        }
        show(&plan, &self.pods.namespace);
        if self.dry_run {
            if let Some(pod) = plan.first_pod(command) {
                note("pod", &pod);
            }
            return Ok(None);
        }
        if !self.yes && !self.api_only {
            crate::write::confirm("Create these pods?")?;
        }
        let nodes = plan.nodes.len();
        let then = match self.api_only {
            true => "no more nodes are read",
            false => "the pods are being deleted",
        };
        Ok(Some((begin(plan, then)?, nodes)))
    }

    /// Returns the nodes that are named.
    /// Fails for a file of names that cannot be read.
    pub fn named_nodes(&self) -> Result<Vec<String>, Failure> {
        self.pods.named()
    }

    /// Returns true if no pods are created.
    pub fn is_api_only(&self) -> bool {
        self.api_only
    }
}

/// Begins a run. `then` is said of a signal.
/// Refuses where the run cannot be guarded.
pub fn begin(plan: FleetPlan, then: &'static str) -> Result<FleetRun, Failure> {
    plan.start(move |event| match event {
        FleetEvent::Interrupted(signal) => note("interrupted", &format!("{signal}: {then}")),
        FleetEvent::PodLeft { namespace, name, reason } => warn(&format!(
            "pod {namespace}/{name} may be left behind ({reason}); kubectl delete pod -n {namespace} {name}"
        )),
    })
}

/// Shows the plan of the pods.
fn show(plan: &FleetPlan, namespace: &str) {
    plan.lines().iter().for_each(|line| note("plan", line));
    match &plan.outlived {
        Ok(0) => {}
        Ok(count) => warn(&format!(
            "{count} pods of earlier runs outlived their deadline; kq fleet clean -n {namespace} deletes them"
        )),
        Err(reason) => warn(&format!("pods of earlier runs: {reason}")),
    }
}

impl NodePodArgs {
    /// Chooses the nodes, and shows the plan of the pods.
    /// Fails where the nodes are unknown, and for a node that does not exist.
    pub fn plan(&self) -> Result<FleetPlan, Failure> {
        let plan = self.prepare(false)?;
        show(&plan, &self.namespace);
        Ok(plan)
    }

    /// Returns the image of the pods.
    /// Fails where none is named.
    pub fn image(&self) -> Result<String, Failure> {
        self.image.as_deref().or(RELEASE_IMAGE).map(str::to_owned).ok_or_else(|| {
            Failure::usage(anyhow!("--image is missing: the image of kq for the pods"))
                .hint("docs/release.md says how one is made")
        })
    }

    fn prepare(&self, api_only: bool) -> Result<FleetPlan, Failure> {
        let options = self.options(api_only)?;
        waiting("listing the nodes", || FleetPlan::prepare(options))
    }

    fn named(&self) -> Result<Vec<String>, Failure> {
        let named = self.nodes_from.as_deref().map(read_names).transpose()?;
        Ok(self.nodes.iter().cloned().chain(named.into_iter().flatten()).collect())
    }

    fn options(&self, api_only: bool) -> Result<FleetOptions, Failure> {
        let image = if api_only { String::new() } else { self.image()? };
        let (flags, nodes) = (self.clone(), self.named()?);
        Ok(FleetOptions {
            nodes,
            selector: flags.selector,
            sample: flags.sample,
            pods: PodSettings {
                namespace: flags.namespace,
                image,
                image_pull_policy: flags.image_pull_policy,
                service_account: flags.service_account,
                priority_class: flags.priority_class,
                privileged: flags.privileged,
                requests: flags.requests.unwrap_or_default(),
                ..PodSettings::default()
            },
            api_only,
            parallel: flags.parallel.get(),
            timeout: flags.timeout,
            kubeconfig: flags.server.kubeconfig,
            choice: flags.server.choice.choice(),
        })
    }
}

/// Reads a number of nodes, or a part of them in percent.
pub fn parse_sample(text: &str) -> Result<Sample, String> {
    let expected = || "expected a number of nodes, or 1% to 100%".to_owned();
    let number = |text: &str| text.parse().ok().filter(|number| *number > 0).ok_or_else(expected);
    match text.strip_suffix('%') {
        None => number(text).map(Sample::Nodes),
        Some(percent) => match number(percent)? {
            percent @ 1..=100 => Ok(Sample::Percent(percent)),
            _ => Err(expected()),
        },
    }
}

/// Reads requests of a container, such as `cpu=10m,memory=32Mi`.
pub fn parse_requests(text: &str) -> Result<BTreeMap<String, String>, String> {
    let request = |pair: &str| {
        let (name, amount) = pair.split_once('=').ok_or("expected RESOURCE=AMOUNT")?;
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") {
            return Err(format!("{name:?}: expected cpu, memory or ephemeral-storage"));
        }
        let quantity: Quantity = amount.parse().map_err(|error| format!("{name}: {error}"))?;
        match quantity.sign() < 0 {
            false => Ok((name.to_owned(), amount.to_owned())),
            true => Err(format!("{name}: {amount} is negative")),
        }
    };
    text.split(',').map(request).collect()
}

/// Reads the names of nodes from a file: apart by white space or commas, as from `kubectl get nodes -o name`. The rest of a
/// line after # is a comment.
pub fn read_names(path: &str) -> Result<Vec<String>, Failure> {
    let content = read_input(path).map_err(Failure::missing)?;
    let text = str::from_utf8(&content)
        .map_err(|_| Failure::usage(anyhow!("{}: not text in UTF-8", shown(path))))?;
    let names = names(text);
    // Without names, all nodes would be chosen.
    match names.is_empty() {
        false => Ok(names),
        true => Err(Failure::usage(anyhow!("{}: no names of nodes", shown(path)))),
    }
}

fn names(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let words = lines.flat_map(|line| line.split([' ', '\t', ',']));
    let words = words.map(|word| word.trim_start_matches("node/")).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_numbers_or_parts() {
        assert_eq!(parse_sample("12"), Ok(Sample::Nodes(12)));
        assert_eq!(parse_sample("5%"), Ok(Sample::Percent(5)));
        for text in ["0", "0%", "101%", "-1", "5 %", "%", "", "1.5%"] {
            assert!(parse_sample(text).is_err(), "{text}");
        }
    }

    #[test]
    fn requests_are_quantities() {
        let requests = parse_requests("cpu=10m,memory=32Mi").expect("requests");
        assert_eq!(requests.len(), 2);
        for text in ["cpu", "cpu=", "cpu=10x", "cpu=-1", "gpu=1", "cpu=1,,"] {
            assert!(parse_requests(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_apart_by_what_programs_write() {
        let text = "node/a\nnode/b c,d # not e\r\n\n# f\n";
        assert_eq!(names(text), ["a", "b", "c", "d"]);
        assert!(names("# a\n\n").is_empty());
    }
}
