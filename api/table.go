package api

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gorilla/mux"
)

// row is a line of a table.
type row interface {
	comparable
	base() *object
}

// table holds the objects of one kind in order of their names.
type table[R row] struct {
	rows []R
	// byName finds a row.
	byName map[string]R
}

func newTable[R row](rows []R) table[R] {
	t := table[R]{rows: rows, byName: make(map[string]R, len(rows))}
	for _, row := range rows {
		t.byName[row.base().name] = row
	}
	return t
}

// tally counts a table for /api/overview.
type tally struct {
	Total    int `json:"total"`
	Warnings int `json:"warnings"`
	Errors   int `json:"errors"`
}

func (t table[R]) tally() *tally {
	counted := &tally{Total: len(t.rows)}
	for _, row := range t.rows {
		switch row.base().status {
		case statusWarning:
			counted.Warnings++
		case statusDisabled:
			counted.Errors++
		}
	}
	return counted
}

// listing says how the objects of a kind are listed and shown.
type listing[R row] struct {
	// noun names the kind in errors.
	noun string
	// pick finds the table in a view.
	pick func(*view) table[R]
	// keep applies the filters that only this kind has; nil keeps all.
	keep func(row R, query url.Values) bool
	// order returns how to compare by what sortBy names, beside name, provider and status; nil where nothing goes by that.
	// A nil order knows no more.
	order func(by string) func(a, b R) int
	// show returns what is written as JSON.
	show func(R) any
}

// mount adds the paths of a listing: the list, and its objects by their escaped names.
func mount[R row](h *handler, root *mux.Router, path string, l listing[R]) {
	Get(root, h.prefix+path, func(w http.ResponseWriter, r *http.Request) { list(h, w, r, l) })
	Get(root, h.prefix+path+"/{id}", func(w http.ResponseWriter, r *http.Request) {
		name, ok := h.id(w, r)
		if !ok {
			return
		}
		row, found := l.pick(h.view()).byName[name]
		if !found {
			h.write(w, http.StatusNotFound, Problem{Message: l.noun + " not found: " + name})
			return
		}
		h.write(w, http.StatusOK, l.show(row))
	})
}

// list answers with the page of a table that is asked for.
func list[R row](h *handler, w http.ResponseWriter, r *http.Request, l listing[R]) {
	query, ok := h.query(w, r)
	if !ok {
		return
	}
	rows := l.pick(h.view()).rows
	kept := make([]R, 0, len(rows))
	status, search := query.Get("status"), strings.ToLower(query.Get("search"))
	for _, row := range rows {
		object := row.base()
		if (status == "" || strings.EqualFold(status, object.status)) && strings.Contains(object.haystack, search) &&
			(l.keep == nil || l.keep(row, query)) {
			kept = append(kept, row)
		}
	}
	l.sort(kept, query.Get("sortBy"), query.Get("direction") == "desc")
	answer(h, w, query, kept, l.show)
}

// answer writes the page of rows that is asked for.
func answer[R any](h *handler, w http.ResponseWriter, query url.Values, rows []R, show func(R) any) {
	page, err := Paged(w.Header(), query, rows)
	if err != nil {
		h.write(w, http.StatusBadRequest, Problem{Message: err.Error()})
		return
	}
	shown := make([]any, 0, len(page))
	for _, row := range page {
		shown = append(shown, show(row))
	}
	h.write(w, http.StatusOK, shown)
}

// sort orders rows, which are in order of their names, by what sortBy names; by name where nothing goes by that. Rows
// that are equal in it are in order of their names, in the same direction.
func (l listing[R]) sort(rows []R, by string, descending bool) {
	var order func(a, b R) int
	switch by {
	case "provider":
		order = func(a, b R) int { return cmp.Compare(a.base().provider, b.base().provider) }
	case "status":
		order = func(a, b R) int { return cmp.Compare(a.base().status, b.base().status) }
	default:
		if l.order != nil {
			order = l.order(by)
		}
	}
	if order != nil {
		slices.SortStableFunc(rows, order)
	}
	if descending {
		slices.Reverse(rows)
	}
}

// query reads the query, and answers when that fails.
func (h *handler) query(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		h.write(w, http.StatusBadRequest, Problem{Message: "query: " + err.Error()})
		return nil, false
	}
	return query, true
}

// id reads the escaped name at the end of the path, and answers when that fails.
func (h *handler) id(w http.ResponseWriter, r *http.Request) (string, bool) {
	name, err := url.PathUnescape(mux.Vars(r)["id"])
	if err != nil {
		h.write(w, http.StatusBadRequest, Problem{Message: "path: " + err.Error()})
		return "", false
	}
	return name, true
}
