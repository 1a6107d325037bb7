package protocol

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// interopCases are the cases of gRPC's interoperability tests
// (https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md) that grpc-go's client has and that
// need no credentials of a cloud.
func interopCases() []string {
	return []string{
		"empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong", "empty_stream",
		"timeout_on_sleeping_server", "cancel_after_begin", "cancel_after_first_response", "custom_metadata",
		"status_code_and_message", "special_status_message", "unimplemented_method", "unimplemented_service", "rpc_soak",
		"channel_soak",
	}
}

// TestInterop has grpc-go's interoperability client call its server through Sluice, with and without TLS on both sides.
func TestInterop(t *testing.T) {
	t.Parallel()
	programs := interopPrograms(t)
	authority := harness.NewAuthority(t)
	issued := authority.Issue("interop.test", "127.0.0.1")
	clear := startInterop(t, programs)
	secure := startInterop(t, programs, "-use_tls", "-tls_cert_file", issued.CertFile, "-tls_key_file", issued.KeyFile)
	s := harness.Start(t, harness.Setup{
		Vars: map[string]string{
			"CLEAR": clear, "SECURE": secure, "CA": authority.File, "CERT": issued.CertFile, "KEY": issued.KeyFile,
			"RULE": "PathPrefix(`/grpc.testing.`)",
		},
		Static: `
entryPoints:
  clear-clear: {address: "127.0.0.1:0"}
  clear-secure: {address: "127.0.0.1:0"}
  secure-clear: {address: "127.0.0.1:0", http: {tls: {}}}
  secure-secure: {address: "127.0.0.1:0", http: {tls: {}}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
providers: {file: {directory: "${DYNAMIC}"}}
`,
		Dynamic: map[string]string{"interop.yaml": `
http:
  routers:
    clear: {entryPoints: [clear-clear, secure-clear], rule: "${RULE}", service: clear}
    secure: {entryPoints: [clear-secure, secure-secure], rule: "${RULE}", service: secure}
  services:
    clear: {loadBalancer: {servers: [{url: "h2c://${CLEAR}"}]}}
    secure: {loadBalancer: {serversTransport: secure, servers: [{url: "https://${SECURE}"}]}}
  serversTransports:
    secure: {rootCAs: ["${CA}"], serverName: interop.test}
tls: {certificates: [{certFile: "${CERT}", keyFile: "${KEY}"}]}
`},
	})
	for _, entrypoint := range []string{"clear-clear", "clear-secure", "secure-clear", "secure-secure"} {
		for _, name := range interopCases() {
			t.Run(entrypoint+"/"+name, func(t *testing.T) {
				host, port, err := net.SplitHostPort(s.Addr(entrypoint))
				if err != nil {
					t.Fatal(err)
				}
				args := []string{
					"-server_host", host, "-server_port", port, "-test_case", name, "-soak_iterations", "20",
					"-soak_max_failures", "0",
					// A second for each call by default, and ten for all.
					"-soak_per_iteration_max_acceptable_latency_ms", "60000", "-soak_overall_timeout_seconds", "60",
				}
				if strings.HasPrefix(entrypoint, "secure") {
					args = append(args, "-use_tls", "-use_test_ca", "-ca_file", authority.File,
						"-server_host_override", "interop.test")
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if output, err := exec.CommandContext(ctx, programs.client, args...).CombinedOutput(); err != nil {
					t.Errorf("%v: %.2000s", err, output)
				}
			})
		}
	}
}

// interop are the paths of grpc-go's programs.
type interop struct{ client, server string }

// interopPrograms has .ci/tools build the programs, unless they are there.
func interopPrograms(t *testing.T) interop {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), filepath.Join("../..", ".ci", "tools"), "interop").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	folder := lines[len(lines)-1]
	programs := interop{client: filepath.Join(folder, "client"), server: filepath.Join(folder, "server")}
	for _, path := range []string{programs.client, programs.server} {
		if _, err := os.Stat(path); err != nil {
			t.Skipf("missing tool: grpc-go's interoperability programs: %s", output)
		}
	}
	return programs
}

// startInterop starts the server, and returns its address.
func startInterop(t *testing.T, programs interop, args ...string) string {
	t.Helper()
	address := harness.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), programs.server, append([]string{"-port", port}, args...)...)
	command.Stdout, command.Stderr = t.Output(), t.Output()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // It has no other end.
		_ = command.Wait()
	})
	harness.Eventually(t, time.Minute, func() bool {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	}, func() string { return "the server does not listen" })
	return address
}
