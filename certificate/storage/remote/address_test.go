package remote_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/certificate/storage/remote"
)

func form() remote.Form {
	return remote.Form{Scheme: "db", Secure: "dbs", Port: "100", Hosts: 3, Parameters: []string{"p"}}
}

func TestAddresses(t *testing.T) {
	for _, test := range []struct {
		text, user, password, hosts, path, p, shown string
		secure                                      bool
	}{
		{text: "db://a", hosts: "a:100", shown: "db://a:100"},
		{text: "db://a:1,b,[::1]:2/x/y/", hosts: "a:1 b:100 [::1]:2", path: "x/y", shown: "db://a:1,b:100,[::1]:2/x/y"},
		{text: "db://[::1]?p=%2F", hosts: "[::1]:100", p: "/", shown: "db://[::1]:100"},
		{text: "db://u:p%40%2Fq@a/", user: "u", password: "p@/q", hosts: "a:100", shown: "db://a:100"},
		{text: "dbs://:p@a/%2F?p=1", password: "p", hosts: "a:100", p: "1", secure: true, shown: "dbs://a:100"},
	} {
		a, err := remote.Parse(test.text, form())
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		got := []string{a.Username, a.Password, strings.Join(a.Hosts, " "), a.Path, a.Query.Get("p"), a.String()}
		want := []string{test.user, test.password, test.hosts, test.path, test.p, test.shown}
		if diff := cmp.Diff(want, got); diff != "" || (a.TLS != nil) != test.secure {
			t.Errorf("%s: TLS %v, %s", test.text, a.TLS != nil, diff)
		}
	}
}

func TestErrorsHideSecrets(t *testing.T) {
	a, err := remote.Parse("db://u:p%40ss@a", form())
	if err != nil {
		t.Fatal(err)
	}
	if a.Wrap(nil) != nil {
		t.Error("there is an error without one")
	}
	for text, want := range map[string]string{
		"refused\r\nreally":                       "db://a:100: refused  really",
		"no, p@ss is wrong":                       "db://a:100: an error that holds the password",
		"at db://u:p%40ss@a":                      "db://a:100: an error that holds the password",
		"unknown, with args beginning with 'key'": "db://a:100: unknown",
	} {
		if got := a.Wrap(errors.New(text)).Error(); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if long := a.Wrap(errors.New(strings.Repeat("x", 10_000))).Error(); len(long) > 400 {
		t.Errorf("an error has %d bytes", len(long))
	}
	if !errors.Is(a.Wrap(fs.ErrNotExist), fs.ErrNotExist) {
		t.Error("an error has lost its cause")
	}
}
