package node

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// maxLines is the number of lines that a pod's log keeps.
const maxLines = 10000

// journal is the log of a pod, as an io.Writer.
type journal struct {
	mutex   sync.Mutex
	lines   []line
	partial []byte // an incomplete line
}

// line is one line of a log with its end.
type line struct {
	at   time.Time
	text []byte
}

// Write appends lines with the current time.
func (j *journal) Write(text []byte) (int, error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	now := time.Now()
	j.partial = append(j.partial, text...)
	for {
		end := bytes.IndexByte(j.partial, '\n')
		if end < 0 {
			break
		}
		j.lines = append(j.lines, line{now, bytes.Clone(j.partial[:end+1])})
		j.partial = append(j.partial[:0], j.partial[end+1:]...)
	}
	if surplus := len(j.lines) - maxLines; surplus > maxLines/10 {
		j.lines = slices.Delete(j.lines, 0, surplus)
	}
	return len(text), nil
}

// since returns the lines that are not older than a time.
func (j *journal) since(begin time.Time) []line {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	first, _ := slices.BinarySearchFunc(j.lines, begin, func(one line, begin time.Time) int {
		return one.at.Compare(begin)
	})
	return slices.Clone(j.lines[first:])
}

// serve answers a request for the log with the lines since sinceTime or sinceSeconds, the last tailLines of them, and
// with the time before each line for timestamps.
func (j *journal) serve(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	var begin time.Time
	var err error
	tail := -1
	for name := range query {
		value := query.Get(name)
		var n int
		switch name {
		case "sinceTime":
			begin, err = time.Parse(time.RFC3339, value)
		case "sinceSeconds":
			n, err = strconv.Atoi(value)
			begin = time.Now().Add(-time.Duration(n) * time.Second)
		case "tailLines":
			tail, err = strconv.Atoi(value)
		case "timestamps":
			_, err = strconv.ParseBool(value)
		default:
			http.Error(w, "unsupported parameter: "+name, http.StatusNotImplemented)
			return
		}
		if err != nil {
			http.Error(w, name+": "+err.Error(), http.StatusBadRequest)
			return
		}
	}
	lines := j.since(begin)
	if tail >= 0 && tail < len(lines) {
		lines = lines[len(lines)-tail:]
	}
	w.Header().Set("Content-Type", "text/plain")
	for _, one := range lines {
		if query.Get("timestamps") == "true" {
			_, _ = w.Write(append([]byte(one.at.Format(time.RFC3339Nano)), ' '))
		}
		_, _ = w.Write(one.text)
	}
}
