//! `kq probe run`

use super::args::{ProbeNodeArgs, TypeArg, WhatIf, labelled};
use super::repeat::{self, RepeatArgs};
use crate::exit::{Code, Failure, tell, warn};
use crate::output_format::{OutputFormat, formats};
use crate::pod_args::{LabelArgs, PodArgs};
use crate::write;
use anyhow::anyhow;
use kq_core::question::probes::{ProbeSelection, Targets};
use kq_facts::node::Node;
use kq_k8s::pod::ProbeType;
use kq_node::action::probes::{PodChoice, ProbeChoice, compare, run_once};
use kq_probe::ad_hoc::{self, AdHocError};
use kq_probe::report::{ProbeRun, ProbeVerdict};
use kq_probe::view;

/// Probe a container now, as the kubelet does, and explain the result
///
/// POD is a pod of this node: NAME, NAMESPACE/NAME or UID. FILE is a manifest of
/// a pod that runs here; its IP and its containers come from the runtime. kq runs
/// all probes of the pod unless -c or --type select some. Without a pod, --http,
/// --tcp, --grpc and --exec probe the given target.
///
/// The request has the same bytes as the kubelet's. After an error of the prober,
/// kq tries up to three times, as the kubelet does. SUCCESS and WARNING count as
/// success, FAILURE counts as failure, and ERRORED is ignored. -v shows the
/// request and the response. kq changes nothing itself, but a probe command
/// really runs in the container.
///
/// probe run needs the live node: it does not accept --snapshot.
///
/// Exit code 0: success or warning, for every probe and each time. 1: a failure.
/// 3: a probe errored, or data required to send it is unavailable.
///
/// Examples:
///
///   kq probe run web-7d4b9 -c app --type liveness
///   kq probe run shop/web-7d4b9 --compare
///   kq probe run --http http://10.244.1.7:8080/healthz -v
///   kq probe run --grpc 10.244.1.7:50051 --service shop.Cart
///   kq probe run web-7d4b9 -c app --exec -- cat /tmp/healthy
///   kq probe run web-7d4b9 -c app --type liveness --count 20
///   kq probe run web-7d4b9 --type liveness --until-action
///   kq probe run --all -o json | jq '.probes[] | select(.verdict != "SUCCESS")'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The pod, or a manifest file
    #[arg(value_name = "POD|FILE", conflicts_with_all = ["all", "http", "tcp", "grpc"])]
    pod: Option<String>,

    #[command(flatten)]
    named: PodArgs,

    #[command(flatten)]
    labels: LabelArgs,

    /// The container; with --exec and without a pod, its ID, or its name if that is unique
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["http", "tcp", "grpc"])]
    container: Option<String>,

    /// The type of the probe; for a target given by flags, the type to assume
    #[arg(long = "type", value_name = "TYPE", value_enum)]
    probe_type: Option<TypeArg>,

    /// Run every probe of every pod of the node, concurrently
    #[arg(long, conflicts_with_all = ["http", "tcp", "grpc", "exec"])]
    all: bool,

    /// Send an HTTP GET request to this URL
    #[arg(long, value_name = "URL", conflicts_with_all = ["tcp", "grpc", "exec"], help_heading = "Without a pod")]
    http: Option<String>,

    /// A header for --http, such as 'Host: shop.example.org' (can be repeated)
    #[arg(short = 'H', long, value_name = "HEADER", requires = "http",
          conflicts_with_all = ["tcp", "grpc", "exec", "all", "pod"], help_heading = "Without a pod")]
    header: Vec<String>,

    /// Open a TCP connection to this address
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["grpc", "exec"], help_heading = "Without a pod")]
    tcp: Option<String>,

    /// Call the gRPC health service at this address
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "exec", help_heading = "Without a pod")]
    grpc: Option<String>,

    /// The service name for --grpc (default: the server as a whole)
    #[arg(long, value_name = "NAME", requires = "grpc",
          conflicts_with_all = ["http", "tcp", "exec", "all", "pod"], help_heading = "Without a pod")]
    service: Option<String>,

    /// Run the command after -- in the container
    #[arg(long, requires = "command", requires = "container")]
    exec: bool,

    /// The command of --exec, with its arguments
    #[arg(last = true, value_name = "COMMAND", requires = "exec")]
    command: Vec<String>,

    /// Also probe in the ways commonly tried by hand: with curl, from inside the pod's network, to
    /// 127.0.0.1, and with a longer timeout; then explain the differences
    #[arg(long, conflicts_with_all = ["all", "exec", "count", "watch", "until_action"])]
    compare: bool,

    #[command(flatten)]
    repeat: RepeatArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,

    #[command(flatten)]
    what_if: WhatIf,

    #[command(flatten)]
    node: ProbeNodeArgs,
}

