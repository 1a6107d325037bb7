package forwardauth

import (
	"errors"
	"net/url"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/authorize"
)

// timeout is how long the authentication server has for its whole answer.
const timeout = 30 * time.Second

var (
	errTimeout  = errors.New("its time is over")
	errLocation = errors.New("its Location is not a URL")
)

// server is the client of the authentication server.
type server struct {
	*authorize.Client

	timeout time.Duration
}

// newServer returns a client for the URL, whose host it writes in ASCII. It does not dial.
func newServer(config *dynamic.ForwardAuth, address *url.URL, options Options) (*server, error) {
	client, err := authorize.NewClient(authorize.Server{
		Kind: "forwardAuth", Option: "address", URL: address, TLS: config.TLS, ReadFile: options.ReadFile, Dial: options.Dial,
	})
	if err != nil {
		return nil, err
	}
	return &server{Client: client, timeout: timeout}, nil
}
