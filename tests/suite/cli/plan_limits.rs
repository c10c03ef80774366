//! `kq cgroup plan`: the limits of CPU, memory, swap and huge pages.

use super::kq;
use super::plan::{expect, of};
use snapbox::str;

#[test]
fn systemd_rounds_quotas_up_and_both_are_shown() {
    let pod = "\
apiVersion: v1
kind: Pod
metadata: {name: odd, uid: aaaa-bbbb}
spec:
  containers:
  - {name: c, image: i, resources: {limits: {cpu: 417m, memory: 10Mi}}}
";
    let (_folder, run) = of(pod, "--cgroup-driver systemd --capacity cpu=4,memory=8Gi");
    run.shows(str![[r#"
CGROUP                         QOS          CPU.WEIGHT   CPU.MAX                      MEMORY.MAX   PIDS.MAX   OOM_SCORE_ADJ
kubepods.slice                              157          -                            8Gi          ?          -
├─ default/odd                 Guaranteed   17           42000 100000 (asked 41700)   10Mi         -          -
│  └─ c                                     51           42000 100000 (asked 41700)   10Mi         -          -997
├─ kubepods-burstable.slice    Burstable    1            -                            -            -          -
└─ kubepods-besteffort.slice   BestEffort   1            -                            -            -          -
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
missing: the node's largest number of processes (pid_max) is not known (--capacity pid=N)
--- exit 0

"#]]);
    let (_folder, run) = of(pod, "--cgroup-driver systemd -o name");
    run.shows(str![[r#"
/kubepods.slice
/kubepods.slice/kubepods-podaaaa_bbbb.slice
/kubepods.slice/kubepods-podaaaa_bbbb.slice/<c>
/kubepods.slice/kubepods-burstable.slice
/kubepods.slice/kubepods-besteffort.slice
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
missing: the number of the node's CPUs is not known (--capacity cpu=N)
missing: the node's memory is not known (--capacity memory=AMOUNT)
missing: the node's largest number of processes (pid_max) is not known (--capacity pid=N)
--- exit 0

"#]]);
    for (driver, quota) in [("systemd", "42000 100000"), ("cgroupfs", "41700 100000")] {
        let (_folder, run) = of(pod, &format!("--cgroup-driver {driver}"));
        expect(run, &[("odd cpu.max", quota), ("odd/c cpu.max", quota)]);
    }
}

#[test]
fn memory_qos_protects_requests_and_throttles() {
    let line = "cgroup plan examples/web.yaml --capacity cpu=3,memory=8Gi,pid=32768 \
                --feature-gates MemoryQoS=true";
    kq(line).shows(str![[r#"
CGROUP              QOS          CPU.WEIGHT   CPU.MAX        MEMORY.MAX   MEMORY.MIN   MEMORY.LOW   MEMORY.HIGH   PIDS.MAX   OOM_SCORE_ADJ
kubepods                         118          -              8Gi          0            -            -             32768      -
├─ burstable        Burstable    10           -              -            -            0            -             -          -
│  └─ default/web   Burstable    10           50000 100000   128Mi        -            -            -             -          -
│     └─ web                     35           50000 100000   128Mi        0            0            124516Ki      -          993
└─ besteffort       BestEffort   1            -              -            -            -            -             -          -
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
--- exit 0

"#]]);
    kq(&format!("{line} --set memoryReservationPolicy=TieredReservation")).shows(str![[r#"
CGROUP              QOS          CPU.WEIGHT   CPU.MAX        MEMORY.MAX   MEMORY.MIN   MEMORY.LOW   MEMORY.HIGH   PIDS.MAX   OOM_SCORE_ADJ
kubepods                         118          -              8Gi          64Mi         -            -             32768      -
├─ burstable        Burstable    10           -              -            -            64Mi         -             -          -
│  └─ default/web   Burstable    10           50000 100000   128Mi        -            64Mi         -             -          -
│     └─ web                     35           50000 100000   128Mi        -            64Mi         124516Ki      -          993
└─ besteffort       BestEffort   1            -              -            -            -            -             -          -
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, kubeReserved none, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
--- exit 0

"#]]);
    // 64Mi + (128Mi - 64Mi) x 0.5, in whole pages.
    expect(
        kq(&format!("{line} --set memoryThrottlingFactor=0.5")),
        &[("web/web memory.high", "100663296")],
    );
    // Cgroup v1 has no such files.
    expect(
        kq(&format!("{line} --cgroup-version 1")),
        &[("web/web memory.high", ""), ("web memory.min", "")],
    );
}

#[test]
fn limited_swap_is_in_proportion_to_requests() {
    let line = "cgroup plan examples/web.yaml --capacity cpu=3,memory=8Gi,pid=32768 \
                --set memorySwap.swapBehavior=LimitedSwap --set failSwapOn=false";
    // 64Mi of 8Gi is 1/128, of 4Gi 32Mi.
    expect(kq(&format!("{line} --swap-capacity 4Gi")), &[("web/web memory.swap.max", "33554432")]);
    kq(line).shows(str![[r#"
CGROUP              QOS          CPU.WEIGHT   CPU.MAX        MEMORY.MAX   MEMORY.SWAP.MAX   PIDS.MAX   OOM_SCORE_ADJ
kubepods                         118          -              8Gi          -                 32768      -
├─ burstable        Burstable    10           -              -            -                 -          -
│  └─ default/web   Burstable    10           50000 100000   128Mi        -                 -          -
│     └─ web                     35           50000 100000   128Mi        ?                 -          993
└─ besteffort       BestEffort   1            -              -            -                 -          -
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
missing: the node's swap is not known (--swap-capacity AMOUNT)
--- exit 0

"#]]);
}

#[test]
fn huge_pages_are_limited_per_size() {
    let pod = "\
apiVersion: v1
kind: Pod
metadata: {name: huge, uid: u}
spec:
  containers:
  - name: c
    image: i
    resources:
      requests: {cpu: 100m, memory: 64Mi, hugepages-2Mi: 8Mi}
      limits: {hugepages-2Mi: 8Mi}
";
    let (_folder, run) = of(pod, "--capacity cpu=2,memory=4Gi,pid=100,hugepages-2Mi=64Mi");
    run.shows(str![[r#"
CGROUP               QOS          CPU.WEIGHT   CPU.MAX      MEMORY.MAX   PIDS.MAX   OOM_SCORE_ADJ   HUGETLB.2MB.MAX
kubepods                          79           -            4Gi          100        -               unbounded
├─ burstable         Burstable    4            -            -            -          -               unbounded
│  └─ default/huge   Burstable    4            -            -            -          -               8Mi
│     └─ c                        17           max 100000   -            -          985             8Mi
└─ besteffort        BestEffort   1            -            -            -          -               unbounded
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
--- exit 0

"#]]);
    let (_folder, run) = of(pod, "--capacity cpu=2,memory=4Gi,pid=100");
    run.shows(str![[r#"
CGROUP               QOS          CPU.WEIGHT   CPU.MAX      MEMORY.MAX   PIDS.MAX   OOM_SCORE_ADJ
kubepods                          79           -            4Gi          100        -
├─ burstable         Burstable    4            -            -            -          -
│  └─ default/huge   Burstable    4            -            -            -          -
│     └─ c                        17           max 100000   -            -          985
└─ besteffort        BestEffort   1            -            -            -          -
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
warning: pod default/huge: it asks for huge pages of 2MB, and which the node has is not known: its hugetlb files are left out (--capacity hugepages-SIZE=AMOUNT)
--- exit 0

"#]]);
}

#[test]
fn the_static_cpu_manager_lifts_the_quota_of_pinned_containers() {
    let line = "cgroup plan examples/classic.yaml --capacity cpu=4,memory=8Gi,pid=100 \
                --set cpuManagerPolicy=static --kube-reserved cpu=1";
    // A whole CPU of a Guaranteed pod is its own.
    expect(
        kq(line),
        &[
            ("guaranteed cpu.max", "max 100000"),
            ("guaranteed/app cpu.max", "max 100000"),
            ("burstable cpu.max", "300000 100000"),
            ("/kubepods cpuset.cpus", ""),
        ],
    );
    kq(line).shows(str![[r#"
CGROUP                     QOS          CPU.WEIGHT   CPU.MAX         MEMORY.MAX   PIDS.MAX   OOM_SCORE_ADJ
kubepods                                118          -               8Gi          100        -
├─ default/guaranteed      Guaranteed   39           max 100000      1Gi          -          -
│  └─ app                               100          max 100000      1Gi          -          -997
├─ burstable               Burstable    79           -               -            -          -
│  └─ default/burstable    Burstable    79           300000 100000   3Gi          -          -
│     ├─ one                            100          100000 100000   1Gi          -          875
│     └─ two                            100          200000 100000   2Gi          -          875
└─ besteffort              BestEffort   1            -               -            -          -
   └─ default/besteffort   BestEffort   1            -               -            -          -
      └─ app                            1            max 100000      -            -          1000
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, enforceNodeAllocatable pods, featureGates none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
--- exit 0

"#]]);
}
