package loadbalancer_test

import (
	"testing"

	"github.com/sluiceproxy/sluice/loadbalancer"
)

func TestPoolNames(t *testing.T) {
	for _, row := range []struct{ protocol, service, name string }{
		{loadbalancer.ProtocolHTTP, "shop@file", "shop@file"},
		{loadbalancer.ProtocolTCP, "db@file", "tcp:db@file"},
		{loadbalancer.ProtocolUDP, "dns:53@file", "udp:dns:53@file"},
		{loadbalancer.ProtocolHTTP, "tcpdump@file", "tcpdump@file"},
	} {
		if got := loadbalancer.PoolName(row.protocol, row.service); got != row.name {
			t.Errorf("the pool of %s %s is %q, want %q", row.protocol, row.service, got, row.name)
		}
		if protocol, service := loadbalancer.SplitPoolName(row.name); protocol != row.protocol || service != row.service {
			t.Errorf("%q is the pool of %s %s, want %s %s", row.name, protocol, service, row.protocol, row.service)
		}
	}
}
