package streams

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// startPostgres starts a PostgreSQL that speaks TLS with a certificate, and trusts every user.
func startPostgres(t *testing.T, certificate harness.Issued) (address string) {
	t.Helper()
	programs := filepath.Dir(program(t, "/usr/lib/postgresql/*/bin/initdb"))
	dir := folder(t, "postgres")
	data := filepath.Join(dir, "data")
	initdb := as(t, "postgres", exec.CommandContext(t.Context(), filepath.Join(programs, "initdb"), "-D", data, "-U", "ann",
		"-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"))
	initdb.Dir = dir
	if printed, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, printed)
	}
	for name, from := range map[string]string{"server.crt": certificate.CertFile, "server.key": certificate.KeyFile} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(data, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 {
			id := credential(t, "postgres")
			if err := os.Chown(path, int(id.Uid), int(id.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	address = harness.FreeAddress(t)
	host, port := split(t, address)
	start(t, address, "postgres", filepath.Join(programs, "postgres"), "-D", data, "-c", "listen_addresses="+host, "-c",
		"port="+port, "-c", "unix_socket_directories="+dir, "-c", "ssl=on", "-c", "fsync=off")
	// It listens before it takes queries, which it refuses until then.
	psql := program(t, "psql")
	var printed []byte
	var err error
	harness.Eventually(t, timeout, func() bool {
		query := exec.CommandContext(t.Context(), psql, "-X", "-c", "select 1",
			"-d", "host="+host+" port="+port+" user=ann dbname=postgres")
		printed, err = query.CombinedOutput()
		return err == nil
	}, func() string { return fmt.Sprintf("PostgreSQL takes no queries: %s", printed) })
	return address
}

// TestPostgres reaches one PostgreSQL with TLS that ends at Sluice, with TLS that passes through, and without, on one
// port; each server name is a router.
func TestPostgres(t *testing.T) {
	t.Parallel()
	psql := program(t, "psql")
	authority := harness.NewAuthority(t)
	edge, server := authority.Issue("edge.test"), authority.Issue("through.test")
	address := startPostgres(t, server)
	sluice := harness.Start(t, harness.Setup{
		Static: setup("postgres"), Vars: map[string]string{
			"SERVER": address, "CERT": edge.CertFile, "KEY": edge.KeyFile, "CA": authority.File,
		},
		Dynamic: map[string]string{"tcp.yaml": `
tcp:
  routers:
    edge: {entryPoints: [postgres], rule: HostSNI(` + "`edge.test`" + `), service: plain, tls: {}}
    encrypted: {entryPoints: [postgres], rule: HostSNI(` + "`both.test`" + `), service: encrypted, tls: {}}
    through:
      {entryPoints: [postgres], rule: HostSNI(` + "`through.test`" + `), service: plain, tls: {passthrough: true}}
    plain: {entryPoints: [postgres], rule: HostSNI(` + "`*`" + `), service: plain}
  services:
    plain: {loadBalancer: {servers: [{address: "${SERVER}"}], terminationDelay: -1}}
    encrypted: {loadBalancer: {servers: [{address: "${SERVER}"}]}}
tls:
  certificates: [{certFile: ${CERT}, keyFile: ${KEY}}]
`},
	})
	host, port := split(t, sluice.Addr("postgres"))
	query := func(want int, name, mode string) string {
		return run(t, want, "", []string{"PGCONNECT_TIMEOUT=20"}, psql, "-X", "-A", "-t", "-c", "select 6*7", "-d",
			"host="+name+" hostaddr="+host+" port="+port+" user=ann dbname=postgres sslrootcert="+authority.File+
				" sslmode="+mode)
	}
	for _, test := range []struct{ name, mode string }{
		{"edge.test", "require"},
		{"edge.test", "verify-full"},
		{"through.test", "require"},
		{"through.test", "verify-full"},
		{"edge.test", "prefer"},
		{"plain.test", "disable"},
		{"plain.test", "allow"},
	} {
		if got := query(0, test.name, test.mode); got != "42\n" {
			t.Errorf("%s with sslmode %s: got %q", test.name, test.mode, got)
		}
	}
	// The certificate of the other one is wrong, and a name without a router gets none.
	if got := query(2, "both.test", "verify-full"); !strings.Contains(got, "certificate verify failed") {
		t.Errorf("got %q", got)
	}
	if got := query(2, "other.test", "verify-full"); !strings.Contains(got, "SSL") {
		t.Errorf("got %q", got)
	}
	direct(t, sluice.Addr("postgres"), authority)
}

// direct begins with TLS at once, as clients of PostgreSQL 17 with sslnegotiation=direct do, and with the protocol
// that they offer.
func direct(t *testing.T, address string, authority *harness.Authority) {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{ServerName: "edge.test", RootCAs: authority.Pool, NextProtos: []string{"postgresql"}}}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if protocol := conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; protocol != "postgresql" {
		t.Errorf("protocol %q", protocol)
	}
	parameters := "user\x00ann\x00database\x00postgres\x00\x00"
	startup := binary.BigEndian.AppendUint32(nil, uint32(8+len(parameters))) //nolint:gosec // It is small.
	startup = append(binary.BigEndian.AppendUint32(startup, 3<<16), parameters...)
	if _, err := conn.Write(startup); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 9)
	if _, err := io.ReadFull(conn, first); err != nil || first[0] != 'R' || first[8] != 0 {
		t.Errorf("the answer to the startup message is %q, %v; want AuthenticationOk", first, err)
	}
}
