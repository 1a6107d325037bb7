package overload

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// peer is another proxy with the limits of classes.
type peer struct {
	name, text string
	args       []string
}

// peers leave 11 of the 40 slots to important requests, as Sluice does. nginx has no queue without a subscription.
func peers() []peer {
	return []peer{
		{"nginx", nginxText, []string{"-p", "${DIR}", "-c", "${DIR}/configuration"}},
		{"haproxy", haproxyText, []string{"-db", "-f", "${DIR}/configuration"}},
	}
}

const nginxText = `daemon off;
user root;
pid ${DIR}/nginx.pid;
error_log ${DIR}/error.log crit;
worker_processes 2;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${DIR}/body;
  proxy_temp_path ${DIR}/proxy;
  fastcgi_temp_path ${DIR}/fastcgi;
  uwsgi_temp_path ${DIR}/uwsgi;
  scgi_temp_path ${DIR}/scgi;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_next_upstream off;
  upstream important { zone important 64k; server ${BACKEND} max_conns=40 max_fails=0; }
  upstream other { zone other 64k; server ${BACKEND} max_conns=29 max_fails=0; }
  server {
    listen ${WEB};
    location /important { proxy_pass http://important; }
    location /other { proxy_pass http://other; }
  }
}
`

const haproxyText = `defaults
  mode http
  timeout connect 10s
  timeout client 60s
  timeout server 60s
frontend web
  bind ${WEB}
  use_backend important if { path /important }
  default_backend other
backend important
  timeout queue 20s
  server b ${BACKEND} maxconn 40 maxqueue 400
backend other
  timeout queue 1s
  server b ${BACKEND} maxconn 29 maxqueue 29
`

// start starts the proxy, and returns its address.
func (p peer) start(t *testing.T, backend string) (address string) {
	t.Helper()
	if _, err := exec.LookPath(p.name); err != nil {
		t.Skipf("missing tool: %v", err)
	}
	dir, address := t.TempDir(), harness.FreeAddress(t)
	backend = strings.TrimPrefix(backend, "http://")
	replacer := strings.NewReplacer("${DIR}", dir, "${WEB}", address, "${BACKEND}", backend)
	if err := os.WriteFile(filepath.Join(dir, "configuration"), []byte(replacer.Replace(p.text)), 0o600); err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, arg := range p.args {
		args = append(args, replacer.Replace(arg))
	}
	command := exec.Command(p.name, args...) //nolint:noctx // ends by a signal
	command.Stderr = t.Output()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	client := harness.NewClient(t, harness.H1, address, "any.test", nil)
	harness.Until(t, p.name+" serves", func() bool {
		return statusOf(client, client.Request(http.MethodGet, "/important", nil)) == http.StatusOK
	})
	return address
}

// overloadPeers has nginx and haproxy get the load of TestGoodput, and writes what became of it.
func overloadPeers(t *testing.T, duration time.Duration) {
	t.Helper()
	for _, one := range peers() {
		t.Run(one.name, func(t *testing.T) {
			endpoint, backend := startEndpoint(t)
			clients := newClients(t, one.start(t, backend))
			t.Log(clients.overload(endpoint, duration))
		})
	}
}
