package api

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/gorilla/mux"
)

type row interface {
	comparable
	base() *object
}

// table holds the objects of one kind, sorted by name.
type table[R row] struct {
	rows   []R
	byName map[string]R
}

func newTable[R row](rows []R) table[R] {
	t := table[R]{rows: rows, byName: make(map[string]R, len(rows))}
	for _, row := range rows {
		t.byName[row.base().name] = row
	}
	return t
}

// statusCounts is the summary of a table in /api/overview.
type statusCounts struct {
	Total    int `json:"total"`
	Warnings int `json:"warnings"`
	Errors   int `json:"errors"`
}

func (t table[R]) statusCounts() *statusCounts {
	counted := &statusCounts{Total: len(t.rows)}
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

// listing defines how the objects of a kind are listed and shown.
type listing[R row] struct {
	// noun is the kind in error messages.
	noun string
	// pick returns the table of a view.
	pick func(*view) table[R]
	// keep applies the filters of this kind; nil keeps all.
	keep func(row R, query url.Values) bool
	// order returns the comparison for a sort key beside name, provider and status, or nil. It may be nil.
	order func(by string) func(a, b R) int
	// show returns the value that is encoded as JSON.
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

// list answers with the requested page of a table.
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
		if (status == "" || strings.EqualFold(status, object.status)) && strings.Contains(object.searchText, search) &&
			(l.keep == nil || l.keep(row, query)) {
			kept = append(kept, row)
		}
	}
	if query.Get("sortBy") == "relevance" {
		sortByRelevance(kept, search)
	} else {
		l.sort(kept, query.Get("sortBy"), query.Get("direction") == "desc")
	}
	answer(h, w, query, kept, l.show)
}

// answer writes the requested page of rows.
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

// sort orders rows, which are sorted by name, by the key sortBy. It is stable, and reverses names too if descending.
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

// sortByRelevance orders rows, which are sorted by name, by how their names match a search in lower case.
func sortByRelevance[R row](rows []R, search string) {
	ranks := make(map[R]int, len(rows))
	for _, row := range rows {
		ranks[row] = relevance(strings.ToLower(row.base().name), search)
	}
	slices.SortStableFunc(rows, func(a, b R) int { return cmp.Compare(ranks[a], ranks[b]) })
}

// relevance ranks the match of a search in a name, both in lower case: 0 at its beginning, 1 at the beginning of a
// word, 2 elsewhere, and 3 for none.
func relevance(name, search string) int {
	switch {
	case strings.HasPrefix(name, search):
		return 0
	case !strings.Contains(name, search):
		return 3
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, search) }) {
		return 1
	}
	return 2
}

// query parses the query, or answers with an error.
func (h *handler) query(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		h.write(w, http.StatusBadRequest, Problem{Message: "query: " + err.Error()})
		return nil, false
	}
	return query, true
}

// id parses the escaped name at the end of the path, or answers with an error.
func (h *handler) id(w http.ResponseWriter, r *http.Request) (string, bool) {
	name, err := url.PathUnescape(mux.Vars(r)["id"])
	if err != nil {
		h.write(w, http.StatusBadRequest, Problem{Message: "path: " + err.Error()})
		return "", false
	}
	return name, true
}
