package kubernetes

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
)

// child is this binary in a process of its own, which a variable of the environment gives another part. It answers each
// line with one line of JSON, and ends with its input.
type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

// startChild starts a process with a variable NAME=VALUE.
func startChild(tb testing.TB, variable string) *child {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	c := &child{command: exec.Command(program)} //nolint:noctx // It ends with its input.
	c.command.Env = append(os.Environ(), variable)
	c.command.Stderr = os.Stderr
	if c.in, err = c.command.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	c.out.Buffer(nil, 16<<20)
	if err := c.command.Start(); err != nil {
		tb.Fatal(err)
	}
	return c
}

// ask requests the next answer.
func (c *child) ask(tb testing.TB, answer any) {
	tb.Helper()
	if _, err := c.in.Write([]byte("\n")); err != nil {
		tb.Fatal(err)
	}
	if !c.out.Scan() {
		tb.Fatalf("%s does not answer: %v", c.command, c.out.Err())
	}
	if err := json.Unmarshal(c.out.Bytes(), answer); err != nil {
		tb.Fatal(err)
	}
}

// stop ends the process.
func (c *child) stop(tb testing.TB) {
	tb.Helper()
	_ = c.in.Close()
	if err := c.command.Wait(); err != nil {
		tb.Errorf("%s: %v", c.command, err)
	}
}

func (c *child) pid() int { return c.command.Process.Pid }
