// Package manifest injects the pods of workloads in files, as kubectl apply would read them.
//
// Input is a text with several documents, Lists included; result is the text with the pod templates of the workloads
// changed, and an [Outcome] for each object. Documents without a change keep their bytes. In others, only the lines of
// what changes are written again (edit.go), so that comments, order and style of the rest stay. Where that is not
// possible, as with JSON, the document is written again as a whole (encode.go), and without comments where an anchor
// stands for what changes. Either way, the result is read again and compared with what the patch makes of the object
// before it is returned.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/inject"
)

// Injector decides about a pod; it is an [inject.Configuration].
type Injector interface {
	Inject(input inject.Input) (inject.Result, error)
}

// Options are what a file does not tell.
type Options struct {
	// Namespace is that of objects that name none.
	Namespace string
	// NativeSidecars is that of [inject.Input].
	NativeSidecars bool
}

// Outcome is what became of an object, or of a document that cannot be read.
type Outcome struct {
	// File and Line are where the object begins.
	File string
	Line int
	// Object is its kind, namespace and name, as far as they are known.
	Object string
	// Workload is whether the object has pods. The fields below are empty otherwise.
	Workload bool
	Result   inject.Result
	// Err is why the document cannot be read, or the pod cannot be injected. It does not contain the file and the line.
	Err error
}

// Inject injects the pods of all workloads in a text. Documents that cannot be read, and objects that cannot be
// injected, stay as they are, with an error in their outcome. Objects that are no workloads have no outcome, unless
// they are documents of their own.
func Inject(injector Injector, file string, data []byte, options Options) ([]byte, []Outcome) {
	var out bytes.Buffer
	var outcomes []Outcome
	for _, one := range split(data) {
		r := run{injector: injector, options: options, file: file, document: one}
		out.Write(r.text())
		outcomes = append(outcomes, r.outcomes...)
	}
	return out.Bytes(), outcomes
}

// document is one document of a text, with the line that separates it from the one before.
type document struct {
	text []byte
	line int // of the text, from 1
}

// split takes a text apart in front of the lines that begin a document.
func split(data []byte) []document {
	var out []document
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if len(out) == 0 || isSeparator(line) {
			out = append(out, document{line: number})
		}
		last := &out[len(out)-1]
		last.text = append(last.text, line...)
	}
	return out
}

// isSeparator reports whether a line begins a document (YAML 1.2, section 9.1.4).
func isSeparator(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	return found && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// run is the injection of one document.
type run struct {
	injector Injector
	options  Options
	file     string
	document document
	outcomes []Outcome
}

// text returns the document after the injection.
func (r *run) text() []byte {
	before, err := decode(r.document.text)
	if err != nil {
		r.outcomes = append(r.outcomes, r.unreadable(err))
		return r.document.text
	}
	if before == nil {
		return r.document.text
	}
	after := before
	lines := linesOf(r.document)
	changed := false
	for _, at := range objects(before) {
		outcome := Outcome{File: r.file, Line: lines(at.path), Object: describe(at.object)}
		template := templatePath(at.object)
		if template != nil {
			outcome.Workload = true
			var content map[string]any
			content, outcome.Result, outcome.Err = r.inject(at.object, template)
			if outcome.Err == nil && outcome.Result.Injected {
				after, changed = replaced(after, append(at.path, template...), content), true
			}
		}
		r.outcomes = append(r.outcomes, outcome)
	}
	if !changed {
		return r.document.text
	}
	text, err := rewrite(r.document.text, before, after)
	if err != nil {
		for i := range r.outcomes {
			if r.outcomes[i].Result.Injected {
				r.outcomes[i].Err = err
			}
		}
		return r.document.text
	}
	return text
}

// unreadable returns the outcome of a document that is no YAML.
func (r *run) unreadable(err error) Outcome {
	out := Outcome{File: r.file, Line: r.document.line, Err: err}
	reason := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, found := strings.CutPrefix(reason, "line "); found {
		number, rest, _ := strings.Cut(rest, ": ")
		if line, err := strconv.Atoi(number); err == nil {
			out.Line, reason = r.document.line+line-1, rest
		}
	}
	out.Err = errors.New(reason)
	return out
}

// inject returns the pod template of an object after the injection, or the object itself if it is a pod.
func (r *run) inject(object map[string]any, path []string) (map[string]any, inject.Result, error) {
	template, ok := at(object, path).(map[string]any)
	if !ok {
		return nil, inject.Result{}, fmt.Errorf("there is no pod template at %s", strings.Join(path, "."))
	}
	metadata, _ := object["metadata"].(map[string]any)
	input := inject.Input{Namespace: r.options.Namespace, NativeSidecars: r.options.NativeSidecars}
	if namespace, ok := metadata["namespace"].(string); ok && namespace != "" {
		input.Namespace = namespace
	}
	if len(path) > 0 {
		name, _ := metadata["name"].(string)
		input.Owner = &inject.Owner{APIVersion: kindOf(object, "apiVersion"), Kind: kindOf(object, "kind"), Name: name}
	}
	var err error
	if input.Pod, err = json.Marshal(template); err != nil {
		return nil, inject.Result{}, err
	}
	result, err := r.injector.Inject(input)
	if err != nil || !result.Injected {
		return nil, result, err
	}
	patch, err := jsonpatch.DecodePatch(result.Patch)
	if err != nil {
		return nil, result, err
	}
	encoded, err := patch.Apply(input.Pod)
	if err != nil {
		return nil, result, err
	}
	content, err := decode(encoded)
	return content, result, err
}

// decode reads a document as kubectl does, with numbers as they are written; nil stands for an empty document and one
// that is no map.
func decode(text []byte) (map[string]any, error) {
	encoded, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	out, _ := value.(map[string]any)
	return out, nil
}

// rewrite returns the text of a document with another content, by the first way of writing that yields exactly that.
func rewrite(text []byte, before, after map[string]any) ([]byte, error) {
	for _, way := range []func([]byte, map[string]any, map[string]any) ([]byte, error){edited, encoded, resolved} {
		out, err := way(text, before, after)
		if err != nil {
			continue
		}
		if again, err := decode(out); err == nil && reflect.DeepEqual(again, after) {
			return out, nil
		}
	}
	return nil, errors.New("the document cannot be written with the injected pod")
}
