package headers

import (
	"net/http"

	"github.com/sluiceproxy/sluice/middleware/response"
)

// fewEdits is the number of edits whose values fit into the writer.
const fewEdits = 4

// exchange is one request with edits of its response.
type exchange struct {
	response.Writer
	edits   []edit
	cors    *cors
	granted grant
	// values is memory for the values of a few edits: first of the request, then of the response.
	values [2 * fewEdits]string
}

// EditHead applies the edits.
func (e *exchange) EditHead(header http.Header, _ int) {
	apply(header, e.edits, e.values[fewEdits:fewEdits])
	if e.granted.any {
		e.cors.edit(header, e.granted)
	}
}
