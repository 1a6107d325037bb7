package oracle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// timeout bounds every wait.
	timeout = 20 * time.Second
	// silence is how long a stack may send nothing before it counts as waiting for more bytes.
	silence = 2 * time.Second
)

// follow is sent on a connection that is still open after a case, next on another one.
const (
	follow = "GET /follow HTTP/1.1\r\nHost: any.test\r\n\r\n"
	next   = "GET /next HTTP/1.1\r\nHost: any.test\r\nConnection: close\r\n\r\n"
)

// outcome is what a stack made of a case.
type outcome struct {
	// answers are the final responses to what was sent.
	answers []answer
	// interim are the statuses of the informational ones.
	interim []int
	// kept is set if the same connection then served another request, whose method may begin with what was sent before.
	kept bool
	// followed is the method with which that one reached the backend.
	followed string
	// silent is set if the stack waited for more.
	silent bool
	// odd is what came and is no response.
	odd string
	// seen and broken are what the backend got: requests, and bytes that are none.
	seen   []message
	broken []string
	// pending is what the backend still waited for the rest of when the case was over.
	pending []string
	// next is what the next client got, next's answer when all is well.
	next string
}

// answer is a response to a client.
type answer struct {
	status  int
	header  http.Header
	trailer http.Header
	body    string
	// cut is the visible end before the end.
	cut error
}

// exchange sends a case through a lane. What is cut ends the client's side after the bytes.
func (l lane) exchange(ctx context.Context, what sending) (o outcome) {
	conn, err := new(net.Dialer).DialContext(ctx, l.network, l.address)
	if err != nil {
		return outcome{odd: err.Error()}
	}
	c := &client{Conn: conn, reader: bufio.NewReader(conn), methods: methodsOf(what.bytes)}
	c.run(what, l.backend, &o)
	_ = conn.Close()
	o.pending = l.backend.settle(silence)
	o.seen, o.broken = l.backend.take()
	if n := len(o.seen); o.kept && n > 0 && o.seen[n-1].target == "/follow" {
		o.followed, o.seen = o.seen[n-1].method, o.seen[:n-1]
	}
	o.next = l.next(ctx)
	return o
}

// next sends a request as another client, and returns what is wrong with the result, or its response.
func (l lane) next(ctx context.Context) string {
	conn, err := new(net.Dialer).DialContext(ctx, l.network, l.address)
	if err != nil {
		return err.Error()
	}
	defer conn.Close() //nolint:errcheck // Everything was read.
	_ = conn.SetDeadline(time.Now().Add(timeout))
	_, _ = io.WriteString(conn, next) // the response shows errors
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err.Error()
	}
	body, err := io.ReadAll(response.Body)
	seen, broken := l.backend.take()
	if err != nil || response.StatusCode != http.StatusOK || len(seen) != 1 || len(broken) > 0 ||
		seen[0].target != "/next" {
		return fmt.Sprintf("status %d, body %q, %v; the backend saw %q, %q", response.StatusCode, body, err, seen, broken)
	}
	return string(body)
}

// client is one connection to a stack.
type client struct {
	net.Conn
	reader  *bufio.Reader
	methods []string // of the sent requests, as far as they can be parsed
	asked   int
}

func (c *client) run(what sending, b *backend, o *outcome) {
	_ = c.SetDeadline(time.Now().Add(timeout))
	_, _ = io.WriteString(c, what.bytes) // A stack may have closed the connection by then, and the answer is what counts.
	if what.cut {
		c.end()
	}
	for followed := false; ; {
		_ = c.SetReadDeadline(time.Now().Add(silence))
		got, err := c.receive()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && !o.silent:
			o.silent = true
			c.end()
			continue
		case err != nil:
			return
		case got.status == 0:
			o.odd = got.body
			return
		case got.status < http.StatusOK && got.status != http.StatusSwitchingProtocols:
			o.interim = append(o.interim, got.status)
			continue
		case got.status == http.StatusOK && strings.HasSuffix(got.body, " /follow"):
			o.kept = true
			return
		}
		o.answers = append(o.answers, got)
		c.asked++
		if !followed && !what.cut && !o.silent {
			followed = true
			if what.between != nil {
				what.between(b)
			}
			_, _ = io.WriteString(c, follow) // As above.
		}
	}
}

func (c *client) end() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // The other side may have closed it already.
	}
}

// receive reads a response; one with status 0 is what is no response.
func (c *client) receive() (answer, error) {
	if _, err := c.reader.Peek(1); err != nil {
		return answer{}, err
	}
	begin, _ := c.reader.Peek(c.reader.Buffered())
	raw := string(begin)
	method := http.MethodGet
	if c.asked < len(c.methods) {
		method = c.methods[c.asked]
	}
	response, err := http.ReadResponse(c.reader, &http.Request{Method: method})
	if err != nil {
		return answer{body: raw}, nil //nolint:nilerr // What is no response is an outcome.
	}
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, response.Trailer, string(body), err}, nil
}

// methodsOf returns the methods of the requests in what is sent, the first one even when it is malformed.
func methodsOf(sent string) []string {
	var methods []string
	for _, one := range readAll(sent) {
		methods = append(methods, one.method)
	}
	if len(methods) == 0 && strings.HasPrefix(sent, "HEAD ") {
		methods = []string{http.MethodHead}
	}
	return methods
}

// sending is something to send through every stack.
type sending struct {
	bytes string
	cut   bool
	// between happens when the first answer has come.
	between func(*backend)
}

// observe sends everything through every stack, and returns the outcomes in the order of the sendings.
func observe(ctx context.Context, stacks []stack, all []sending) map[string][]outcome {
	var under sync.WaitGroup
	outcomes := map[string][]outcome{}
	for _, stack := range stacks {
		results := make([]outcome, len(all))
		outcomes[stack.name] = results
		indices := make(chan int, len(all))
		for i := range all {
			indices <- i
		}
		close(indices)
		for _, lane := range stack.lanes {
			under.Go(func() {
				for i := range indices {
					results[i] = lane.exchange(ctx, all[i])
				}
			})
		}
	}
	under.Wait()
	return outcomes
}

// String summarizes the client's result.
func (o outcome) String() string {
	var words []string
	for _, status := range o.interim {
		words = append(words, fmt.Sprintf("(%d)", status))
	}
	for _, one := range o.answers {
		word := fmt.Sprint(one.status)
		if one.cut != nil {
			word += " cut"
		}
		words = append(words, word)
	}
	for _, extra := range []struct {
		so   bool
		word string
	}{{o.odd != "", "odd"}, {o.silent, "silent"}, {o.kept, "kept"}} {
		if extra.so {
			words = append(words, extra.word)
		}
	}
	return strings.Join(words, " ")
}
