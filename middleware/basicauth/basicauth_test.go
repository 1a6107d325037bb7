package basicauth

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestReadme(t *testing.T) {
	examples := middlewaretest.Examples(t, "README.md")
	step := build(t, *examples["staff"].BasicAuth)
	got := serve(t.Context(), t, step, basic("ann", "correct horse"))
	if got.status != http.StatusOK || got.passed.Get("X-Webauth-User") != "ann" || got.passed.Get("Authorization") != "" {
		t.Errorf("answers %d, and passes %v", got.status, got.passed)
	}
	read := func(path string) ([]byte, error) {
		if path != "/etc/sluice/users" {
			return nil, os.ErrNotExist
		}
		return []byte("# made by htpasswd\n" + shaUser + "\n"), nil
	}
	step, err := New("from-file@file", *examples["from-file"].BasicAuth, Options{ReadFile: read})
	if err != nil {
		t.Fatal(err)
	}
	if got := serve(t.Context(), t, step, basic("sha", "secret")); got.status != http.StatusOK ||
		got.passed.Get("Authorization") == "" {
		t.Errorf("answers %d, and passes %v", got.status, got.passed)
	}
	if got := serve(t.Context(), t, step); got.head.Get("Www-Authenticate") != `Basic realm="members", charset="UTF-8"` {
		t.Errorf("answers %v", got.head)
	}
}

