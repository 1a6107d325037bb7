package externalauth

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/authorize"
)

// settings are the options of one externalAuth, checked.
type settings struct {
	grpc bool
	// path is put before the path of the request that asks.
	path string
	// shown are names of headers of the client, and copied of headers of the answer, in net/http's canonical spelling.
	shown, copied []string
	// maxBody is in bytes; 0 shows no bodies.
	maxBody int64
}

func newSettings(config *dynamic.ExternalAuth) (*settings, error) {
	s := &settings{maxBody: config.MaxBodySize}
	if s.maxBody < 0 {
		return nil, fmt.Errorf("externalAuth.maxBodySize %d is negative", s.maxBody)
	}
	switch config.Protocol {
	case "http", "":
	case "grpc":
		s.grpc = true
		if config.Path != "" || len(config.AllowedResponseHeaders) > 0 {
			return nil, errors.New("externalAuth.path and externalAuth.allowedResponseHeaders are for the protocol http")
		}
	default:
		return nil, fmt.Errorf("externalAuth.protocol %q is neither http nor grpc", config.Protocol)
	}
	if config.Path != "" {
		path, err := canonical.Literal("/" + strings.Trim(config.Path, "/"))
		if err != nil {
			return nil, fmt.Errorf("externalAuth.path: %w", err)
		}
		s.path = strings.TrimRight(path, "/")
	}
	var err error
	if s.shown, err = authorize.HeaderNames("externalAuth.allowedHeaders", config.AllowedHeaders); err != nil {
		return nil, err
	}
	s.copied, err = authorize.SettableNames("externalAuth.allowedResponseHeaders", config.AllowedResponseHeaders)
	return s, err
}
