package dynamic

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/immutable"
)

// Decoder translates the documents of files into Configurations, object by object, and caches each translation by the
// content of its node: an object with unchanged text keeps its pointer, also if it has moved in its file. The zero
// value is ready. A Decoder is not safe for concurrent use.
type Decoder struct {
	files   map[string]map[Ref]*translation
	values  document.Decoder
	scratch []byte
	round   uint64
}

// translation is the result for one object, with the content it was made of.
type translation struct {
	identity []byte
	object   any
	clean    bool
	// round is the last call of Decode that met the object.
	round uint64
}

// Decode translates one file's document, which should keep its duplicates (document.ParseWithDuplicates). An error
// within an object affects only that object: it gets a Quarantined verdict for each error and stays in its map with its
// valid parts. An error outside of objects is a verdict on the file (KindSource). rendered means that lines count in
// the output of a template.
func (d *Decoder) Decode(file string, root *document.Node, rendered bool) *Configuration {
	if d.files == nil {
		d.files = map[string]map[Ref]*translation{}
	}
	known := d.files[file]
	if known == nil {
		known = map[Ref]*translation{}
		d.files[file] = known
	}
	d.round++
	run := &decoding{
		decoder: d, file: file, rendered: rendered, known: known,
		out: &Configuration{},
	}
	run.sections(root, "", "", map[string]section{
		"http": run.http, "tcp": run.tcp, "udp": run.udp, "tls": run.tls,
	})
	run.keepUnused()
	for ref, one := range known {
		if one.round != d.round {
			delete(known, ref)
		}
	}
	return run.out
}

// Forget drops what is cached of a file that is gone.
func (d *Decoder) Forget(file string) { delete(d.files, file) }

// decoding is one call of Decode.
type decoding struct {
	decoder  *Decoder
	file     string
	rendered bool
	known    map[Ref]*translation
	out      *Configuration
	edit     immutable.Edit
	// unused are sections of TLS options that are not used and name entrypoints.
	unused []unusedSection
}

// section reads the value of one key of a map whose keys are all known.
type section func(*document.Field)

func (d *decoding) origin(line int) Origin {
	return Origin{File: d.file, Line: line, Rendered: d.rendered}
}

// finding reports what belongs to no object, or to one that another declaration has.
func (d *decoding) finding(line int, format string, args ...any) {
	d.out.Verdicts = append(d.out.Verdicts, Verdict{
		Ref: Ref{Kind: KindSource, Name: d.file}, Origin: d.origin(line), Status: Quarantined, Code: CodeInvalidSource,
		Reason: fmt.Sprintf(format, args...),
	})
}

func (d *decoding) quarantine(ref Ref, line int, code Code, reason string) {
	d.out.Verdicts = append(d.out.Verdicts, Verdict{
		Ref: ref, Origin: d.origin(line), Status: Quarantined, Code: code,
		Reason: reason,
	})
}

// sections reads a map whose keys are all known. path is the prefix of its keys in messages; where is the map's own
// name.
func (d *decoding) sections(node *document.Node, where, path string, known map[string]section) {
	if !d.isMap(node, where) {
		d.ignore(where, node.Line, node)
		return
	}
	seen := map[string]int{}
	for i := range node.Fields {
		field := &node.Fields[i]
		folded := strings.ToLower(field.Key)
		read, name := lookup(known, folded)
		switch first, twice := seen[folded]; {
		case read == nil:
			d.finding(field.Line, "%s%s: %s", path, document.ShowKey(field.Key),
				unknownSection(where, folded, sortedKeys(known)))
			d.ignore(path+field.Key, field.Line, field.Value)
		case twice:
			d.finding(field.Line, "%s%s is given twice, first on line %d; the second one is not used", path, name, first)
			d.ignore(path+name, field.Line, field.Value)
		default:
			seen[folded] = field.Line
			read(field)
		}
	}
}

// isMap reports a node that is neither a map nor nothing.
func (d *decoding) isMap(node *document.Node, where string) bool {
	switch node.Kind {
	case document.Map:
		return true
	case document.Null:
	case document.Scalar, document.List:
		if where == "" {
			d.finding(node.Line, "expected a map, got %s", node.Kind)
		} else {
			d.finding(node.Line, "%s: expected a map, got %s", where, node.Kind)
		}
	}
	return false
}

// objects reads the objects of one kind.
func objects[T any](d *decoding, kind Kind, path string, field *document.Field) (out Objects[T]) {
	if !d.isMap(field.Value, path) {
		d.ignore(path, field.Line, field.Value)
		return out
	}
	for i := range field.Value.Fields {
		entry := &field.Value.Fields[i]
		ref := Ref{Kind: kind, Name: entry.Key}
		if _, twice := out.Find(entry.Key); twice {
			if kind == KindTLSOptions {
				again(d, &out, ref, entry)
			} else {
				d.twice(ref, entry.Line)
			}
			continue
		}
		switch {
		case entry.Key == "":
			d.quarantine(ref, entry.Line, CodeInvalidName, "has an empty name")
		case strings.Contains(entry.Key, "@"):
			d.quarantine(ref, entry.Line, CodeInvalidName, "has a name with @, which separates a name from its provider")
		}
		out.Set(&d.edit, entry.Key, object[T](d, ref, entry.Line, entry.Value))
	}
	return out
}

// twice reports an object whose name is taken.
func (d *decoding) twice(ref Ref, line int) {
	d.finding(line, "%s is declared twice, first on line %d; the second one is not used", ref, d.out.Origins.Get(ref).Line)
}

// object translates one object, or finds it unchanged. The findings of an object that is not clean are made anew, since
// their lines may have moved.
func object[T any](d *decoding, ref Ref, line int, node *document.Node) *T {
	d.out.Origins.Set(&d.edit, ref, d.origin(line))
	d.decoder.scratch = node.AppendIdentity(d.decoder.scratch[:0])
	known := d.known[ref]
	unchanged := known != nil && bytes.Equal(known.identity, d.decoder.scratch)
	if unchanged && known.clean {
		known.round = d.decoder.round
		return known.object.(*T)
	}
	fresh := new(T)
	if defaulted, ok := any(fresh).(document.Defaulter); ok {
		defaulted.SetDefaults()
	}
	clean := d.fill(ref, line, node, fresh)
	if !unchanged {
		known = &translation{identity: bytes.Clone(d.decoder.scratch), object: fresh, clean: clean}
		d.known[ref] = known
	}
	known.round = d.decoder.round
	return known.object.(*T)
}

// mostFindings is how many mistakes of one object are named.
const mostFindings = 10

// fill decodes one object and reports what is wrong with it.
func (d *decoding) fill(ref Ref, line int, node *document.Node, into any) (clean bool) {
	if node.Kind == document.Null {
		d.quarantine(ref, line, CodeInvalidOption, "has no value")
		return false
	}
	problems := d.decoder.values.Decode(node, into)
	if len(problems) > 0 {
		if hint := notAName(ref, into, node); hint != "" {
			claimed(into, node)
			d.quarantine(ref, line, CodeInvalidName, hint)
			return false
		}
	}
	for i, problem := range problems {
		if i == mostFindings {
			d.quarantine(ref, line, CodeInvalidOption, fmt.Sprintf("has %d more mistakes", len(problems)-mostFindings))
			break
		}
		d.quarantine(ref, problem.Line, CodeInvalidOption, problem.String())
	}
	if len(problems) > 0 {
		claimed(into, node)
		return false
	}
	if reason := kindReason(into, node); reason != "" {
		d.quarantine(ref, line, CodeInvalidOption, reason)
		return false
	}
	return true
}
