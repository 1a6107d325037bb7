package streams

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestMariaDB reaches a server that speaks first.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	install, client := program(t, "mariadb-install-db"), program(t, "mariadb")
	server := program(t, "mariadbd", "/usr/sbin/mariadbd")
	dir := folder(t, "mysql")
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "socket")
	made := as(t, "mysql", exec.CommandContext(t.Context(), install, "--no-defaults", "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db"))
	made.Dir = dir
	if printed, err := made.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, printed)
	}
	accounts := write(t, filepath.Join(dir, "accounts.sql"), "CREATE USER ann@'%' IDENTIFIED BY 'secret';\n")
	address := harness.FreeAddress(t)
	host, port := split(t, address)
	start(t, address, "mysql", server, "--no-defaults", "--datadir="+data, "--socket="+socket, "--bind-address="+host,
		"--port="+port, "--pid-file="+filepath.Join(dir, "pid"), "--init-file="+accounts,
		"--innodb-flush-log-at-trx-commit=0")
	sluice := harness.Start(t, harness.Setup{
		Static: setup("mysql"), Vars: map[string]string{"SERVER": address},
		Dynamic: map[string]string{"tcp.yaml": `
tcp:
  routers:
    mysql: {entryPoints: [mysql], rule: HostSNI(` + "`*`" + `), service: mysql}
  services:
    mysql: {loadBalancer: {servers: [{address: "${SERVER}"}]}}
`},
	})
	host, port = split(t, sluice.Addr("mysql"))
	got := run(t, 0, "", nil, client, "--no-defaults", "-h", host, "-P", port, "-u", "ann", "-psecret", "-N",
		"-e", "select 6*7")
	if !strings.Contains(got, "42") {
		t.Errorf("got %q", got)
	}
}

// TestRedis reaches a Redis without TLS, and with TLS that ends at Sluice, and again from a TLS server of its own.
func TestRedis(t *testing.T) {
	t.Parallel()
	server, client := program(t, "redis-server", "/usr/bin/redis-server"), program(t, "redis-cli")
	authority := harness.NewAuthority(t)
	edge, inner := authority.Issue("redis.test"), authority.Issue("inner.test", "127.0.0.1")
	address, secured := harness.FreeAddress(t), harness.FreeAddress(t)
	host, port := split(t, address)
	_, tlsPort := split(t, secured)
	start(t, address, "", server, "--bind", host, "--port", port, "--tls-port", tlsPort, "--tls-cert-file", inner.CertFile,
		"--tls-key-file", inner.KeyFile, "--tls-ca-cert-file", authority.File, "--save", "", "--dir", t.TempDir())
	sluice := harness.Start(t, harness.Setup{
		Static: setup("redis"), Vars: map[string]string{
			"SERVER": address, "SECURED": secured, "CERT": edge.CertFile, "KEY": edge.KeyFile, "CA": authority.File,
			"CLIENT": inner.CertFile, "CLIENTKEY": inner.KeyFile,
		},
		Dynamic: map[string]string{"tcp.yaml": `
tcp:
  routers:
    plain: {entryPoints: [redis], rule: HostSNI(` + "`*`" + `), service: redis}
    edge: {entryPoints: [redis], rule: HostSNI(` + "`redis.test`" + `), service: again, tls: {}}
  services:
    redis:
      loadBalancer: {servers: [{address: "${SERVER}"}], healthCheck: {send: "PING\r\n", expect: "+PONG", interval: 1s}}
    again: {loadBalancer: {servers: [{address: "${SECURED}", tls: true}], serversTransport: inner}}
  serversTransports:
    inner:
      tls: {rootCAs: ["${CA}"], serverName: inner.test, certificates: [{certFile: "${CLIENT}", keyFile: "${CLIENTKEY}"}]}
tls:
  certificates: [{certFile: ${CERT}, keyFile: ${KEY}}]
`},
	})
	host, port = split(t, sluice.Addr("redis"))
	if got := run(t, 0, "", nil, client, "-h", host, "-p", port, "set", "key", "value"); got != "OK\n" {
		t.Errorf("got %q", got)
	}
	got := run(t, 0, "", nil, client, "-h", host, "-p", port, "--tls", "--sni", "redis.test",
		"--cacert", authority.File, "get", "key")
	if strings.TrimSpace(got) != "value" {
		t.Errorf("got %q", got)
	}
	// A large value in both directions.
	large := strings.Repeat("v", 8<<20)
	if got := run(t, 0, large, nil, client, "-h", host, "-p", port, "-x", "set", "large"); got != "OK\n" {
		t.Errorf("got %q", got)
	}
	if got := run(t, 0, "", nil, client, "-h", host, "-p", port, "get", "large"); strings.TrimSpace(got) != large {
		t.Errorf("got %d bytes", len(got))
	}
}

