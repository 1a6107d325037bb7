package release

import (
	"path/filepath"
	"strings"
	"testing"
)

// request prints the answer to a request for /PATH at port 80: `request PATH`.
const request = `request() {
  exec 3<>/dev/tcp/127.0.0.1/80
  printf 'GET /%s HTTP/1.0\r\nHost: app.test\r\n\r\n' "$1" >&3
  cat <&3
}
await() { for _ in {1..1200}; do if "$@"; then return; fi; sleep 0.1; done; echo "not within 2 minutes: $*"; return 1; }
`

// debian installs the package on a Debian system, and upgrades and removes it.
func debian(t *testing.T, first, second string) {
	needs(t, "systemd-nspawn", "nsenter")
	m := newMachine(t)
	m.put(t, filepath.Join(first, "sluice_1.0.0_"+host()+".deb"), "/srv/first.deb")
	m.put(t, filepath.Join(second, "sluice_1.1.0_"+host()+".deb"), "/srv/second.deb")
	before := m.run(t, "find / -xdev -name '*sluice*' -not -path '/proc/*'")
	if before != "" {
		t.Fatalf("there already is %s", before)
	}
	m.run(t, "dpkg --install /srv/first.deb")
	if !t.Run("starts", func(t *testing.T) { expectRunning(t, m) }) {
		return
	}
	t.Run("rotates logs", func(t *testing.T) { expectRotation(t, m) })
	t.Run("keeps sockets", func(t *testing.T) { expectKept(t, m) })
	t.Run("socket unit", func(t *testing.T) { expectSocketUnit(t, m) })
	t.Run("upgrade", func(t *testing.T) {
		process := m.run(t, "systemctl show --property=MainPID --value sluice")
		m.run(t, "dpkg --force-confold --install /srv/second.deb")
		m.prints(t, "version: v1.1.0", "sluice version | head -n 1")
		m.prints(t, "active", "systemctl is-active sluice")
		if process == m.run(t, "systemctl show --property=MainPID --value sluice") {
			t.Error("the old process goes on")
		}
		m.prints(t, "1", "grep -c ^accessLog: /etc/sluice/sluice.yaml")
		m.prints(t, "1", "grep -c 'level: INFO' /etc/sluice/sluice.yaml.dpkg-dist")
		m.run(t, request+"await eval 'request upgraded | grep -q app-1'")
	})
	t.Run("hands over", func(t *testing.T) { expectHandOver(t, m) })
	t.Run("remove", func(t *testing.T) {
		m.run(t, "dpkg --remove sluice")
		m.prints(t, "inactive", "systemctl is-active sluice || true")
		m.prints(t, "kept", "[ ! -e /usr/bin/sluice ] && [ -e /etc/sluice/sluice.yaml ] && [ -d /var/log/sluice ] && echo kept")
	})
	t.Run("purge", func(t *testing.T) {
		m.run(t, "systemctl stop app; rm /srv/*; rm /etc/sluice/dynamic/app.yaml; dpkg --purge sluice; systemctl daemon-reload")
		m.prints(t, "", "find / -xdev -name '*sluice*' -not -path '/proc/*'")
		m.prints(t, "", "grep -l sluice /etc/passwd /etc/group /etc/shadow || true")
	})
}

// expectHandOver has the unit go on with another process, which systemd knows as the main one.
func expectHandOver(t *testing.T, m *machine) {
	t.Helper()
	m.run(t, "printf '\\nhandover: {socket: /run/sluice/sluice.sock}\\n' >> /etc/sluice/sluice.yaml")
	m.run(t, "systemctl restart sluice")
	for range 2 {
		before := m.run(t, "systemctl show --property=MainPID --value sluice")
		now := strings.TrimSpace(m.run(t, "sluice upgrade --configFile=/etc/sluice/sluice.yaml"))
		m.prints(t, now, "systemctl show --property=MainPID --value sluice")
		m.prints(t, "active 0", "echo $(systemctl is-active sluice) $(systemctl show --property=NRestarts --value sluice)")
		m.run(t, request+"await eval '! kill -0 "+strings.TrimSpace(before)+"'\nrequest upgraded | grep -q app-1")
	}
	m.prints(t, "3", "systemctl show --property=NFileDescriptorStore --value sluice")
	m.prints(t, "", "journalctl --unit=sluice --boot --grep='reception only permitted' --quiet || true")
	m.run(t, "systemctl reload sluice")
	m.run(t, request+`kill -KILL $(systemctl show --property=MainPID --value sluice)
request killed | grep -q app-1`)
	m.prints(t, "active 1", "echo $(systemctl is-active sluice) $(systemctl show --property=NRestarts --value sluice)")
}

