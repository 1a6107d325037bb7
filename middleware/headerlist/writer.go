package headerlist

import (
	"net/http"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/middleware/response"
)

// fieldsWriter is a writer that takes the fields of a response as a list, without a map.
type fieldsWriter interface {
	WriteFields(status int, fields []wire.Field)
}

// writer edits the head of a response.
type writer struct {
	response.Writer
	edits []Edit
}

// EditHead applies the edits.
func (w *writer) EditHead(header http.Header, _ int) { apply(header, w.edits) }

// listWriter is a writer on top of a fieldsWriter.
type listWriter struct{ writer }

// WriteFields applies the edits to the fields, and to those of Header.
func (w *listWriter) WriteFields(status int, fields []wire.Field) {
	if w.BeginList() {
		if header := w.Header(); len(header) > 0 {
			for _, edit := range w.edits {
				if edit.Kind != Add {
					delete(header, edit.Name)
				}
			}
		}
		fields = applyList(fields, w.edits)
	}
	w.ResponseWriter.(fieldsWriter).WriteFields(status, fields)
}

// Serve calls next with a writer that applies edits to the headers of the final response, or of the switch to another
// protocol.
func Serve(w http.ResponseWriter, r *http.Request, next http.Handler, edits []Edit) {
	edited := new(listWriter)
	edited.ResponseWriter, edited.Editor, edited.edits = w, edited, edits
	if _, ok := w.(fieldsWriter); ok {
		next.ServeHTTP(edited, r)
	} else {
		next.ServeHTTP(&edited.writer, r)
	}
	edited.Begin(http.StatusOK)
}
