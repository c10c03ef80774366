//! Whatever is stored in a snapshot, reading it and answering from it ends without a panic, and what was
//! read comes back from what is written.
#![cfg_attr(fuzzing, no_main)]

use kq_cgroup::knowledge::Knowledge;
use kq_cgroup::live::compare::Rounding;
use kq_cgroup::live::diff::{Context, diff};
use kq_cgroup::live::motion::Motion;
use kq_cgroup::live::place::live_cgroups;
use kq_cgroup::live::repair::{Ground, repair};
use kq_cgroup::live::set_by::Writers;
use kq_cgroup::live::which::{WhichSubject, lines, which};
use kq_cgroup::live::{diff_view, show, show_view};
use kq_cgroup::plan::{Plan, RuntimeFormula, plan};
use kq_facts::cgroup_name::kubelet_roots;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::describe::{NodeSources, describe};
use kq_facts::live::{config_source, incomplete, live_sources, unknown_facts};
use kq_facts::node::Node;
use kq_facts::node_config::NodeConfig;
use kq_facts::overrides::Overrides;
use kq_facts::pod_selector::Selection;
use kq_facts::resize::{RecordedResources, put_effective};
use kq_facts::snapshot::Snapshot;
use kq_facts::weight_formula::WeightFormula;
use kq_facts::workloads::{Workloads, add_container_ids, adopt_uid};
use kq_k8s::defaults::{apply_api_defaults, apply_priority};
use kq_k8s::manifest::LoadedPod;

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    let Ok(snapshot) = Snapshot::parse(bytes) else { return };
    let stored = serde_json::to_vec(&snapshot).expect("it is stored");
    // A quantity may have been written otherwise; what is stored is the same from then on.
    let again = Snapshot::parse(&stored).expect("it comes back");
    assert!(serde_json::to_vec(&again).expect("it is stored") == stored, "it comes back as it was");
    let _ = unknown_facts(&snapshot, false);
    let config = snapshot.kubelet_config.value().map(|config| &config.value);
    let root = config.and_then(|config| config["cgroupRoot"].as_str()).unwrap_or("/");
    let roots = kubelet_roots(root, true);
    let pods = snapshot.pods.value().map(|pods| pods.pods.clone()).unwrap_or_default();
    let runtime = snapshot.runtime.value();
    let workloads = Workloads::of(pods.iter().map(|loaded| &*loaded.pod), runtime);
    if let Some(tree) = snapshot.cgroups.value() {
        look(tree, &roots, &workloads);
    }
    let object = snapshot.node.found.as_ref();
    let sources = NodeSources {
        config: &config_source(&snapshot),
        object: object.map(|found| (found.source.as_str(), &found.value)),
        live: Some(&live_sources(&snapshot, &roots)),
        overrides: &Overrides::default(),
    };
    if let Ok(node) = describe(sources) {
        compare(&snapshot, &node, pods, &workloads, &roots);
    }
    let _ = Node::of(snapshot, Overrides::default());
});

type Roots = [(kq_cgroup::files::CgroupDriver, CgroupPath)];

fn look(tree: &CgroupTree, roots: &Roots, workloads: &Workloads) {
    let cases = [
        (true, true, true),
        (true, true, false),
        (true, false, true),
        (false, false, true),
        (false, false, false),
    ];
    for (usage, statistics, processes) in cases {
        let mut less = tree.clone();
        let paths: Vec<CgroupPath> = roots.iter().map(|(_, path)| path.clone()).collect();
        less.restrict(&paths, usage, statistics, processes);
        let again = less.clone();
        less.restrict(&paths, usage, statistics, processes);
        assert_eq!(less, again, "what was forgotten is forgotten");
    }
    let shown = show::show(tree, roots, workloads, &Selection::default(), Vec::new());
    let _ = (show_view::table(&shown), show_view::wide(&shown));
    let pids = tree.cgroups.values().flat_map(|texts| texts.pids()).take(8);
    let mut asked: Vec<WhichSubject> = pids.map(WhichSubject::Pid).collect();
    asked.extend(tree.cgroups.keys().take(8).cloned().map(WhichSubject::Path));
    asked.push(WhichSubject::Container("a".to_owned()));
    for asked in asked {
        if let Ok(owner) = which(&asked, tree, roots, workloads) {
            let _ = lines(&owner);
        }
    }
}

fn compare(
    snapshot: &Snapshot,
    node: &NodeConfig,
    mut pods: Vec<LoadedPod>,
    known: &Workloads,
    roots: &Roots,
) {
    let runtime = snapshot.runtime.value();
    for LoadedPod { pod, .. } in &mut pods {
        apply_api_defaults(pod, &node.rules);
        apply_priority(pod);
        adopt_uid(pod, known);
        if let Some(runtime) = runtime {
            add_container_ids(pod, runtime);
        }
    }
    let all: Vec<_> = pods.iter().map(|loaded| &*loaded.pod).collect();
    let incomplete = incomplete(&snapshot.pods, &all, runtime);
    let workloads = Workloads::of(all, runtime);
    let mut earlier = pods.clone();
    let files = snapshot.state_files.as_ref();
    let allocated = files.and_then(|files| files.get("allocated_pods_state"));
    if let Ok(recorded) = RecordedResources::parse(allocated) {
        for loaded in &mut earlier {
            recorded.put_into(&mut loaded.pod, &node.rules);
            put_effective(&mut loaded.pod);
        }
    }
    let formula = RuntimeFormula::new(WeightFormula::Linear, true);
    let (Ok(mut desired), Ok(before)) = (plan(&pods, node, formula), plan(&earlier, node, formula))
    else {
        return;
    };
    desired.withhold(Knowledge::of(
        node,
        formula,
        false,
        incomplete.as_ref().map(|it| it.text.clone()),
    ));
    let Some(tree) = snapshot.cgroups.value() else { return };
    let resizing: [(&'static str, &Plan<'_>); 1] = [("allocated", &before)];
    let cgroups: Vec<_> = roots
        .iter()
        .filter(|(_, root)| tree.get(root).is_some())
        .flat_map(|(driver, root)| live_cgroups(tree, root, *driver, &workloads))
        .collect();
    let everything = Selection::default();
    let handlers = std::collections::BTreeMap::new();
    let none = std::collections::BTreeSet::new();
    let pods = pods.iter().map(|loaded| &*loaded.pod);
    let motion = Motion::of(pods, runtime, None, snapshot.taken_at.parse().ok());
    let found = diff(
        &desired,
        tree,
        &cgroups,
        Context {
            handlers: &handlers,
            in_machines: &none,
            annotated: &none,
            workloads_of_runtime: &none,
            writers: Writers {
                drop_ins: snapshot.drop_ins.value().map(Vec::as_slice),
                are_complete: true,
                is_formula_assumed: false,
            },
            motion: &motion,
            workloads: &workloads,
            rounding: Rounding {
                version: node.cgroup_version,
                driver: node.cgroup_driver,
                kernel: node.kernel,
            },
            incomplete: incomplete.as_ref().map(|it| it.text.as_str()),
            runtime_known: runtime.is_some_and(|runtime| runtime.containers.found.is_some()),
            restricts_oom_score: runtime.and_then(|runtime| runtime.restricts_oom_score),
            selection: &everything,
            resizing: &resizing,
        },
    );
    let _ = (diff_view::table(&found), diff_view::wide(&found));
    for (_, root) in roots {
        let _ =
            repair(&found, tree, Ground { version: node.cgroup_version, root, allow_oom: false });
    }
}
