// Package open opens the storage that an option names.
package open

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/file"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Open returns the storage of an option: the path of a file in the format of acme.json, or the URL of another kind. It
// connects to nothing. Its errors have no passwords.
func Open(option string, logger telemetry.Logger) (storage.Store, error) {
	scheme, rest, isURL := strings.Cut(option, "://")
	if !isURL {
		return file.New(option, logger), nil
	}
	switch scheme {
	case "file":
		return file.New(rest, logger), nil
	}
	if _, err := url.Parse(option); err != nil {
		return nil, fmt.Errorf("%s:// is followed by no valid URL", scheme)
	}
	return nil, fmt.Errorf("%s:// is no kind of storage: expected a file such as acme.json, kubernetes://NAMESPACE, "+
		"redis://HOST:PORT/DB or etcd://HOST:PORT/PREFIX", scheme)
}
