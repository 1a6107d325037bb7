package pattern

import (
	"runtime"
	"strings"
	"testing"
)

func TestReplaceIsBounded(t *testing.T) {
	long := strings.Repeat("a", 1<<18)
	for _, test := range []struct {
		name, regex, replacement, text string
		ok                             bool
	}{
		{"as many matches as are allowed", "a", "b", long[:MaxMatches], true},
		{"one more", "a", "b", long[:MaxMatches+1], false},
		{"as long as is allowed", "^a", strings.Repeat("b", 10), long[:MaxResult-9], true},
		{"one byte more", "^a", strings.Repeat("b", 10), long[:MaxResult-8], false},
		{"one byte more by the match alone", "a+", "$0", long[:MaxResult+1], false},
		{"a long text that becomes short", "^(a)a*$", "/$1$1", long, true},
		{"a long replacement of many matches", "a", strings.Repeat("b", MaxText), long[:MaxMatches], false},
		{"many references to a long match", "a+", strings.Repeat("$0", MaxText/2), long, false},
		{"many matches of a long text", "a", "b", long, false},
		{"few matches of a short text", "a", strings.Repeat("$0", 100), "aba", true},
		{"a short text that becomes long", "a", strings.Repeat("b", MaxText), long[:MaxResult/MaxText+1], false},
	} {
		regex, err := Compile(test.regex)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		result, ok := regex.Replace(test.text, test.replacement)
		runtime.ReadMemStats(&after)
		if ok != test.ok || ok && result != regex.ReplaceAllString(test.text, test.replacement) {
			t.Errorf("%s: ok %v, %d bytes", test.name, ok, len(result))
		}
		if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 16 {
			t.Errorf("%s: took %d MiB", test.name, taken)
		}
	}
}

// FuzzReplace asserts that a result is that of the standard library.
func FuzzReplace(f *testing.F) {
	for _, seed := range [][3]string{
		{"a*", "x", "baac"},
		{"", "-", "abc"},
		{"(a)(b)?", "$2${1}x$$", "abac"},
		{"(?P<n>.)", "${n}$n$9", "é\xff"},
		{"$", "x", "a"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, expression, replacement, text string) {
		regex, err := Compile(expression)
		if err != nil || len(replacement) > 100 || len(text) > 500 {
			return
		}
		for _, padding := range []int{0, 2 * MaxMatches} { // Long texts go another way.
			text := text + strings.Repeat("z", padding)
			want := regex.ReplaceAllString(text, replacement)
			matches := len(regex.FindAllStringIndex(text, -1))
			got, ok := regex.Replace(text, replacement)
			if should := matches <= MaxMatches && len(want) <= MaxResult; ok != should || ok && got != want {
				t.Errorf("%q, %v, want %q, %v", got, ok, want, should)
			}
		}
	})
}
