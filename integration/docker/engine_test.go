package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// image is the image of every container.
const image = "web:test"

// usualSocket is the engine's default socket; it is private to the namespaces.
const usualSocket = "/var/run/docker.sock"

// engine is a Docker engine that belongs to one test.
type engine struct {
	// Client is the engine's client.
	*client.Client

	t       testing.TB
	folder  string
	socket  string
	log     *os.File
	command *exec.Cmd
	ended   chan struct{}
}

// startEngine starts an engine with the image, whose containers keep running while it is restarted. It is stopped, with
// its containers, when the test ends.
func startEngine(t testing.TB) *engine {
	t.Helper()
	if reason := os.Getenv(missingVariable); reason != "" {
		t.Skip(reason)
	}
	folder, err := os.MkdirTemp(os.Getenv(folderVariable), "engine-") //nolint:usetesting // It outlives the test where a container does.
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{t: t, folder: folder, socket: filepath.Join(folder, "docker.sock")}
	if e.log, err = os.Create(filepath.Join(folder, "log")); err != nil {
		t.Fatal(err)
	}
	if e.Client, err = client.New(client.WithHost("unix://" + e.socket)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.clean)
	e.start()
	e.importImage("web", "test", filepath.Join(os.Getenv(folderVariable), "web"), "web", `CMD ["/web"]`, "EXPOSE 80")
	return e
}

// on returns the same engine for a subtest, which its failures belong to.
func (e *engine) on(t testing.TB) *engine {
	own := *e
	own.t = t
	return &own
}

// start starts the process and waits until it answers.
func (e *engine) start() {
	e.t.Helper()
	e.command = exec.Command("dockerd", //nolint:noctx // It ends by a signal.
		"--storage-driver", "vfs", "--bip", "198.51.100.1/24", "--default-address-pool", "base=203.0.113.0/24,size=28",
		"--data-root", filepath.Join(e.folder, "data"), "--exec-root", filepath.Join(e.folder, "exec"),
		"--pidfile", filepath.Join(e.folder, "pid"), "--host", "unix://"+e.socket, "--host", "unix://"+usualSocket,
		"--live-restore",
		"--iptables=false", "--ip-forward=false", "--ip-masq=false", "--userland-proxy=true", "--log-level", "warn")
	e.command.Stdout, e.command.Stderr = e.log, e.log
	if err := e.command.Start(); err != nil {
		e.t.Fatal(err)
	}
	ended, command := make(chan struct{}), e.command
	e.ended = ended
	go func() {
		defer close(ended)
		_ = command.Wait() // How it ended does not matter.
	}()
	eventually(e.t, "the engine answers", func() bool {
		_, err := e.Ping(e.t.Context(), client.PingOptions{NegotiateAPIVersion: true})
		return err == nil
	})
}

// stop ends the process; the containers go on.
func (e *engine) stop() {
	e.t.Helper()
	_ = e.command.Process.Signal(syscall.SIGTERM)
	harness.Await(e.t, e.ended, "the end of the engine")
}

// clean removes the containers and ends the process.
func (e *engine) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	listed, err := e.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		e.t.Errorf("listing the containers: %v", err)
	}
	for _, one := range listed.Items {
		if _, err := e.ContainerRemove(ctx, one.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
			e.t.Errorf("removing %v: %v", one.Names, err)
		}
	}
	e.stop()
	_ = e.Close()
	_ = e.log.Close()
	if e.t.Failed() {
		if text, err := os.ReadFile(e.log.Name()); err == nil {
			e.t.Logf("the log of the engine:\n%s", text[max(0, len(text)-4000):])
		}
	}
}

// importImage imports an image of one file, with Dockerfile instructions.
func (e *engine) importImage(repository, tag, program, name string, changes ...string) {
	e.t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		e.t.Fatal(err)
	}
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	if err := writer.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
		e.t.Fatal(err)
	}
	_, _ = writer.Write(content)
	if err := writer.Close(); err != nil {
		e.t.Fatal(err)
	}
	result, err := e.ImageImport(e.t.Context(), client.ImageImportSource{Source: &archive, SourceName: "-"}, repository,
		client.ImageImportOptions{Tag: tag, Changes: changes})
	if err != nil {
		e.t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, result)
	_ = result.Close()
	if err != nil {
		e.t.Fatal(err)
	}
}

// spec is a container to create; all but the name may be left out.
type spec struct {
	name    string
	labels  map[string]string
	env     []string
	exposed []string
	mode    string
	health  *container.HealthConfig
	ports   network.PortMap
	signal  string
}

// create creates a container and returns its id.
func (e *engine) create(s spec) string {
	e.t.Helper()
	exposed := network.PortSet{}
	for _, one := range s.exposed {
		exposed[network.MustParsePort(one)] = struct{}{}
	}
	created, err := e.ContainerCreate(e.t.Context(), client.ContainerCreateOptions{
		Name: s.name,
		Config: &container.Config{
			Image: image, Labels: s.labels, Env: s.env, ExposedPorts: exposed, Healthcheck: s.health, StopSignal: s.signal,
		},
		HostConfig: &container.HostConfig{NetworkMode: container.NetworkMode(s.mode), PortBindings: s.ports},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return created.ID
}

// run creates a container and starts it.
func (e *engine) run(s spec) string {
	e.t.Helper()
	id := e.create(s)
	e.begin(id)
	return id
}

// begin starts a container.
func (e *engine) begin(id string) {
	e.t.Helper()
	if _, err := e.ContainerStart(e.t.Context(), id, client.ContainerStartOptions{}); err != nil {
		e.t.Fatal(err)
	}
}

// remove removes a container at once.
func (e *engine) remove(id string) {
	e.t.Helper()
	if _, err := e.ContainerRemove(e.t.Context(), id, client.ContainerRemoveOptions{Force: true}); err != nil {
		e.t.Fatal(err)
	}
}

// kill ends the process of a container behind the engine's back.
func kill(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
