package users

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pair reads user:password.
func pair(line string) (string, string, error) {
	user, password, found := strings.Cut(line, ":")
	if !found {
		return "", "", errors.New("has no colon")
	}
	return user, password, nil
}

func file(content string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if path != "/users" {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return []byte(content), nil
	}
}

func TestRead(t *testing.T) {
	for _, test := range []struct {
		name     string
		from     Source
		want     []Entry[string]
		warnings []string
		err      string
	}{
		{
			name: "users",
			from: Source{Users: []string{"ann:1", " bob:2 "}},
			want: []Entry[string]{{"ann", "1", "m.users[0]", true}, {"bob", "2", "m.users[1]", true}},
		},
		{
			name: "a file as htpasswd has it",
			from: Source{File: "/users", ReadFile: file("\ufeff# who\r\nann:1\r\n\r\n  \t\n #bob:2\n\tcarl:3:4  ")},
			want: []Entry[string]{{"ann", "1", "m.usersFile /users line 2", false}, {
				"carl", "3:4", "m.usersFile /users line 6",
				false,
			}},
		},
		{
			name: "both, of which users count",
			from: Source{File: "/users", ReadFile: file("ann:1\nbob:2\n"), Users: []string{"carl:3", "ann:4"}},
			want: []Entry[string]{
				{"ann", "4", "m.users[1]", true},
				{"bob", "2", "m.usersFile /users line 2", false},
				{"carl", "3", "m.users[0]", true},
			},
			warnings: []string{"m.users[1] replaces m.usersFile /users line 1, which has the same user"},
		},
		{
			name:     "one twice in the file",
			from:     Source{File: "/users", ReadFile: file("ann:1\nann:2")},
			want:     []Entry[string]{{"ann", "2", "m.usersFile /users line 2", false}},
			warnings: []string{"m.usersFile /users line 2 replaces m.usersFile /users line 1, which has the same user"},
		},
		{
			name: "names that only look like another",
			from: Source{File: "/users", ReadFile: file("ann:1\n\u00a0ann:2\n\u2003ann:3\n"), Users: []string{"\u00a0ann:4"}},
			want: []Entry[string]{
				{"ann", "1", "m.usersFile /users line 1", false},
				{"\u00a0ann", "4", "m.users[0]", true},
				{"\u2003ann", "3", "m.usersFile /users line 3", false},
			},
			warnings: []string{"m.users[0] replaces m.usersFile /users line 2, which has the same user"},
		},
		{
			name: "a comment is none in users", from: Source{Users: []string{"#ann:1"}},
			want: []Entry[string]{{"#ann", "1", "m.users[0]", true}},
		},
		{name: "nothing", err: "m.users and m.usersFile are both empty"},
		{
			name: "empty file", from: Source{File: "/users", ReadFile: file("# none\n")},
			err: "m.usersFile /users holds no users, and m.users is empty",
		},
		{
			name: "no such file", from: Source{File: "/other", ReadFile: file("")},
			err: "m.usersFile /other: file does not exist",
		},
		{name: "not readable here", from: Source{File: "/users"}, err: "m.usersFile /users can't be read here"},
		{
			name: "bad lines",
			from: Source{File: "/users", ReadFile: file("ann:1\nmarked\n\nmarked"), Users: []string{"", "marked", "bob:2"}},
			err: "m.usersFile /users line 2: has no colon; m.usersFile /users line 4: has no colon; m.users[0]: is empty; " +
				"m.users[1]: has no colon",
		},
		{
			name: "many bad lines",
			from: Source{Users: strings.Split(strings.Repeat("marked,", 13), ",")[:13]},
			err: "m.users[0]: has no colon; m.users[1]: has no colon; m.users[2]: has no colon; m.users[3]: has no colon; " +
				"m.users[4]: has no colon; " +
				"m.users[5]: has no colon; m.users[6]: has no colon; m.users[7]: has no colon; m.users[8]: has no colon; " +
				"m.users[9]: has no colon; and 3 more",
		},
		{
			name: "long line", from: Source{Users: []string{"ann:" + strings.Repeat("1", maxLine)}},
			err: "m.users[0]: is longer than 4096 bytes",
		},
		{
			name: "large file",
			from: Source{File: "/users", ReadFile: file(strings.Repeat("#", maxFile+1))},
			err:  "m.usersFile /users has 16777217 bytes; more than 16777216 are not taken",
		},
		{
			name: "many users",
			from: Source{File: "/users", ReadFile: file(strings.Repeat("a\n", maxUsers+1))},
			err:  "m has more than 100000 users",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.from.Option = "m"
			entries, warnings, err := Read(test.from, pair)
			if text := fmt.Sprint(err); err != nil && text != test.err || err == nil && test.err != "" {
				t.Fatalf("error %q, want %q", text, test.err)
			}
			if diff := cmp.Diff(test.want, entries); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.warnings, warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestShortLinesCostLittle has a file of the maximum size with as many users as possible.
func TestShortLinesCostLittle(t *testing.T) {
	content := []byte(strings.Repeat("a\n", maxFile/2))
	read := func(string) ([]byte, error) { return content, nil }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := Read(Source{Option: "m", File: "/users", Users: []string{"ann:1"}, ReadFile: read}, pair)
	runtime.ReadMemStats(&after)
	if err == nil || err.Error() != "m has more than 100000 users" {
		t.Errorf("error %v", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8*maxFile {
		t.Errorf("takes %d bytes", used)
	}
}

// TestUsersInPlaceOfAPathStaySecret has a user where the path of a file belongs.
func TestUsersInPlaceOfAPathStaySecret(t *testing.T) {
	for _, path := range []string{
		"marked:$apr1$saltsalt$a8ml/vK5HEjiZ5oypDWA7/", "marked:{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
		"marked:realm:0123456789abcdef0123456789abcdef", "a\nmarked", "$marked",
		"marked:a/realm:0123456789abcdef0123456789abcdef", "a/marked:realm:0123456789abcdef0123456789abcdef",
	} {
		_, _, err := Read(Source{Option: "m", File: path, ReadFile: os.ReadFile}, pair)
		if err == nil || err.Error() != "m.usersFile is not the path of a file; users stand in m.users" {
			t.Errorf("error %v", err)
		}
	}
	path := filepath.Join(t.TempDir(), "with:colon")
	if err := os.WriteFile(path, []byte("ann:1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(Source{Option: "m", File: path, ReadFile: os.ReadFile}, pair); err != nil {
		t.Error(err)
	}
}

func TestManyWarnings(t *testing.T) {
	_, warnings, err := Read(Source{Option: "m", Users: strings.Split(strings.Repeat("ann:1,", 13)+"ann:1", ",")}, pair)
	if err != nil || len(warnings) != maxListed+1 || warnings[maxListed] != "and 3 more" {
		t.Errorf("%q, %v", warnings, err)
	}
}

func TestCheckName(t *testing.T) {
	for name, want := range map[string]string{
		"ann": "", "Ann B.": "", "änn": "", "\xe4nn": "", "#ann": "", `a"b\c`: "",
		"":                       "the user has no name",
		"a:b":                    "the user's name has a colon",
		"a\tb":                   "the user's name has a control character",
		"a\x7f":                  "the user's name has a control character",
		" ann":                   "the user's name begins or ends with a space",
		"ann ":                   "the user's name begins or ends with a space",
		strings.Repeat("a", 255): "",
		strings.Repeat("a", 256): "the user's name is longer than 255 bytes",
	} {
		if err := CheckName(name); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	if got := Claimed(strings.Repeat("a", 300)); len(got) != maxName {
		t.Errorf("%d bytes", len(got))
	}
}

// FuzzRead reads files of anything. No error holds a part of a line.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "ann:1\n", "#\n\n", "\ufeffann:1\r\nbob:2", "marked", "\x00:\xff\n:",
		strings.Repeat("a:b\n", 20),
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, content, user string) {
		entries, _, err := Read(Source{Option: "m", File: "/users", ReadFile: file(content), Users: []string{user}}, pair)
		if (err == nil) != (len(entries) > 0) {
			t.Fatalf("%d entries, error %v", len(entries), err)
		}
		if err != nil && len(err.Error()) > 2000 {
			t.Fatalf("error of %d bytes", len(err.Error()))
		}
		for _, line := range append(strings.Split(content, "\n"), user) {
			if line = strings.TrimSpace(line); len(line) > 40 && err != nil && strings.Contains(err.Error(), line) {
				t.Fatalf("%q holds %q", err, line)
			}
		}
		seen := map[string]bool{}
		for _, entry := range entries {
			if seen[entry.Key] {
				t.Fatalf("%q is there twice", entry.Key)
			}
			seen[entry.Key] = true
		}
	})
}
