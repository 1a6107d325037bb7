package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/handover"
	"github.com/sluiceproxy/sluice/servicemanager"
	"github.com/sluiceproxy/sluice/static"
)

// upgradeCommand has a running Sluice start its program again and hand over to it.
func (p *process) upgradeCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "upgrade [--OPTION=VALUE ...]",
		Short: "have a running Sluice hand over to its present version",
		Long: "Have the process that listens on handover.socket start its program again, with its arguments, and hand its\n" +
			"sockets over to the new process, whose PID is printed when it serves. The program may be another version by\n" +
			"now, and its static configuration another one. If the new process does not serve, the running one serves on.\n" +
			"This may be done by root and by the user of the process.\n\n" +
			"Exit codes: 0 when the new process serves, 1 when it does not, 2 for wrong arguments, without the option\n" +
			"handover.socket, and when no process listens on it.",
		Example:           "  sluice upgrade --configFile=/etc/sluice/sluice.yaml",
		ValidArgsFunction: completeOptions(nil),
	}
	p.takes(command, 0, true, func(given arguments) int {
		return upgrade(static.Sources{Args: given.options, Environ: p.environ}, p.stdout, p.stderr)
	})
	return command
}

// upgrade requests an upgrade, prints the PID of the new process, and returns the exit code.
func upgrade(sources static.Sources, stdout, stderr io.Writer) int {
	loaded, findings := static.Load(sources)
	socket, err := handoverSocket(loaded, findings)
	switch {
	case static.FlagErrors(findings), errors.Is(err, errNoSocket):
		say(stderr, "sluice upgrade: %v\n", err)
		return exitBroken
	case err != nil: // The new process would end as well.
		say(stderr, "sluice upgrade: %v\n", err)
		return exitNone
	}
	pid, err := handover.Upgrade(context.Background(), socket)
	if err != nil {
		say(stderr, "sluice upgrade: %v\n", err)
		if errors.Is(err, handover.ErrNoPredecessor) {
			return exitBroken
		}
		return exitNone
	}
	say(stdout, "%d\n", pid)
	return exitFine
}

// program is what this process was started as. It is a handover.Upgrader.
type program struct {
	// args are the arguments with the name of the program, and folder is where it was started.
	args   []string
	folder string
}

// newProgram returns the program of this process. It is called before anything changes the folder of the process.
func newProgram() (*program, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return &program{args: os.Args, folder: folder}, nil
}

// Start starts the program again, which does not end with this process. Its name is resolved as a shell in the folder
// of the start would: another version may be installed there by now.
func (p *program) Start() (handover.Child, error) {
	path := p.args[0]
	if !strings.ContainsRune(path, filepath.Separator) {
		found, err := exec.LookPath(path)
		if err != nil && !errors.Is(err, exec.ErrDot) {
			return nil, err
		}
		path = found
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.folder, path)
	}
	command := &exec.Cmd{
		Path: path, Args: p.args, Dir: p.folder, Env: servicemanager.WithoutOwn(os.Environ()),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	one := &child{process: command.Process, ended: make(chan error, 1)}
	go func() { // It ends with the new process, or with this one.
		err := command.Wait()
		if err == nil {
			err = errors.New("exit status 0")
		}
		one.ended <- err
	}()
	return one, nil
}

// child is a process that was started.
type child struct {
	process *os.Process
	ended   chan error
}

// PID returns its number.
func (c *child) PID() int { return c.process.Pid }

// Ended returns a channel that gets why it has ended.
func (c *child) Ended() <-chan error { return c.ended }

// Kill ends it at once.
func (c *child) Kill() { _ = c.process.Kill() }
