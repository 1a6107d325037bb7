package harness

import (
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/file"
)

// StartRefusingACME serves the directory of an ACME authority, and returns its URL. It registers accounts and answers
// each order with the problem rejectedIdentifier and this detail.
func StartRefusingACME(t testing.TB, detail string) string {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Replay-Nonce", "c2x1aWNl")
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/directory":
			_ = json.NewEncoder(w).Encode(map[string]string{
				"newNonce": server.URL + "/nonce", "newAccount": server.URL + "/account", "newOrder": server.URL + "/order",
			})
		case "/nonce":
		case "/account":
			w.Header().Set("Location", server.URL+"/account/1")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"status":"valid"}`))
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(map[string]string{
				"type": "urn:ietf:params:acme:error:rejectedIdentifier", "detail": detail,
			})
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/directory"
}

// StoreIssued writes certificates of a resolver into a file in the format of acme.json, and returns its path.
func StoreIssued(t testing.TB, resolver string, all ...Issued) string {
	t.Helper()
	values := map[storage.Key][]byte{}
	for _, issued := range all {
		chain, err := os.ReadFile(issued.CertFile)
		if err != nil {
			t.Fatal(err)
		}
		key, err := os.ReadFile(issued.KeyFile)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(issued.Pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		names := leaf.DNSNames
		value, err := json.Marshal(storage.Certificate{
			Main: names[0], SANs: names[1:], Chain: string(chain), Key: string(key),
		})
		if err != nil {
			t.Fatal(err)
		}
		values[storage.Key{
			Kind: storage.KindCertificate, Resolver: resolver, ID: storage.CertificateID(names),
		}] = value
	}
	path := filepath.Join(t.TempDir(), "acme.json")
	if err := file.Write(path, values); err != nil {
		t.Fatal(err)
	}
	return path
}
