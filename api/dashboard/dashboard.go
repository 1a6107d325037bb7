// Package dashboard serves the page on which somebody on call sees what Sluice does and why.
//
// In flow the files below static, which are part of the binary as they stand in the repository (HTML, CSS and
// JavaScript modules: nothing is built); out flow these files, with a content-security policy under which the page can
// load and ask nobody but the Sluice that served it. What the page shows it fetches itself from the API beside it. This
// package never looks at state, never listens, and answers nothing but GET and HEAD.
package dashboard

import (
	"net/http"
	"strings"

	"github.com/gorilla/mux"
)

// Options says how the dashboard is served.
type Options struct {
	// BasePath is the option api.basePath: what precedes /dashboard. Empty means /.
	BasePath string
	// Name is the option api.dashboardName: how the title of the page calls this Sluice. Empty means Sluice alone.
	Name string
}

// Handler is the service dashboard@internal, and a part of api@internal. It does not change, and serves any number of
// requests at a time.
type Handler struct {
	// base is what precedes /dashboard, without a slash at its end.
	base  string
	files map[string]file
}

// New returns the handler of the dashboard: the page at {BasePath}/dashboard/, its files below, and a redirect to it
// from {BasePath}/dashboard and {BasePath}/. Where a middleware has taken all of that off the path, the rest is
// understood too.
func New(options Options) *Handler {
	return &Handler{base: strings.TrimRight(options.BasePath, "/"), files: load(options.Name)}
}

// Mount adds the dashboard below prefix, the option api.basePath without a slash at its end, to the routes of the API.
func (h *Handler) Mount(root *mux.Router, prefix string) {
	mounted := &Handler{base: prefix, files: h.files}
	root.Path(prefix + "/").Handler(mounted)
	root.Path(prefix + "/dashboard").Handler(mounted)
	root.PathPrefix(prefix + "/dashboard/").Handler(mounted)
}

// ServeHTTP answers with the page or one of its files.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	guard(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the dashboard is read-only", http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	// A relative target is right behind a proxy that has taken something off the path, and names no host.
	case h.base + "/dashboard":
		w.Header().Set("Location", "dashboard/")
		w.WriteHeader(http.StatusFound)
		return
	case h.base + "/":
		if !stripped(r) {
			w.Header().Set("Location", "dashboard/")
			w.WriteHeader(http.StatusFound)
			return
		}
	}
	name, below := strings.CutPrefix(r.URL.Path, h.base+"/dashboard/")
	if !below {
		name = strings.TrimPrefix(r.URL.Path, "/")
	}
	if name == "" {
		name = page
	}
	if found, known := h.files[name]; known {
		found.serve(w, r)
		return
	}
	http.Error(w, "there is no such file", http.StatusNotFound)
}

// stripped reports whether a middleware has taken the place of the dashboard off the path.
func stripped(r *http.Request) bool {
	return strings.HasSuffix(strings.TrimRight(r.Header.Get("X-Forwarded-Prefix"), "/"), "/dashboard")
}
