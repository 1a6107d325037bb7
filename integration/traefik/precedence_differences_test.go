package traefik

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// migrationPage lists the differences.
const migrationPage = root + "/docs/migrate/traefik.md"

// precedenceDifferences lists the answers that differ from those of Traefik, on purpose. The reason is the first column
// of a row of the page.
func precedenceDifferences() (all []difference) {
	const (
		postgres = "a client of PostgreSQL requests TLS where no TCP router has TLS"
		first    = "a client whose first byte is 0x80"
		options  = "TLS options that cannot be loaded"
		hostless = "`tls.options` on a rule without `Host`"
		other    = "an HTTP router without `Host`, and a client whose server name has other TLS options"
		negated  = "an HTTP router with TLS and ``!Host(`a.test`)``"
	)
	add := func(reason, answer string, requests ...string) {
		for _, request := range requests {
			all = append(all, difference{request: request, answer: answer, reason: reason})
		}
	}
	add(postgres, "tcp", "postgres-tcp+https postgres/a", "postgres-tcp+https postgres/b", "postgres-tcp+https half")
	add(postgres, "closed", "nothing postgres/a", "http postgres/a")
	add(postgres, "closed", "postgres-https postgres/a", "postgres-https postgres/b")
	add(first, "tcp", "postgres-tcp+tls 80", "postgres-tcp+through 80", "postgres-tcp+https 80")
	add(first, "400", "http 80", "postgres-https 80", "postgres-tls-all 80", "postgres-through-all 80")
	for _, entrypoint := range []string{"missing-options", "missing-options+https-prefix", "broken-options+https-prefix"} {
		add(options, "TLS 1.2, 503", entrypoint+" https/a")
		add(options, "TLS 1.2, 400", entrypoint+" tls/a")
		add(options, "TLS 1.2 h2, HTTP/2 frame 4", entrypoint+" h2/a")
		add(options, "alert: protocol version not supported", entrypoint+" tls10/a")
	}
	add(hostless, "TLS 1.2, 503", "tls+https-prefix-options https/b", "tls+https-prefix-options https/")
	add(other, "TLS 1.3, 200, https-prefix", "https-prefix-above-https https/a")
	add(negated, "TLS 1.2, 200, https-rule", "tls-all+https-not https/b", "tls-all+https-not https/")
	add(negated, "TLS 1.2, 503", "tls-all+https-not-options https/b", "tls-all+https-not-options https/")
	add(negated, "TLS 1.2, 404", "tls-all+https-not-options https/a")
	add(negated, "TLS 1.2, 400", "tls-all+https-not-options tls/a")
	add(negated, "TLS 1.2 h2, HTTP/2 frame 4", "tls-all+https-not-options h2/a")
	return all
}

// TestPrecedenceDifferencesAreDocumented finds a row of the page for each difference.
func TestPrecedenceDifferencesAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash(migrationPage))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range precedenceDifferences() {
		_, row, found := strings.Cut(string(text), "\n| "+one.reason+" |")
		row, _, _ = strings.Cut(row, "\n")
		if !found || !strings.Contains(row, "`TestTCPPrecedence`") {
			t.Errorf("%s: no row %q that names the test in %s", one.request, one.reason, migrationPage)
		}
	}
}
