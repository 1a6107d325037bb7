package static

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// unknownName is a name that means no option.
type unknownName struct {
	words []string // those before it: the section
	word  string   // empty when a word is missing
	known []string // the names that the section has
}

// unknownOption returns why a key of the configuration file is no option.
func (l *loader) unknownOption(path, key string, known []string) string {
	unknown := &unknownName{word: key, known: known}
	if path != "" {
		unknown.words = flagNaming().words(path)
	}
	if path == "" {
		unknown.known = slices.Concat(known, dynamic.Sections())
	}
	return unknown.reason(l.schema, "is unknown", func(words []string) string {
		if slices.Equal(words[:len(words)-1], unknown.words) {
			return words[len(words)-1] // An option of the same section.
		}
		return strings.Join(words, ".")
	})
}

// reason returns why a flag or a variable is no option: what, and what was probably meant.
func (n naming) reason(root *option, unknown *unknownName, what string) string {
	if len(unknown.words) == 0 {
		unknown.known = append(slices.Clone(unknown.known), configFileOption)
	}
	return unknown.reason(root, what, func(words []string) string {
		name := strings.Join(words, n.separator)
		if n.separator == "_" {
			name = strings.ToUpper(name)
		}
		return n.prefix + name
	})
}

// reason returns why a name is no option: that it was removed from Traefik, that it belongs to the dynamic
// configuration, or what, with the options that were probably meant, as spell spells them.
func (u *unknownName) reason(root *option, what string, spell func(words []string) string) string {
	if gone := removed(strings.Join(append(slices.Clone(u.words), u.word), ".")); gone != "" {
		return gone
	}
	meant := root.around(u.words, u.word)
	if len(meant) == 0 {
		if section := dynamic.SectionPath(u.word); section != "" {
			return fmt.Sprintf("belongs to the dynamic configuration: write it as %s at the root of a file that "+
				"providers.file.filename names, which may be the configuration file itself", section)
		}
		for _, name := range nearest(u.word, u.known) {
			meant = append(meant, append(slices.Clone(u.words), name))
		}
	}
	if len(meant) == 0 {
		meant = few(root.find(u.word, nil))
	}
	for i := range meant {
		meant[i] = []string{spell(meant[i])}
	}
	return what + didYouMean(slices.Concat(meant...))
}

// didYouMean is the end of a message about an unknown name; it is empty if nothing was probably meant.
func didYouMean(meant []string) string {
	if len(meant) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(meant, " or ") + "?"
}

// nearest returns the known name that is similar to a name, if there is one.
func nearest(name string, known []string) []string {
	if near, ok := document.Nearest(name, known); ok {
		return []string{near}
	}
	return nil
}

// few returns the paths of a hint; none where more are possible than help.
func few(paths [][]string) [][]string {
	if len(paths) > 3 {
		return nil
	}
	return paths
}

// around returns the paths of the options with this very name that are nearest to a section: below it, or below one of
// those around it but the root.
func (o *option) around(section []string, name string) [][]string {
	sections := o.walk(section)
	for depth := len(sections) - 1; depth > 0; depth-- {
		if found := sections[depth].find(name, section[:depth]); len(found) > 0 {
			return few(found)
		}
	}
	return nil
}

// walk returns the sections that the words lead through, with o itself first, as far as they exist.
func (o *option) walk(words []string) []*option {
	sections := []*option{o}
	for _, word := range words {
		next := o.child(word)
		if o.shape == listed {
			next = o.element
		}
		if next == nil {
			return sections
		}
		sections = append(sections, next)
		o = next
	}
	return sections
}

// find returns the paths, each behind path, of the supported options with a name below a section. What is below names
// that the user chooses is not among them.
func (o *option) find(name string, path []string) [][]string {
	var found [][]string
	for _, child := range o.children {
		at := append(slices.Clone(path), child.name)
		switch {
		case child.Support != Supported:
		case strings.EqualFold(child.name, name):
			found = append(found, at)
		default:
			found = append(found, child.find(name, at)...)
		}
	}
	return found
}
