package headers

import (
	"net/http"

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
