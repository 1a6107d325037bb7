package otlp

import (
	"net"
	"net/netip"
	"strings"
)

// onThisMachine reports whether a host, with or without a port, is this machine's by its loopback interface.
// Nothing is gained by compressing what goes there: it takes more of the processor than all the rest of
// sending.
func onThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.Unmap().IsLoopback()
}

// compression returns what batches to the target are compressed with, of the two values that an exporter has for it.
func compression[C any](t *target, none, gzip C) C {
	if t.plain {
		return none
	}
	return gzip
}
