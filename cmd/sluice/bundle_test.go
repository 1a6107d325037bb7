package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/static"
)

const packed = "\x1f\x8b and so on"

func TestBundleWritesTheArchive(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if got := fmt.Sprint(r.Method, " ", r.URL.Path, " ", user, ":", password, " ",
			r.Header.Get("X-A")); got != "GET /base/api/support-dump anna:hunter2 b" {
			http.Error(w, got, http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(packed))
	}))
	defer server.Close()
	withUser := strings.Replace(server.URL, "://", "://anna:hunter2@", 1) + "/base/api/"
	out := filepath.Join(t.TempDir(), "out.tar.gz")
	var stdout, stderr strings.Builder
	args := []string{"bundle", "--api", withUser, "--out", out, "-H", "X-A: b"}
	if code := run(args, nil, &stdout, &stderr); code != exitFine {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	written, err := os.ReadFile(out)
	if err != nil || string(written) != packed {
		t.Errorf("%v: %q", err, written)
	}
	if status, err := os.Stat(out); err != nil || status.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v", err, status.Mode())
	}
	if !strings.Contains(stdout.String(), out) {
		t.Errorf("it says %q", &stdout)
	}
	if code := run(args, nil, &stdout, &stderr); code != exitNone || !strings.Contains(stderr.String(), "exists already") {
		t.Errorf("exit code %d when the file is there: %s", code, &stderr)
	}
	stdout.Reset()
	args[4] = "-"
	if code := run(args, nil, &stdout, &stderr); code != exitFine || stdout.String() != packed {
		t.Errorf("exit code %d, standard output %q", code, &stdout)
	}
}

func TestBundleSaysWhatIsWrong(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page/api/support-dump":
			_, _ = w.Write([]byte("<html>"))
		case "/cut/api/support-dump":
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(packed))
		default:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte("{\"message\":\"no\"}\nmore"))
		}
	}))
	defer server.Close()
	withUser := "http://anna:hunter2@" + http1test.Reserve(t)
	tests := []struct{ name, api, says string }{
		{"refused", server.URL, `401 Unauthorized: "{\"message\":\"no\"}"`},
		{"no archive", server.URL + "/page", "no archive"},
		{"half an archive", server.URL + "/cut", "unexpected EOF"},
		{"no listener", withUser, "connection refused"},
		{"no URL", "http://anna:hunter2@[", "can't be read"},
		{"no URL, for the password has a slash", "http://anna:hunter2/x@host", "can't be read"},
		{"another scheme", "ftp://anna:hunter2@host", "not of the form"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.tar.gz")
			var stdout, stderr strings.Builder
			if code := run([]string{"bundle", "--api", test.api, "--out", out}, nil, &stdout, &stderr); code != exitNone {
				t.Errorf("exit code %d", code)
			}
			if said := stdout.String() + stderr.String(); !strings.Contains(said, test.says) || strings.Count(said, "\n") != 1 ||
				strings.Contains(said, "hunter2") {
				t.Errorf("want one line with %q, got %q", test.says, said)
			}
			if _, err := os.Stat(out); !os.IsNotExist(err) {
				t.Errorf("a file is left: %v", err)
			}
		})
	}
}

func TestAPIURL(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"insecure", []string{"--api.insecure=true"}, "http://127.0.0.1:8080"},
		{"another entrypoint and path", []string{
			"--api.insecure=true", "--api.basePath=/x/",
			"--entryPoints.traefik.address=:99",
		}, "http://127.0.0.1:99/x"},
		{"off", nil, "the API is not enabled: configure api, or name its address with --api"},
		{
			"behind a router",
			[]string{"--api=true"},
			"the API is served where a router leads to it: name its address with --api",
		},
		{
			"a port of the system",
			[]string{"--api.insecure=true", "--entryPoints.traefik.address=:0"},
			`entrypoint "traefik" listens on a port that the system chooses: name it with --api`,
		},
		{"nonsense", []string{"--nonsense=1"}, "flag --nonsense"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			loaded, findings := static.Load(static.Sources{Args: test.args})
			got, err := apiURL(source{loaded: loaded, findings: findings})
			if err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
