package router

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/sluiceproxy/sluice/document"
)

// meant returns the entrypoints that a name of none may stand for: for each of its words, as in a list with wrong
// separators, the one with that name or with the most similar one.
func (t *tlsObjects) meant(written string) []string {
	var found []string
	for _, word := range strings.FieldsFunc(written, func(c rune) bool {
		return c != '-' && c != '_' && c != '.' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}) {
		var alike []string
		for _, entryPoint := range t.entryPoints {
			if entryPoint.Name == word || !siblings(word, entryPoint.Name) {
				alike = append(alike, entryPoint.Name)
			}
		}
		if nearest, ok := document.Nearest(word, alike); ok {
			found = append(found, nearest)
		}
	}
	return found
}

// siblings reports whether two names are those of a series, such as web1 and web2, or edge-us and edge-eu: one is no
// slip in writing the other, but an entrypoint of another instance that reads the same file.
func siblings(a, b string) bool {
	digits := func(c rune) rune {
		if unicode.IsDigit(c) {
			return -1
		}
		return c
	}
	if strings.Map(digits, a) == strings.Map(digits, b) {
		return true
	}
	separator := func(c rune) bool { return c == '-' || c == '_' || c == '.' }
	as, bs := strings.FieldsFunc(a, separator), strings.FieldsFunc(b, separator)
	if len(as) < 2 || len(as) != len(bs) {
		return false
	}
	others := 0
	for i := range as {
		if as[i] != bs[i] {
			others++
			if len(as[i]) != len(bs[i]) {
				return false
			}
		}
	}
	return others == 1
}

// missing says that an entrypoint does not exist.
func (t *tlsObjects) missing(entryPoint string) string {
	reason := fmt.Sprintf("entrypoint %q does not exist", entryPoint)
	if nearest, ok := t.nearest(entryPoint); ok {
		reason += fmt.Sprintf(", did you mean %q?", nearest)
	}
	return reason
}

// nearest returns the entrypoint with the most similar name.
func (t *tlsObjects) nearest(name string) (string, bool) {
	names := make([]string, 0, len(t.entryPoints))
	for _, entryPoint := range t.entryPoints {
		names = append(names, entryPoint.Name)
	}
	return document.Nearest(name, names)
}

func (t *tlsObjects) exists(entryPoint string) bool {
	if _, serves := t.listeners[entryPoint]; serves {
		return true
	}
	return slices.ContainsFunc(t.entryPoints, func(e EntryPoint) bool { return e.Name == entryPoint })
}
