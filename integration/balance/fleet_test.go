package balance

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// endpoint is the process of an endpoint.
type endpoint struct {
	*page

	// name is in the header X-Endpoint of its answers; address is its host and port, also after a restart.
	name, address string

	t       *testing.T
	file    string
	command *exec.Cmd
	input   io.Closer
	output  bytes.Buffer
}

// startFleet starts endpoints whose names are the letters from a on, each on an address of its own in 127.0.0.0/8: no
// connection comes from there, so that the port of one that is dead stays free. They are killed when the test ends.
func startFleet(t *testing.T, size int) []*endpoint {
	t.Helper()
	var fleet []*endpoint
	for i := range size {
		name := string(rune('a' + i))
		e := &endpoint{
			name: name, address: fmt.Sprintf("127.0.0.%d:0", 10+i), t: t, file: filepath.Join(t.TempDir(), "page"),
		}
		shared, unmap, err := mapPage(e.file)
		if err != nil {
			t.Fatal(err)
		}
		e.page = shared
		t.Cleanup(func() {
			e.kill()
			unmap()
		})
		e.begin()
		fleet = append(fleet, e)
	}
	for _, e := range fleet {
		e.awaitPort()
	}
	return fleet
}

// begin starts the process.
func (e *endpoint) begin() {
	e.t.Helper()
	path, err := os.Executable()
	if err != nil {
		e.t.Fatal(err)
	}
	e.port.Store(0)
	e.output.Reset()
	e.command = exec.Command(path) //nolint:noctx // It ends with its standard input.
	e.command.Env = append(os.Environ(), endpointVariable+"="+strings.Join([]string{e.name, e.address, e.file}, " "))
	e.command.Stdout, e.command.Stderr = &e.output, &e.output
	if e.input, err = e.command.StdinPipe(); err != nil {
		e.t.Fatal(err)
	}
	if err := e.command.Start(); err != nil {
		e.t.Fatal(err)
	}
}

// awaitPort waits until the process listens.
func (e *endpoint) awaitPort() {
	e.t.Helper()
	until(e.t, "endpoint "+e.name+" listens", func() bool { return e.port.Load() != 0 })
	host, _, err := net.SplitHostPort(e.address)
	if err != nil {
		e.t.Fatal(err)
	}
	e.address = net.JoinHostPort(host, strconv.FormatInt(e.port.Load(), 10))
}

// kill kills the process. From then on connections are refused.
func (e *endpoint) kill() {
	e.t.Helper()
	if e.command == nil || e.command.Process == nil {
		return
	}
	e.signal(syscall.SIGKILL)
	_ = e.command.Wait() // returns an error because it was killed
	_ = e.input.Close()
	e.command = nil
}

// restart starts the process again on the same port.
func (e *endpoint) restart() {
	e.t.Helper()
	e.begin()
	e.awaitPort()
}

// stop stops the process by SIGSTOP: the kernel still accepts its connections.
func (e *endpoint) stop() {
	e.t.Helper()
	e.signal(syscall.SIGSTOP)
}

// resume lets the process go on.
func (e *endpoint) resume() {
	e.t.Helper()
	e.signal(syscall.SIGCONT)
}

func (e *endpoint) signal(signal syscall.Signal) {
	e.t.Helper()
	if err := e.command.Process.Signal(signal); err != nil {
		e.t.Errorf("endpoint %s: %v: %v\n%s", e.name, signal, err, &e.output)
	}
}

// server is the endpoint as an entry of servers.
func (e *endpoint) server() string { return `{url: "http://` + e.address + `"}` }

// weighing is the same with a weight.
func (e *endpoint) weighing(weight int) string {
	return fmt.Sprintf(`{url: "http://%s", weight: %d}`, e.address, weight)
}

// h2c is the same over HTTP/2.
func (e *endpoint) h2c() string { return `{url: "h2c://` + e.address + `"}` }

// servers are all endpoints of a fleet as entries of servers.
func servers(fleet ...*endpoint) []string {
	list := make([]string, len(fleet))
	for i, e := range fleet {
		list[i] = e.server()
	}
	return list
}

// names of a fleet.
func names(fleet []*endpoint) []string {
	list := make([]string, len(fleet))
	for i, e := range fleet {
		list[i] = e.name
	}
	return list
}

// arrivals is how many requests have arrived at all endpoints of a fleet together.
func arrivals(fleet []*endpoint) int64 {
	var sum int64
	for _, e := range fleet {
		sum += e.arrived.Load()
	}
	return sum
}
