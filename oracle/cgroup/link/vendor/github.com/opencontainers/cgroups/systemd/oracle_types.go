package systemd

import systemdDbus "github.com/coreos/go-systemd/v22/dbus"

type systemdProperty = systemdDbus.Property
