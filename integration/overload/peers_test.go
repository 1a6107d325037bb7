package overload

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// peer is another proxy with the limits of classes.
type peer struct {
	name  string
	args  []string
	files map[string]string
}

// peers leave 11 of the 40 slots to important requests, as Sluice does. nginx has no queue without a subscription.
func peers() []peer {
	return []peer{
		nginxPeer("2", nginxText),
		haproxyPeer(haproxyText),
	}
}

// nginxPeer returns nginx with a number of workers; text follows nginxHead.
func nginxPeer(workers, text string) peer {
	return peer{"nginx", []string{"-p", "${DIR}", "-c", "${DIR}/configuration"}, map[string]string{
		"configuration": strings.ReplaceAll(nginxHead, "${WORKERS}", workers) + text,
	}}
}

func haproxyPeer(text string) peer {
	return peer{"haproxy", []string{"-db", "-f", "${DIR}/configuration"}, map[string]string{"configuration": text}}
}

// nginxHead is what all configurations of nginx begin with, within http at its end. ${WORKERS} is set by nginxPeer.
const nginxHead = `daemon off;
user root;
pid ${DIR}/nginx.pid;
error_log ${DIR}/error.log crit;
worker_processes ${WORKERS};
events { worker_connections 16384; }
http {
  access_log off;
  client_body_temp_path ${DIR}/body;
  proxy_temp_path ${DIR}/proxy;
  fastcgi_temp_path ${DIR}/fastcgi;
  uwsgi_temp_path ${DIR}/uwsgi;
  scgi_temp_path ${DIR}/scgi;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
`

const nginxText = `  proxy_next_upstream off;
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
func (p peer) start(t testing.TB, backend string) (address string) {
	t.Helper()
	address = harness.FreeAddress(t)
	harness.StartPeer(t, p.name, p.args, p.files,
		map[string]string{"WEB": address, "BACKEND": strings.TrimPrefix(backend, "http://")})
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
