// Command controlplane runs etcd, kube-apiserver and kube-controller-manager in one process, for the tests of
// integration/.
//
// It is given a directory and two addresses, writes a kubeconfig of the administrator into the directory, and logs on
// standard error. Started again on the same directory, it serves the same data with the same credentials. It ends when
// its parent has ended. There is no kubelet, scheduler or kube-proxy, and data is not synced to disk.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	logs "k8s.io/component-base/logs/api/v1"
)

// timeout bounds the start of one part.
const timeout = time.Minute

// settings are shared by the parts.
type settings struct {
	dir      string // of all data, keys and the kubeconfig
	address  string // advertised address of the API server; EndpointSlices refuse loopback
	port     string // of the API server
	services string // range of ClusterIPs in CIDR notation
}

func (s settings) file(name string) string { return filepath.Join(s.dir, name) }

func main() {
	var s settings
	flag.StringVar(&s.dir, "dir", "", "`DIRECTORY` of the data, the keys and the kubeconfig")
	flag.StringVar(&s.address, "address", "198.51.100.1", "`ADDRESS` of the API server")
	flag.StringVar(&s.port, "port", "6443", "`PORT` of the API server")
	flag.StringVar(&s.services, "services", "198.19.0.0/16", "`RANGE` of the ClusterIPs")
	flag.Parse()
	ctx, cancel := context.WithCancel(context.Background())
	go leaveWith(os.Getppid(), cancel)
	// Both programs configure the same log.
	logs.ReapplyHandling = logs.ReapplyHandlingIgnoreUnchanged
	if err := run(ctx, s); err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1)
	}
}

// leaveWith cancels when the parent process changes, which means that it has ended.
func leaveWith(parent int, cancel func()) {
	for range time.Tick(time.Second / 2) {
		if os.Getppid() != parent {
			cancel()
			return
		}
	}
}

// run starts the parts in turn. It returns when ctx ends, or with the first error.
func run(ctx context.Context, s settings) error {
	token, err := writeKeys(s)
	if err != nil {
		return err
	}
	stopStore, err := startStore(s)
	if err != nil {
		return err
	}
	defer stopStore()
	server, err := newServer(ctx, s)
	if err != nil {
		return err
	}
	if err := writeKubeconfig(s, token); err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- server(ctx) }()
	ready := make(chan error, 1)
	go func() { ready <- awaitServer(ctx, s, token) }()
	select {
	case err := <-failed:
		return err
	case err := <-ready:
		if err != nil {
			return err
		}
	}
	go func() { failed <- runControllers(ctx, s) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}
