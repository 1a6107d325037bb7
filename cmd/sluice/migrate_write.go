package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	serving "github.com/sluiceproxy/sluice/migrate/process"
	written "github.com/sluiceproxy/sluice/migrate/write"
)

// writtenFormats are the formats of --write.
func writtenFormats() []string {
	var all []string
	for _, one := range written.Formats() {
		all = append(all, string(one))
	}
	slices.Sort(all)
	return all
}

// checkWrite reports a format of objects that does not exist, and flags of reports that --write excludes.
func (f *migrateFlags) checkWrite() error {
	if *f.write == "" {
		if f.controller.set.Changed("write") {
			return fmt.Errorf("--write is empty: one of %s", strings.Join(writtenFormats(), ", "))
		}
		return nil
	}
	if !slices.Contains(writtenFormats(), *f.write) {
		return fmt.Errorf("--write %s: one of %s", *f.write, strings.Join(writtenFormats(), ", "))
	}
	for _, name := range []string{"format", "probes", "host", "live-old", "live-new", "rate"} {
		if f.controller.set.Changed(name) {
			return fmt.Errorf("--write and --%s exclude each other: objects are no report", name)
		}
	}
	for _, one := range *f.output {
		if slices.Contains(reportFormats(), one) {
			return fmt.Errorf("--write and --output %s exclude each other: objects are written as YAML", one)
		}
	}
	return nil
}

// write writes the objects that take the place of the Ingresses, and reports whether something is left.
func (m *migration) write(ctx context.Context, stdout, stderr io.Writer, file string) (left bool, err error) {
	served, err := serving.Start(ctx, serving.Options{Objects: m.objects, Provider: m.provider, EntryPoint: m.entrypoint})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, served.Close()) }()
	var out bytes.Buffer
	lines, err := written.WithoutSecrets(&out, m.named(served.Configuration()), written.Format(*m.flags.write))
	if err != nil {
		return false, err
	}
	faults, ignored := m.faults()
	for _, one := range slices.Concat(faults, ignored) {
		say(stderr, "not read: %s\n", one)
	}
	for _, one := range lines {
		say(stderr, "not written as it is: %s\n", one)
	}
	if file != "" {
		err = os.WriteFile(file, out.Bytes(), 0o600)
	} else {
		_, err = stdout.Write(out.Bytes())
	}
	return len(lines)+len(faults) > 0, err
}

// named returns a configuration whose routers have the entrypoints of the provider in place of those of the process;
// none, for all, where the provider names none. Routers that answer 404 for all other hosts are left out: Sluice does
// so without one.
func (m *migration) named(configuration *dynamic.Configuration) *dynamic.Configuration {
	names := map[string]string{"http": m.provider.HTTPEntryPoint, "https": m.provider.HTTPSEntryPoint}
	routers := map[string]*dynamic.Router{}
	for name, router := range configuration.HTTP.Routers.All() {
		if router != nil {
			if strings.HasPrefix(name, "server,_") && notFound(configuration, name, router) {
				continue
			}
			own := *router
			own.EntryPoints = nil
			for _, one := range router.EntryPoints {
				if name := names[one]; name != "" {
					own.EntryPoints = append(own.EntryPoints, name)
				}
			}
			router = &own
		}
		routers[name] = router
	}
	made, http := *configuration, *configuration.HTTP
	http.Routers = immutable.Of(routers)
	made.HTTP = &http
	return &made
}

// notFound reports whether a router answers 404 to every request.
func notFound(configuration *dynamic.Configuration, name string, router *dynamic.Router) bool {
	service := configuration.HTTP.Services.Get(router.Service)
	if _, of, qualified := strings.Cut(name, "@"); service == nil && qualified { // It is of the router's provider.
		service = configuration.HTTP.Services.Get(router.Service + "@" + of)
	}
	return service != nil && service.DirectResponse != nil && service.DirectResponse.Status == http.StatusNotFound
}
