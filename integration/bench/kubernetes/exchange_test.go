package kubernetes

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	// exchangeVariable has this binary be a bare TCP server with clients of its own, and exchangePeerVariable those
	// clients: its value is the address of the server.
	exchangeVariable, exchangePeerVariable = "BENCH_EXCHANGE", "BENCH_EXCHANGE_PEER"
	// exchangeBytes is the size of a message and of its answer, about that of a response with endpoints.
	exchangeBytes = 512
	// exchangesPerChange is how many clients get a message for each change, as with the xDS clients.
	exchangesPerChange = xdsStreams * xdsNames / judgedSize
)

// measureExchange measures what it costs a process to write a message to as many TCP connections as there are xDS
// clients, and to read an answer, at the rate of the changes. No server of these clients can cost less on this machine.
func measureExchange(tb testing.TB, s *subject) {
	tb.Helper()
	c := startChild(tb, exchangeVariable+"=1")
	defer c.stop(tb)
	before := s.account(tb)
	var used time.Duration
	c.ask(tb, &used)
	s.note("exchange", float64(used)/float64(time.Microsecond), before, s.account(tb),
		"a message of %d bytes over TCP and its answer, to %d of %d connections %d times a second: %v of CPU each",
		exchangeBytes, exchangesPerChange, xdsStreams, xdsRate, used)
}

// exchange is the process of the server. It answers a line with the CPU time of an exchange.
func exchange(in io.Reader, out io.Writer) int {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return failed(err)
	}
	program, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	peers := exec.Command(program) //nolint:noctx // It ends with its connections.
	peers.Env = append(os.Environ(), exchangeVariable+"=", exchangePeerVariable+"="+listener.Addr().String())
	if err := peers.Start(); err != nil {
		return failed(err)
	}
	var answers atomic.Int64
	connections := make([]net.Conn, xdsStreams)
	for i := range connections {
		if connections[i], err = listener.Accept(); err != nil {
			return failed(err)
		}
		go receive(connections[i], func() { answers.Add(1) })
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		write(connections, xdsRate) // The first ones are slower.
		idle := used()
		pause(context.Background(), time.Second)
		idle = used() - idle
		before := used()
		write(connections, xdsMoves)
		each := (used() - before - idle*xdsMoves/xdsRate) / (xdsMoves * exchangesPerChange)
		if err := json.NewEncoder(out).Encode(each); err != nil {
			return failed(err)
		}
	}
	for _, one := range connections {
		_ = one.Close()
	}
	_ = peers.Wait()
	return 0
}

// write writes messages to some of the connections, a number of times at the rate of the changes.
func write(connections []net.Conn, times int) {
	ticker := time.NewTicker(time.Second / xdsRate)
	defer ticker.Stop()
	message := make([]byte, exchangeBytes)
	for i := range times {
		<-ticker.C
		for k := range exchangesPerChange {
			_, _ = connections[(i*exchangesPerChange+k*7)%len(connections)].Write(message)
		}
	}
}

// receive calls a function for each message.
func receive(connection net.Conn, then func()) {
	message := make([]byte, exchangeBytes)
	for {
		if _, err := io.ReadFull(connection, message); err != nil {
			return
		}
		then()
	}
}

// exchangePeers is the process of the clients, which answer each message.
func exchangePeers(address string) int {
	var open atomic.Int64
	closed := make(chan struct{})
	for range xdsStreams {
		connection, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", address)
		if err != nil {
			return failed(err)
		}
		open.Add(1)
		go func() {
			answer := make([]byte, exchangeBytes)
			receive(connection, func() { _, _ = connection.Write(answer) })
			if open.Add(-1) == 0 {
				close(closed)
			}
		}()
	}
	<-closed
	return 0
}

// used returns the CPU time of this process.
func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func failed(err error) int {
	_, _ = fmt.Fprintln(os.Stderr, err)
	return 1
}
