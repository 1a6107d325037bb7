package basicauth

import (
	"os"
	"strings"
	"testing"
)

// TestHashes compares with what openssl and htpasswd made of passwords.
func TestHashes(t *testing.T) {
	for _, test := range vectors(t) {
		hash, err := parseHash(test.hash)
		if err != nil {
			t.Errorf("%s: %v", test.hash, err)
			continue
		}
		if !hash.matches([]byte(test.password)) {
			t.Errorf("%s does not match %q", test.hash, test.password)
		}
		// Only the first 72 bytes count for bcrypt.
		for _, other := range []string{"x" + test.password[:len(test.password)/2], test.password + "x"} {
			if hash.matches([]byte(other)) && len(other) <= 72 {
				t.Errorf("%s matches %q as well as %q", test.hash, other, test.password)
			}
		}
	}
}

// TestShortSaltsAreAKind checks that dummies hash as much in each round as the hashes that they replace.
func TestShortSaltsAreAKind(t *testing.T) {
	for _, line := range []string{apr1User, "a:$1$ab$rn6aQS/o7141mj179E/zA.", "a:$1$$rn6aQS/o7141mj179E/zA."} {
		_, hash, err := parseUser(line)
		if err != nil {
			t.Fatal(err)
		}
		if stand := dummy(hash.kind); len(stand.salt) != len(hash.salt) || stand.kind != hash.kind {
			t.Errorf("the dummy %s stands for %s", stand.text, line)
		}
	}
}

type vector struct{ password, hash string }

// vectors returns passwords and what other programs made of them.
func vectors(t testing.TB) (found []vector) {
	t.Helper()
	text, err := os.ReadFile("testdata/hashes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if password, hash, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			found = append(found, vector{password, hash})
		}
	}
	if len(found) < 37 {
		t.Fatalf("%d vectors", len(found))
	}
	return found
}