// TestMQTT sends messages through a broker, without TLS and with TLS that ends at Sluice, by ALPN.
func TestMQTT(t *testing.T) {
	t.Parallel()
	const name = "mosquitto" //nolint:misspell // It is spelled like that.
	broker := program(t, name, "/usr/sbin/"+name)
	publish, subscribe := program(t, name+"_pub"), program(t, name+"_sub")
	authority := harness.NewAuthority(t)
	edge := authority.Issue("localhost")
	address := harness.FreeAddress(t)
	host, port := split(t, address)
	dir := folder(t, name)
	start(t, address, name, broker, "-c", write(t, filepath.Join(dir, "broker.conf"),
		"listener "+port+" "+host+"\nallow_anonymous true\npersistence false\n"))
	sluice := harness.Start(t, harness.Setup{
		Static: setup("mqtt"), Vars: map[string]string{"SERVER": address, "CERT": edge.CertFile, "KEY": edge.KeyFile},
		Dynamic: map[string]string{"tcp.yaml": `
tcp:
  routers:
    plain: {entryPoints: [mqtt], rule: HostSNI(` + "`*`" + `), service: mqtt}
    secure: {entryPoints: [mqtt], rule: ALPN(` + "`mqtt`" + `), service: mqtt, tls: {}}
  services:
    mqtt: {loadBalancer: {servers: [{address: "${SERVER}"}]}}
tls:
  certificates: [{certFile: ${CERT}, keyFile: ${KEY}}]
`},
	})
	_, port = split(t, sluice.Addr("mqtt"))
	plain := []string{"-h", "localhost", "-p", port, "-t", "topic"} // The client sends the name as SNI.
	secure := append([]string{"--cafile", authority.File, "--tls-alpn", "mqtt"}, plain...)
	for message, by := range map[string][2][]string{
		"plain to secure": {plain, secure},
		"secure to plain": {secure, plain},
	} {
		received := make(chan string, 1)
		go func() {
			received <- run(t, 0, "", nil, subscribe, append([]string{"-C", "1", "-W", "50"}, by[1]...)...)
		}()
		// The broker keeps the last message for those who subscribe later.
		run(t, 0, "", nil, publish, append([]string{"-r", "-q", "1", "-m", message}, by[0]...)...)
		if got := harness.Await(t, received, "a message"); !strings.Contains(got, " to ") {
			t.Errorf("%s: got %q", message, got)
		}
	}
}

// TestSSH runs a command over SSH, whose server and client both speak first.
func TestSSH(t *testing.T) {
	t.Parallel()
	server, client, keygen := program(t, "/usr/sbin/sshd"), program(t, "ssh"), program(t, "ssh-keygen")
	if os.Getuid() != 0 {
		t.Skip("missing tool: sshd starts sessions of other users only as root")
	}
	dir := folder(t, "")
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { //nolint:gosec // It is sshd's directory, which is empty.
		t.Fatal(err)
	}
	host, user := filepath.Join(dir, "host"), filepath.Join(dir, "user")
	for _, key := range []string{host, user} {
		run(t, 0, "", nil, keygen, "-q", "-t", "ed25519", "-N", "", "-f", key)
	}
	address := harness.FreeAddress(t)
	config := "ListenAddress " + address + "\nHostKey " + host + "\nAuthorizedKeysFile " + user + ".pub\n" +
		"StrictModes no\nPermitRootLogin yes\nUsePAM no\nPidFile none\n"
	start(t, address, "", server, "-D", "-e", "-f", write(t, filepath.Join(dir, "sshd_config"), config))
	sluice := harness.Start(t, harness.Setup{
		Static: setup("ssh"), Vars: map[string]string{"SERVER": address},
		Dynamic: map[string]string{"tcp.yaml": `
tcp:
  routers:
    ssh: {entryPoints: [ssh], rule: HostSNI(` + "`*`" + `), service: ssh}
  services:
    ssh: {loadBalancer: {servers: [{address: "${SERVER}"}], healthCheck: {expect: "SSH-2.0", interval: 1s}}}
`},
	})
	at, port := split(t, sluice.Addr("ssh"))
	got := run(t, 0, "", nil, client, "-F", "none", "-i", user, "-p", port, "-o", "BatchMode=yes",
		"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "root@"+at,
		"echo $((6*7))")
	if got != "42\n" {
		t.Errorf("got %q", got)
	}
}
