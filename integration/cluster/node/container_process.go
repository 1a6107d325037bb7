package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// probed is a backend whose probes decide whether it is ready.
type probed interface {
	// readiness returns a channel with the last change.
	readiness() <-chan bool
}

// container is a backend on a host: a process of an image's program, with its probes.
type container struct {
	host    *host
	spec    corev1.Container
	env     []string
	command *exec.Cmd
	folder  string // its files
	ready   chan bool
	over    chan struct{}
	probing sync.WaitGroup
}

// onHost reports whether a pod runs as a process of its node.
func (p *pod) onHost() bool { return p.machine.host != nil && p.object.Spec.HostNetwork }

// startContainer starts the process of the pod. The error is errAbsent while a volume is missing.
func (p *pod) startContainer() (*container, error) {
	if len(p.object.Spec.Containers) != 1 || len(p.object.Spec.InitContainers) > 0 {
		return nil, errors.New("a pod of a host has one container")
	}
	c := &container{
		host: p.machine.host, spec: p.object.Spec.Containers[0], ready: make(chan bool, 1), over: make(chan struct{}),
	}
	image, ok := c.host.images[c.spec.Image]
	if !ok || len(c.spec.Command) > 0 {
		return nil, fmt.Errorf("there is no program for the image %s, or it has another command", c.spec.Image)
	}
	var err error
	if c.folder, err = os.MkdirTemp(c.host.folder, "container-"); err != nil {
		return nil, err
	}
	b, err := p.box(c, image)
	if err == nil {
		c.env = b.Env
		c.command, err = b.launch(p.log)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.folder))
	}
	probes, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(c.over)
		defer cancel()
		_ = c.command.Wait()       // Any exit is valid.
		_ = os.RemoveAll(c.folder) // The mounts have ended with the process.
	}()
	if err := c.startProbes(probes, p.log); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

// startProbes starts the probes, which end with ctx.
func (c *container) startProbes(ctx context.Context, log *journal) error {
	if c.spec.StartupProbe != nil {
		return errors.New("startupProbe is not supported")
	}
	start := func(name string, p *corev1.Probe, initial bool, changed func(bool)) error {
		check, err := c.check(p)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.probing.Go(func() {
			probe(ctx, p, initial, check, changed, func(err error) { _, _ = fmt.Fprintf(log, "%s: %v\n", name, err) })
		})
		return nil
	}
	if p := c.spec.LivenessProbe; p != nil {
		if err := start("livenessProbe", p, true, func(bool) { _ = c.command.Process.Kill() }); err != nil {
			return err
		}
	}
	if c.spec.ReadinessProbe == nil {
		c.change(true)
		return nil
	}
	return start("readinessProbe", c.spec.ReadinessProbe, false, c.change)
}

// change replaces the last change of the readiness. It has one caller.
func (c *container) change(ready bool) {
	select {
	case <-c.ready:
	default:
	}
	c.ready <- ready
}

func (c *container) readiness() <-chan bool { return c.ready }

func (c *container) finish(ctx context.Context) {
	_ = c.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.over:
	case <-ctx.Done():
	}
	c.kill()
}

func (c *container) kill() {
	_ = c.command.Process.Kill()
	<-c.over
	c.probing.Wait()
}

func (c *container) ended() <-chan struct{} { return c.over }

// shared are the directories of this machine in each container, with the libraries of a program that is not static.
func shared() []string { return []string{"dev", "usr", "lib", "lib64"} }

// furnish adds the program and the shared directories to a box.
func (b *box) furnish(image Image) error {
	for _, name := range shared() {
		path := filepath.Join("/", name)
		entry, err := os.Lstat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return err
		case entry.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			if err := os.Symlink(target, filepath.Join(b.Root, name)); err != nil {
				return err
			}
		default:
			if err := b.bind(path, path); err != nil {
				return err
			}
		}
	}
	if err := os.Mkdir(filepath.Join(b.Root, "proc"), 0o755); err != nil {
		return err
	}
	b.Mounts[image.Path] = image.Program
	return os.WriteFile(filepath.Join(b.Root, image.Path), nil, 0o755)
}

// bind mounts a directory.
func (b *box) bind(source, at string) error {
	b.Mounts[at] = source
	return os.MkdirAll(filepath.Join(b.Root, at), 0o755)
}