impl Args {
    /// Gathers, probes and shows.
    pub fn run(mut self) -> Result<Code, Failure> {
        if self.node.kubelet.sources.snapshot.is_some() {
            return Err(Failure::usage(anyhow!("a snapshot cannot be probed"))
                .hint("kq probe plan shows the requests and their times"));
        }
        let repetition = self.repeat.repetition()?;
        let is_ad_hoc = self.http.is_some() || self.tcp.is_some() || self.grpc.is_some();
        if (is_ad_hoc || self.all) && self.node.pod_ip.is_some() {
            return Err(Failure::usage(anyhow!("--pod-ip needs one named pod")));
        }
        if let Some(labels) = self.labels.selector.as_ref().filter(|_| !self.all) {
            return Err(Failure::usage(anyhow!("--selector {labels}: needs --all"))
                .hint("use --all for all pods with the labels"));
        }
        self.pod = self.named.one(self.pod.as_deref())?;
        let targets = self.targets()?;
        let shows_wire = self.node.kubelet.sources.verbose;
        if let Some(repetition) = repetition {
            return repeat::run(&repetition, targets, self.output, shows_wire);
        }
        let mut run = run_once(&targets, shows_wire)?;
        if self.compare {
            compare(&targets, &mut run, &mut |text| warn(text))?;
        }
        show(&run, self.output, true)?;
        Ok(code(&run))
    }

    /// Returns the probes to send.
    fn targets(&self) -> Result<Targets, Failure> {
        let container = self.container.as_deref();
        let labelled = |node: &Node| labelled(node, &self.named.namespace, &self.labels);
        let choice = if let Some(url) = &self.http {
            let probe = ad_hoc::http_get(url, &self.header).map_err(usage)?;
            ProbeChoice::AdHoc { probe, host: String::new() }
        } else if let Some(address) = &self.tcp {
            let probe = ad_hoc::tcp_socket(address).map_err(usage)?;
            ProbeChoice::AdHoc { probe, host: String::new() }
        } else if let Some(address) = &self.grpc {
            let (host, probe) = ad_hoc::grpc(address, self.service.clone()).map_err(usage)?;
            ProbeChoice::AdHoc { probe, host }
        } else if self.exec {
            let (pod, container) = (self.pod.as_deref(), container.unwrap_or_default());
            ProbeChoice::Command { probe: ad_hoc::exec(self.command.clone()), pod, container }
        } else if let Some(pod) = &self.pod {
            ProbeChoice::Pods(PodChoice::One(pod))
        } else if self.all {
            let namespace = self.named.namespace.name();
            ProbeChoice::Pods(PodChoice::All { namespace, labelled: &labelled })
        } else {
            return Err(Failure::usage(anyhow!("no probe is selected"))
                .hint("use POD, FILE, --all, --http URL, --tcp HOST:PORT or --grpc HOST:PORT"));
        };
        let selection = ProbeSelection {
            container,
            probe_type: self.probe_type.map(ProbeType::from),
            changes: self.what_if.changes(),
        };
        choice.prepare(&self.node.node(), &selection)
    }
}

fn usage(error: AdHocError) -> Failure {
    let hint = error.hint();
    Failure::usage(error).hint(hint)
}

/// Writes a run; its basis is written only if `tells`.
pub fn show(run: &ProbeRun, output: OutputFormat, tells: bool) -> Result<(), Failure> {
    output.write(run, view::table, view::wide)?;
    if output.is_for_people() {
        wire_lines(run)?;
    }
    // Repeated probes wrote the basis before the first round.
    if output.is_for_people() && tells {
        tell(&run.basis);
    }
    Ok(())
}

/// Shows the bytes on the wire, with --verbose.
fn wire_lines(run: &ProbeRun) -> Result<(), Failure> {
    for report in &run.probes {
        let attempts = report.outcome.attempts.iter();
        let mut exchanges = attempts.flat_map(|attempt| &attempt.exchanges).peekable();
        if exchanges.peek().is_some() {
            let title = format!("{} {}", report.name, report.probe_type).to_lowercase();
            write::lines([String::new(), format!("* {title}")])?;
        }
        for exchange in exchanges {
            write::verbatim(view::exchange_lines(exchange))?;
        }
    }
    Ok(())
}

/// Returns the exit code for the results of the probes, for each round of repeated ones.
pub fn code(run: &ProbeRun) -> Code {
    let has = |verdict| {
        run.probes.iter().any(|report| match &report.verdicts {
            Some(verdicts) if !verdicts.is_empty() => verdicts.contains_key(&verdict),
            // A single run, or no counted round: the last result.
            _ => report.outcome.verdict == verdict,
        })
    };
    if !run.basis.missing.is_empty() || has(ProbeVerdict::Errored) {
        return Code::Missing;
    }
    match has(ProbeVerdict::Failure) {
        true => Code::No,
        false => Code::Answered,
    }
}
