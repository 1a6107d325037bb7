package api

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
)

// maxConnections is how many connections /api/connections lists at most.
const maxConnections = 10_000

// Connections lists open connections; entrypoint.Directory does.
type Connections interface {
	// Connections returns the selected connections, the oldest first and most of them at most, and how many are
	// selected.
	Connections(selection entrypoint.Selection, most int) ([]entrypoint.ConnectionStatus, int)
}

// Connection is the JSON of an open connection.
type Connection struct {
	// ID is its number in the process.
	ID uint64 `json:"id"`
	// EntryPoint is the name of the entrypoint; that of a listener of a provider is its address.
	EntryPoint string `json:"entryPoint"`
	// Protocol is http/1.1, h2, h3 or tcp; empty as long as it is not known.
	Protocol string `json:"protocol"`
	// Client is the address of the client, and ClientPort its port.
	Client     string `json:"client"`
	ClientPort string `json:"clientPort"`
	// ServerName is the SNI; empty without one.
	ServerName string `json:"serverName"`
	// Since is when it was accepted.
	Since time.Time `json:"since"`
	// Requests is the number of its HTTP requests.
	Requests int64 `json:"requests"`
}

// ConnectionSelection returns the selection for a client, which is an IP address or a prefix, and an entrypoint. Empty
// ones select all.
func ConnectionSelection(client, entryPoint string) (entrypoint.Selection, error) {
	selection := entrypoint.Selection{Entrypoint: entryPoint}
	if client == "" {
		return selection, nil
	}
	if address, err := netip.ParseAddr(client); err == nil {
		address = address.Unmap().WithZone("")
		selection.Client = netip.PrefixFrom(address, address.BitLen())
		return selection, nil
	}
	prefix, err := netip.ParsePrefix(client)
	if err != nil {
		return selection, fmt.Errorf("client %q is neither an IP address nor a prefix", client)
	}
	selection.Client = prefix
	return selection, nil
}

// connections lists open connections.
func (h *handler) connections(w http.ResponseWriter, r *http.Request) {
	query, ok := h.query(w, r)
	if !ok {
		return
	}
	selection, err := ConnectionSelection(query.Get("client"), query.Get("entryPoint"))
	if err != nil {
		h.write(w, http.StatusBadRequest, Problem{Message: "query: " + err.Error()})
		return
	}
	oldest, total := h.options.Connections.Connections(selection, maxConnections)
	page, err := Paged(w.Header(), query, oldest)
	if err != nil {
		h.write(w, http.StatusBadRequest, Problem{Message: err.Error()})
		return
	}
	w.Header().Set(totalCount, strconv.Itoa(total)) // Also those that are not listed.
	shown := make([]Connection, 0, len(page))
	for i := range page {
		one := &page[i]
		shown = append(shown, Connection{
			ID: one.ID, EntryPoint: one.Entrypoint, Protocol: one.Protocol, Client: one.Client, ClientPort: one.ClientPort,
			ServerName: one.ServerName, Since: one.Since, Requests: one.Requests,
		})
	}
	h.write(w, http.StatusOK, shown)
}
