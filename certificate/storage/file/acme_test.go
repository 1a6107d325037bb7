package file

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
)

func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parsed(t testing.TB, text []byte) *acme {
	t.Helper()
	a, err := parseACME(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func certificateKey(resolver string, names ...string) storage.Key {
	return storage.Key{Kind: storage.KindCertificate, Resolver: resolver, ID: storage.CertificateID(names)}
}

func TestValuesOfTraefik(t *testing.T) {
	values, err := parsed(t, readTestdata(t, "traefik.json")).values()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, change := range storage.Diff(nil, values) {
		switch change.Key.Kind {
		case storage.KindAccount:
			var a storage.Account
			if err := json.Unmarshal(change.Value, &a); err != nil {
				t.Fatal(err)
			}
			found = append(found, strings.Join([]string{
				change.Key.Resolver, a.Email, a.URI, blockType(a.Key), strconv.Itoa(len(a.Body)),
			}, " "))
		case storage.KindCertificate:
			var c storage.Certificate
			if err := json.Unmarshal(change.Value, &c); err != nil {
				t.Fatal(err)
			}
			if change.Key.ID != storage.CertificateID(c.Names()) {
				t.Errorf("%s has another ID", c.Main)
			}
			found = append(found, fmt.Sprintf("%s %v %s, %s", change.Key.Resolver, c.Names(), blockType(c.Chain),
				blockType(c.Key)))
		default:
			t.Errorf("there is a value of the kind %s", change.Key.Kind)
		}
	}
	slices.Sort(found)
	want := []string{
		"ZeroSSL  https://other.example/acct/2 RSA PRIVATE KEY 2",
		"ZeroSSL [c.example] CERTIFICATE, RSA PRIVATE KEY",
		"letsencrypt [*.b.example] CERTIFICATE, PRIVATE KEY",
		"letsencrypt [a.example www.a.example] CERTIFICATE, EC PRIVATE KEY",
		"letsencrypt ops@a.example https://ca.example/acct/1 RSA PRIVATE KEY 84",
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

func blockType(text string) string {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return "nothing"
	}
	return block.Type
}

// TestEdits compares what is written with the golden files, each a change of traefik.json.
func TestEdits(t *testing.T) {
	update := flag.Lookup("update").Value.String() == "true"
	values, err := parsed(t, readTestdata(t, "traefik.json")).values()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		golden string
		edit   func(a *acme) error
	}{
		{"unchanged.json", func(*acme) error { return nil }},
		{"added.json", func(a *acme) error {
			key, value := storagetest.Certificate(t, "letsencrypt", "new", "new.example", "www.new.example")
			return a.put(key, value)
		}},
		{"renewed.json", func(a *acme) error {
			key, value := storagetest.Certificate(t, "letsencrypt", "renewed", "www.a.example", "a.example")
			return a.put(key, value)
		}},
		{"case.json", func(a *acme) error {
			key, value := storagetest.Certificate(t, "ZeroSSL", "renewed", "c.example")
			return a.put(key, value)
		}},
		{"resolver.json", func(a *acme) error {
			key, value := storagetest.Certificate(t, "novel", "new", "a.example")
			return a.put(key, value)
		}},
		{"account.json", func(a *acme) error {
			var account storage.Account
			key := storage.Key{Kind: storage.KindAccount, Resolver: "letsencrypt"}
			if err := json.Unmarshal(values[key], &account); err != nil {
				return err
			}
			account.URI = "https://ca.example/acct/7"
			value, err := json.Marshal(account)
			if err != nil {
				return err
			}
			return a.put(key, value)
		}},
		{"deleted.json", func(a *acme) error {
			_, err := a.remove(certificateKey("letsencrypt", "a.example", "www.a.example"))
			_, ended := a.remove(storage.Key{Kind: storage.KindAccount, Resolver: "ZeroSSL"})
			if err != nil {
				return err
			}
			return ended
		}},
	} {
		t.Run(test.golden, func(t *testing.T) {
			a := parsed(t, readTestdata(t, "traefik.json"))
			if err := test.edit(a); err != nil {
				t.Fatal(err)
			}
			text, err := a.format()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", test.golden)
			if update {
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(readTestdata(t, test.golden)), string(text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnchangedIsTheSame(t *testing.T) {
	if !bytes.Equal(readTestdata(t, "traefik.json"), readTestdata(t, "unchanged.json")) {
		t.Error("reading and writing changes the file")
	}
}

// TestWrongFiles lists what is no acme.json, with a part of the error.
func TestWrongFiles(t *testing.T) {
	whole := readTestdata(t, "traefik.json")
	for _, test := range []struct{ text, want string }{
		{string(whole[:len(whole)/2]), "cut off"},
		{string(whole) + "}", "is not JSON"},
		{"[]", "is not an object"},
		{`{"le": 1}`, `resolver "le"`},
		{`{"le": {"Account": []}}`, "Account"},
		{`{"le": {"Account": {"PrivateKey": "AAAA"}}}`, "PrivateKey: is not a private key"},
		{`{"le": {"Account": {"PrivateKey": "?"}}}`, "PrivateKey is not what it should be"},
		{`{"le": {"Certificates": {}}}`, "Certificates is not what it should be"},
		{`{"le": {"Certificates": [{"certificate": "?", "key": "AAAA"}]}}`, "Certificates[0]: certificate"},
		{`{"le": {"Certificates": [{"domain": {"main": 1}}]}}`, "main is not what it should be"},
		{string(readTestdata(t, "traefik-1.7.json")), "Traefik 1.7"},
		{`{"Email": "a", "DomainsCertificate": {"Certs": []}}`, "Traefik 1.7"},
	} {
		a, err := parseACME([]byte(test.text))
		if err == nil {
			_, err = a.values()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.60s: %v, not %q", test.text, err, test.want)
		}
	}
	for _, text := range []string{"", " \n", "{}", "null", `{"account": {"Account": null, "Certificates": null}}`} {
		a, err := parseACME([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if values, err := a.values(); err != nil || len(values) != 0 {
			t.Errorf("%q: %v, %v", text, values, err)
		}
	}
}

func TestWrongValues(t *testing.T) {
	key, value := storagetest.Certificate(t, "le", "x", "a.example")
	account := storage.Key{Kind: storage.KindAccount, Resolver: "le"}
	for _, test := range []struct {
		key   storage.Key
		value string
	}{
		{certificateKey("le", "b.example"), string(value)},
		{key, "{"},
		{key, `{"main": "a.example", "chain": "", "key": "secret"}`},
		{storage.Key{Kind: key.Kind, Resolver: "\xff", ID: key.ID}, string(value)},
		{account, "{"},
		{account, `{"key": "secret"}`},
		{account, `{"key": "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"}`},
	} {
		err := (&acme{}).put(test.key, []byte(test.value))
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "c2Vj") {
			t.Errorf("%.60s: %v", test.value, err)
		}
	}
}

// FuzzACME demands that whatever is read can be written, and has the same values then, one of which was added.
func FuzzACME(f *testing.F) {
	f.Add(readTestdata(f, "traefik-1.7.json"))
	f.Add([]byte(`{"a": {"Account": {"Email": "a", "Registration": {"body": {}, "uri": "u"}, "PrivateKey": null}}}`))
	f.Add([]byte(`{"a": {"certificates": [{"Domain": {"main": "b"}, "key": "YQ==", "certificate": "YQ==", "x": 1}]}}`))
	f.Add([]byte(`{"a": {"Account": {"account": 1}, "ACCOUNT": null}, "a": {}}`))
	f.Add([]byte(`{"a": {"Certificates": [null, {"key": "YQ==", "certificate": "YQ=="}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := parseACME(text)
		if err != nil {
			return
		}
		before, err := a.values()
		if err != nil {
			return
		}
		key, value := storagetest.Certificate(t, "le", "x", "added.example")
		if err := a.put(key, value); err != nil {
			t.Fatalf("put: %v", err)
		}
		written, err := a.format()
		if err != nil {
			t.Fatalf("format: %v", err)
		}
		after, err := parsed(t, written).values()
		if err != nil {
			t.Fatalf("values: %v", err)
		}
		before[key] = value
		for _, change := range storage.Diff(before, after) {
			if !storagetest.Equal(change.Key.Kind, before[change.Key], change.Value) {
				t.Errorf("%s became %q", storage.EncodeKey(change.Key), change.Value)
			}
		}
	})
}
