package static

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// resolver finds the option that the name of a variable or of a flag means.
type resolver struct {
	// separator stands between the words of a name.
	separator string
	// fold makes two names comparable.
	fold func(string) string
	// chosen is how a name that the user chose, such as that of an entrypoint, is spelled when no file spells it.
	chosen func(string) string
}

// flagResolver reads names such as entryPoints.web.address.
func flagResolver() resolver {
	return resolver{separator: ".", fold: strings.ToLower, chosen: strings.Clone}
}

// environmentResolver reads names such as ENTRYPOINTS_WEB_ADDRESS. Whatever a variable cannot contain is an
// underscore in it.
func environmentResolver() resolver {
	fold := func(name string) string {
		return strings.Map(func(r rune) rune {
			if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
				return r
			}
			return '_'
		}, strings.ToLower(name))
	}
	return resolver{separator: "_", fold: fold, chosen: strings.ToLower}
}

// step is one step from a setting to one below it.
type step struct {
	option *option
	name   string
}

// unknownOption is the part of a name that means no option.
type unknownOption struct {
	words []string // the words before it
	word  string   // empty when a word is missing
	known []string
}

// words takes a name apart; an index in brackets becomes a word of its own.
func (r resolver) words(name string) []string {
	var words []string
	for word := range strings.SplitSeq(name, r.separator) {
		if before, after, ok := strings.Cut(word, "["); ok && before != "" && strings.HasSuffix(after, "]") {
			words = append(words, before, strings.TrimSuffix(after, "]"))
			continue
		}
		words = append(words, word)
	}
	return words
}

// resolve returns the steps from o to the option that words mean.
// have is the setting of o, which knows the names that a file has spelled; it may be nil.
func (r resolver) resolve(o *option, have *setting, words []string) ([]step, *unknownOption) {
	if len(words) == 0 {
		return nil, nil
	}
	switch o.shape {
	case section:
		child := o.child(words[0])
		if child == nil {
			return nil, &unknownOption{word: words[0], known: o.names()}
		}
		return r.descend(child, child.name, have, words, 1)
	case named:
		return r.resolveName(o, have, words)
	case listed:
		i, err := strconv.ParseUint(words[0], 10, 16)
		if err != nil {
			return nil, &unknownOption{word: words[0]}
		}
		return r.descend(o.element, index(int(i)), have, words, 1)
	case free:
		return nil, nil
	default:
		return nil, &unknownOption{word: words[0]}
	}
}

// descend goes into a child whose name is made of the first n words.
func (r resolver) descend(child *option, name string, have *setting, words []string, n int) ([]step, *unknownOption) {
	var below *setting
	if have != nil {
		below = have.child(name)
	}
	steps, unknown := r.resolve(child, below, words[n:])
	if unknown != nil {
		unknown.words = slices.Concat(words[:n], unknown.words)
		return nil, unknown
	}
	return append([]step{{option: child, name: name}}, steps...), nil
}

// resolveName finds how many words make the name that the user chose: one that a file has spelled if there is one,
// the longest first, or else the shortest behind which the rest makes sense.
func (r resolver) resolveName(o *option, have *setting, words []string) ([]step, *unknownOption) {
	for _, known := range byLength(have) {
		n := len(r.words(r.fold(known)))
		if n <= len(words) && r.fold(strings.Join(words[:n], r.separator)) == r.fold(known) {
			if steps, unknown := r.descend(o.element, known, have, words, n); unknown == nil {
				return steps, nil
			}
		}
	}
	if o.element.shape == scalar {
		return []step{{option: o.element, name: r.chosen(strings.Join(words, r.separator))}}, nil
	}
	var first *unknownOption
	for n := 1; n <= len(words); n++ {
		name := strings.Join(words[:n], r.separator)
		if strings.Trim(name, r.separator) == "" {
			continue
		}
		// A name alone is a section only when it is one word: what follows is a mistake otherwise.
		if n == len(words) && n > 1 {
			break
		}
		steps, unknown := r.descend(o.element, r.chosen(name), have, words, n)
		if unknown == nil {
			return steps, nil
		}
		if first == nil {
			first = unknown
		}
	}
	return nil, cmp.Or(first, &unknownOption{words: words})
}

// byLength returns the names below a setting, the longest first.
func byLength(have *setting) []string {
	if have == nil {
		return nil
	}
	names := make([]string, len(have.children))
	for i, child := range have.children {
		names[i] = child.name
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return names
}

// open enters the setting at the end of the steps.
func open(root *setting, steps []step, from origin) *setting {
	for _, s := range steps {
		root = root.enter(s.option, s.name, from)
	}
	return root
}

// spelled returns the nearest name that makes sense, in the form of the resolver, or "".
func (u *unknownOption) spelled(r resolver) string {
	near := didYouMean(u.word, u.known)
	if near == "" {
		return ""
	}
	near = strings.TrimSuffix(strings.TrimPrefix(near, "; did you mean "), "?")
	if r.separator == "_" {
		near = strings.ToUpper(near)
	}
	return strings.Join(append(slices.Clone(u.words), near), r.separator)
}
