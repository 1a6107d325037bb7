package api

import (
	"encoding/json"
	"expvar"
	"fmt"
	"net/http"
	"net/http/pprof" //nolint:gosec // The default mux, to which it adds routes, is not served.
	"net/url"
	"runtime"
	profiles "runtime/pprof"
	"slices"
	"strconv"

	"github.com/gorilla/mux"
)

// longestProfile is the maximum duration of a profile or trace, in seconds.
const longestProfile = 300

// mountDebug adds the profiles and expvar variables of the Go runtime, without the command line, which may hold
// secrets.
func mountDebug(root *mux.Router, path string) {
	Get(root, path+"/vars", variables)
	Get(root, path+"/pprof", profileIndex)
	Get(root, path+"/pprof/", profileIndex)
	Get(root, path+"/pprof/profile", bounded(wholeSeconds, pprof.Profile))
	Get(root, path+"/pprof/trace", bounded(anySeconds, pprof.Trace))
	Get(root, path+"/pprof/symbol", pprof.Symbol)
	Get(root, path+"/pprof/{id}", func(w http.ResponseWriter, r *http.Request) {
		name := mux.Vars(r)["id"]
		if profiles.Lookup(name) == nil {
			http.Error(w, "profile not found", http.StatusNotFound)
			return
		}
		bounded(wholeSeconds, pprof.Handler(name).ServeHTTP)(w, r)
	})
}

// bounded rejects durations that check rejects. Go's handlers would replace an invalid one by their default.
func bounded(check func(text string) string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			http.Error(w, "the query cannot be read", http.StatusBadRequest)
			return
		}
		if query.Has("seconds") {
			if wrong := check(query.Get("seconds")); wrong != "" {
				http.Error(w, wrong, http.StatusBadRequest)
				return
			}
		}
		next(w, r)
	}
}

// wholeSeconds returns what is wrong with the duration of a profile, which must be whole seconds; empty if valid.
func wholeSeconds(text string) string {
	if seconds, err := strconv.ParseInt(text, 10, 64); err != nil || seconds < 1 || seconds > longestProfile {
		return fmt.Sprintf("seconds is not a whole number from 1 to %d", longestProfile)
	}
	return ""
}

// anySeconds returns what is wrong with the duration of a trace, which may be a fraction; empty if valid.
func anySeconds(text string) string {
	if seconds, err := strconv.ParseFloat(text, 64); err != nil || !(seconds > 0 && seconds <= longestProfile) {
		return fmt.Sprintf("seconds is not a number above 0, and %d at most", longestProfile)
	}
	return ""
}

// profileIndex lists the profiles, one per line, with their sample counts.
func profileIndex(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	known := profiles.Profiles()
	slices.SortFunc(known, func(a, b *profiles.Profile) int {
		if a.Name() < b.Name() {
			return -1
		}
		return 1
	})
	for _, profile := range known {
		_, _ = fmt.Fprintf(w, "%s %d\n", profile.Name(), profile.Count())
	}
	_, _ = fmt.Fprint(w, "profile\nsymbol\ntrace\n")
}

// variables returns the expvar variables of libraries and the memory statistics, without the command line.
func variables(w http.ResponseWriter, _ *http.Request) {
	shown := map[string]json.RawMessage{}
	expvar.Do(func(variable expvar.KeyValue) {
		if variable.Key != "cmdline" {
			shown[variable.Key] = json.RawMessage(variable.Value.String())
		}
	})
	shown["goroutines"] = json.RawMessage(strconv.Itoa(runtime.NumGoroutine()))
	text, err := json.MarshalIndent(shown, "", "  ")
	if err != nil {
		http.Error(w, "variables cannot be encoded as JSON", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n'))
}
