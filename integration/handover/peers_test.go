package handover

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/integration/traffic"
)

// peer is another proxy that can be reloaded.
type peer struct {
	name, file, text string
	args             []string
	reload           syscall.Signal
}

// peers have the routes of a service. Both end the processes before within 20 seconds.
func peers() []peer {
	return []peer{
		{"nginx", "nginx.conf", nginxText, []string{"-p", "${DIR}", "-c", "${DIR}/nginx.conf"}, syscall.SIGHUP},
		{"haproxy", "haproxy.cfg", haproxyText, []string{"-W", "-f", "${DIR}/haproxy.cfg"}, syscall.SIGUSR2},
	}
}

const nginxText = `daemon off;
user root;
pid ${DIR}/nginx.pid;
error_log ${DIR}/error.log;
worker_processes 2;
worker_rlimit_nofile 20000;
worker_shutdown_timeout 20s;
events { worker_connections 15000; }
http {
  access_log off;
  keepalive_timeout 180s;
  keepalive_requests 1000000;
  client_body_temp_path ${DIR}/body;
  proxy_temp_path ${DIR}/proxy;
  fastcgi_temp_path ${DIR}/fastcgi;
  uwsgi_temp_path ${DIR}/uwsgi;
  scgi_temp_path ${DIR}/scgi;
  upstream backend { server ${BACKEND}; keepalive 64; }
  map $http_upgrade $connection_upgrade { default upgrade; "" ""; }
  server {
    listen ${WEB};
    listen ${SECURE} ssl http2;
    ssl_certificate ${DIR}/certificate.pem;
    ssl_certificate_key ${DIR}/key.pem;
    location / {
      proxy_pass http://backend;
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
    }
  }
}
`

const haproxyText = `global
  hard-stop-after 20s
  maxconn 9900
defaults
  mode http
  timeout connect 10s
  timeout client 180s
  timeout server 180s
  timeout http-keep-alive 180s
frontend web
  bind ${WEB}
  bind ${SECURE} ssl crt ${DIR}/both.pem alpn h2,http/1.1
  default_backend b
backend b
  server b ${BACKEND}
listen mail
  mode tcp
  bind ${MAIL}
  server echo ${ECHO}
`

// start starts the proxy in the place of a service, and returns what reloads it.
func (p *peer) start(s *service) (to traffic.Target, reload func()) {
	s.t.Helper()
	issued := harness.NewAuthority(s.t).Issue("any.test")
	certificate, key := read(s.t, issued.CertFile), read(s.t, issued.KeyFile)
	process := harness.StartPeer(s.t, p.name, p.args, map[string]string{
		p.file: p.text, "certificate.pem": certificate, "key.pem": key, "both.pem": certificate + key,
	}, s.setup.Vars)
	harness.Eventually(s.t, time.Minute, func() bool {
		client, err := traffic.Connect(s.t.Context(), s.web, false)
		if err != nil {
			return false
		}
		defer func() { _ = client.Close() }()
		_, err = client.Get()
		return err == nil
	}, func() string { return p.name + " does not serve" })
	to = traffic.Target{Web: s.web, Secure: s.secure, NoH2C: true}
	if strings.Contains(p.text, "${MAIL}") {
		to.Mail = s.mail
	}
	return to, func() {
		if err := process.Signal(p.reload); err != nil {
			s.t.Error(err)
		}
	}
}

// read returns a file.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// mostIdle is how many idle connections haproxy can have with 20,000 descriptors.
const mostIdle = 8000

// reloadPeers has nginx and haproxy reload under the same clients, but for HTTP/2 without TLS, and writes how many
// requests have failed.
func reloadPeers(t *testing.T, reloads, idle int) {
	t.Helper()
	for _, one := range peers() {
		t.Run(one.name, func(t *testing.T) {
			to, reload := one.start(newService(t, ""))
			clients := traffic.New(t)
			clients.StartAll(to, min(idle, mostIdle))
			repeat(t, clients, reloads, reload)
			clients.Report(fmt.Sprintf("%s, %d reloads", one.name, reloads))
		})
	}
}