// TestDocumented writes down what each option has the middleware answer and pass on.
func TestDocumented(t *testing.T) {
	all := []string{shaUser, apr1User, bcryptUser(t, "bcrypt", 4)}
	var text strings.Builder
	for _, test := range []struct {
		name    string
		config  dynamic.BasicAuth
		headers []string
	}{
		{"no credentials", dynamic.BasicAuth{Users: all}, nil},
		{"wrong password", dynamic.BasicAuth{Users: all}, []string{basic("sha", "other")}},
		{"users, SHA-1", dynamic.BasicAuth{Users: all}, []string{basic("sha", "secret")}},
		{"users, MD5", dynamic.BasicAuth{Users: all}, []string{basic("apr1", "secret")}},
		{"users, bcrypt", dynamic.BasicAuth{Users: all}, []string{basic("bcrypt", "secret")}},
		{"realm", dynamic.BasicAuth{Users: all, Realm: `the "inner" \ é`}, nil},
		{"removeHeader", dynamic.BasicAuth{Users: all, RemoveHeader: true}, []string{basic("sha", "secret")}},
		{"headerField", dynamic.BasicAuth{Users: all, HeaderField: "x-webauth-user"}, []string{
			basic("sha", "secret"),
			"X-Webauth-User: forged",
		}},
		{
			"headerField and removeHeader",
			dynamic.BasicAuth{Users: all, HeaderField: "X-User", RemoveHeader: true},
			[]string{basic("sha", "secret")},
		},
		{"headerField, refused", dynamic.BasicAuth{Users: all, HeaderField: "X-User"}, []string{
			basic("sha", ""),
			"X-User: sha",
		}},
	} {
		got := serve(t.Context(), t, build(t, test.config), test.headers...)
		fmt.Fprintf(&text, "# %s\n%d\n", test.name, got.status)
		_ = got.head.Write(&text)
		if got.body != "" {
			fmt.Fprintf(&text, "\n%s", got.body)
		}
		if got.passed != nil {
			fmt.Fprint(&text, "The service gets\n")
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

// TestCredentials sends what may or may not be credentials of the user "a b" with the password "c:d é", or of one
// without a password.
func TestCredentials(t *testing.T) {
	hash := func(password string) string {
		for _, v := range vectors(t) {
			if v.password == password && strings.HasPrefix(v.hash, shaPrefix) {
				return v.hash
			}
		}
		t.Fatal(password)
		return ""
	}
	step := build(t, dynamic.BasicAuth{Users: []string{
		"a b:" + hash("pässwörd"), "nobody:" + hash(""), shaUser,
		"tab:{SHA}id8b/S1zlvlmHYvB4kun4Fr8Z7Q=",
	}})
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for _, test := range []struct {
		name  string
		lines []string
		ok    bool
	}{
		{"right", []string{"Basic " + encode("a b:pässwörd")}, true},
		{"another encoding of the same characters", []string{"Basic " + encode("a b:p\xe4ssw\xf6rd")}, false},
		{"scheme in lower case", []string{"basic " + encode("sha:secret")}, true},
		{"scheme in upper case", []string{"BASIC " + encode("sha:secret")}, true},
		{"several spaces", []string{"Basic   " + encode("sha:secret") + " "}, true},
		{"empty password", []string{"Basic " + encode("nobody:")}, true},
		{"user in another case", []string{"Basic " + encode("SHA:secret")}, false},
		{"colon in the password", []string{"Basic " + encode("sha:secret:")}, false},
		{"space behind the user", []string{"Basic " + encode("sha :secret")}, false},
		{"no user", []string{"Basic " + encode(":secret")}, false},
		{"no colon", []string{"Basic " + encode("sha")}, false},
		{"nothing", []string{"Basic "}, false},
		{"scheme alone", []string{"Basic"}, false},
		{"no scheme", []string{encode("sha:secret")}, false},
		{"another scheme", []string{"Bearer " + encode("sha:secret")}, false},
		{"tab for a space", []string{"Basic\t" + encode("sha:secret")}, false},
		{"no padding", []string{"Basic " + strings.TrimRight(encode("sha:secret"), "=")}, false},
		{"base64 for URLs", []string{"Basic " + base64.URLEncoding.EncodeToString([]byte("sha:secret\xff\xfe\xff"))}, false},
		{"no base64", []string{"Basic sha:secret"}, false},
		{"line break in base64", []string{"Basic " + encode("sha:secret")[:4] + "\r\n" + encode("sha:secret")[4:]}, false},
		{
			"second credentials behind a comma",
			[]string{"Basic " + encode("sha:secret") + ", Basic " + encode("sha:secret")},
			false,
		},
		{"control character", []string{"Basic " + encode("sha:secret\n")}, false},
		{"control character in a password that there is", []string{"Basic " + encode("tab:a\tb")}, false},
		{"NUL", []string{"Basic " + encode("sha:secret\x00")}, false},
		{"twice", []string{"Basic " + encode("sha:secret"), "Basic " + encode("sha:secret")}, false},
		{"wrong first", []string{"Basic " + encode("sha:other"), "Basic " + encode("sha:secret")}, false},
		{"huge", []string{"Basic " + encode("sha:"+strings.Repeat("x", maxCredentials))}, false},
		{"as long as can be", []string{"Basic " + encode("sha:"+strings.Repeat("x", maxCredentials/4*3-4))}, false},
		{"empty line", []string{""}, false},
	} {
		r := middlewaretest.Request(t, "GET /")
		r.Header["Authorization"] = test.lines
		passed := false
		w := new(middlewaretest.Writer)
		step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })).ServeHTTP(w, r)
		if passed != test.ok || !test.ok && (w.Status != http.StatusUnauthorized ||
			len(w.Header()["Www-Authenticate"]) != 1) {
			t.Errorf("%s: status %d %q, passed %v", test.name, w.Status, w.Header()["Www-Authenticate"], passed)
		}
	}
}

