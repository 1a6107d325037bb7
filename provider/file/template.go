package file

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"github.com/Masterminds/sprig/v3"

	"github.com/sluiceproxy/sluice/document"
)

// templateName stands for the file in the template package's errors, where it is cut off again.
const templateName = "file"

// render runs a file as a Go template with sprig's functions and two of Traefik's: normalize, and split that returns
// a list.
func render(path string, text []byte, limit int64) ([]byte, error) {
	functions := template.FuncMap{}
	maps.Copy(functions, sprig.TxtFuncMap())
	functions["normalize"] = normalize
	functions["split"] = strings.Split
	parsed, err := template.New(templateName).Funcs(functions).Parse(string(text))
	if err != nil {
		return nil, templateError(path, err)
	}
	out := bounded{limit: limit}
	if err := parsed.Execute(&out, nil); err != nil {
		return nil, templateError(path, err)
	}
	return out.Bytes(), nil
}

// normalize replaces what is neither a letter nor a digit, so that a text becomes part of a name.
func normalize(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsNumber(c)
	}), "-")
}

// bounded is a buffer that refuses more than its limit.
type bounded struct {
	bytes.Buffer
	limit int64
}

var errTooMuch = errors.New("generates too much")

// Write refuses what goes beyond the limit.
func (b *bounded) Write(text []byte) (int, error) {
	if int64(b.Len()+len(text)) > b.limit {
		return 0, fmt.Errorf("%w: more than %d bytes", errTooMuch, b.limit)
	}
	return b.Buffer.Write(text)
}

// templateError finds the line in the messages of the template package, which are template: NAME:LINE[:COLUMN]: TEXT.
func templateError(path string, err error) error {
	out := &document.Error{File: path, Line: 1, Reason: "template: " + err.Error()}
	if errors.Is(err, errTooMuch) {
		return out
	}
	rest, found := strings.CutPrefix(err.Error(), "template: "+templateName+":")
	if !found {
		return out
	}
	position, text, found := strings.Cut(rest, ": ")
	if !found {
		return out
	}
	number, _, _ := strings.Cut(position, ":")
	if line, err := strconv.Atoi(number); err == nil && line > 0 {
		out.Line, out.Reason = line, "template: "+strings.ReplaceAll(text, " "+templateName+":", " line ")
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
