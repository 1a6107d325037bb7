package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// variable is set in a process of this program that is a pod.
const variable = "TEST_CLUSTER_POD"

// Commands on a pod's standard input, and its answer.
const (
	wordHang      = "hang"
	wordClose     = "close"
	wordListening = "listening"
)

// IsPod reports whether this process is a pod.
func IsPod() bool { return os.Getenv(variable) != "" || os.Getenv(boxVariable) != "" }

// RunPod runs a pod, or becomes one of a host; its result is the exit code. It ends on SIGTERM after completing
// requests, and at once if its parent is gone.
func RunPod() int {
	if os.Getenv(boxVariable) != "" {
		return runBox()
	}
	var where place
	if err := json.Unmarshal([]byte(os.Getenv(variable)), &where); err != nil {
		fmt.Fprintf(os.Stderr, "pod: %v\n", err)
		return 1
	}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	s, err := serve(where)
	if err != nil {
		fmt.Fprintf(os.Stderr, "pod: %v\n", err)
		return 1
	}
	_, _ = fmt.Fprintln(os.Stdout, wordListening)
	orphaned := make(chan struct{})
	go func() {
		defer close(orphaned)
		for words := bufio.NewScanner(os.Stdin); words.Scan(); {
			switch words.Text() {
			case wordHang:
				s.hang()
			case wordClose:
				s.closeConnections()
			}
		}
	}()
	select {
	case <-orphaned:
		return 1
	case <-stop.Done():
		s.finish(context.Background()) // The parent kills it if it takes too long.
		return 0
	}
}

// process is a backend in a process of its own.
type process struct {
	command *exec.Cmd
	words   io.WriteCloser
	over    chan struct{}
}

// startProcess runs this program again as a pod.
func startProcess(place place) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(place)
	if err != nil {
		return nil, err
	}
	command := exec.Command(program) //nolint:noctx // ends by a signal
	command.Env = append(os.Environ(), variable+"="+string(encoded))
	command.Stderr = os.Stderr
	words, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	line, _ := bufio.NewReader(said).ReadString('\n')
	p := &process{command: command, words: words, over: make(chan struct{})}
	go func() {
		defer close(p.over)
		_ = command.Wait() // Any exit is valid.
	}()
	if strings.TrimSpace(line) != wordListening {
		p.kill()
		return nil, errors.New("the pod's process does not listen")
	}
	return p, nil
}

func (p *process) hang() { _, _ = io.WriteString(p.words, wordHang+"\n") }

func (p *process) closeConnections() { _, _ = io.WriteString(p.words, wordClose+"\n") }

func (p *process) finish(ctx context.Context) {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.over:
	case <-ctx.Done():
		p.kill()
	}
}

func (p *process) kill() {
	_ = p.command.Process.Kill()
	<-p.over
}

func (p *process) ended() <-chan struct{} { return p.over }
