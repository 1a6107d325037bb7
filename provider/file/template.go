package file

import (
	"context"
	"errors"
	"strings"
	"text/template"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/provider/gotemplate"
)

// render executes a file as a Go template with at most limit bytes of output. It has the functions of gotemplate, and
// Traefik's split, which returns a list. It is stopped when ctx ends.
func render(ctx context.Context, path string, text []byte, limit int64) ([]byte, error) {
	parsed, err := gotemplate.Parse(string(text), template.FuncMap{"split": strings.Split})
	if err != nil {
		return nil, templateError(path, err)
	}
	out, err := parsed.Execute(ctx, nil, limit)
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

// redact removes private keys from a text for the log.
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
