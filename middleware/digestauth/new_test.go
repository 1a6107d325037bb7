package digestauth

import (
	"encoding/base64"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReadme(t *testing.T) {
	examples := middlewaretest.Examples(t, "README.md")
	step := build(t, *examples["staff"].DigestAuth)
	c := challenged(t, step)
	c.password = "correct horse"
	got := serve(t, step, middlewaretest.Request(t, "GET /", c.authorization()))
	if got.status != http.StatusOK || got.passed.Get("X-Webauth-User") != "ann" || got.passed.Get("Authorization") != "" {
		t.Errorf("answers %d, and passes %v", got.status, got.passed)
	}
	read := func(path string) ([]byte, error) {
		if path != "/etc/sluice/digests" {
			return nil, os.ErrNotExist
		}
		return []byte("# made by htdigest\nann:members:" + md5Of("ann:members:secret") + "\n"), nil
	}
	step, err := New("from-file@file", *examples["from-file"].DigestAuth, Options{ReadFile: read})
	if err != nil {
		t.Fatal(err)
	}
	c = challenged(t, step)
	c.realm = "members"
	if got := serve(t, step, middlewaretest.Request(t, "GET /", c.authorization())); got.status != http.StatusOK ||
		got.passed.Get("Authorization") == "" {
		t.Errorf("answers %d, and passes %v", got.status, got.passed)
	}
}

func TestNew(t *testing.T) {
	hash, long := strings.Repeat("0a", 16), strings.Repeat("0A", 32)
	for _, test := range []struct {
		config   dynamic.DigestAuth
		offered  string
		warnings []string
		err      string
	}{
		{config: dynamic.DigestAuth{Users: []string{"ann:traefik:" + hash}}, offered: "[MD5]"},
		{config: dynamic.DigestAuth{Users: []string{"ann:traefik:" + long}}, offered: "[SHA-256]"},
		{config: dynamic.DigestAuth{Users: []string{"ann:traefik:" + hash, "ann:traefik:" + long}}, offered: "[SHA-256 MD5]"},
		{
			config:  dynamic.DigestAuth{Users: []string{"ann:traefik:" + hash, "ann:traefik:" + long, "bob:traefik:" + hash}},
			offered: "[MD5]",
		},
		{
			config: dynamic.DigestAuth{Users: []string{"ann:traefik:" + long, "bob:traefik:" + hash}},
			err: "some users of digestAuth have only an MD5 hash and others only a SHA-256 hash, and no client knows " +
				"which to use; give all of them one, or both",
		},
		{
			config:  dynamic.DigestAuth{Users: []string{"ann:traefik:" + hash, "ann:traefik:" + hash, "bob:other:" + long}},
			offered: "[MD5]",
			warnings: []string{
				"digestAuth.users[1] replaces digestAuth.users[0], which has the same user",
				"digestAuth.users[2] is for another realm than digestAuth.realm and has no effect",
			},
		},
		{
			config: dynamic.DigestAuth{Users: []string{"ann:other:" + hash}},
			err:    `digestAuth.realm is "traefik", and no user is for it`,
		},
		{config: dynamic.DigestAuth{Realm: "other", Users: []string{"ann:other:" + hash}}, offered: "[MD5]"},
		{
			config: dynamic.DigestAuth{},
			err:    "digestAuth.users and digestAuth.usersFile are both empty",
		},
		{config: dynamic.DigestAuth{UsersFile: "/none"}, err: "digestAuth.usersFile /none: file does not exist"},
		{config: dynamic.DigestAuth{Realm: "a\nb"}, err: "digestAuth.realm has a control character"},
		{config: dynamic.DigestAuth{HeaderField: "X User"}, err: "digestAuth.headerField is not the name of a header"},
		{
			config: dynamic.DigestAuth{HeaderField: "Authorization"},
			err:    "digestAuth.headerField: Authorization has a meaning of its own and can't hold a name",
		},
		{
			config: dynamic.DigestAuth{Users: []string{"ann"}},
			err:    "digestAuth.users[0]: has 1 parts; a user, a realm and a hash with colons between them are expected",
		},
		{
			config: dynamic.DigestAuth{Users: []string{"ann:" + hash}},
			err:    "digestAuth.users[0]: has 2 parts; a user, a realm and a hash with colons between them are expected",
		},
		{
			config: dynamic.DigestAuth{Users: []string{"ann:a:b:" + hash}},
			err:    "digestAuth.users[0]: has 4 parts; a user, a realm and a hash with colons between them are expected",
		},
		{config: dynamic.DigestAuth{Users: []string{":traefik:" + hash}}, err: "digestAuth.users[0]: the user has no name"},
		{
			config: dynamic.DigestAuth{Users: []string{"ann:traefik:secret"}},
			err:    "digestAuth.users[0]: the hash is neither 32 hexadecimal digits (MD5) nor 64 (SHA-256)",
		},
		{
			config: dynamic.DigestAuth{Users: []string{"ann:traefik:" + hash[1:]}},
			err:    "digestAuth.users[0]: the hash is neither 32 hexadecimal digits (MD5) nor 64 (SHA-256)",
		},
	} {
		step, err := New("auth@file", test.config, Options{ReadFile: func(string) ([]byte, error) {
			return nil, os.ErrNotExist
		}})
		if err != nil {
			if err.Error() != test.err {
				t.Errorf("%+v: %v, want %s", test.config, err, test.err)
			}
			continue
		}
		if got := fmt.Sprint(step.users.offered); got != test.offered || test.err != "" {
			t.Errorf("%+v: offers %s, want %s %s", test.config, got, test.offered, test.err)
		}
		if diff := cmp.Diff(test.warnings, step.Warnings()); diff != "" {
			t.Error(diff)
		}
	}
	var foreign []string
	for i := range 13 {
		foreign = append(foreign, fmt.Sprintf("user%d:other:%s", i, hash))
	}
	if step := build(t, dynamic.DigestAuth{Users: append(foreign, ann())}); len(step.Warnings()) != 11 ||
		step.Warnings()[10] != "and 3 more are for another realm" {
		t.Errorf("warns of %q", step.Warnings())
	}
}

// TestUsersCountBeforeTheFile has a user in both, with different passwords and algorithms. The one in the file must be
// invalid.
func TestUsersCountBeforeTheFile(t *testing.T) {
	file := ann() + "\nann:other:" + md5Of("ann:other:secret") + "\nbob:traefik:" + md5Of("bob:traefik:secret") +
		"\nbob:traefik:" + sha256Of("bob:traefik:secret")
	step, err := New("auth@file", dynamic.DigestAuth{
		Users: []string{"ann:traefik:" + sha256Of("ann:traefik:new")}, UsersFile: "/users",
	}, Options{ReadFile: func(string) ([]byte, error) { return []byte(file), nil }})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(step.users.offered); got != "[SHA-256]" {
		t.Errorf("offers %s", got)
	}
	want := []string{
		"digestAuth.usersFile /users line 1 does not count, since digestAuth.users has the same user",
		"digestAuth.usersFile /users line 2 is for another realm than digestAuth.realm and has no effect",
	}
	if diff := cmp.Diff(want, step.Warnings()); diff != "" {
		t.Error(diff)
	}
	for password, status := range map[string]int{"secret": 401, "new": 200} {
		for _, better := range []bool{true, false} {
			c := challenged(t, step)
			c.password, c.sha256 = password, better
			if got := serve(t, step, middlewaretest.Request(t, "GET /", c.authorization())); got.status != status && better ||
				got.status == 200 && !better {
				t.Errorf("%s, SHA-256 %v: %d", password, better, got.status)
			}
		}
	}
	file = ann() + "\nbob:traefik:" + md5Of("bob:traefik:secret")
	_, err = New("auth@file", dynamic.DigestAuth{
		Users: []string{"ann:traefik:" + sha256Of("ann:traefik:new")}, UsersFile: "/users",
	}, Options{ReadFile: func(string) ([]byte, error) { return []byte(file), nil }})
	if err == nil || !strings.Contains(err.Error(), "have only an MD5 hash") {
		t.Errorf("error %v", err)
	}
}

// TestSHA256 has clients choose between the algorithms that are offered.
func TestSHA256(t *testing.T) {
	both := build(t, dynamic.DigestAuth{Users: []string{ann(), "ann:traefik:" +
		strings.ToUpper(sha256Of("ann:traefik:secret"))}})
	for _, better := range []bool{true, false} {
		c := challenged(t, both)
		c.sha256 = better
		if got := serve(t, both, middlewaretest.Request(t, "GET /", c.authorization())); got.status != 200 {
			t.Errorf("SHA-256 %v: %d", better, got.status)
		}
	}
	alone := build(t, dynamic.DigestAuth{Users: []string{"ann:traefik:" + sha256Of("ann:traefik:secret")}})
	c := challenged(t, alone)
	if got := serve(t, alone, middlewaretest.Request(t, "GET /", c.authorization())); got.status != 401 {
		t.Errorf("MD5 is accepted where there is SHA-256 alone: %d", got.status)
	}
}

// TestDocumented writes down what each option has the middleware answer and pass on. What is random is left out.
func TestDocumented(t *testing.T) {
	var text strings.Builder
	for _, test := range []struct {
		name   string
		config dynamic.DigestAuth
		change func(c *client) // nil sends no credentials
		header string
	}{
		{"no credentials", dynamic.DigestAuth{}, nil, ""},
		{"wrong password", dynamic.DigestAuth{}, func(c *client) { c.password = "other" }, ""},
		{"challenge of another object", dynamic.DigestAuth{}, func(c *client) { c.nonce = "old" }, ""},
		{"users", dynamic.DigestAuth{}, func(*client) {}, ""},
		{"users with both hashes", dynamic.DigestAuth{Users: []string{ann(), "ann:traefik:" +
			sha256Of("ann:traefik:secret")}}, nil, ""},
		{"realm", dynamic.DigestAuth{Realm: `the "inner"`, Users: []string{`ann:the "inner":` + md5Of("x")}}, nil, ""},
		{"removeHeader", dynamic.DigestAuth{RemoveHeader: true}, func(*client) {}, ""},
		{"headerField", dynamic.DigestAuth{HeaderField: "x-webauth-user"}, func(*client) {}, "X-Webauth-User: forged"},
		{"headerField, refused", dynamic.DigestAuth{HeaderField: "X-User"}, func(c *client) {
			c.user = "bob"
		}, "X-User: ann"},
	} {
		step := build(t, test.config)
		c := challenged(t, step)
		headers := []string{"Accept: */*"}
		if test.change != nil {
			test.change(c)
			headers = append(headers, c.authorization())
		}
		if test.header != "" {
			headers = append(headers, test.header)
		}
		got := serve(t, step, middlewaretest.Request(t, "GET /", headers...))
		fmt.Fprintf(&text, "# %s\n%d\n", test.name, got.status)
		for i, challenge := range got.challenges {
			challenge = strings.ReplaceAll(challenge, parameter(challenge, "nonce"), "NONCE")
			got.challenges[i] = strings.ReplaceAll(challenge, parameter(challenge, "opaque"), "OPAQUE")
		}
		_ = got.head.Write(&text)
		if got.body != "" {
			fmt.Fprintf(&text, "\n%s", got.body)
		}
		if got.passed != nil {
			fmt.Fprint(&text, "The service gets\n")
			if got.passed.Get("Authorization") != "" {
				got.passed.Set("Authorization", "AS IT WAS")
			}
			_ = got.passed.Write(&text)
		}
		fmt.Fprintf(&text, "user %q, reason %q\n\n", got.record.Username, got.record.Reason)
	}
	written := strings.ReplaceAll(text.String(), "\r\n", "\n")
	const file = "testdata/documented.golden"
	if *update {
		if err := os.WriteFile(file, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), written); diff != "" {
		t.Error(diff)
	}
}

// TestSecretsStayInside plants marks in everything that can hold a secret and looks for them wherever something is
// written.
func TestSecretsStayInside(t *testing.T) {
	const mark = "0dd5ec7e7"
	hash := mark + strings.Repeat("0", 32-len(mark))
	var seen []string
	for _, config := range []dynamic.DigestAuth{
		{Users: []string{hash}},
		{Users: []string{"ann:" + hash}},
		{Users: []string{"ann:traefik:x" + hash}},
		{Users: []string{"ann:other:" + hash}},
		{Users: []string{":traefik:" + hash}},
		{Users: []string{hash + " :traefik:" + hash}},
		{UsersFile: "ann:traefik:" + hash},
		{UsersFile: "/file"},
		{Users: []string{"ann:" + hash + ":" + hash}},
	} {
		_, err := New("auth@file", config, Options{ReadFile: func(string) ([]byte, error) {
			return []byte("ann:" + hash), nil
		}})
		if err == nil {
			t.Errorf("%v is accepted", config)
		}
		seen = append(seen, fmt.Sprint(err), fmt.Sprintf("%#v", err))
	}
	step := build(t, dynamic.DigestAuth{RemoveHeader: true, Users: []string{"ann:traefik:" + hash, "bob:" + hash + ":" +
		hash, "ann:traefik:" + hash}})
	for range 2 {
		c := challenged(t, step)
		got := serve(t, step, middlewaretest.Request(t, "GET /", strings.Replace(c.authorization(), c.preview(), hash, 1)))
		seen = append(seen, fmt.Sprintf("%+v", got))
		got = serve(t, step, middlewaretest.Request(t, "GET /", "Authorization: Digest "+hash))
		seen = append(seen, fmt.Sprintf("%+v", got))
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		seen = append(seen, fmt.Sprintf(verb, step), fmt.Sprintf(verb, step.Counts()), fmt.Sprintf(verb, step.Warnings()))
	}
	for _, text := range seen {
		if strings.Contains(text, mark) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(mark))) {
			t.Errorf("%q holds a secret", text)
		}
	}
}
