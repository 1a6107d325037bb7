package live

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Unmatched returns the requests that no router matched; it is implemented by telemetry.Unmatched.
type Unmatched interface {
	Requests() telemetry.UnmatchedRequests
}

// unmatched returns a page of the requests that no router matched. The filters are search, in host and path, and
// entryPoint.
func (l *Live) unmatched(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		l.refuse(w, http.StatusBadRequest, "query: "+err.Error())
		return
	}
	answer := l.options.Unmatched.Requests()
	search, entryPoint := strings.ToLower(query.Get("search")), query.Get("entryPoint")
	kept := []telemetry.UnmatchedRequest{}
	for _, one := range answer.Requests {
		if strings.Contains(strings.ToLower(one.Host+one.Path), search) &&
			(entryPoint == "" || entryPoint == one.EntryPoint) {
			kept = append(kept, one)
		}
	}
	if answer.Requests, err = api.Paged(w.Header(), query, kept); err != nil {
		l.refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	l.write(w, http.StatusOK, answer)
}
