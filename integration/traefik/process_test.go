package traefik

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// insideVariable is set within the network namespace, to the folder of Traefik's tests.
	insideVariable = "TEST_TRAEFIK_SUITE"
	// traefikVariable is the path of Traefik's binary, with which -update records the answers.
	traefikVariable = "TEST_TRAEFIK"
	// settling is how long Traefik may take to apply a configuration after it listens.
	settling = 8 * time.Second
	// patience bounds a request.
	patience = 5 * time.Second
)

// network starts lo, makes every IPv4 address local, and runs a program. Fixtures name addresses of other networks.
const network = `ip link set lo up && ip route add local 0.0.0.0/0 dev lo && exec "$0" "$@"`

// TestAnswers starts Sluice with each fixture that runs by itself, sends requests that its rules match, and some that
// they do not, and compares the answers with those expected of Traefik. As fixtures have fixed ports, it runs in a
// network namespace.
func TestAnswers(t *testing.T) {
	if folder := os.Getenv(insideVariable); folder != "" {
		runAll(t, folder)
		return
	}
	folder := suite(t)
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	namespace := []string{"--net", "--pid", "--fork", "--kill-child"}
	if os.Getuid() != 0 {
		namespace = append(namespace, "--map-root-user")
	}
	unshare := func(args ...string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "unshare", slices.Concat(namespace, args)...)
	}
	if output, err := unshare("true").CombinedOutput(); err != nil {
		t.Skipf("network namespaces are not allowed here: %v %s", err, output)
	}
	command := unshare("sh", "-c", network, program, "-test.run=^"+t.Name()+"$", "-update="+strconv.FormatBool(*update))
	command.Env = append(os.Environ(), insideVariable+"="+folder)
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// of returns the answer that is expected of Sluice.
func (a answers) of(key string, differences []difference) string {
	for _, one := range differences {
		if one.request == key {
			return one.answer
		}
	}
	return a[key]
}

// runAll runs the fixtures one after another, and compares all answers or writes them.
func runAll(t *testing.T, folder string) {
	program, record := harness.Binary(t), *update && os.Getenv(traefikVariable) != ""
	if record {
		program = os.Getenv(traefikVariable)
	}
	file, err := filepath.Abs(answersFile)
	if err != nil {
		t.Fatal(err)
	}
	got := answers{}
	for _, one := range runnable(t, folder) {
		t.Run(one.name, func(t *testing.T) {
			serve(t, one)
			start(t, program, folder, one)
			if record {
				<-time.NewTimer(settling).C
			} else if one.management != "" {
				awaitReady(t, one)
			}
			for _, request := range one.requests() {
				got[one.name+" "+request.String()] = request.send(t)
			}
		})
	}
	if record {
		got.write(t, file)
		return
	}
	got.compare(t, recorded(t, file), differences())
}

// awaitReady waits until Sluice has the first table with all routes: the entrypoint traefik serves before that. Where
// it has no API, other entrypoints, which come first, let requests wait for that table.
func awaitReady(t *testing.T, one example) {
	t.Helper()
	client := harness.NewClient(t, harness.H1, "127.0.0.1:"+one.management, "localhost", nil)
	client.Transport.DisableKeepAlives = true
	harness.Until(t, one.name+" is ready", func() bool {
		answer, err := client.Try(client.Request(http.MethodGet, "/api/ready", nil))
		return err == nil && answer.StatusCode != http.StatusServiceUnavailable
	})
}

// start starts a program with a fixture, and waits until it listens on the ports of all entrypoints. It ends
// with the test.
func start(t *testing.T, program, folder string, one example) {
	t.Helper()
	dir := t.TempDir() // Fixtures name files below the working directory, and some write logs there.
	for _, name := range []string{"fixtures", "resources"} {
		if err := os.Symlink(filepath.Join(folder, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	command := exec.CommandContext(ctx, program, "--configFile="+one.file)
	logged := &bytes.Buffer{}
	command.Dir, command.Stdout, command.Stderr = dir, logged, logged
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = command.Wait() // It was killed.
		if panicked := strings.Contains(logged.String(), "panic:"); panicked || t.Failed() {
			t.Errorf("the log of %s:\n%s", program, logged)
		}
	})
	for _, port := range one.ports {
		harness.Until(t, "port "+port+" of "+one.name, func() bool {
			connection, err := net.Dial("tcp4", "127.0.0.1:"+port) //nolint:noctx // The port is local.
			if err == nil {
				_ = connection.Close()
			}
			return err == nil
		})
	}
}

// serve starts an endpoint for each server of a fixture. It answers 200, with the request's host and target.
func serve(t *testing.T, one example) {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Received", r.Host+r.RequestURI)
	})
	for address, scheme := range one.servers {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(handler)
		_ = server.Listener.Close() // It is replaced.
		server.Listener, server.EnableHTTP2 = listener, true
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetHTTP1(true)
		server.Config.Protocols.SetHTTP2(true)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		if scheme == "https" {
			pair, err := tls.LoadX509KeyPair("resources/tls/local.cert", "resources/tls/local.key")
			if err != nil {
				t.Fatal(err)
			}
			server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}} //nolint:gosec // Versions are those of the library.
			server.StartTLS()
		} else {
			server.Start()
		}
		t.Cleanup(server.Close)
	}
}
