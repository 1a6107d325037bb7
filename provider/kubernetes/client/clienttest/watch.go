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
func (s *Server) watch(w http.ResponseWriter, r *http.Request, asked question) {
	w.Header().Set("Content-Type", "application/json")
	after, _ := strconv.Atoi(asked.version)
	send := func(lines []line) {
		encoder := json.NewEncoder(w)
		for _, one := range lines {
			_ = encoder.Encode(one)
		}
		_ = http.NewResponseController(w).Flush()
	}
	if asked.initial || after == 0 {
		var lines []line
		lines, after = s.present(asked)
		send(lines)
	} else {
		send(nil)
	}
	for {
		lines, last, next, more := s.since(asked, after)
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
func (s *Server) present(asked question) ([]line, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []line
	for _, object := range s.objects[asked.resource] {
		if asked.wants(object) {
			lines = append(lines, line{"ADDED", object.Object})
		}
	}
	if asked.initial {
		lines = append(lines, line{"BOOKMARK", map[string]any{
			"apiVersion": asked.resource.GroupVersion().String(), "kind": s.served[asked.resource],
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
func (s *Server) since(asked question, after int) ([]line, int, <-chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after < s.oldest {
		return []line{{"ERROR", status(http.StatusGone, metav1.StatusReasonExpired, "too old resource version")}}, 0, nil,
			false
	}
	var lines []line
	first := sort.Search(len(s.changes), func(i int) bool { return s.changes[i].version > after })
	for _, one := range s.changes[first:] {
		if one.resource == asked.resource && asked.wants(one.object) {
			lines = append(lines, line{one.what, one.object.Object})
		}
	}
	_, served := s.served[asked.resource]
	return lines, s.version, s.changed, served
}
