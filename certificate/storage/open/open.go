// Package open opens the store of certificates that an option names.
package open

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/etcd"
	"github.com/sluiceproxy/sluice/certificate/storage/file"
	"github.com/sluiceproxy/sluice/certificate/storage/redis"
	"github.com/sluiceproxy/sluice/certificate/storage/secret"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Options are the dependencies of stores.
type Options struct {
	// Logger is needed. It gets no secrets.
	Logger telemetry.Logger
	// Cluster says how the cluster of kubernetes:// is reached; the zero value is that which Sluice runs in, or that of
	// KUBECONFIG.
	Cluster client.Options
}

// Open returns the store at a location:
//
//   - a path, or file:///path: acme.json of Traefik
//   - kubernetes://[namespace]: Secrets; the namespace is Sluice's own by default
//   - redis://[user:password@]host[:6379][/db][?prefix=sluice]
//   - etcd://[user:password@]host[:2379][,host...][/prefix]
//
// rediss:// and etcds:// use TLS, with the parameters ca, cert and key, which name files. Nothing is connected before
// the store is used, and connections end with ctx. An error means that the location is wrong, and does not contain the
// password.
func Open(ctx context.Context, location string, options Options) (storage.Store, error) {
	scheme, rest, isURL := cutScheme(location)
	switch {
	case location == "":
		return nil, errors.New("the storage of certificates is empty")
	case !isURL:
		return file.Open(filepath.Clean(location), options.Logger), nil
	}
	switch scheme {
	case "file":
		parsed, err := url.Parse(location)
		if err != nil || parsed.Host != "" && parsed.Host != "localhost" || !filepath.IsAbs(parsed.Path) ||
			parsed.RawQuery != "" || parsed.Fragment != "" {
			return nil, errors.New("the storage of certificates is not file:///path")
		}
		return file.Open(filepath.Clean(parsed.Path), options.Logger), nil
	case "kubernetes":
		namespace := strings.TrimSuffix(rest, "/")
		if !namespaces.MatchString(namespace) {
			return nil, errors.New("the storage of certificates is not kubernetes://namespace")
		}
		return opened(secret.Open(ctx, namespace, secret.Options{Cluster: options.Cluster, Logger: options.Logger}))
	case "redis", "rediss":
		return opened(redis.Open(ctx, location, options.Logger))
	case "etcd", "etcds":
		return opened(etcd.Open(ctx, location, options.Logger))
	}
	return nil, fmt.Errorf("certificates can't be stored in %s://; a path, file://, kubernetes://, redis://, rediss://, "+
		"etcd:// and etcds:// are possible", scheme)
}

// namespaces matches the names of namespaces, and none.
var namespaces = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$`)

// schemes matches the scheme of a URL.
var schemes = regexp.MustCompile(`^([A-Za-z][-+.A-Za-z0-9]*)://`)

// cutScheme returns the scheme of a location and what follows, and false for a path.
func cutScheme(location string) (scheme, rest string, ok bool) {
	found := schemes.FindStringSubmatch(location)
	if found == nil {
		return "", location, false
	}
	return found[1], location[len(found[0]):], true
}

// opened returns a store of any type, and no typed nil after an error.
func opened[T storage.Store](store T, err error) (storage.Store, error) {
	if err != nil {
		return nil, fmt.Errorf("storage of certificates: %w", err)
	}
	return store, nil
}
