package datagram_test

import (
	"net/netip"
	"os"
	"os/exec"
	"testing"

	"github.com/sluiceproxy/sluice/forward/datagram"
)

// insideVariable says that the process is in a network namespace of its own.
const insideVariable = "TEST_DATAGRAM_NAMESPACE"

// namespaceNetwork gives lo the addresses that tests use.
const namespaceNetwork = `ip link set lo up &&
ip address add 192.0.2.1/32 dev lo && ip address add 192.0.2.2/32 dev lo &&
ip -6 address add 2001:db8::1/128 dev lo nodad && ip -6 address add 2001:db8::2/128 dev lo nodad && exec "$@"`

// inNamespace runs the test again in a network namespace with documentation addresses, and reports whether it is there.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		return true
	}
	arguments := []string{"--net"}
	if os.Getuid() != 0 {
		arguments = append(arguments, "--map-root-user")
	}
	arguments = append(arguments, "sh", "-c", namespaceNetwork, "sh")
	probe := exec.CommandContext(t.Context(), "unshare", append(arguments, "true")...)
	if output, err := probe.CombinedOutput(); err != nil {
		t.Skipf("network namespaces are not allowed here: %v %s", err, output)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "unshare", append(arguments, program, "-test.run=^"+t.Name()+"$")...)
	command.Env = append(os.Environ(), insideVariable+"=yes")
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	return false
}

// TestSourceOfAnswers sends answers from the address that the client has sent to, and keeps sessions with several
// addresses of the entrypoint apart.
func TestSourceOfAnswers(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	e := newEndpoint(t, "a", loopback)
	for _, listen := range []string{"0.0.0.0:0", "[::]:0"} {
		r := newRig(t, setup{listen: listen, servers: []netip.AddrPort{e.addr()}})
		before := e.sources()
		addresses := []string{"192.0.2.1", "192.0.2.2", "127.0.0.1", "2001:db8::1", "2001:db8::2", "::1"}
		if listen == "0.0.0.0:0" {
			addresses = addresses[:3]
		}
		for _, address := range addresses {
			// The socket of the client is connected: it takes no answer from another address.
			to := netip.AddrPortFrom(netip.MustParseAddr(address), r.address.Port())
			dial(t, "", to).exchange("x", "a x")
		}
		shared := listenOn(t, listen)
		for _, address := range addresses {
			to := netip.AddrPortFrom(netip.MustParseAddr(address), r.address.Port())
			if _, err := shared.conn.WriteToUDPAddrPort([]byte("y"), to); err != nil {
				t.Fatal(err)
			}
			if from := shared.receiveFrom("a y"); from != to {
				t.Errorf("sent to %v, answered by %v", to, from)
			}
		}
		if got, want := e.sources()-before, 2*len(addresses); got != want {
			t.Errorf("%s: %d sessions, want %d", listen, got, want)
		}
		r.stop()
		for range 2 * len(addresses) {
			if record := r.next(); !record.Local.IsValid() || record.Reason != datagram.Shutdown {
				t.Errorf("got %+v", record)
			}
		}
	}
}
