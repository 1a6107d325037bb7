package image

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
)

// retries counts the failed attempts of each uuid.
type retries struct {
	mutex sync.Mutex
	count map[string]int
}

func newRetries() *retries { return &retries{count: map[string]int{}} }

// fails counts an attempt, and reports whether it is one of the first n.
func (r *retries) fails(uuid string, n int) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.count[uuid] >= n {
		return false
	}
	r.count[uuid]++
	return true
}

// retry fails the first succeedAfter attempts of a uuid after the time delayRetry, with responseCode, or without one by
// resetting the connection. Later attempts are echoed.
func (e *echo) retry(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	uuid := query.Get("uuid")
	count, err := strconv.Atoi(query.Get("succeedAfter"))
	if uuid == "" || err != nil {
		http.Error(w, "the parameters uuid and succeedAfter are required", http.StatusBadRequest)
		return
	}
	if !e.retries.fails(uuid, count) {
		e.echo(w, r)
		return
	}
	if !wait(w, r, "delayRetry") {
		return
	}
	if code, err := strconv.Atoi(query.Get("responseCode")); err == nil {
		w.WriteHeader(code)
		return
	}
	if err := reset(w); err != nil {
		fail(w, err)
	}
}

// reset closes a connection of HTTP/1.1 with RST.
func reset(w http.ResponseWriter) error {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	if plain, ok := connection.(*net.TCPConn); ok {
		err = plain.SetLinger(0)
	}
	return errors.Join(err, connection.Close())
}
