package forwardproxy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// dialTimeout is how long a connection to a host may take.
	dialTimeout = 10 * time.Second
	// idleTimeout is how long an idle connection is kept, and idlePerHost how many of a host.
	idleTimeout, idlePerHost = time.Minute, 16
)

// Direct sends requests to the host that they name, with HTTP/1.1.
type Direct struct {
	proxy *httputil.ReverseProxy
	// via is the value of the header Via by which a request that comes back is known (RFC 9110 section 7.6.3).
	via string
}

// NewDirect returns a Direct. Errors of the library are logged. control decides about each connection to a host; nil
// permits all.
func NewDirect(logger *log.Logger, control httpio.Control) *Direct {
	d := &Direct{via: "1.1 sluice-" + strings.ToLower(rand.Text()[:10])}
	d.proxy = &httputil.ReverseProxy{
		Rewrite: d.rewrite,
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: dialTimeout, Control: control}).DialContext,
			MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: idleTimeout,
			DisableCompression: true, // The client's Accept-Encoding is what it wants.
		},
		ErrorHandler: failed,
		ErrorLog:     logger,
	}
	return d
}

// ServeHTTP implements http.Handler.
func (d *Direct) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	record := telemetry.RecordFrom(r.Context())
	for _, line := range r.Header["Via"] {
		if strings.Contains(line, d.via) {
			record.Code, record.Reason = telemetry.CodeBadRequest, "the request was sent to the proxy by the proxy"
			http.Error(w, http.StatusText(http.StatusLoopDetected), http.StatusLoopDetected)
			return
		}
	}
	d.proxy.ServeHTTP(w, r)
}

// Close closes the idle connections.
func (d *Direct) Close() {
	if transport, ok := d.proxy.Transport.(*http.Transport); ok {
		transport.CloseIdleConnections()
	}
}

// rewrite makes the request to the host. The headers of other proxies are passed on as they are; default headers are
// not sent to hosts that are no Services.
func (d *Direct) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", r.In.Host, r.In.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery // The library drops parts that it cannot parse.
	for _, name := range []string{
		forwarded.Forwarded, forwarded.XForwardedFor, forwarded.XForwardedHost, forwarded.XForwardedProto,
	} {
		if values := r.In.Header[name]; len(values) > 0 {
			r.Out.Header[name] = values
		}
	}
	added, _ := r.In.Context().Value(addedKey{}).([]string)
	for _, name := range added {
		r.Out.Header.Del(name)
	}
	r.Out.Header.Add("Via", d.via)
}

// failed answers a request of which the host could not be reached or did not answer.
func failed(w http.ResponseWriter, r *http.Request, err error) {
	record := telemetry.RecordFrom(r.Context())
	status := http.StatusBadGateway
	network, ok := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		record.Code, record.Reason = telemetry.CodeClientLeft, "the client left"
		return
	case ok && network.Timeout():
		status, record.Code = http.StatusGatewayTimeout, telemetry.CodeTimeout
	default:
		record.Code = telemetry.CodeUnreachable
	}
	record.Reason = fmt.Sprintf("the host cannot be reached: %v", err)
	http.Error(w, http.StatusText(status), status)
}
