// Package dashboard serves the web page that shows the state of Sluice.
//
// Handler serves the embedded files below static (HTML, CSS and JavaScript modules, without a build step) for GET and
// HEAD, with a content-security policy that limits the page to its own origin. The page fetches all data from the API.
package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/forwarded"
)

// Options are the settings of the dashboard.
type Options struct {
	// BasePath is the option api.basePath: what precedes /dashboard. Empty means /.
	BasePath string
	// Name is the option api.dashboardName, shown in the title. Empty means Sluice alone.
	Name string
}

// Handler serves dashboard@internal, and is a part of api@internal. It is immutable and safe for concurrent use.
type Handler struct {
	// base precedes /dashboard, without a slash at its end.
	base  string
	files map[string]file
}

// New returns the handler of the dashboard: the page at {BasePath}/dashboard/, its files below, and a redirect to it
// from {BasePath}/dashboard and {BasePath}/. If a middleware has stripped this prefix, the remaining path is served
// too.
func New(options Options) *Handler {
	return &Handler{base: strings.TrimRight(options.BasePath, "/"), files: load(options.Name)}
}

// Mount adds the dashboard to the API's routes below prefix, the option api.basePath without a slash at its end.
func (h *Handler) Mount(root *mux.Router, prefix string) {
	mounted := &Handler{base: prefix, files: h.files}
	root.Path(prefix + "/").Handler(mounted)
	root.Path(prefix + "/dashboard").Handler(mounted)
	root.PathPrefix(prefix + "/dashboard/").Handler(mounted)
}

// ServeHTTP serves the page or one of its files.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	guard(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the dashboard is read-only", http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	// A relative target also works behind a proxy that strips a prefix.
	case h.base + "/dashboard":
		w.Header().Set("Location", "dashboard/")
		w.WriteHeader(http.StatusFound)
		return
	case h.base + "/":
		if !stripped(r) {
			w.Header().Set("Location", h.home(r))
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
	http.Error(w, "file not found", http.StatusNotFound)
}

// home returns the target of the redirect from {BasePath}/. After stripPrefix the client's path may end without a
// slash, so that a relative target would lose the end of the prefix.
func (h *Handler) home(r *http.Request) string {
	var prefix strings.Builder
	for _, value := range r.Header.Values(forwarded.XForwardedPrefix) {
		prefix.WriteString(strings.TrimRight(value, "/"))
	}
	target, err := url.Parse(prefix.String())
	if err != nil || target.Path == "" || target.Path[0] != '/' || target.Host != "" || target.Scheme != "" ||
		strings.ContainsRune(target.Path, '\\') {
		return "dashboard/" // No prefix, or not a path of this site.
	}
	return target.EscapedPath() + h.base + "/dashboard/"
}

// stripped reports whether a middleware has stripped the dashboard's prefix.
func stripped(r *http.Request) bool {
	return strings.HasSuffix(strings.TrimRight(r.Header.Get(forwarded.XForwardedPrefix), "/"), "/dashboard")
}
