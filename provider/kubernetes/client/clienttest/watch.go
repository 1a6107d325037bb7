package clienttest

import (
	"encoding/json"
	"net/http"
	"sort"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// line is one line of an answer to a watch.
type line struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

// watch answers with changes until the client has gone, or the resource or the server.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, request listRequest) {
	w.Header().Set("Content-Type", "application/json")
	after, _ := strconv.Atoi(request.version)
	send := func(lines []line) {
		encoder := json.NewEncoder(w)
		for _, one := range lines {
			_ = encoder.Encode(one)
		}
		_ = http.NewResponseController(w).Flush()
	}
	if request.initial || after == 0 {
		var lines []line
		lines, after = s.present(request)
		send(lines)
	} else {
		send(nil)
	}
	for {
		lines, last, next, more := s.since(request, after)
		if len(lines) > 0 {
			send(lines)
		}
		if !more {
			return
		}
		after = last
		select {
		case <-r.Context().Done():
			return
		case <-next:
		}
	}
}

// present returns everything that is there as added, and the mark that ends it.
func (s *Server) present(request listRequest) ([]line, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []line
	for _, object := range s.objects[request.resource] {
		if request.matches(object) {
			lines = append(lines, line{"ADDED", object.Object})
		}
	}
	if request.initial {
		lines = append(lines, line{"BOOKMARK", map[string]any{
			"apiVersion": request.resource.GroupVersion().String(), "kind": s.served[request.resource],
			"metadata": map[string]any{
				"resourceVersion": strconv.Itoa(s.version),
				"annotations":     map[string]any{metav1.InitialEventsAnnotationKey: "true"},
			},
		}})
	}
	return lines, s.version
}

// since returns the changes after a version, the version up to which that is, and what is closed when there are more.
// It reports whether there can be more.
func (s *Server) since(request listRequest, after int) ([]line, int, <-chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after < s.oldest {
		return []line{{"ERROR", status(http.StatusGone, metav1.StatusReasonExpired, "too old resource version")}}, 0, nil,
			false
	}
	var lines []line
	first := sort.Search(len(s.changes), func(i int) bool { return s.changes[i].version > after })
	for _, one := range s.changes[first:] {
		if one.resource == request.resource && request.matches(one.object) {
			lines = append(lines, line{one.what, one.object.Object})
		}
	}
	_, served := s.served[request.resource]
	return lines, s.version, s.changed, served
}
