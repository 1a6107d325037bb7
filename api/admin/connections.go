package admin

import (
	"context"
	"errors"
	"net/http"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/entrypoint"
)

// Connections closes connections; entrypoint.Directory does.
type Connections interface {
	// CloseConnections closes the selected connections, gracefully with the response to their next request, and returns
	// how many. That of the request whose context is ctx is closed gracefully in any case.
	CloseConnections(ctx context.Context, selection entrypoint.Selection, graceful bool) int
}

// CloseRequest is the JSON of a request to close connections. One of ID, Client and EntryPoint is required; together
// they select what all of them do.
type CloseRequest struct {
	// ID is the number of a connection, as /api/connections has it.
	ID uint64 `json:"id,omitempty"`
	// Client is the IP address of a client, or a prefix.
	Client string `json:"client,omitempty"`
	// EntryPoint is the name of an entrypoint; that of a listener of a provider is its address.
	EntryPoint string `json:"entryPoint,omitempty"`
	// Graceful has each connection end with the response to its next request. Connections of TCP routers are left out.
	Graceful bool `json:"graceful,omitempty"`
}

// Closed is the JSON of the connections that were closed.
type Closed struct {
	// Closed is their number.
	Closed int `json:"closed"`
}

// closeConnections closes connections.
func (h *handler) closeConnections(w http.ResponseWriter, r *http.Request) {
	var request CloseRequest
	if !h.read(w, r, &request) {
		return
	}
	selection, err := api.ConnectionSelection(request.Client, request.EntryPoint)
	if selection.ID = request.ID; err == nil && selection == (entrypoint.Selection{}) {
		err = errors.New("id, client and entryPoint are all missing")
	}
	if err != nil {
		h.refuse(w, http.StatusBadRequest, err)
		return
	}
	closed := h.options.Connections.CloseConnections(r.Context(), selection, request.Graceful)
	if closed == 0 {
		h.refuse(w, http.StatusNotFound, errors.New("there is no such connection"))
		return
	}
	fields := []any{"count", closed}
	if request.ID != 0 {
		fields = append(fields, "id", request.ID)
	}
	if request.Client != "" {
		fields = append(fields, "of", request.Client)
	}
	if request.EntryPoint != "" {
		fields = append(fields, "entrypoint", request.EntryPoint)
	}
	if request.Graceful {
		fields = append(fields, "graceful", true)
	}
	h.log(r, "connections closed", fields...)
	h.write(w, http.StatusOK, Closed{Closed: closed})
}
