package systemd

import "github.com/opencontainers/cgroups"

// OracleProperties returns the properties that systemd is given, for the oracle's programs. The quota is rounded as it is then
// written.
func OracleProperties(unified bool, r *cgroups.Resources) (map[string]any, error) {
	versionOnce.Do(func() {})
	version = 255
	generate := genV1ResourcesProperties
	if unified {
		generate = func(r *cgroups.Resources, cm *dbusConnManager) ([]systemdProperty, error) {
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
