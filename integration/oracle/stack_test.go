package oracle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// width is the number of concurrent cases in each stack: each has a lane to a backend of its own.
const width = 8

// The names of the stacks.
const (
	ours    = "sluice"
	nginx   = "nginx"
	haproxy = "haproxy"
	theirs  = "net/http"
)

// stack is one proxy.
type stack struct {
	name  string
	lanes []lane
	// version is the version of the program; empty for those that are built here.
	version string
}

// known reports whether the peers are those that the tables of differences are about. Other versions differ otherwise,
// so that there only what Sluice alone accepts is a failure.
func known(stacks []stack) bool {
	about := map[string]string{nginx: "nginx/1.22.", haproxy: "version 2.6."}
	return !slices.ContainsFunc(stacks, func(s stack) bool { return !strings.Contains(s.version, about[s.name]) })
}

// complaint is how a difference is reported.
func complaint(t *testing.T, known bool, found string) func(string, ...any) {
	if known || found == "accepts" || found == "passes" {
		return t.Errorf
	}
	return t.Logf
}

// lane is one way through a stack.
type lane struct {
	network, address string
	backend          *backend
}

// startStacks starts Sluice and, where they are installed, the peers. Missing names those that are not.
func startStacks(t *testing.T, scripts map[string]script) (stacks []stack, missing []string) {
	t.Helper()
	stacks = []stack{startSluice(t, backends(t, scripts)), startReverseProxy(t, backends(t, scripts))}
	for name, start := range map[string]func(*testing.T, string, []*backend) stack{
		nginx:   startNginx,
		haproxy: startHaproxy,
	} {
		path := find(name)
		if path == "" {
			missing = append(missing, name)
			continue
		}
		stacks = append(stacks, start(t, path, backends(t, scripts)))
	}
	return stacks, missing
}

// find returns the path of a program, also where only root looks for it.
func find(program string) string {
	for _, name := range []string{program, "/usr/sbin/" + program, "/usr/local/sbin/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func backends(t *testing.T, scripts map[string]script) []*backend {
	all := make([]*backend, width)
	for i := range all {
		all[i] = startBackend(t, scripts)
	}
	return all
}

func startSluice(t *testing.T, behind []*backend) stack {
	static := "entryPoints:\n  traefik: {address: \"127.0.0.1:0\"}\n"
	routers, services := "", ""
	for i, b := range behind {
		static += fmt.Sprintf("  lane%d: {address: \"127.0.0.1:0\"}\n", i)
		routers += fmt.Sprintf("    r%d: {rule: \"PathPrefix(`/`)\", entryPoints: [lane%d], service: s%d}\n", i, i, i)
		services += fmt.Sprintf("    s%d: {loadBalancer: {servers: [{url: \"http://%s\"}]}}\n", i, b.address)
	}
	s := harness.Start(t, harness.Setup{
		Static:  static + "ping: {}\nproviders: {file: {directory: \"${DYNAMIC}\"}}\n",
		Dynamic: map[string]string{"all.yaml": "http:\n  routers:\n" + routers + "  services:\n" + services},
	})
	all := stack{name: ours}
	for i, b := range behind {
		all.lanes = append(all.lanes, lane{"tcp", s.Addr(fmt.Sprintf("lane%d", i)), b})
	}
	return all
}

func startReverseProxy(t *testing.T, behind []*backend) stack {
	all := stack{name: theirs}
	for _, b := range behind {
		transport := &http.Transport{DisableCompression: true}
		silent := log.New(io.Discard, "", 0)
		server := &http.Server{ErrorLog: silent, DisableGeneralOptionsHandler: true, Handler: &httputil.ReverseProxy{
			Transport: transport, ErrorLog: silent, FlushInterval: -1,
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(&url.URL{Scheme: "http", Host: b.address})
				r.Out.Host = r.In.Host
			},
		}}
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(listener) }()
		t.Cleanup(func() {
			_ = server.Close()
			transport.CloseIdleConnections()
			if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		})
		all.lanes = append(all.lanes, lane{"tcp", listener.Addr().String(), b})
	}
	return all
}

// startNginx runs nginx as its package configures it, with the two lines for reused connections to backends, and with
// the client's Host.
func startNginx(t *testing.T, path string, behind []*backend) stack {
	dir := shortDir(t)
	all, text := stack{name: nginx}, ""
	for i, b := range behind {
		socket := filepath.Join(dir, fmt.Sprintf("n%d", i))
		text += fmt.Sprintf("  upstream u%d { server %s; keepalive 4; }\n  server { listen unix:%s; location / { "+
			"proxy_pass http://u%d; } }\n", i, b.address, socket, i)
		all.lanes = append(all.lanes, lane{"unix", socket, b})
	}
	var temporary strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&temporary, "  %s_temp_path %s;\n", kind, filepath.Join(dir, kind))
	}
	config := "daemon off;\nmaster_process off;\npid " + filepath.Join(dir, "pid") +
		";\nerror_log stderr crit;\nevents { worker_connections 512; }\nhttp {\n  access_log off;\n" +
		temporary.String() +
		"  proxy_http_version 1.1;\n  proxy_set_header Connection \"\";\n  proxy_set_header Host $http_host;\n" + text + "}\n"
	return startPeer(t, all, path, write(t, dir, config), "-e", "stderr", "-c")
}

// startHaproxy runs haproxy with the defaults that its package configures.
func startHaproxy(t *testing.T, path string, behind []*backend) stack {
	dir := shortDir(t)
	all, text := stack{name: haproxy}, ""
	for i, b := range behind {
		socket := filepath.Join(dir, fmt.Sprintf("h%d", i))
		text += fmt.Sprintf("frontend f%d\n  bind unix@%s\n  default_backend b%d\nbackend b%d\n  server s %s\n", i, socket, i,
			i, b.address)
		all.lanes = append(all.lanes, lane{"unix", socket, b})
	}
	config := "global\n  nbthread 1\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 50s\n  timeout " +
		"server 50s\n" + text
	return startPeer(t, all, path, write(t, dir, config), "-db", "-f")
}

// shortDir makes a directory whose name is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "oracle") //nolint:usetesting // The name of a socket has at most 107 bytes, and those of TempDir are long.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func write(t *testing.T, dir, config string) string {
	t.Helper()
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// startPeer starts a program with the configuration behind the arguments, and waits until every lane takes connections.
func startPeer(t *testing.T, peer stack, path, config string, args ...string) stack {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), path, "-v").CombinedOutput()
	if err != nil {
		t.Fatalf("%s -v: %v", path, err)
	}
	peer.version, _, _ = strings.Cut(string(said), "\n")
	t.Logf("%s: %s", peer.name, peer.version)
	output := new(strings.Builder)
	command := exec.Command(path, append(args, config)...) //nolint:noctx // It ends when the test does, below.
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, ended := context.WithCancel(context.Background())
	go func() { _ = command.Wait(); ended() }() // It is killed, which is no way to end well.
	t.Cleanup(func() {
		_ = command.Process.Kill() // It may have ended.
		<-ctx.Done()
	})
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for _, lane := range peer.lanes {
		for {
			conn, err := new(net.Dialer).DialContext(t.Context(), lane.network, lane.address)
			if err == nil {
				_ = conn.Close()
				break
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				t.Fatalf("%s has ended: %s", peer.name, output)
			case <-timer.C:
				t.Fatalf("%s: %v", peer.name, err)
			}
		}
	}
	return peer
}
