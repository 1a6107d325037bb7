// Command controlplane runs etcd, kube-apiserver and kube-controller-manager in one process, for the tests of
// integration/.
//
// In flow a directory and two addresses; out flow the directory's file kubeconfig, with which the administrator of the
// cluster speaks to the API server, and a log on standard error. Started again on the same directory, it serves the
// same data to the same credentials. It ends when the process that started it has ended.
//
// It never runs a kubelet, a scheduler or kube-proxy, and never syncs its data to the disk: it is for tests alone.
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

// patience is how long one part may take to start.
const patience = time.Minute

// settings are what the parts have to agree on.
type settings struct {
	dir      string // holds all data, keys and the kubeconfig
	address  string // under which the API server tells everybody to call it; loopback would be refused in EndpointSlices
	port     string // of the API server
	services string // the range of ClusterIPs, in CIDR notation
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
	// Two programs in one process set up one log, alike.
	logs.ReapplyHandling = logs.ReapplyHandlingIgnoreUnchanged
	if err := run(ctx, s); err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1)
	}
}

// leaveWith cancels once the parent is another process than it was, which is how a parent's end looks.
func leaveWith(parent int, cancel func()) {
	for range time.Tick(time.Second / 2) {
		if os.Getppid() != parent {
			cancel()
			return
		}
	}
}

// run starts one part after the other. It returns when ctx ends, or with the first error of a part.
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
