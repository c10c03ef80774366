//! Whatever stands in a pod, its probes can be defaulted, judged, planned and shown without a panic, and what
//! is stored of them reads back as it was stored.
#![cfg_attr(fuzzing, no_main)]

use kq_answer::Basis;
use kq_k8s::defaults::apply_probe_defaults;
use kq_k8s::duration::GoDuration;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_k8s::validation::validate_probes;
use kq_probe::lint::ProbeLint;
use kq_probe::report::ProbeVerdict;
use kq_probe::subject::subjects;
use kq_probe::{JobFacts, Status, Target, plan, predicted_statuses};
use std::sync::Arc;

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    for loaded in kq_k8s::manifest::load("fuzz", bytes).pods {
        let mut stored = Pod::clone(&loaded.pod);
        stored.redact();
        let text = serde_json::to_string(&stored).expect("a pod can be written");
        assert_eq!(serde_json::from_str::<Pod>(&text).expect("it can be read again"), stored);
        let mut pod = loaded.pod.into_inner();
        apply_probe_defaults(&mut pod);
        let once = pod.clone();
        apply_probe_defaults(&mut pod);
        assert_eq!(pod, once);
        assert!(validate_probes(&pod).iter().all(|error| error.path.starts_with("spec.")));
        let _ = kq_answer::finding_view::wide(&ProbeLint::of([&pod]).items).to_string();
        let pod = Arc::new(pod);
        let facts = JobFacts {
            pod_ip: Ok("10.1.2.3"),
            container_id: Ok("id"),
            user_agent: "kube-probe/1.36",
            grpc_user_agent: "kube-probe/1.36 grpc-go/1.79.3",
            rules: KubeletRules::default(),
        };
        let rules = KubeletRules::default();
        let of = |subject| Target::of(&subject, Arc::clone(&pod), &facts, false, rules);
        let targets: Vec<Target> = subjects(&pod).map(of).collect();
        let now = kq_facts::timestamp::Timestamp(0);
        for target in &targets {
            let _ = (target.follows(ProbeVerdict::Failure), target.title(), target.limit_us());
            let _ = target.facts(now, Status::AsReported, true);
        }
        let probed: Vec<_> = targets.iter().map(|it| (it, ProbeVerdict::Success)).collect();
        let _ = predicted_statuses(&probed, now, now);
        let patience = GoDuration(120 * GoDuration::SECOND.0);
        let plan = plan::plan(&targets, None, patience, Basis::default());
        let _ = (plan::table(&plan), plan::wide(&plan));
    }
});
