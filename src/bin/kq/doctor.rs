//! `kq doctor`

use crate::cgroup::diff::compare_until_settled;
use crate::cgroup::gather::gather_node_with;
use crate::exit::{Code, Failure, note, tell, warn};
use crate::node_args::NodeArgs;
use crate::output_format::{OutputFormat, formats_with};
use crate::pod_args::NamespaceArgs;
use crate::source_args::{DeviceFileArgs, SourceArgs, WatchArgs};
use crate::write::{self, FINDING_NAMES, about_node, fixes};
use anyhow::anyhow;
use kq_answer::{WarningCode, finding_view};
use kq_cgroup::live::checks::NodeChecks;
use kq_core::question::cgroup::Compared;
use kq_core::question::doctor::{PodReport, node_checks, node_checks_needs, page, pod_report};
use kq_facts::pod_selector::Selection;
use kq_output::doc::Doc;
use std::path::Path;

/// Check the whole node, or show one pod on one page
///
/// doctor checks the kubelet, its configuration, certificates and state files,
/// the container runtime, the Node object's conditions, the cgroups, the disk and
/// image garbage collection, the margin of each eviction signal, the devices, the
/// pods, and the effect of a restart of the kubelet. Findings are listed worst
/// first; checks that pass share one line. ERROR: wrong. UNKNOWN: required data is
/// unavailable, with the reason. WARNING: not an error, but worth a look. The
/// consequence, the fix and the command that shows more are printed below the
/// table, or in columns with -o wide, which also has the sources.
///
/// With POD: the pod's QoS class, the values of its cgroups, throttling, memory,
/// place in the order of eviction, devices, images, probe deadlines, preemption,
/// the last end of its containers, and the findings about it.
///
/// An absent kubelet is an ERROR if the machine has traces of one: a kubepods
/// cgroup, pod sandboxes or a kubelet configuration. Otherwise it is UNKNOWN.
///
/// Exit code 0: every check has a result, and none is an ERROR. 1: a check is an
/// ERROR. 3: none is, and the result of a check is UNKNOWN.
///
/// Examples:
///
///   kq doctor
///   kq doctor shop/checkout-6d5f7
///   kq doctor -o wide --snapshot node.json.zst
///   kq doctor -o json | jq '.items[] | select(.severity != "OK")'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Show this pod on one page (NAME, NAMESPACE/NAME or UID), instead of the checks of the node; an existing file named
    /// .json or .zst is a snapshot
    #[arg(value_name = "POD|SNAPSHOT")]
    pod: Option<String>,

    #[command(flatten)]
    namespace: NamespaceArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with(FINDING_NAMES).and_metrics())]
    output: OutputFormat,

    #[command(flatten)]
    watch: WatchArgs,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    devices: DeviceFileArgs,

    #[command(flatten)]
    node: NodeArgs,
}

impl Args {
    /// Shows once, or again and again.
    pub fn run(mut self) -> Result<Code, Failure> {
        let is_snapshot = |name: &mut String| {
            let path = Path::new(name);
            let kind = path.extension().and_then(|it| it.to_str());
            // No pod is named like a path.
            matches!(kind, Some("json" | "zst" | "gz"))
                && (path.is_file() || path.is_absolute() || path.starts_with("."))
        };
        if self.sources.snapshot.is_none()
            && let Some(file) = self.pod.take_if(is_snapshot)
        {
            self.sources.take_snapshot(file)?;
        }
        self.watch.run(|| self.once())
    }

    /// Gathers, checks and shows.
    fn once(&self) -> Result<Code, Failure> {
        if let (None, Some(namespace)) = (&self.pod, self.namespace.name()) {
            let refused = anyhow!("--namespace {namespace}: the checks are about the node");
            return Err(Failure::usage(refused).hint("name a pod of the namespace"));
        }
        if let (Some(pod), OutputFormat::Exchange(_)) = (&self.pod, self.output) {
            let refused = anyhow!("-o metrics: the page of {pod} has no metrics");
            return Err(Failure::usage(refused).hint("kq doctor without POD has those of the node"));
        }
        let needs = node_checks_needs();
        let devices = self.devices.files(None);
        let compare = |sources: &SourceArgs| {
            let live = gather_node_with(sources, &self.node, &devices, needs, &[])?;
            Compared::of(live, Selection::default())
        };
        let of_devices = devices.checkpoint.iter().chain(&devices.pod_resources);
        let mut named = self.node.files().chain(&self.sources.pods).chain(of_devices);
        let compared = compare_until_settled(&self.sources, &mut named, compare)?;
        if let Some(pod) = &self.pod {
            return self.pod(&compared, &self.namespace.qualify(pod)?);
        }
        let report = node_checks(&compared, self.sources.snapshot.is_some())?;
        let names_node = self.node.is_given()
            || self.sources.snapshot.is_some()
            || self.sources.first_given().is_some();
        if report.is_no_node && !names_node && self.output == OutputFormat::Table {
            elsewhere()?;
            return Ok(Code::Missing);
        }
        let flags = self.sources.of_commands();
        let table = |it: &NodeChecks| finding_view::folded(&about_node(&it.items, &flags));
        let wide = |it: &NodeChecks| finding_view::wide(&it.items);
        let names = |it: &NodeChecks| finding_view::names(&it.items);
        self.output.write_or_names(&report, table, wide, names)?;
        match self.output {
            OutputFormat::Wide => report.basis.warnings.iter().for_each(|it| warn(&it.text)),
            // What the other warnings say of missing facts stands in the checks.
            OutputFormat::Table => {
                let warnings = report.basis.warnings.iter();
                let of_version = warnings.filter(|it| it.code == WarningCode::UnknownRules);
                of_version.for_each(|it| warn(&it.text));
                fixes(&report.items, &flags);
            }
            // A name does not say what was not checked.
            OutputFormat::Name => {
                report.basis.missing.iter().for_each(|it| note("missing", &it.to_string()));
            }
            _ => {}
        }
        Ok(match report.has_failed() {
            true => Code::No,
            false => Code::Answered.unless(report.is_incomplete()),
        })
    }

    /// Shows one pod.
    fn pod(&self, compared: &Compared, pod: &str) -> Result<Code, Failure> {
        let report = pod_report(compared, pod, self.sources.snapshot.is_some())?;
        let flags = self.sources.of_commands();
        let page = |is_wide| {
            let flags = &flags;
            move |it: &PodReport| {
                let mut doc = Doc::from(page(it, is_wide));
                if !it.findings.is_empty() {
                    doc.add_apart(finding_view::folded(&about_node(&it.findings, flags)));
                }
                doc
            }
        };
        let names = |it: &PodReport| finding_view::names(&it.findings);
        self.output.write_or_names(&report, page(false), page(true), names)?;
        if self.output.is_for_people() {
            tell(&report.basis);
            fixes(&report.findings, &flags);
        }
        Ok(match report.has_failed() {
            true => Code::No,
            false => Code::Answered.unless(report.is_incomplete()),
        })
    }
}

/// Says where kq finds a node, on a machine that is none.
fn elsewhere() -> Result<(), Failure> {
    write::lines(
        [
            "no kubelet runs here, and nothing of one is left (-o wide has what was looked for)",
            "a snapshot of a node:   kq doctor node.json.zst, after kq snapshot -o node.json.zst there",
            "a node of a cluster:    kubectl debug node/NODE -it --image=IMAGE -- kq doctor",
            "all nodes of a cluster: kq fleet run --image IMAGE -- doctor, IMAGE as in docs/release.md",
        ]
        .map(str::to_owned),
    )
}
