package images

import (
	"context"
	"sort"
	"time"
)

// What the oracle's programs need of this package. The image manager takes its time from OracleNow.
var (
	OracleNow  = time.Now
	OracleSize = formatSize
)

// OracleRecord is what the kubelet remembers of an image.
type OracleRecord struct {
	Key, ID, Handler string
	Detected, Used   time.Time
	Size             int64
	Pinned           bool
}

func OracleRemember(manager ImageGCManager, key string, one OracleRecord) {
	manager.(*realImageGCManager).imageRecords[key] = &imageRecord{
		runtimeHandlerUsedToPullImage: one.Handler, firstDetected: one.Detected, lastUsed: one.Used,
		size: one.Size, pinned: one.Pinned,
	}
}

func oracleRecord(key, id string, one *imageRecord) OracleRecord {
	return OracleRecord{
		key, id, one.runtimeHandlerUsedToPullImage, one.firstDetected, one.lastUsed, one.size, one.pinned,
	}
}

// OracleRecords are the records by key.
func OracleRecords(manager ImageGCManager) []OracleRecord {
	result := []OracleRecord{}
	for key, one := range manager.(*realImageGCManager).imageRecords {
		result = append(result, oracleRecord(key, key, one))
	}
	sort.Slice(result, func(i, j int) bool { return result[i].Key < result[j].Key })
	return result
}

func OracleDetect(manager ImageGCManager) ([]string, error) {
	used, err := manager.(*realImageGCManager).detectImages(context.Background(), OracleNow())
	names := used.UnsortedList()
	sort.Strings(names)
	return names, err
}

// OracleOrder are the candidates in the order in which they are considered.
func OracleOrder(manager ImageGCManager) []OracleRecord {
	result := []OracleRecord{}
	order, _ := manager.(*realImageGCManager).imagesInEvictionOrder(context.Background(), OracleNow())
	for _, one := range order {
		result = append(result, oracleRecord("", one.id, &one.imageRecord))
	}
	return result
}

func OracleKey(id, handler string) string { return getImageTuple(id, handler) }
