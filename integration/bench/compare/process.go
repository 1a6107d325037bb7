package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// proxyCore is the core of the proxy, loadCore that of the load and the endpoints.
	proxyCore, loadCore = "0", "1"
	// stopTime is how long a process may take to end after SIGTERM.
	stopTime = 5 * time.Second
	// startTime is how long a process may take to be ready.
	startTime = 10 * time.Second
)

// process is a program that runs until it is stopped.
type process struct {
	name    string
	output  string // its output file
	command *exec.Cmd
	ended   chan struct{}
}

// start starts a program on some cores, in a process group of its own. Its output is NAME.log in the folder.
func start(folder, name, cores string, environment []string, argv ...string) (*process, error) {
	output := filepath.Join(folder, name+".log")
	file, err := os.Create(output)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	command := exec.Command("taskset", append([]string{"-c", cores}, argv...)...) //nolint:noctx // ends by a signal, see stop
	command.Dir, command.Stdout, command.Stderr = folder, file, file
	command.Env = append(plainEnvironment(), environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p := &process{name: name, output: output, command: command, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = command.Wait() // any result after the signal is valid
	}()
	return p, nil
}

// plainEnvironment is the environment without variables that affect proxies or Go's runtime.
func plainEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc([]string{
			"SLUICE_", "CADDY_", "GOMAXPROCS=", "GOGC=", "GOMEMLIMIT=", "GODEBUG=",
			"TRAEFIK_",
		},
			func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}

func (p *process) pid() int { return p.command.Process.Pid }

// stop terminates the process group, and kills it after 5 s.
func (p *process) stop() {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.ended:
			return
		default:
		}
		_ = syscall.Kill(-p.pid(), signal)
		timer := time.NewTimer(stopTime)
		select {
		case <-p.ended:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// last returns the end of the process's output.
func (p *process) last() string {
	text, err := os.ReadFile(p.output)
	if err != nil {
		return err.Error()
	}
	const enough = 2000
	return strings.TrimSpace(string(text[max(0, len(text)-enough):]))
}

// ready calls ask until it succeeds. It fails when the process ends, or on timeout with the last error of ask.
func (p *process) ready(ctx context.Context, most time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	var last error
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s has ended: %s", p.name, p.last())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.name, last, p.last())
		case <-ticker.C:
		}
	}
}

// output runs a program on the load's core and returns its output. It is killed after the given time.
func output(ctx context.Context, folder string, most time.Duration, argv ...string) (string, error) {
	return followed(ctx, folder, most, nil, argv...)
}

// followed is output, and calls started, if not nil, with the process.
func followed(ctx context.Context, folder string, most time.Duration, started func(*os.Process),
	argv ...string,
) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	command := exec.CommandContext(ctx, "taskset", append([]string{"-c", loadCore}, argv...)...)
	command.Dir = folder
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var text bytes.Buffer
	command.Stdout, command.Stderr = &text, &text
	err := command.Start()
	if err == nil {
		if started != nil {
			started(command.Process)
		}
		err = command.Wait()
	}
	if err != nil {
		return text.String(), fmt.Errorf("%s: %w\n%s", filepath.Base(argv[0]), err, &text)
	}
	return text.String(), nil
}