// expectRunning checks that the installed service serves a route at port 80, with no more rights than it needs.
func expectRunning(t *testing.T, m *machine) {
	m.prints(t, "active", "systemctl is-active sluice")
	m.prints(t, "enabled", "systemctl is-enabled sluice")
	m.run(t, "systemd-analyze verify --man=no sluice.service")
	m.prints(t, "sluice", "stat --format=%U /proc/$(systemctl show --property=MainPID --value sluice)")
	m.prints(t, "CapEff:\t0000000000000400\nCapBnd:\t0000000000000400",
		"grep -E 'CapEff|CapBnd' /proc/$(systemctl show --property=MainPID --value sluice)/status")
	m.run(t, "cp /usr/bin/sluice /srv/whoami && systemd-run --unit=app /srv/whoami whoami --address=127.0.0.1:9000 --name=app-1")
	m.run(t, `cat >/etc/sluice/dynamic/app.yaml <<'END'
http:
  routers:
    app:
      rule: Host(`+"`app.test`"+`)
      entryPoints: [web]
      service: app
  services:
    app:
      loadBalancer:
        servers:
          - url: http://127.0.0.1:9000
END
`+request+"await eval 'request first | grep -q app-1'")
	m.run(t, "sluice check --configFile=/etc/sluice/sluice.yaml")
	process := m.run(t, "systemctl show --property=MainPID --value sluice")
	m.run(t, "systemctl reload sluice")
	m.prints(t, strings.TrimSpace(process), "systemctl show --property=MainPID --value sluice")
	m.prints(t, "active", "systemctl is-active sluice")
}

// expectRotation rotates the access log while another process of the same program runs.
func expectRotation(t *testing.T, m *machine) {
	m.run(t, `printf 'accessLog:\n  filePath: /var/log/sluice/access.log\n' >>/etc/sluice/sluice.yaml
systemctl restart sluice
`+request+`
await eval 'request before | grep -q app-1'
await grep -q /before /var/log/sluice/access.log
logrotate --force /etc/logrotate.d/sluice
grep -q /before /var/log/sluice/access.log.1
await eval 'request after >/dev/null; grep -q /after /var/log/sluice/access.log'`)
	m.prints(t, "active", "systemctl is-active app")
	m.prints(t, "sluice 640", "stat --format='%U %a' /var/log/sluice/access.log")
}

// load sends requests one after another until `touch /srv/enough`, and fails if one is not answered.
const load = request + `load() {
  rm -f /srv/enough
  while [ ! -e /srv/enough ]; do request load | grep -q app-1 || { echo "a request is lost" >&2; return 1; }; done
}
`

// expectKept restarts the service, and kills it: systemd keeps the sockets, and no client is refused.
func expectKept(t *testing.T, m *machine) {
	m.prints(t, "3", "systemctl show --property=NFileDescriptorStore --value sluice")
	m.run(t, load+`load & loading=$!
systemctl restart sluice
touch /srv/enough
wait $loading`)
	m.run(t, request+`before=$(systemctl show --property=MainPID --value sluice)
kill -KILL $before
request killed | grep -q app-1
[ "$before" != "$(systemctl show --property=MainPID --value sluice)" ]`)
	m.prints(t, "3", "systemctl show --property=NFileDescriptorStore --value sluice")
}

// expectSocketUnit has systemd bind the port of an entrypoint, and starts the service by a request.
func expectSocketUnit(t *testing.T, m *machine) {
	for _, unit := range []string{"sluice-web.socket", "sluice-websecure.socket"} {
		m.put(t, filepath.Join("..", "..", "deploy", "systemd", unit), filepath.Join("/etc/systemd/system", unit))
	}
	m.run(t, load+`systemctl stop sluice
mkdir -p /etc/systemd/system/sluice.service.d
printf '[Service]\nSockets=sluice-web.socket\n' >/etc/systemd/system/sluice.service.d/sockets.conf
systemctl daemon-reload
systemd-analyze verify --man=no sluice-web.socket sluice-websecure.socket
systemctl start sluice-web.socket
request first | grep -q app-1
load & loading=$!
systemctl restart sluice
touch /srv/enough
wait $loading`)
	m.prints(t, "2", "systemctl show --property=NFileDescriptorStore --value sluice") // Of the other entrypoints.
	m.prints(t, "", "journalctl --unit=sluice --boot --grep='socket of the service manager' --quiet || true")
	m.run(t, `systemctl stop sluice-web.socket sluice
rm -r /etc/systemd/system/sluice-web*.socket /etc/systemd/system/sluice.service.d
systemctl daemon-reload
systemctl start sluice`)
}
