package passtlsclientcert

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
)

// forgeries are heads of requests that try to set a header.
func forgeries(header string) map[string][]string {
	alias := strings.ReplaceAll(header, "-", "_")
	all := map[string][]string{"nothing": nil}
	for name, spelling := range map[string]string{
		"plain": header, "lower case": strings.ToLower(header), "upper case": strings.ToUpper(header), "alias": alias, "lower-case alias": strings.ToLower(alias),
		"partial alias": strings.Replace(header, "-", "_", 1), "last of an alias": header[:len(header)-5] + strings.Replace(header[len(header)-5:], "-", "_", 1),
	} {
		line := spelling + ": forged"
		all[name] = []string{line}
		all[name+", twice"] = []string{line, spelling + ":", line}
		all[name+", in Connection"] = []string{line, "Connection: close, " + spelling}
		all[name+", in Connection only"] = []string{"Connection: " + header + ", " + spelling}
		all[name+", announced"] = []string{line, "Trailer: " + spelling}
	}
	return all
}

// TestNothingIsForged has every spelling of both headers meet every definition and connection, as if a trusted peer had sent them.
func TestNothingIsForged(t *testing.T) {
	certificate := authority(t).issue(t, complete())
	attempts := 0
	for _, config := range []dynamic.PassTLSClientCert{{}, {PEM: true}, {Info: everything()}, {PEM: true, Info: everything()}} {
		for name, state := range map[string]*tls.ConnectionState{"no TLS": nil, "no certificate": {}, "a certificate": of(certificate)} {
			_, want := pass(t, build(t, config), state)
			for _, header := range []string{certHeader, infoHeader} {
				for way, lines := range forgeries(header) {
					attempts++
					status, passed := pass(t, build(t, config), state, lines...)
					canonical.RemoveHopByHop(passed, nil)
					if diff := cmp.Diff(want, passed); diff != "" || status != http.StatusOK {
						t.Errorf("%+v, %s, %s: status %d: %s", config, name, way, status, diff)
					}
				}
			}
		}
	}
	if attempts < 800 {
		t.Errorf("%d attempts", attempts)
	}
}

// TestManaged proves that an entrypoint removes the headers, and that neither a Connection header nor a trailer changes that.
func TestManaged(t *testing.T) {
	for _, header := range []string{certHeader, infoHeader} {
		for _, spelling := range []string{header, strings.ToLower(header), strings.ToUpper(strings.ReplaceAll(header, "-", "_"))} {
			if !canonical.IsManaged(spelling) {
				t.Errorf("%s is not managed", spelling)
			}
		}
	}
}
