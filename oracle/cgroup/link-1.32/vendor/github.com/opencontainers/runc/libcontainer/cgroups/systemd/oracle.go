package systemd

import (
	systemdDbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/opencontainers/runc/libcontainer/configs"
)

// OracleProperties returns the properties that systemd is given, for the oracle's programs. The quota is rounded as it is then
// written.
func OracleProperties(unified bool, r *configs.Resources) (map[string]any, error) {
	versionOnce.Do(func() {})
	version = 255
	generate := genV1ResourcesProperties
	if unified {
		generate = func(r *configs.Resources, cm *dbusConnManager) ([]systemdDbus.Property, error) {
			return genV2ResourcesProperties("", r, cm)
		}
	}
	list, err := generate(r, nil)
	properties := map[string]any{}
	for _, one := range list {
		properties[one.Name] = one.Value.Value()
	}
	return properties, err
}
