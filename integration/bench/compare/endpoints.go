package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// manyEndpoints is the number of addresses in the row with many endpoints.
const manyEndpoints = 500

// endpoints are the running backends.
type endpoints struct {
	// addresses by kind of endpoint.
	addresses map[endpoint][]string
	processes []*process
}

// startEndpoints starts nginx and our own backends on the core of the load.
func startEndpoints(ctx context.Context, folder, tools string) (*endpoints, error) {
	ports, err := freePorts(ctx, 4)
	if err != nil {
		return nil, err
	}
	e := &endpoints{addresses: map[endpoint][]string{
		one: {fmt.Sprintf("127.0.0.1:%d", ports[0])}, reading: {fmt.Sprintf("127.0.0.1:%d", ports[1])},
		relaying: {fmt.Sprintf("127.0.0.1:%d", ports[2])}, calling: {fmt.Sprintf("127.0.0.1:%d", ports[3])},
	}}
	for i := range manyEndpoints {
		e.addresses[many] = append(e.addresses[many], fmt.Sprintf("127.0.%d.%d:%d", 1+i/250, 1+i%250, ports[0]))
	}
	if err := e.write(folder); err != nil {
		return nil, err
	}
	for _, program := range []struct {
		name, address string
		argv          []string
	}{
		{"backend-nginx", e.addresses[one][0], []string{
			"nginx", "-e", "stderr", "-p", folder, "-c",
			folder + "/backend.conf",
		}},
		{"backend-own", e.addresses[reading][0], []string{
			filepath.Join(tools, "backend"), "-address",
			e.addresses[reading][0],
		}},
		{"backend-grpc", e.addresses[calling][0], []string{
			filepath.Join(tools, "backend"), "-grpc", "-address",
			e.addresses[calling][0],
		}},
		{"backend-streams", e.addresses[relaying][0], []string{
			filepath.Join(tools, "backend"), "-streams", "-address",
			e.addresses[relaying][0],
		}},
	} {
		p, err := start(folder, program.name, loadCore, []string{"GOMAXPROCS=1"}, program.argv...)
		if err != nil {
			e.stop()
			return nil, err
		}
		e.processes = append(e.processes, p)
		if err := p.ready(ctx, startTime, func(ctx context.Context) error { return dial(ctx, program.address) }); err != nil {
			e.stop()
			return nil, err
		}
	}
	return e, nil
}

// write writes the files that the endpoint serves, and its configuration.
func (e *endpoints) write(folder string) error {
	owner, err := userAndGroup()
	if err != nil {
		return err
	}
	most, err := descriptors()
	if err != nil {
		return err
	}
	files := filepath.Join(folder, "files")
	if err := os.Mkdir(files, 0o700); err != nil {
		return err
	}
	filled := func(length int) []byte { return bytes.Repeat([]byte("x"), length) }
	for name, content := range map[string][]byte{
		"64k": filled(64 << 10), "1m": filled(1 << 20), "10m": filled(10 << 20), "page": page(),
	} {
		if err := os.WriteFile(filepath.Join(files, name), content, 0o600); err != nil {
			return err
		}
	}
	return render(folder, "backend.conf", struct {
		Dir, User, Main, Small, Browser string
		Many                            []string
		Descriptors                     int
	}{folder, owner, e.addresses[one][0], strings.Repeat("x", small), strings.Repeat("x", 1<<10), e.addresses[many], most})
}

// stop ends the backends.
func (e *endpoints) stop() {
	for _, p := range e.processes {
		p.stop()
	}
}

// dial reports whether an address accepts connections.
func dial(ctx context.Context, address string) error {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}
