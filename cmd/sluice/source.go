package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/static"
)

const (
	// localAPI is where a Sluice on this machine serves its API by default (api.insecure, entrypoint traefik).
	localAPI = "http://127.0.0.1:8080"
	// localTimeout is how long a Sluice on this machine may take to say that it is there.
	localTimeout = 2 * time.Second
)

// errStatic is the error of a static configuration whose findings have been printed.
var errStatic = errors.New("the static configuration is wrong")

// source is what a command answers from: the API of a running Sluice, or a static configuration.
type source struct {
	// api is the URL of the API of a running Sluice; it is empty where the static configuration counts.
	api      string
	loaded   static.Loaded
	findings []static.Finding
}

// findSource returns the source that --api names, or else the static configuration, or else, when there is none, the
// Sluice that runs on this machine. The error says where a configuration was searched.
func findSource(api string, sources static.Sources) (source, error) {
	if api != "" {
		return source{api: withScheme(api)}, nil
	}
	loaded, findings := static.Load(sources)
	if !loaded.Empty() || len(sources.Args) > 0 || sources.Alone {
		return source{loaded: loaded, findings: findings}, nil
	}
	err := isSluice(localAPI)
	if err == nil {
		return source{api: localAPI}, nil
	}
	return source{}, fmt.Errorf("no configuration was found: there is no sluice.toml, sluice.yaml, sluice.yml, "+
		"traefik.toml, traefik.yaml or traefik.yml in %s, no option in the environment, and no API of a running Sluice (%w); "+
		"name a file with --configFile=FILE or a running Sluice with --api=URL",
		strings.Join(static.SearchFolders(sources.Environ), ", "), err)
}

// withScheme completes the URL of an API that was given as HOST:PORT.
func withScheme(api string) string {
	if strings.Contains(api, "://") {
		return api
	}
	return "http://" + api
}

// isSluice requests the version of the API at a URL, which only Sluice gives its code name.
func isSluice(api string) error {
	ctx, cancel := context.WithTimeout(context.Background(), localTimeout)
	defer cancel()
	response, err := get(ctx, apiPath(api, "version"), nil, false, http.StatusNotFound)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNotFound {
		return fmt.Errorf("what answers at %s serves no API; a Sluice does with api.insecure", api)
	}
	var version struct{ Codename string }
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&version); err != nil ||
		version.Codename != codename {
		return fmt.Errorf("what answers at %s is not Sluice", api)
	}
	return nil
}

// String says what the source is.
func (s source) String() string {
	switch {
	case s.api != "":
		return "the running Sluice at " + withoutUser(s.api)
	case s.loaded.File != "":
		return s.loaded.File
	}
	return "environment and flags"
}