// TestRecordsStaySmall has a client call itself something long.
func TestRecordsStaySmall(t *testing.T) {
	name := strings.Repeat("x", 2000)
	if got := serve(t.Context(), t, build(t, dynamic.BasicAuth{Users: []string{shaUser}}),
		basic(name, "secret")); got.status != 401 || got.record.Username != name[:255] {
		t.Errorf("answers %d, and records %d bytes", got.status, len(got.record.Username))
	}
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		config dynamic.BasicAuth
		want   string
	}{
		{dynamic.BasicAuth{}, "basicAuth.users and basicAuth.usersFile are both empty"},
		{dynamic.BasicAuth{UsersFile: "/none"}, "basicAuth.usersFile /none: file does not exist"},
		{dynamic.BasicAuth{Users: []string{shaUser}, Realm: "a\nb"}, "basicAuth.realm has a control character"},
		{
			dynamic.BasicAuth{Users: []string{shaUser}, HeaderField: "X User"},
			"basicAuth.headerField is not the name of a header",
		},
		{
			dynamic.BasicAuth{Users: []string{shaUser}, HeaderField: "Host"},
			"basicAuth.headerField: Host has a meaning of its own and can't hold a name",
		},
		{dynamic.BasicAuth{Users: []string{shaUser, "ann:marked"}}, "basicAuth.users[1]: " + errHash.Error()},
		{
			dynamic.BasicAuth{Users: []string{"ann"}},
			"basicAuth.users[0]: has no colon; a user and the hash of a password with a colon between them are expected",
		},
		{dynamic.BasicAuth{Users: []string{"ann:"}}, "basicAuth.users[0]: the user has no password"},
		{dynamic.BasicAuth{Users: []string{":" + shaUser}}, "basicAuth.users[0]: has more than one colon"},
		{dynamic.BasicAuth{Users: []string{":{SHA}x"}}, "basicAuth.users[0]: the user has no name"},
		{
			dynamic.BasicAuth{Users: []string{"ann:$$apr1$$x"}},
			"basicAuth.users[0]: the hash of the password has doubled dollar signs, which are single ones outside of " +
				"compose files",
		},
		{
			dynamic.BasicAuth{Users: []string{"ann:{SHA}bWFya2Vk"}},
			"basicAuth.users[0]: the SHA-1 hash of the password is not 20 bytes in base64",
		},
		{
			dynamic.BasicAuth{Users: []string{"ann:$apr1$saltsaltsalt$a8ml/vK5HEjiZ5oypDWA7/"}},
			"basicAuth.users[0]: the MD5 hash of the password is not a salt of up to 8 characters, a dollar sign and 22 " +
				"characters",
		},
		{
			dynamic.BasicAuth{Users: []string{"ann:$apr1$salt"}},
			"basicAuth.users[0]: the MD5 hash of the password is not a salt of up to 8 characters, a dollar sign and 22 " +
				"characters",
		},
		{
			dynamic.BasicAuth{Users: []string{"ann:$2y$10$marked"}},
			"basicAuth.users[0]: the bcrypt hash of the password is not a cost of two digits, a dollar sign and 53 characters",
		},
		{
			dynamic.BasicAuth{Users: []string{"ann:$2y$18$abcdefghijklmnopqrstuubyCG3zY1GIXMyxfivm.ClDiInHzxjiq"}},
			"basicAuth.users[0]: the cost 18 of the bcrypt hash is above 17",
		},
		{
			dynamic.BasicAuth{Users: []string{"ann:$2y$03$abcdefghijklmnopqrstuubyCG3zY1GIXMyxfivm.ClDiInHzxjiq"}},
			"basicAuth.users[0]: the bcrypt hash of the password is not a cost of two digits, a dollar sign and 53 characters",
		},
		{dynamic.BasicAuth{Users: []string{"ann:$5$saltsalt$x"}}, "basicAuth.users[0]: " + errHash.Error()},
		{dynamic.BasicAuth{Users: []string{"ann:rqXexS6ZhobKA"}}, "basicAuth.users[0]: " + errHash.Error()},
	} {
		_, err := New("auth@file", test.config, Options{ReadFile: func(string) ([]byte, error) {
			return nil, os.ErrNotExist
		}})
		if err == nil || err.Error() != test.want {
			t.Errorf("%+v: %v, want %s", test.config, err, test.want)
		}
	}
}

