package headerlist

import (
	"net/http"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/middleware/response"
)

// ValueEditor changes values of the headers of a response.
type ValueEditor interface {
	// EditValue returns the new value of a field, which may be the old one. The name is in net/http's canonical spelling.
	EditValue(name, value string) string
}

// valueWriter edits the values in the head of a response.
type valueWriter struct {
	response.Writer
	editor ValueEditor
}

// EditHead passes all fields to the editor.
func (w *valueWriter) EditHead(header http.Header, _ int) {
	for name, values := range header {
		w.edit(header, name, values)
	}
}

// edit edits the values of one field. Values may be shared, so a changed list is another one.
func (w *valueWriter) edit(header http.Header, name string, values []string) {
	for i, value := range values {
		edited := w.editor.EditValue(name, value)
		if edited == value {
			continue
		}
		changed := append([]string(nil), values...)
		changed[i] = edited
		for j := i + 1; j < len(changed); j++ {
			changed[j] = w.editor.EditValue(name, changed[j])
		}
		header[name] = changed
		return
	}
}

// valueListWriter is a valueWriter on top of a fieldsWriter.
type valueListWriter struct{ valueWriter }

// WriteFields passes the fields, and those of Header, to the editor.
func (w *valueListWriter) WriteFields(status int, fields []wire.Field) {
	if w.BeginList() {
		w.EditHead(w.Header(), status)
		for i := range fields {
			fields[i].Value = w.editor.EditValue(fields[i].Name, fields[i].Value)
		}
	}
	w.ResponseWriter.(fieldsWriter).WriteFields(status, fields)
}

// ServeValues calls next with a writer that passes the headers of the final response, or of the switch to another
// protocol, to an editor.
func ServeValues(w http.ResponseWriter, r *http.Request, next http.Handler, editor ValueEditor) {
	edited := new(valueListWriter)
	edited.ResponseWriter, edited.Editor, edited.editor = w, edited, editor
	if _, ok := w.(fieldsWriter); ok {
		next.ServeHTTP(edited, r)
	} else {
		next.ServeHTTP(&edited.valueWriter, r)
	}
	edited.Begin(http.StatusOK)
}
