package headers

import (
	"net/http"
	"slices"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/middleware/response"
)

// fewEdits is the number of edits whose values fit into the writer.
const fewEdits = 4

// responseWriter edits the head of a response.
type responseWriter struct {
	response.Writer
	edits   []edit
	cors    *cors
	granted grant
	// values is memory for the values of a few edits: first of the request, then of the response.
	values [2 * fewEdits]string
}

// EditHead applies the edits.
func (w *responseWriter) EditHead(header http.Header, _ int) {
	apply(header, w.edits, w.values[fewEdits:fewEdits])
	if w.granted.any {
		w.cors.edit(header, w.granted)
	}
}

// fieldsWriter is a writer that takes the fields of a response as a list, without a map.
type fieldsWriter interface {
	WriteFields(status int, fields []wire.Field)
}

// listWriter is a responseWriter on top of a fieldsWriter, for a response without headers of CORS.
type listWriter struct{ responseWriter }

// WriteFields applies the edits to the fields, and to those of Header.
func (w *listWriter) WriteFields(status int, fields []wire.Field) {
	if w.BeginList() {
		if header := w.Header(); len(header) > 0 {
			for _, edit := range w.edits {
				delete(header, edit.name)
			}
		}
		fields = applyList(fields, w.edits)
	}
	w.ResponseWriter.(fieldsWriter).WriteFields(status, fields)
}

// applyList is apply for a list.
func applyList(fields []wire.Field, edits []edit) []wire.Field {
	fields = slices.DeleteFunc(fields, func(field wire.Field) bool {
		return slices.ContainsFunc(edits, func(e edit) bool { return e.name == field.Name })
	})
	var nonce nonce
	for _, edit := range edits {
		if edit.value != "" {
			fields = append(fields, wire.Field{Name: edit.name, Value: nonce.in(edit)})
		}
	}
	return fields
}
