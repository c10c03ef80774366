package eviction

import (
	"context"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/utils/clock"

	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

// What the oracle's programs need of this package.

// OracleParse parses thresholds; those of one map are in the order of their signals.
func OracleParse(enforce []string, hard, soft, grace, reclaim map[string]string) ([]evictionapi.Threshold, error) {
	all, err := ParseThresholdConfig(enforce, hard, soft, grace, reclaim)
	if err != nil {
		return nil, err
	}
	first, _ := parseThresholdStatements(hard)
	second, _ := parseThresholdStatements(soft)
	// The copies for the memory of all pods come last, wherever they are from.
	order := func(part []evictionapi.Threshold) {
		sort.SliceStable(part, func(i, j int) bool { return part[i].Signal < part[j].Signal })
	}
	order(all[:len(first)])
	order(all[len(first) : len(first)+len(second)])
	copied := func(at int) bool { return isAllocatableEvictionThreshold(all[at]) }
	sort.SliceStable(all, func(i, j int) bool { return !copied(i) && copied(j) })
	return all, nil
}

// OracleValue parses the value of a threshold.
func OracleValue(text string) (evictionapi.ThresholdValue, error) {
	if strings.HasSuffix(text, "%") {
		share, err := parsePercentage(text)
		return evictionapi.ThresholdValue{Percentage: share}, err
	}
	quantity, err := resource.ParseQuantity(text)
	return evictionapi.ThresholdValue{Quantity: &quantity}, err
}

// OracleObservation is what was observed of a signal.
type OracleObservation struct{ Available, Capacity int64 }

// OracleObservations are observations by signal.
func OracleObservations(given map[string]OracleObservation) signalObservations {
	result := signalObservations{}
	for signal, one := range given {
		format := resource.BinarySI
		if strings.HasSuffix(signal, "inodesFree") || strings.HasPrefix(signal, "pid") {
			format = resource.DecimalSI
		}
		result[evictionapi.Signal(signal)] = signalObservation{
			available: resource.NewQuantity(one.Available, format), capacity: resource.NewQuantity(one.Capacity, format),
		}
	}
	return result
}

func OracleObserved(summary *statsapi.Summary) map[string]OracleObservation {
	result := map[string]OracleObservation{}
	observations, _ := makeSignalObservations(klog.Background(), summary)
	for signal, one := range observations {
		result[string(signal)] = OracleObservation{one.available.Value(), one.capacity.Value()}
	}
	return result
}

func OracleMet(
	thresholds []evictionapi.Threshold, given map[string]OracleObservation, enforce bool,
) (met []evictionapi.Threshold, conditions []v1.NodeConditionType) {
	met = thresholdsMet(klog.Background(), thresholds, OracleObservations(given), enforce)
	return met, nodeConditions(met)
}

func OracleMessage(
	name string, pod *v1.Pod, stats []statsapi.PodStats, thresholds []evictionapi.Threshold, given map[string]OracleObservation,
) (string, map[string]string) {
	return evictionMessage(v1.ResourceName(name), pod, cachedStatsFunc(stats), thresholds, OracleObservations(given))
}

// OracleRank ranks pods for a signal.
func OracleRank(signal string, dedicated, split bool, pods []*v1.Pod, stats []statsapi.PodStats) {
	buildSignalToRankFunc(dedicated, split)[evictionapi.Signal(signal)](pods, cachedStatsFunc(stats))
}

type oracleCalls struct{ note func(string) }

func (c oracleCalls) DeleteUnusedImages(context.Context) error {
	c.note("delete_unused_images")
	return nil
}

func (c oracleCalls) DeleteAllUnusedContainers(context.Context) error {
	c.note("delete_all_unused_containers")
	return nil
}

// OracleReclaim calls the reclaim functions of every signal.
func OracleReclaim(dedicated, split bool, signals []string) map[string][]string {
	result := map[string][]string{}
	for _, signal := range signals {
		calls := []string{}
		note := oracleCalls{func(name string) { calls = append(calls, name) }}
		for _, one := range buildSignalToNodeReclaimFuncs(note, note, dedicated, split)[evictionapi.Signal(signal)] {
			_ = one(context.Background())
		}
		result[signal] = calls
	}
	return result
}

// OracleClock is a clock that stands still.
type OracleClock struct {
	clock.RealClock
	At time.Time
}

func (c *OracleClock) Now() time.Time                        { return c.At }
func (c *OracleClock) Since(earlier time.Time) time.Duration { return c.At.Sub(earlier) }

// OracleManager drives an eviction manager.
type OracleManager struct {
	Manager *managerImpl
	Clock   *OracleClock
	// Disk is whether images, and containers, have a filesystem of their own.
	Dedicated, Split bool
}

func (o *OracleManager) HasDedicatedImageFs(context.Context) (bool, error)     { return o.Dedicated, nil }
func (o *OracleManager) HasDedicatedContainerFs(context.Context) (bool, error) { return o.Split, nil }

func (o *OracleManager) Synchronize(pods []*v1.Pod) ([]*v1.Pod, error) {
	return o.Manager.synchronize(context.Background(), o, func() []*v1.Pod { return pods })
}

func (o *OracleManager) Conditions() []v1.NodeConditionType { return o.Manager.nodeConditions }

func (o *OracleManager) Under(conditions []v1.NodeConditionType, pod *v1.Pod) lifecycle.PodAdmitResult {
	o.Manager.nodeConditions = conditions
	return o.Manager.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
}

func (o *OracleManager) Evict(pod *v1.Pod, grace int64, message string) bool {
	condition := &v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonTerminationByKubelet, Message: message,
	}
	return o.Manager.evictPod(klog.Background(), pod, grace, message, map[string]string{"a": "b"}, condition)
}

func (o *OracleManager) LocalStorage(pods []*v1.Pod, stats []statsapi.PodStats) {
	o.Manager.dedicatedImageFs = &o.Dedicated
	o.Manager.localStorageEviction(klog.Background(), pods, cachedStatsFunc(stats))
}

// OracleCalls notes the calls of the reclaim functions.
func OracleCalls(note func(string)) interface {
	ImageGC
	ContainerGC
} {
	return oracleCalls{note}
}

// OracleOf is the manager behind its interface.
func OracleOf(manager Manager) *managerImpl { return manager.(*managerImpl) }
