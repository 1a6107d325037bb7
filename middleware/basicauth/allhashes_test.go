package basicauth_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/basicauth"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

const (
	long = "a much longer password that goes beyond sixty-four bytes of SHA-512 output, twice even so that it is long"
	sum6 = "xnh5Qsr2NdbFw1PgdZie7nLON3gv.S.23iQDBqAzkdoXPtDnVSpludXkM5UWybQO3OI7hBj9wHg9Ow6sUWD60/"
)

// status returns that of a request of ann with a password.
func status(t testing.TB, step *basicauth.BasicAuth, password string) int {
	t.Helper()
	w := httptest.NewRecorder()
	r := middlewaretest.Request(t, "GET /", "Authorization: Basic "+
		base64.StdEncoding.EncodeToString([]byte("ann:"+password)))
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})).ServeHTTP(w, r)
	return w.Code
}

// TestAllHashes has hashes that glibc's crypt and openssl have made.
func TestAllHashes(t *testing.T) {
	for hash, password := range map[string]string{
		"$5$abcdefgh$gruCpC7VkOTspMQTTSAR8mtlO9Upms.fwqE5y16JVM.":                                                 "secret",
		"$5$rounds=1234$longsaltstring16$vePUqwpu18lfqkpASmqLHPSUy23xYrbxCk0qwthLcKD":                             "secret",
		"$5$$mAwMsDaqjtxAtGqstEIf7OBR15rgcx.jSKGM94IKRj/":                                                         "Hello world!",
		"$6$saltstring12$1egWRZmzdgoxGJp76tchjgNvzDUumSWToSeZPzXWezgXmy6Nk93N1MO1l8r6rG3FMPce.GT1v0tdAmnGqyhV01":  "secret",
		"$6$rounds=1000$a$EO06KpA4dY4rcQyxbgyqAqCfX6Y3jTFNZTMtMMJ8fEeaLpk5OTEYAPw6mn4jNvHAKYGbluaXVE9prhfmyceQW0": "secret",
		"$6$x$P5CkeShGr4Fls3lWu4osblixFOtCe002LEcTbir9/3rJ9cQDmp6V..EX3lV.0emU61sYYJWRSv6NXgsJ03Rrs.":             long,
		"$6$ab$" + sum6: "",
		"{SSHA}UgCJjM+VJJYduihDuk0aPpDtY9RzYWx0eQ==": "secret",
		"{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=":          "secret",
		"{PLAIN}secret":                              "secret",
		"{PLAIN}$6$x":                                "$6$x",
		"$2y$05$sluiceSluiceSluiceSlueJlz9dH9JAmwEJmUCHI7R7cGI5USH64C:a comment": "open sesame",
	} {
		users := []string{"ann:" + hash, "bob:{PLAIN}other", "cat:$5$abcdefgh$gruCpC7VkOTspMQTTSAR8mtlO9Upms.fwqE5y16JVM."}
		step, err := basicauth.New("m@file", dynamic.BasicAuth{Users: users, AllHashes: true}, basicauth.Options{})
		if err != nil {
			t.Errorf("%s: %v", hash, err)
			continue
		}
		if strings.HasPrefix(hash, "$2y$") {
			continue // Its password is that of another test.
		}
		for range 2 { // The second time it may be remembered.
			if got := status(t, step, password); got != http.StatusNoContent {
				t.Errorf("%s: status %d", hash, got)
			}
		}
		for _, wrong := range []string{password + "x", "x" + password, strings.ToUpper(password) + "!", strings.Repeat("p", 300)} {
			if got := status(t, step, wrong); got != http.StatusUnauthorized {
				t.Errorf("%s: status %d for %s", hash, got, wrong)
			}
		}
	}
}

// TestLongPasswords are not compared by their beginning.
func TestLongPasswords(t *testing.T) {
	step, err := basicauth.New("m@file", dynamic.BasicAuth{
		Users: []string{"ann:$5$ab$4szLgBYTqD5RljngVLCtAJZ0kdFM8CBXuGLDOAD.G37"}, AllHashes: true, // of 300 times p
	}, basicauth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{256, 257, 300} {
		if got := status(t, step, strings.Repeat("p", length)); got != http.StatusUnauthorized {
			t.Errorf("%d bytes: status %d", length, got)
		}
	}
}

func TestRefusesHashes(t *testing.T) {
	for line, want := range map[string]string{
		"ann:{PLAIN}":                          "the user has no password",
		"ann:{SSHA}AAAA":                       "salted SHA-1",
		"ann:{SSHA}!":                          "salted SHA-1",
		"ann:$5$abcdefgh$short":                "43 or 86 characters",
		"ann:$5$abcdefghabcdefghi$" + sum6:     "43 or 86 characters",
		"ann:$5$ab$" + sum6:                    "43 or 86 characters",
		"ann:$6$rounds=999$ab$" + sum6:         "not between 1000 and 1000000",
		"ann:$6$rounds=1000001$ab$" + sum6:     "not between 1000 and 1000000",
		"ann:$6$rounds=01000$ab$" + sum6:       "not between 1000 and 1000000",
		"ann:$6$rounds=$ab$" + sum6:            "not between 1000 and 1000000",
		"ann:$6$rounds=x$ab$" + sum6:           "not between 1000 and 1000000",
		"ann:kRw8rKCeX6dJI":                    "of no kind that is known: MD5 ($apr1$, $1$), SHA-256",
		"ann:secret":                           "of no kind that is known",
		"ann::comment":                         "the user has no password",
		"ann":                                  "has no colon",
		":{PLAIN}secret":                       "the user has no name",
		"ann:$2y$18$" + strings.Repeat("a", 9): "bcrypt",
	} {
		_, err := basicauth.New("m@file", dynamic.BasicAuth{Users: []string{line}, AllHashes: true}, basicauth.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	for _, line := range []string{"ann:{PLAIN}secret", "ann:$6$ab$" + sum6, "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=:comment"} {
		_, err := basicauth.New("m@file", dynamic.BasicAuth{Users: []string{line}}, basicauth.Options{})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s without allHashes: %v", line, err)
		}
	}
}

// FuzzAllHashes never panics, and names no part of a line.
func FuzzAllHashes(f *testing.F) {
	for _, hash := range []string{
		"$5$rounds=1000$a$b", "$6$ab$" + sum6, "{SSHA}UgCJjM+VJJYduihDuk0aPpDtY9RzYWx0eQ==", "{PLAIN}x:y", "$5$$",
		"$6$rounds=5000$", "{SSHA}",
	} {
		f.Add(hash, "password")
	}
	f.Fuzz(func(t *testing.T, hash, password string) {
		if strings.Contains(hash, "rounds=") || strings.HasPrefix(hash, "$2") {
			hash = "$5$rounds=1000$" + hash // Others take long.
		}
		config := dynamic.BasicAuth{Users: []string{"ann:" + hash}, AllHashes: true}
		step, err := basicauth.New("m@file", config, basicauth.Options{})
		if err == nil && strings.IndexFunc(password, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0 {
			status(t, step, password)
		}
	})
}
