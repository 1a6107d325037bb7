package headers

import (
	"net/http"

	"github.com/sluiceproxy/sluice/middleware/response"
)

// fewEdits is how many edits of a message need no memory beyond that of the writer.
const fewEdits = 4

// exchange is one request with edits of its response.
type exchange struct {
	response.Writer
	edits   []edit
	cors    *cors
	granted grant
	// values has room for the values of a few edits: first those of the request, then those of the response.
	values [2 * fewEdits]string
}

// EditHead makes the edits.
func (e *exchange) EditHead(header http.Header, _ int) {
	apply(header, e.edits, e.values[fewEdits:fewEdits])
	if e.granted.any {
		e.cors.edit(header, e.granted)
	}
}
