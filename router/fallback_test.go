package router

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// The host's options demand client certificates and cannot be used. A router whose rule names no host takes the
// options of the requested host, so it must not answer for that host under the default ones.
func TestAHostWhoseTLSOptionsCannotBeUsedIsNotServed(t *testing.T) {
	b := newBench(t)
	b.config.TLS.Options = b.config.TLS.Options.With("mutual@file", &dynamic.TLSOptions{
		ClientAuth: dynamic.ClientAuth{
			ClientAuthType: "RequireAndVerifyClientCert",
			CAFiles:        []string{"/does/not/exist.pem"},
		},
	})
	b.secure("named@file", "Host(`secret.test`) && PathPrefix(`/admin`)", "a@internal", "mutual")
	b.secure("wild@file", "Host(`*.wild.test`) && PathPrefix(`/admin`)", "a@internal", "mutual")
	b.secure("any@file", "PathPrefix(`/`)", "b@internal", "")
	b.all()
	for _, test := range []struct {
		target string
		status int
	}{
		{"https://secret.test/admin", http.StatusServiceUnavailable},
		{"https://secret.test/other", http.StatusMisdirectedRequest},
		{"https://x.wild.test/other", http.StatusMisdirectedRequest},
		{"https://open.test/other", http.StatusOK},
	} {
		if recorder := b.getTLS("open.test", test.target); recorder.Code != test.status {
			t.Errorf("%s: status %d, want %d", test.target, recorder.Code, test.status)
		}
		if recorder := b.getTLS("secret.test", test.target); recorder.Code != test.status {
			t.Errorf("%s with the host's own SNI: status %d, want %d", test.target, recorder.Code, test.status)
		}
	}
}

// Another router of the host has options that work: they decide, as if the broken ones were not there.
func TestBrokenTLSOptionsDoNotBlockGoodOnesOfTheSameHost(t *testing.T) {
	b := newBench(t)
	b.config.TLS.Options = b.config.TLS.Options.With("modern@file", &dynamic.TLSOptions{MinVersion: "VersionTLS13"})
	b.secure("broken@file", "Host(`x.test`) && PathPrefix(`/admin`)", "a@internal", "none")
	b.secure("good@file", "Host(`x.test`)", "b@internal", "modern")
	b.secure("any@file", "PathPrefix(`/`)", "b@internal", "")
	b.all()
	if recorder := b.getTLS("x.test", "https://x.test/"); recorder.Code != http.StatusOK {
		t.Errorf("status %d, want 200", recorder.Code)
	}
	if recorder := b.getTLS("other.test", "https://x.test/"); recorder.Code != http.StatusMisdirectedRequest {
		t.Errorf("under other options: status %d, want 421", recorder.Code)
	}
}
