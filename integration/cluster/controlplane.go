package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// timeout bounds every wait for the cluster.
	timeout = 3 * time.Minute
	// pause is the polling interval.
	pause = 10 * time.Millisecond
)

// controlPlane is the process with etcd, API server and controllers. Its state is in its folder, since it is shared by
// all tests of a binary.
type controlPlane struct{ folder string }

func (p *controlPlane) file(name string) string { return filepath.Join(p.folder, name) }

// Files of the folder that are not the control plane's own.
const (
	pidFile = "pid"
	logFile = "log"
)

// pid returns the process id, or 0.
func (p *controlPlane) pid() (int, error) {
	text, err := os.ReadFile(p.file(pidFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

// start starts the process if it does not run, and waits until the API server is ready.
func (p *controlPlane) start(ctx context.Context) error {
	pid, err := p.pid()
	if err != nil {
		return err
	}
	if pid == 0 {
		if pid, err = p.launch(); err != nil {
			return err
		}
	}
	return p.await(ctx, pid)
}

func (p *controlPlane) launch() (pid int, err error) {
	log, err := os.OpenFile(p.file(logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer log.Close()                                   //nolint:errcheck // inherited by the process
	command := exec.Command(os.Getenv(programVariable), //nolint:noctx // outlives the test that starts it
		"-dir", p.folder, "-address", apiAddress, "-port", apiPort, "-services", serviceRange+","+serviceRange6)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return 0, err
	}
	pid = command.Process.Pid
	return pid, os.WriteFile(p.file(pidFile), []byte(strconv.Itoa(pid)), 0o600)
}

// stop kills the process, as if its machine were gone, and waits for its end. The data stays.
func (p *controlPlane) stop() error {
	pid, err := p.pid()
	if err != nil || pid == 0 {
		return err
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if _, err := process.Wait(); err != nil && !errors.Is(err, syscall.ECHILD) {
		return err
	}
	return os.Remove(p.file(pidFile))
}

// await waits until the API server is ready. The error of a failed start contains the log.
func (p *controlPlane) await(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		if p.ready(ctx) {
			return nil
		}
		var died bool
		if gone, _ := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); gone == pid {
			died = true
			_ = os.Remove(p.file(pidFile))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			died = true
		}
		if died {
			log, _ := os.ReadFile(p.file(logFile))
			return fmt.Errorf("the control plane does not start:\n%s", log[max(0, len(log)-4000):])
		}
	}
}

// ready checks the API server once.
func (p *controlPlane) ready(ctx context.Context) bool {
	config, transport, err := p.config()
	if err != nil {
		return false // not written yet
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/readyz", nil)
	if err != nil {
		return false
	}
	request.Header.Set("Authorization", "Bearer "+config.BearerToken)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// config returns the administrator's configuration with a transport of its own.
func (p *controlPlane) config() (*rest.Config, *http.Transport, error) {
	file, err := clientcmd.BuildConfigFromFlags("", p.file("kubeconfig"))
	if err != nil {
		return nil, nil, err
	}
	return config(file.Host, file.CAFile, file.BearerToken)
}

// config returns a configuration with a transport of its own.
func config(host, authority, token string) (*rest.Config, *http.Transport, error) {
	certificate, err := os.ReadFile(authority)
	if err != nil {
		return nil, nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificate) {
		return nil, nil, fmt.Errorf("%s holds no certificate", authority)
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}
	return &rest.Config{
		Host: host, BearerToken: token, Transport: transport,
		QPS:            -1, // No limit.
		WarningHandler: rest.NoWarnings{},
	}, transport, nil
}
