package passtlsclientcert

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// forgeries are heads of requests that try to set a header.
func forgeries(header string) map[string][]string {
	alias := strings.ReplaceAll(header, "-", "_")
	all := map[string][]string{"nothing": nil}
	for name, spelling := range map[string]string{
		"plain": header, "lower case": strings.ToLower(header), "upper case": strings.ToUpper(header), "alias": alias,
		"lower-case alias": strings.ToLower(alias),
		"partial alias":    strings.Replace(header, "-", "_", 1), "last of an alias": header[:len(header)-5] +
			strings.Replace(header[len(header)-5:], "-", "_", 1),
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

// TestNothingIsForged has every spelling of both headers meet every definition and connection, as if a trusted peer
// had sent them.
func TestNothingIsForged(t *testing.T) {
	certificate := authority(t).issue(t, complete())
	attempts := 0
	for _, config := range []dynamic.PassTLSClientCert{
		{},
		{PEM: true},
		{Info: everything()},
		{PEM: true, Info: everything()},
	} {
		for name, state := range map[string]*tls.ConnectionState{
			"no TLS": nil, "no certificate": {},
			"a certificate": of(certificate),
		} {
			_, want := pass(t, build(t, config), state)
			for _, header := range []string{certHeader, infoHeader} {
				for way, lines := range forgeries(header) {
					attempts++
					status, passed := pass(t, build(t, config), state, lines...)
					forwarded.RemoveHopByHop(passed, nil)
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

// TestNoTrailerForges has a trusted peer, whose trailers an entrypoint leaves, send the headers behind the body.
func TestNoTrailerForges(t *testing.T) {
	step := build(t, dynamic.PassTLSClientCert{PEM: true, Info: everything()})
	for name, state := range map[string]*tls.ConnectionState{
		"no certificate": {},
		"a certificate":  of(authority(t).issue(t, complete())),
	} {
		r := middlewaretest.Request(t, "POST /", "Transfer-Encoding: chunked")
		r.TLS = state
		r.Trailer = http.Header{certHeader: {"forged"}, "X-Sum": {"1"}}
		r.Body = io.NopCloser(io.MultiReader(strings.NewReader("body"), arrival(func() {
			r.Trailer[certHeader], r.Trailer[infoHeader] = []string{"forged"}, []string{"forged"}
			r.Trailer[strings.ReplaceAll(certHeader, "-", "_")] = []string{"forged"}
		})))
		step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if len(r.Trailer) != 1 {
				t.Errorf("%s: the trailers are %v before the body was read", name, r.Trailer)
			}
			if text, err := io.ReadAll(r.Body); string(text) != "body" || err != nil {
				t.Errorf("%s: the body is %q, %v", name, text, err)
			}
			if diff := cmp.Diff(http.Header{"X-Sum": {"1"}}, r.Trailer); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
	}
}

// arrival is called at the end of a body.
type arrival func()

// Read ends the body.
func (a arrival) Read([]byte) (int, error) {
	a()
	return 0, io.EOF
}

// TestManaged proves that an entrypoint removes the headers, and that neither a Connection header nor a trailer
// changes that.
func TestManaged(t *testing.T) {
	for _, header := range []string{certHeader, infoHeader} {
		for _, spelling := range []string{
			header, strings.ToLower(header),
			strings.ToUpper(strings.ReplaceAll(header, "-", "_")),
		} {
			if !forwarded.IsManaged(spelling) {
				t.Errorf("%s is not managed", spelling)
			}
		}
	}
}
