package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// url returns the URL of the API server.
func (s settings) url() string { return "https://" + net.JoinHostPort(s.address, s.port) }

// serverFlags are the options of kube-apiserver.
func serverFlags(s settings) []string {
	return []string{
		"--etcd-servers=" + storeClients,
		"--cert-dir=" + s.dir,
		"--bind-address=0.0.0.0",
		"--advertise-address=" + s.address,
		"--secure-port=" + s.port,
		"--service-cluster-ip-range=" + s.services,
		"--authorization-mode=Node,RBAC",
		"--token-auth-file=" + s.file(tokenFile),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + s.file(accountKeyFile),
		"--service-account-signing-key-file=" + s.file(accountKeyFile),
		"--allow-privileged=true",
		// Host names of nodes do not resolve.
		"--kubelet-preferred-address-types=InternalIP",
		// Tests come in bursts, all by one user.
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=4000",
		"--max-mutating-requests-inflight=2000",
	}
}

// newServer prepares kube-apiserver, which writes its certificate, and returns a function that runs it.
func newServer(ctx context.Context, s settings) (run func(context.Context) error, err error) {
	o := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	sets := o.Flags()
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(serverFlags(s)); err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	completed, err := o.Complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("kube-apiserver: %w", errors.Join(errs...))
	}
	return func(ctx context.Context) error {
		if err := app.Run(ctx, completed); err != nil {
			return fmt.Errorf("kube-apiserver: %w", err)
		}
		return nil
	}, nil
}

// awaitServer waits until the API server is ready.
func awaitServer(ctx context.Context, s settings, token string) error {
	authority, err := os.ReadFile(s.file(certificateFile))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		if status := ask(ctx, transport, s.url()+"/readyz", token); status == http.StatusOK {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver: not ready within %v", timeout)
		}
	}
}

// ask returns the status of a response, or 0.
func ask(ctx context.Context, transport *http.Transport, url, token string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}
