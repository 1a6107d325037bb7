package annotation

import "strings"

// snippets reads the annotations with directives of nginx.
func (r *reading) snippets() {
	out := &r.options.Snippets
	out.Configuration = r.snippet("configuration-snippet")
	out.Server = r.snippet("server-snippet")
	out.Stream, _ = r.text("stream-snippet", anything)
}

// snippet reads one annotation. A snippet that may protect something is denied.
func (r *reading) snippet(name string) string {
	text, _ := r.text(name, anything)
	if directive, found := ProtectingDirective(text); found {
		r.close(name, "the snippet has the directive "+quote(directive)+", and directives of nginx are not executed")
		r.findings[name].Protects = true
	}
	return text
}

// ProtectingDirective returns the first directive of a snippet that may restrict access: deny, allow, satisfy,
// internal, auth_*, limit_*, secure_link*, modsecurity*, js_*, *_by_lua*, a return of an error, and include, of which
// the content is unknown.
func ProtectingDirective(snippet string) (string, bool) {
	for _, words := range directives(snippet) {
		switch name := strings.ToLower(words[0]); {
		case name == "return":
			if len(words) < 2 || refusal(words[1]) {
				return words[0], true
			}
		case restricts(name):
			return words[0], true
		}
	}
	return "", false
}

// restricts reports whether a directive may restrict access.
func restricts(name string) bool {
	switch name {
	case "deny", "allow", "satisfy", "ssl_verify_client", "internal", "include", "valid_referers":
		return true
	}
	for _, start := range []string{"auth_", "limit_", "secure_link", "modsecurity", "js_"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return strings.Contains(name, "_by_lua")
}

// refusal reports whether the first parameter of return is neither a status of success or redirection, nor a URL.
func refusal(parameter string) bool {
	for _, start := range []string{"http://", "https://", "$scheme"} {
		if strings.HasPrefix(parameter, start) {
			return false
		}
	}
	return len(parameter) != 3 || parameter[0] != '2' && parameter[0] != '3'
}

// directives divides a text as nginx does: words end at white space, and directives at semicolons and braces. Quotes
// and comments begin where a word does, and a backslash takes the next character along.
func directives(text string) [][]string {
	var found [][]string
	var words []string
	end := func() {
		if len(words) > 0 {
			found = append(found, words)
		}
		words = nil
	}
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case strings.IndexByte(" \t\r\n", b) >= 0:
			i++
		case b == ';' || b == '{' || b == '}':
			end()
			i++
		case b == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case b == '"' || b == '\'':
			length := quotedWord(text[i+1:], b)
			words = append(words, text[i+1:i+1+length])
			i += length + len(`""`)
		default:
			length := plainWord(text[i:])
			words = append(words, text[i:i+length])
			i += length
		}
	}
	end()
	return found
}

// quotedWord returns the length of a text up to the quote that ends it.
func quotedWord(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return len(text)
}

// plainWord returns the length of the word without quotes at the beginning of a text.
func plainWord(text string) int {
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '\\':
			i++
		case b == '{' && i > 0 && text[i-1] == '$':
		case strings.IndexByte(" \t\r\n;{", b) >= 0:
			return i
		}
	}
	return len(text)
}
