package file

import (
	"errors"
	"strings"
	"text/template"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/provider/gotemplate"
)

// render runs a file as a Go template whose output has at most limit bytes. Beside the functions of gotemplate it has
// Traefik's split, which returns a list.
func render(path string, text []byte, limit int64) ([]byte, error) {
	parsed, err := gotemplate.Parse(string(text), template.FuncMap{"split": strings.Split})
	if err != nil {
		return nil, templateError(path, err)
	}
	out, err := parsed.Execute(nil, limit)
	if err != nil {
		return nil, templateError(path, err)
	}
	return out, nil
}

// templateError returns an error with the file and the line.
func templateError(path string, err error) error {
	out := &document.Error{File: path, Line: 1, Reason: "template: " + err.Error()}
	if at, ok := errors.AsType[*gotemplate.Error](err); ok {
		out.Line, out.Reason = at.Line, "template: "+at.Reason
	}
	return out
}

// redact takes private keys out of a text that is logged.
func redact(text string) string {
	const begin, end = "-----BEGIN ", "-----END "
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, begin)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		label, _, _ := strings.Cut(after, "-----")
		if !strings.HasSuffix(label, "PRIVATE KEY") {
			out.WriteString(begin)
			text = after
			continue
		}
		out.WriteString("[private key]")
		if _, text, found = strings.Cut(after, end+label+"-----"); !found {
			return out.String()
		}
	}
}
