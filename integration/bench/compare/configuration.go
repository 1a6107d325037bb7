package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"syscall"
	"text/template"

	configurations "github.com/sluiceproxy/sluice/integration/bench/peers"
)

// render writes a configuration into a folder, without the folders of its name. An existing file is replaced
// atomically.
func render(folder, name string, data any) error {
	text, err := rendered(name, data)
	if err != nil {
		return err
	}
	return replace(filepath.Join(folder, filepath.Base(name)), text)
}

// rendered returns the text of a configuration.
func rendered(name string, data any) ([]byte, error) {
	parsed, err := template.ParseFS(configurations.Files, name)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = parsed.Execute(&text, data)
	return text.Bytes(), err
}

// replace writes a file atomically.
func replace(file string, text []byte) error {
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// freePorts returns unused ports of 127.0.0.1.
func freePorts(ctx context.Context, n int) ([]int, error) {
	var ports []int
	for range n {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = listener.Close() }()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// userAndGroup returns the user of this process for nginx.
func userAndGroup() (string, error) {
	own, err := user.Current()
	if err != nil {
		return "", err
	}
	group, err := user.LookupGroupId(own.Gid)
	if err != nil {
		return "", err
	}
	return own.Username + " " + group.Name, nil
}

// descriptors returns the limit of open files.
func descriptors() (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("limit of open files: %w", err)
	}
	return int(min(limit.Max, 1<<20)), nil
}
