package environment

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/source"
	"github.com/sluiceproxy/sluice/telemetry"
)

// trust decides which clients may choose. The zero value trusts none. It is an immutable value.
type trust struct {
	anyone        bool
	addresses     forwarded.Trust
	client        forwarded.ClientStrategy
	authenticated bool
	// signed is set if there is a key of signed tags.
	signed bool
	key    environment.Key
}

// newTrust checks the options of trust. The error begins with the option.
func newTrust(config *dynamic.EnvironmentTrust, readFile func(string) ([]byte, error)) (trust, error) {
	if config == nil {
		return trust{}, nil
	}
	t := trust{anyone: config.Anyone, authenticated: config.Authenticated}
	if config.Anyone && (len(config.SourceRange) > 0 || config.IPStrategy != nil || config.Authenticated) {
		return trust{}, errors.New("environment.trust.anyone is set, and another option of trust would have no effect")
	}
	var err error
	if t.addresses, err = forwarded.NewTrust(config.SourceRange); err != nil {
		return trust{}, fmt.Errorf("environment.trust.sourceRange: %w", err)
	}
	if strategy := config.IPStrategy; strategy != nil {
		if len(config.SourceRange) == 0 {
			return trust{}, errors.New("environment.trust.ipStrategy is set without environment.trust.sourceRange")
		}
		if t.client, err = source.Client(strategy); err != nil {
			return trust{}, fmt.Errorf("environment.trust.ipStrategy.%w", err)
		}
	}
	if config.Signed != nil {
		t.signed = true
		if t.key, err = newKey(config.Signed, readFile); err != nil {
			return trust{}, fmt.Errorf("environment.trust.signed%w", err)
		}
	}
	return t, nil
}

// trusts reports whether the client of a request may choose any tag.
func (t *trust) trusts(r *http.Request) bool {
	if t.anyone {
		return true
	}
	if t.authenticated && (telemetry.RecordFrom(r.Context()).Authenticated ||
		r.TLS != nil && len(r.TLS.VerifiedChains) > 0) {
		return true
	}
	if t.addresses.Empty() {
		return false
	}
	client, known := t.client.Client(r)
	return known && t.addresses.Contains(client)
}

// newKey returns the key that the options hold or name. The error continues the name of the section, and names no path:
// a key may stand there by mistake.
func newKey(config *dynamic.EnvironmentSigning, readFile func(string) ([]byte, error)) (environment.Key, error) {
	option, content := ".key", []byte(config.Key)
	switch {
	case config.Key == "" && config.KeyFile == "":
		return environment.Key{}, errors.New(" has no key")
	case config.Key != "" && config.KeyFile != "":
		return environment.Key{}, errors.New(" sets key and keyFile, and one of them is wanted")
	case config.KeyFile != "":
		option = ".keyFile"
		var err error
		if content, err = read(config.KeyFile, readFile); err != nil {
			return environment.Key{}, fmt.Errorf("%s %w", option, err)
		}
	}
	key, err := environment.NewKey(content)
	if err != nil {
		return environment.Key{}, fmt.Errorf("%s %w", option, err)
	}
	return key, nil
}

// maxKey is the maximum length of a file with a key, in bytes.
const maxKey = 1 << 16

// read returns the content of a file. The path is not named.
func read(path string, readFile func(path string) ([]byte, error)) ([]byte, error) {
	if readFile == nil {
		return nil, errors.New("can't be read here")
	}
	if strings.ContainsAny(path, "\r\n") {
		return nil, errors.New("is not the path of a file")
	}
	content, err := readFile(path)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("can't be read: %w", failed.Err)
	}
	switch {
	case err != nil:
		return nil, errors.New("can't be read")
	case len(content) > maxKey:
		return nil, fmt.Errorf("is longer than %d bytes", maxKey)
	}
	return content, nil
}
