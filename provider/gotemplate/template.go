// Package gotemplate renders Go templates (package text/template) with the functions of sprig, within fixed limits.
//
// Input: the text of a template and its data. Output: the rendered text, or an [*Error] with the line of the template.
// A template is input like any other: a mistake in it must not stop the process. The package text/template has no
// limits of its own and cannot be interrupted. Therefore the parsed template is changed before it is run
// (instrument.go): every loop iteration, every call of a template and every call of a function is charged to a [meter],
// which returns an error once the limits on work and memory are reached. Functions whose result can be much larger than
// their arguments are charged before they run (cost.go).
//
// The package reads no file and logs nothing. Errors contain no text of the template and no value.
package gotemplate

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"reflect"
	"strings"
	"sync/atomic"
	"text/template"
	"unicode"

	"github.com/Masterminds/sprig/v3"
)

// Template is a parsed template. It may be run by several goroutines at the same time.
type Template struct {
	text    string
	options Options
	limit   atomic.Int64 // of work
	// idle has the runs that are not in use. The meter of a run is a part of its functions, so that each goroutine needs
	// its own.
	idle chan *run
}

// maxIdle is how many runs of a template are kept.
const maxIdle = 8

// Options are the rules of a template. The zero value is that of [Parse].
type Options struct {
	// Functions are available beside those of text/template and sprig, and override others of the same name. Each is
	// charged as one that goes through its arguments and returns at most 16 times their size.
	Functions template.FuncMap
	// Refused are the functions that the template may not call, by name, with the reason for the error. It is lower case
	// and follows the name: "reads the environment".
	Refused map[string]string
	// Data is the type of a struct that is the data of each run. The methods of its values cannot be called, and a field
	// that it does not have is an error of ParseWith where the template uses it from $, or from the dot outside of range
	// and with. nil means that nothing is known about the data.
	Data reflect.Type
	// Absent are names of fields that Data does not have, with the reason for the error.
	Absent map[string]string
	// Work limits what a run may do, in units of about 100 ns; 0 means 25,000,000.
	Work int64
}

// Parse reads a template. Beside the functions of text/template and sprig it has normalize (see [Normalize]) and the
// given functions, which override others of the same name. Each given function is charged as one that goes through its
// arguments and returns at most 16 times their size.
//
// A template may contain 1 MiB of actions, nested at most 200 levels deep. Of the types with methods that functions
// return, it can call the methods listed in methods.go. Every error is an [*Error].
func Parse(text string, functions template.FuncMap) (*Template, error) {
	return ParseWith(text, Options{Functions: functions})
}

// ParseWith is Parse with further rules.
func ParseWith(text string, options Options) (*Template, error) {
	t := &Template{text: text, options: options, idle: make(chan *run, maxIdle)}
	t.limit.Store(cmp.Or(options.Work, maxWork))
	first, err := newRun(text, options)
	if err != nil {
		return nil, err
	}
	t.idle <- first
	return t, nil
}

// run is a template with its meter, for one goroutine at a time.
type run struct {
	template *template.Template
	meter    *meter
}

// newRun parses the text.
func newRun(text string, options Options) (out *run, err error) {
	defer recovered(&err)
	if err := checkNesting(text); err != nil {
		return nil, err
	}
	m := &meter{}
	known := sprig.TxtFuncMap()
	known["normalize"] = Normalize
	maps.Copy(known, m.replacements())
	maps.Copy(known, options.Functions)
	for name := range options.Refused {
		delete(known, name)
	}
	parsed, err := template.New(templateName).Funcs(known).Parse(text)
	if err != nil {
		return nil, parseError(err, known, options.Refused)
	}
	wrapped := m.checks()
	refused := refusedMethods(known)
	addDataMethods(refused, options.Data)
	if err := checkFields(parsed.Tree, text, options); err != nil {
		return nil, err
	}
	for _, part := range parsed.Templates() {
		if err := checkMethods(part.Tree, text, refused); err != nil {
			return nil, err
		}
		for name := range instrument(part.Tree, known) {
			wrapped[name] = m.wrap(name, known[name])
		}
	}
	return &run{template: parsed.Funcs(wrapped), meter: m}, nil
}

// Execute runs the template. It fails when the output has more than limit bytes, or when the template does more work or
// needs more memory than any template may: a few seconds (see Options.Work), 128 MiB of values. It is stopped when ctx
// ends. Every error is an [*Error].
func (t *Template) Execute(ctx context.Context, data any, limit int64) (text []byte, err error) {
	one, err := t.take()
	if err != nil {
		return nil, err
	}
	defer t.release(one)
	defer recovered(&err)
	one.meter.limit = t.limit.Load()
	one.meter.reset(ctx)
	out := output{limit: limit}
	if err := one.template.Execute(&out, data); err != nil {
		return nil, executeError(err)
	}
	return out.Bytes(), nil
}

// take returns a run that is not in use.
func (t *Template) take() (*run, error) {
	select {
	case one := <-t.idle:
		return one, nil
	default:
		return newRun(t.text, t.options)
	}
}

// release keeps a run for the next caller, without the values of the last one.
func (t *Template) release(one *run) {
	one.meter.ctx, one.meter.lists = nil, nil
	select {
	case t.idle <- one:
	default:
	}
}

// recovered makes an error of a panic: text/template passes on those that it does not raise itself.
func recovered(err *error) {
	if recover() != nil {
		*err = &Error{Line: 1, Reason: "cannot be evaluated"}
	}
}

// output is a buffer that refuses to grow beyond its limit in bytes.
type output struct {
	bytes.Buffer
	limit int64
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	if int64(o.Len()+len(text)) > o.limit {
		return 0, outputError(o.limit)
	}
	return o.Buffer.Write(text)
}

// Normalize replaces everything except letters and digits by single dashes, so that a text can be part of a name.
func Normalize(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsNumber(c)
	}), "-")
}
