package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/handover"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/static"
)

func TestHealthcheckRequestsReady(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ready":
		case "/moved":
			http.Redirect(w, r, "/ready", http.StatusFound)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("{\"file\":\"pending\"}\nand more"))
		}
	}))
	defer server.Close()

	tests := []struct {
		name, url string
		code      int
		says      string
	}{
		{"ready", server.URL + "/ready", 0, "ready: " + server.URL + "/ready\n"},
		{"not ready", server.URL + "/else", 1, `503 Service Unavailable: "{\"file\":\"pending\"}"`},
		{"a redirect is no answer", server.URL + "/moved", 1, "302 Found"},
		{"no listener", "http://" + http1test.Reserve(t) + "/ready", 1, "connection refused"},
		{"no URL", "http://[", 1, "the URL can't be read"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			if code := run([]string{"healthcheck", "--url", test.url}, nil, &stdout, &stderr); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			said := stdout.String() + stderr.String()
			if !strings.Contains(said, test.says) || strings.Count(said, "\n") != 1 {
				t.Errorf("want one line with %q, got %q", test.says, said)
			}
		})
	}
}

// The entrypoint of ping may be one for TLS, with a certificate that is not for this machine's own address.
func TestHealthcheckSpeaksTLSWhereTheEntrypointDoes(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer server.Close()
	args := []string{"--ping.entryPoint=web", "--entryPoints.web.http.tls=true", "--entryPoints.web.address=" +
		server.Listener.Addr().String()}
	var stdout, stderr strings.Builder
	code := run(append([]string{"healthcheck"}, args...), nil, &stdout, &stderr)
	if code != 0 || !strings.Contains(stdout.String(), "ready: https://127.0.0.1:") {
		t.Errorf("exit code %d, %q, %q", code, stdout.String(), stderr.String())
	}
	stdout.Reset()
	if code := run([]string{"healthcheck", "--url", server.URL}, nil, &stdout, &stderr); code != 1 {
		t.Errorf("exit code %d for a URL whose certificate is not trusted, want 1", code)
	}
}

func TestHealthcheckRefusesStrayArguments(t *testing.T) {
	var stdout, stderr strings.Builder
	code := run([]string{"healthcheck", "ready"}, nil, &stdout, &stderr)
	if code != 2 || !strings.Contains(stderr.String(), `unexpected argument "ready"`) {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

func TestReadyURLFollowsTheStaticConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(file, []byte("ping: {}\nentryPoints:\n  web:\n    address: :8000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		args    []string
		environ []string
		want    string
		err     string
	}{
		{"default entrypoint", []string{"--configFile=" + file}, nil, "http://127.0.0.1:8080/ready", ""},
		{
			"another entrypoint",
			[]string{"--configFile=" + file, "--ping.entryPoint=web"},
			nil, "http://127.0.0.1:8000/ready",
			"",
		},
		{"environment", []string{"--configFile=" + file}, []string{
			"SLUICE_PING_ENTRYPOINT=web",
			"SLUICE_ENTRYPOINTS_WEB_ADDRESS=127.0.0.2:81",
		}, "http://127.0.0.2:81/ready", ""},
		{
			"every IPv6 address",
			[]string{"--ping=true", "--ping.entryPoint=web", "--entryPoints.web.address=[::]:80"},
			nil,
			"http://[::1]:80/ready", "",
		},
		{"no ping", []string{"--entryPoints.web.address=:80"}, nil, "", "ping is not enabled"},
		{
			"chosen port",
			[]string{"--configFile=" + file, "--ping.entryPoint=web", "--entryPoints.web.address=:0"},
			nil, "",
			"port that the system chooses",
		},
		{"no such entrypoint", []string{"--configFile=" + file, "--ping.entryPoint=wev"}, nil, "", "wev"},
		{"unknown option", []string{"--ping.entrypoin=web"}, nil, "", "entrypoin"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			loaded, findings := static.Load(static.Sources{Args: test.args, Environ: test.environ})
			got, err := readyURL(loaded, findings, len(test.args) == 0)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if (test.err == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error %v, want one with %q", err, test.err)
			}
		})
	}
}

// TestHealthcheckHandover requires a process that holds the socket of the hand-over.
func TestHealthcheckHandover(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("missing tool: sockets are handed over on Linux alone")
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	folder, err := os.MkdirTemp("", "handover") //nolint:usetesting // That of a test may have too long a path.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	socket := filepath.Join(folder, "sluice.sock")
	check := func(code int, want string, args ...string) {
		t.Helper()
		args = append([]string{"healthcheck", "--handover", "--url=" + server.URL}, args...)
		var stdout, stderr strings.Builder
		if got := run(args, nil, &stdout, &stderr); got != code {
			t.Errorf("exit code %d, want %d", got, code)
		}
		if said := stdout.String() + stderr.String(); !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("want one line with %q, got %q", want, said)
		}
	}
	check(1, "handover.socket is not configured")
	check(1, "not ready: handover.socket: no process listens on "+socket, "--handover.socket="+socket)
	check(2, "is no absolute path", "--handover.socket=a")
	holder, err := handover.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Close() }()
	if err := holder.Publish(); err != nil {
		t.Fatal(err)
	}
	check(0, "ready: "+server.URL, "--handover.socket="+socket)
}