// TestSecretsStayInside plants marks in everything that can hold a secret and looks for them wherever something is
// written.
func TestSecretsStayInside(t *testing.T) {
	const mark = "mArKeD"
	hash := "$2y$04$" + mark + "ghijklmnopqrstuubyCG3zY1GIXMyxfivm.ClDiInHzxjiq"
	var seen []string
	for _, config := range []dynamic.BasicAuth{
		{Users: []string{mark}},
		{Users: []string{"ann:" + mark}},
		{Users: []string{mark + ":" + mark}},
		{Users: []string{"ann:" + hash + mark}},
		{Users: []string{"ann:$apr1$" + mark}},
		{Users: []string{"ann:{SHA}" + mark}},
		{Users: []string{"ann:$$" + mark}},
		{UsersFile: "ann:" + hash},
		{UsersFile: "ann:{SHA}" + mark},
		{UsersFile: "/file"},
		{Users: []string{"a:b:" + mark}},
		{Users: []string{mark + " :" + hash}},
	} {
		_, err := New("auth@file", config, Options{ReadFile: func(string) ([]byte, error) {
			return []byte("ann:" + mark), nil
		}})
		if err == nil {
			t.Errorf("%v is accepted", config)
		}
		seen = append(seen, fmt.Sprint(err), fmt.Sprintf("%#v", err))
		for ; err != nil; err = errors.Unwrap(err) {
			seen = append(seen, fmt.Sprintf("%+v", err))
		}
	}
	step := build(t, dynamic.BasicAuth{Users: []string{"ann:" + hash, "ann:" + hash}, RemoveHeader: true})
	for _, header := range []string{
		basic("ann", mark), basic("bob", mark), "Authorization: Basic " + mark,
		"Authorization: " + mark,
	} {
		got := serve(t.Context(), t, step, header)
		seen = append(seen, got.record.Reason, fmt.Sprintf("%+v %+v", got, got.record))
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

// FuzzCredentials reads headers of anything and compares with net/http, which takes more.
func FuzzCredentials(f *testing.F) {
	for _, seed := range []string{
		"", "Basic", "Basic ", "Basic c2hhOnNlY3JldA==", "basic  c2hhOnNlY3JldA== ", "Basic =",
		"Basic Og==", "Basic AAAA", "Bearer x",
	} {
		f.Add(seed)
	}
	s := newScratch([]byte("key"))
	f.Fuzz(func(t *testing.T, line string) {
		defer s.wipe()
		if !s.read([]string{line}) {
			return
		}
		r := &http.Request{Header: http.Header{"Authorization": {"Basic " + strings.Trim(line[len("Basic "):], " ")}}}
		user, password, ok := r.BasicAuth()
		if !ok || user != string(s.user) || password != string(s.password) {
			t.Fatalf("%q has %q and %q, but %q and %q (%v) in net/http", line, s.user, s.password, user, password, ok)
		}
		if len(s.digest([]byte("hash"))) != 32 {
			t.Fatal("short digest")
		}
	})
}

// FuzzHash reads lines of anything. Whatever is taken can be compared with, and is of a kind that has a dummy.
func FuzzHash(f *testing.F) {
	for _, seed := range []string{
		shaUser, apr1User, "a:$1$ab$rn6aQS/o7141mj179E/zA.",
		"a:$2a$04$abcdefghijklmnopqrstuubyCG3zY1GIXMyxfivm.ClDiInHzxjiq", "a", ":", "a:$apr1$", "a:$2y$",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		_, hash, err := parseUser(line)
		if err != nil || hash.kind.scheme == bcrypted && hash.kind.cost > 5 {
			return
		}
		hash.matches([]byte("password"))
		stand := dummy(hash.kind)
		again, err := parseHash(string(stand.text))
		if err != nil || again.kind != hash.kind || stand.matches(nil) {
			t.Fatalf("the dummy %s of %s: %v", stand.text, line, err)
		}
	})
}

// TestExactRealm has the challenge of nginx, also without a realm.
func TestExactRealm(t *testing.T) {
	for realm, want := range map[string]string{"": `Basic realm=""`, "members": `Basic realm="members"`} {
		step, err := New("basic@file", dynamic.BasicAuth{
			Users: []string{"ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="}, Realm: realm, ExactRealm: true,
		}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := serve(t.Context(), t, step).head.Get("Www-Authenticate"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
