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
	// CloseConnections closes the selected connections, gracefully as a server that shuts down, and returns what has
	// become of them. That of the request whose context is ctx is closed gracefully in any case.
	CloseConnections(ctx context.Context, selection entrypoint.Selection, graceful bool) entrypoint.ClosedConnections
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
	// Graceful closes idle connections alone, and has others end with the responses that are under way.
	Graceful bool `json:"graceful,omitempty"`
}

// Closed is the JSON of what has become of the selected connections.
type Closed struct {
	// Closed is how many are closed; idle ones of HTTP/2 and HTTP/3 end within a second.
	Closed int `json:"closed"`
	// Closing is how many end with the responses that are under way, or with the first one.
	Closing int `json:"closing"`
	// Remaining is how many stay open: those of TCP routers, and those with a WebSocket or another upgrade.
	Remaining int `json:"remaining"`
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
	done := h.options.Connections.CloseConnections(r.Context(), selection, request.Graceful)
	if done.Total() == 0 {
		h.refuse(w, http.StatusNotFound, errors.New("there is no such connection"))
		return
	}
	h.log(r, "connections closed", closeFields(&request, done)...)
	h.write(w, http.StatusOK, Closed(done))
}

// closeFields are the fields of the line of the log.
func closeFields(request *CloseRequest, done entrypoint.ClosedConnections) []any {
	fields := []any{"count", done.Closed}
	if done.Closing > 0 {
		fields = append(fields, "closing", done.Closing)
	}
	if done.Remaining > 0 {
		fields = append(fields, "remaining", done.Remaining)
	}
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
	return fields
}
