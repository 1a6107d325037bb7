package handover_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/handover"
)

// transcript returns the messages of a file: those behind > are of the successor, those behind < of the predecessor.
func transcript(t *testing.T, name string) []string {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "v1", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var lines []string
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		lines = append(lines, strings.ReplaceAll(scanner.Text(), "PID", fmt.Sprint(os.Getpid())))
	}
	return lines
}

// replay sends the messages of one side, with the descriptors that those of sockets need, and expects the others.
func replay(t *testing.T, conn *net.UnixConn, side string, lines []string, descriptors ...int) {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	buffer, control := make([]byte, 64<<10), make([]byte, 1024)
	for _, line := range lines {
		from, packet, _ := strings.Cut(line, " ")
		if from == side {
			var rights []byte
			if strings.Contains(packet, `"sockets":[`) {
				rights = syscall.UnixRights(descriptors...)
			}
			if _, _, err := conn.WriteMsgUnix([]byte(packet), rights, nil); err != nil {
				t.Errorf("%s: %v", line, err)
				return
			}
			continue
		}
		n, controlled, _, _, err := conn.ReadMsgUnix(buffer, control)
		if errors.Is(err, syscall.ECONNRESET) {
			n, controlled, _, _, err = conn.ReadMsgUnix(buffer, control)
		}
		if err != nil || string(buffer[:n]) != packet {
			t.Errorf("got  %s, error %v\nwant %s", buffer[:n], err, packet)
			return
		}
		messages, err := syscall.ParseSocketControlMessage(control[:controlled])
		if err != nil {
			t.Error(err)
		}
		for _, message := range messages {
			got, err := syscall.ParseUnixRights(&message)
			if want := strings.Count(packet, `"network"`); err != nil || len(got) != want {
				t.Errorf("%d descriptors, error %v, want %d", len(got), err, want)
			}
			for _, descriptor := range got {
				_ = syscall.Close(descriptor)
			}
		}
	}
}

// TestPredecessorSpeaksVersion1 replays the messages of a successor of version 1.
func TestPredecessorSpeaksVersion1(t *testing.T) {
	for _, name := range []string{"handover.txt", "refused.txt", "later.txt", "upgrade.txt", "announce.txt"} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t)
			p.listen("web", ":80")
			p.packets("dns", ":53", 1)
			p.states = []handover.State{{Kind: "tickets", Version: 1, Data: []byte("keys")}}
			child := newStarter()
			child.ended <- errors.New("exit status 1")
			p.upgrader = child
			p.start(handover.Limits{})
			conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: p.path, Net: "unixpacket"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			replay(t, conn, ">", transcript(t, name))
		})
	}
}

// TestSuccessorSpeaksVersion1 replays the messages of a predecessor of version 1.
func TestSuccessorSpeaksVersion1(t *testing.T) {
	onLinux(t)
	for name, successor := range map[string]func(ctx context.Context, path string) error{
		"handover.txt": func(ctx context.Context, path string) error {
			client, err := handover.Connect(ctx, path, "2.0.0")
			if err != nil {
				return err
			}
			defer func() { _ = client.Close() }()
			if state, ok := client.State("tickets", 1); !ok || string(state.Data) != "keys" {
				return fmt.Errorf("tickets: %v", state)
			}
			listener, ok := client.Inherited().Listener("web", ":80")
			if !ok {
				return errors.New("no listener")
			}
			defer func() { _ = listener.Close() }()
			if err := client.TakeOver(ctx); err != nil {
				return err
			}
			return client.Confirm()
		},
		"announce.txt": func(ctx context.Context, path string) error {
			client, err := handover.Connect(ctx, path, "2.0.0")
			if err != nil {
				return err
			}
			defer func() { _ = client.Close() }()
			return client.Announce(ctx, handover.State{Kind: "addresses", Version: 1, Data: []byte("[]")})
		},
		"upgrade.txt": func(ctx context.Context, path string) error {
			_, err := handover.Upgrade(ctx, path)
			if err == nil || !strings.Contains(err.Error(), "exit status 1") {
				return fmt.Errorf("error %w", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t) // For its sockets alone.
			tcp, udp := p.listen("web", ":80"), p.packets("dns", ":53", 1)
			listener, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: p.path, Net: "unixpacket"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = listener.Close() }()
			result := make(chan error, 1)
			go func() { result <- successor(t.Context(), p.path) }()
			conn, err := listener.AcceptUnix()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			replay(t, conn, "<", transcript(t, name), descriptorOf(t, tcp.(*net.TCPListener)), descriptorOf(t,
				udp.(*net.UDPConn)))
			if err := receive(t, result, "the end of the successor"); err != nil {
				t.Error(err)
			}
		})
	}
}

// descriptorOf returns the descriptor of a socket that stays open.
func descriptorOf(t *testing.T, conn syscall.Conn) int {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var descriptor int
	if err := raw.Control(func(fd uintptr) { descriptor = int(fd) }); err != nil {
		t.Fatal(err)
	}
	return descriptor
}
