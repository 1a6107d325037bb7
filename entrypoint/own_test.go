package entrypoint_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"testing"

	"github.com/sluiceproxy/sluice/entrypoint"
)

// TestOwnAddresses refuses connections to an entrypoint on a loopback address, however the address is given.
func TestOwnAddresses(t *testing.T) {
	t.Parallel()
	s, directory := listed(t, http.HandlerFunc(hello), nil)
	port := netip.MustParseAddrPort(s.address).Port()
	for _, test := range []struct {
		network, host string
		port          uint16
		refused       bool
	}{
		{"tcp4", "127.0.0.1", port, true},
		{"tcp6", "::ffff:127.0.0.1", port, true},
		{"tcp4", "0.0.0.0", port, true},
		{"tcp6", "::", port, true},
		{"tcp6", "::ffff:0.0.0.0", port, true},
		{"tcp6", "::ffff:127.0.0.1%lo", port, true},
		{"udp4", "127.0.0.1", port, true}, // HTTP/3
		{"tcp6", "::1", port, false},
		{"tcp4", "127.0.0.2", port, false},
		{"tcp4", "192.0.2.1", port, false},
		{"tcp4", "127.0.0.1", port - 1, false},
	} {
		address := net.JoinHostPort(test.host, strconv.Itoa(int(test.port)))
		if err := directory.Control(test.network, address, nil); errors.Is(err, entrypoint.ErrOwnAddress) != test.refused {
			t.Errorf("%s %s: %v", test.network, address, err)
		}
	}
	if err := directory.Control("unix", "/run/a.sock", nil); err != nil {
		t.Errorf("a Unix socket: %v", err)
	}
	dialer := &net.Dialer{Control: directory.Control}
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", ""} {
		conn, err := dialer.DialContext(t.Context(), "tcp4", net.JoinHostPort(host, strconv.Itoa(int(port))))
		if !errors.Is(err, entrypoint.ErrOwnAddress) {
			t.Errorf("dialing %q: %v", host, err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
	s.stop()
	s.wait()
	if err := directory.Control("tcp4", s.address, nil); err != nil {
		t.Errorf("when it has ended: %v", err)
	}
}

// TestOwnAddressesAreKnownInTime has an address known before the entrypoint serves, no longer when it is given up, and
// still when another process has it.
func TestOwnAddressesAreKnownInTime(t *testing.T) {
	t.Parallel()
	directory := entrypoint.NewDirectory()
	listen := func(address string) *entrypoint.Entrypoint {
		t.Helper()
		config := newConfig()
		config.Address = address
		e, err := entrypoint.New("web", config, http.HandlerFunc(hello), nil, entrypoint.Dependencies{
			Logger: newMemory(t), Directory: directory,
		})
		if err == nil {
			err = e.Listen(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	known := func(e *entrypoint.Entrypoint) bool { return directory.Control("tcp", e.Addr().String(), nil) != nil }
	given := listen("127.0.0.1:0")
	if !known(given) {
		t.Error("it is not known before it serves")
	}
	_ = given.Close()
	if known(given) {
		t.Error("it is known when it has been given up")
	}
	beside, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	directory.Reserve(beside)
	_ = beside.Close()
	if !errors.Is(directory.Control("tcp", beside.Addr().String(), nil), entrypoint.ErrOwnAddress) {
		t.Error("a reserved address is not known")
	}
	everywhere := listen(":0")
	port := netip.MustParseAddrPort(everywhere.Addr().String()).Port()
	local := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
	if err := directory.Permits("tcp", local); err != nil {
		t.Errorf("one that is reached from elsewhere: %v", err)
	}
	_ = everywhere.Close()
	handed := listen("127.0.0.1:0")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(entrypoint.ErrHandedOver)
	if err := handed.Serve(ctx); err != nil {
		t.Fatal(err)
	}
	if !known(handed) {
		t.Error("it is not known when another process has it")
	}
}

// refuses reports whether a connection to an address is refused.
func refuses(directory *entrypoint.Directory, network, address string) bool {
	return errors.Is(directory.Control(network, address, nil), entrypoint.ErrOwnAddress)
}

// TestReachableEntrypoint permits connections to an entrypoint that services may lead to.
func TestReachableEntrypoint(t *testing.T) {
	t.Parallel()
	directory, config := entrypoint.NewDirectory(), newConfig()
	config.Address = "127.0.0.1:0"
	e, err := entrypoint.New("web", config, http.HandlerFunc(hello), nil, entrypoint.Dependencies{
		Logger: newMemory(t), Directory: directory, Reachable: true,
	})
	if err == nil {
		err = e.Listen(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if refuses(directory, "tcp", e.Addr().String()) {
		t.Error("the connection is refused")
	}
	_ = e.Close()
}

// TestConfiguredAddresses are known before anything listens.
func TestConfiguredAddresses(t *testing.T) {
	t.Parallel()
	directory := entrypoint.NewDirectory()
	for _, address := range []string{
		"127.0.0.2:80", "LocalHost:81", "[::1]:82", "127.0.0.1:0", ":83", "192.0.2.1:84", "name.test:85", "127.0.0.1",
	} {
		directory.ReserveConfigured("tcp", address)
	}
	directory.ReserveConfigured("udp", "127.0.0.1:86")
	for address, refused := range map[string]bool{
		"127.0.0.2:80": true, "127.0.0.1:80": false, "127.0.0.1:81": true, "[::1]:81": true, "[::1]:82": true,
		"127.0.0.1:83": false, "192.0.2.1:84": false, "127.0.0.1:85": false, "127.0.0.1:86": false,
	} {
		if refuses(directory, "tcp", address) != refused {
			t.Errorf("%s: refused %v, want %v", address, !refused, refused)
		}
	}
	if !refuses(directory, "udp", "127.0.0.1:86") {
		t.Error("an address of UDP is not refused")
	}
}

// TestAddressesOfAnotherProcess are refused until others take their place.
func TestAddressesOfAnotherProcess(t *testing.T) {
	t.Parallel()
	from, to := entrypoint.NewDirectory(), entrypoint.NewDirectory()
	from.ReserveConfigured("tcp", "localhost:81")
	from.ReserveConfigured("udp", "127.0.0.1:82")
	data := from.Export()
	if want := `["127.0.0.1:81/tcp","127.0.0.1:82/udp","[::1]:81/tcp"]`; string(data) != want {
		t.Errorf("%s, want %s", data, want)
	}
	to.ReserveConfigured("tcp", "127.0.0.1:81")
	if err := to.Import(data); err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []string{"{}", `["127.0.0.1:81"]`, `["192.0.2.1:81/tcp"]`, `["[::1]:81/unix"]`} {
		if err := to.Import([]byte(damaged)); err == nil {
			t.Errorf("%s: no error", damaged)
		}
	}
	if !refuses(to, "tcp", "127.0.0.1:81") || !refuses(to, "tcp6", "[::1]:81") || !refuses(to, "udp", "127.0.0.1:82") {
		t.Error("an address of the other process is not refused")
	}
	if got := string(to.Export()); got != `["127.0.0.1:81/tcp"]` {
		t.Errorf("addresses of another process are passed on: %s", got)
	}
	if err := to.Import(nil); err != nil {
		t.Fatal(err)
	}
	if !refuses(to, "tcp", "127.0.0.1:81") || refuses(to, "tcp6", "[::1]:81") || refuses(to, "udp", "127.0.0.1:82") {
		t.Error("its own addresses are not what is refused")
	}
}
