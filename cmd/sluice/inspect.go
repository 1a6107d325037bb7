package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/api/inspector"
	"github.com/sluiceproxy/sluice/httpio/graceful"
)

// inspectorTimeout bounds how long the inspector of KT-env may take for its request.
const inspectorTimeout = 10 * time.Second

// inspection is what the inspector of KT-env shows and changes.
type inspection struct {
	system   *system
	setLevel func(level string) error
}

// Status returns the environments of all clusters.
func (i inspection) Status() inspector.Status {
	environments := i.system.sources.clusters.Environments()
	status := inspector.Status{
		VirtualEnv: strings.Join(environments.Objects, ","), Services: map[string]inspector.Service{},
		Labels: map[string][]string{},
	}
	for name, tags := range environments.Services {
		status.Services[name] = inspector.Service{Environments: tags}
		namespace, _, _ := strings.Cut(name, "/")
		status.Labels[namespace] = append(status.Labels[namespace], tags...)
	}
	for namespace, tags := range status.Labels {
		slices.Sort(tags)
		status.Labels[namespace] = slices.Compact(tags)
	}
	return status
}

// SetLevel sets the level of the log.
func (i inspection) SetLevel(level string) error {
	if err := i.setLevel(level); err != nil {
		return err
	}
	i.system.logger.Info("the level of the log is changed", "level", level)
	return nil
}

// listenInspector listens for the inspector of KT-env and returns what answers it until its context ends; it does
// nothing without the option inspector. It fails when it cannot listen.
func (s *system) listenInspector(
	ctx context.Context, setLevel func(string) error,
) (serve func(context.Context), err error) {
	if s.config.Inspector == nil {
		return func(context.Context) {}, nil
	}
	listener, err := s.listenReserved(ctx, "inspector.address", s.config.Inspector.Address)
	if err != nil {
		return nil, fmt.Errorf("inspector: %w", err)
	}
	server := &http.Server{
		Handler:           inspector.NewHandler(inspection{s, setLevel}, inspectedVersion()),
		ReadHeaderTimeout: inspectorTimeout, WriteTimeout: inspectorTimeout, IdleTimeout: inspectorTimeout,
	}
	s.logger.Info("listening", "address", listener.Addr().String(), "protocol", "inspector")
	return func(ctx context.Context) {
		err := graceful.Serve(ctx, server, listener, inspectorTimeout, func() error { return server.Serve(listener) })
		if err != nil && !errors.Is(err, graceful.ErrCutOff) {
			s.logger.Error("the inspector is not answered any more", "error", err)
		}
	}, nil
}

// inspectedVersion returns version and time of this binary.
func inspectedVersion() inspector.Version {
	version := inspector.Version{Version: "unknown"}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	version.Version = cmp.Or(build.Main.Version, version.Version)
	for _, setting := range build.Settings {
		if setting.Key == "vcs.time" {
			version.BuildTime = setting.Value
		}
	}
	return version
}
