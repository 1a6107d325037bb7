package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluiceproxy/sluice/migrate"
	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/answer/live"
	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
	"github.com/sluiceproxy/sluice/migrate/probe"
	serving "github.com/sluiceproxy/sluice/migrate/process"
	reports "github.com/sluiceproxy/sluice/migrate/report"
	objects "github.com/sluiceproxy/sluice/migrate/source"
	"github.com/sluiceproxy/sluice/static"
)

// migrateNGINX runs the command and returns its exit code.
func (p *process) migrateNGINX(f *migrateFlags, files, options []string) int {
	fail := func(err error) int {
		say(p.stderr, "sluice migrate ingress-nginx: %v\n", err)
		return exitBroken
	}
	format, file, err := f.destination()
	if err == nil {
		err = f.checkWrite()
	}
	if err != nil {
		return fail(err)
	}
	run, err := p.newMigration(f, options)
	if err != nil {
		return fail(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run.read(ctx, f, files); err != nil {
		return fail(err)
	}
	if *f.write != "" {
		left, err := run.write(ctx, p.stdout, p.stderr, file)
		switch {
		case err != nil:
			return fail(err)
		case left:
			return exitNone
		}
		return exitFine
	}
	result, err := run.report(ctx, p.stderr)
	if err != nil {
		return fail(err)
	}
	if err := writeReport(p.stdout, result, format, file); err != nil {
		return fail(err)
	}
	if result.Exit() != reports.ExitSame {
		return exitNone
	}
	return exitFine
}

// migration is one comparison.
type migration struct {
	flags *migrateFlags
	// old and new are nil for the model and for Sluice in this process.
	old, new *live.Client
	provider static.KubernetesNGINX
	// entrypoint has the options of the entrypoints that are compared; nil for the defaults.
	entrypoint *static.EntryPoint
	objects    *objects.Objects
	model      *nginxmodel.Model
	notes      []string
}

// newMigration checks all arguments but files.
func (p *process) newMigration(f *migrateFlags, options []string) (*migration, error) {
	m := &migration{flags: f}
	if err := f.controller.check(); err != nil {
		return nil, err
	}
	if *f.probes < 0 {
		return nil, fmt.Errorf("--probes %d: it is at least 0", *f.probes)
	}
	if !(*f.rate > 0 && *f.rate <= live.MaxRate) {
		return nil, fmt.Errorf("--rate %v: it is above 0, and at most %d", *f.rate, live.MaxRate)
	}
	var err error
	if m.old, err = liveClient("live-old", *f.old, *f.rate); err != nil {
		return nil, err
	}
	if m.new, err = liveClient("live-new", *f.new, *f.rate); err != nil {
		return nil, err
	}
	return m, m.configure(p, options)
}

// configure reads the options of the Sluice that is compared.
func (m *migration) configure(p *process, options []string) error {
	m.provider.SetDefaults()
	if len(options) > 0 {
		loaded, findings := static.Load(static.Sources{Args: options, Environ: p.environ})
		if static.HasErrors(findings) {
			printFindings(p.stderr, findings)
			return errStatic
		}
		config := loaded.Configuration
		if config.Providers.KubernetesIngressNGINX != nil {
			m.provider = *config.Providers.KubernetesIngressNGINX
		}
		for _, name := range []string{m.provider.HTTPSEntryPoint, m.provider.HTTPEntryPoint} {
			m.entrypoint = cmp.Or(m.entrypoint, config.EntryPoints[name])
		}
		if m.entrypoint == nil && len(config.EntryPoints) == 1 {
			for _, only := range config.EntryPoints {
				m.entrypoint = only
			}
		}
	}
	m.flags.controller.apply(&m.provider)
	if m.provider.WatchNamespace != "" && m.provider.WatchNamespaceSelector != "" {
		return errors.New("--watch-namespace and --watch-namespace-selector exclude each other")
	}
	return nil
}

// read reads the objects, and builds the model.
func (m *migration) read(ctx context.Context, f *migrateFlags, files []string) (err error) {
	switch {
	case len(files) > 0 && *f.kubeconfig+*f.context != "":
		return errors.New("files and --kubeconfig or --context exclude each other")
	case len(files) > 0:
		if m.objects, err = objects.Read(os.Stdin, files...); err != nil {
			return err
		}
		m.note("Read: %s", strings.Join(shownFiles(files), ", "))
	default:
		if err := m.readCluster(ctx, f); err != nil {
			return err
		}
	}
	if err := m.selectNamespaces(); err != nil {
		return err
	}
	settings, err := m.settings()
	if err != nil {
		return err
	}
	m.model = nginxmodel.Build(m.objects, f.controller.model(&m.provider, settings))
	if len(m.model.Ingresses()) == 0 {
		return m.noIngress(files)
	}
	return m.known()
}

// selectNamespaces leaves out Ingresses of namespaces that the controller does not watch.
func (m *migration) selectNamespaces() error {
	watched := func(string) bool { return true }
	if namespace := m.provider.WatchNamespace; namespace != "" {
		watched = func(name string) bool { return name == namespace }
	}
	if given := m.provider.WatchNamespaceSelector; given != "" {
		selector, err := labels.Parse(given)
		if err != nil {
			return fmt.Errorf("--watch-namespace-selector %s: %w", given, err)
		}
		if len(m.objects.Namespaces) == 0 {
			return errors.New("--watch-namespace-selector: there are no Namespaces among the objects")
		}
		selected := map[string]bool{}
		for _, one := range m.objects.Namespaces {
			selected[one.Name] = selector.Matches(labels.Set(one.Labels))
		}
		watched = func(name string) bool { return selected[name] }
		m.provider.WatchNamespaceSelector = "" // It has been applied.
	}
	m.objects.Ingresses = slices.DeleteFunc(m.objects.Ingresses, func(one objects.Ingress) bool {
		return !watched(one.Namespace)
	})
	return nil
}

func (m *migration) note(format string, arguments ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, arguments...))
}

func shownFiles(files []string) []string {
	shown := slices.Clone(files)
	for i, one := range shown {
		if one == objects.Stream {
			shown[i] = "standard input"
		}
	}
	return shown
}

// noIngress is the error for objects without an Ingress of the class.
func (m *migration) noIngress(files []string) error {
	where := "the cluster"
	if len(files) > 0 {
		where = strings.Join(shownFiles(files), ", ")
	}
	if faults := m.objects.Faults; len(faults) > 0 && len(m.objects.Ingresses) == 0 {
		return fmt.Errorf("there is no Ingress in %s: %s", where, faults[0])
	}
	if all := len(m.objects.Ingresses); all > 0 {
		return fmt.Errorf("none of the Ingresses (%d) in %s is of the class %s; give --ingress-class, --controller-class "+
			"and --watch-ingress-without-class as the controller has them", all, where, m.provider.IngressClass)
	}
	return fmt.Errorf("there is no Ingress in %s", where)
}

// known checks the hosts of --host.
func (m *migration) known() error {
	for _, name := range *m.flags.hosts {
		known := slices.ContainsFunc(m.model.Hosts(), func(host probe.Host) bool {
			return host.Name == name || host.Name == "_" && name == "*"
		})
		if !known {
			return fmt.Errorf("--host %s: no Ingress of the class has it", name)
		}
	}
	return nil
}

// settings returns the data of the ConfigMap. That of the usual name is read if no other one is named.
func (m *migration) settings() (map[string]string, error) {
	name := cmp.Or(m.provider.ConfigMap, usualConfigMap)
	namespace, own, _ := static.ObjectName(name)
	found := m.objects.ConfigMap(namespace, own)
	switch {
	case found == nil && m.provider.ConfigMap != "":
		return nil, fmt.Errorf("the ConfigMap %s is not among the objects", name)
	case found == nil:
		m.note("ConfigMap: %s does not exist; all settings have their defaults (--configmap names another one)", name)
		return nil, nil
	}
	m.provider.ConfigMap = name
	m.note("ConfigMap: %s, %s", name, counted(len(found.Data), "key"))
	return found.Data, nil
}

// report probes the hosts.
func (m *migration) report(ctx context.Context, stderr io.Writer) (_ *reports.Report, err error) {
	options := migrate.Options{
		Model: m.model, PerHost: *m.flags.probes, Parallel: 2 * runtime.GOMAXPROCS(0), Skip: m.skips,
	}
	if selected := *m.flags.hosts; len(selected) > 0 {
		options.Select = func(host string) bool {
			return slices.Contains(selected, host) || host == "_" && slices.Contains(selected, "*")
		}
		m.note("Probed hosts: %s", strings.Join(selected, ", "))
	}
	old, subject := "the model of ingress-nginx 1.15", "Sluice in this process"
	if m.old != nil {
		old, options.Reference = "the controller at "+addresses(m.old), m.old
	}
	switch {
	case *m.flags.probes == 0:
	case m.new != nil:
		subject, options.Subject = "the Sluice at "+addresses(m.new), answer.Answerer(m.new)
	default:
		served, err := serving.Start(ctx, serving.Options{
			Objects: m.objects, Provider: m.provider, EntryPoint: m.entrypoint,
		})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, served.Close()) }()
		options.Subject, options.Verdicts = served, served.Verdicts()
	}
	if options.Subject != nil {
		m.note("Compared: %s with %s", old, subject)
		m.announce(stderr, &options)
	}
	options.Context = reports.Context{Notes: m.notes}
	options.Context.Faults, options.Context.Ignored = m.faults()
	return migrate.Report(ctx, options)
}

// skips reports whether a probe is not sent: one that may change something in operation, and one of a scheme without an
// address.
func (m *migration) skips(one probe.Probe) bool {
	for _, to := range []*live.Client{m.old, m.new} {
		if to == nil {
			continue
		}
		if !one.Harmless() || one.Scheme == "http" && to.HTTP == "" || one.Scheme == "https" && to.HTTPS == "" {
			return true
		}
	}
	return false
}

func addresses(of *live.Client) string {
	return strings.Join(slices.DeleteFunc([]string{of.HTTP, of.HTTPS}, func(one string) bool { return one == "" }), ", ")
}

// announce says how long requests to a proxy in operation take.
func (m *migration) announce(stderr io.Writer, options *migrate.Options) {
	if m.old == nil && m.new == nil {
		return
	}
	count := options.Count()
	seconds := float64(count) / *m.flags.rate
	say(stderr, "sluice migrate ingress-nginx: %s at %v a second: about %s\n", counted(count, "request"), *m.flags.rate,
		roughly(seconds))
}

// roughly returns a time for display.
func roughly(seconds float64) string {
	if seconds < 120 { //nolint:mnd // Two minutes.
		return counted(int(seconds)+1, "second")
	}
	return counted(int(seconds/60)+1, "minute") //nolint:mnd // Seconds.
}

// faults returns the objects that could not be read, and the fields that objects of their kinds do not have.
func (m *migration) faults() (faults, ignored []string) {
	for _, one := range m.objects.Faults {
		if one.Ignored {
			ignored = append(ignored, one.String())
			continue
		}
		faults = append(faults, one.String())
	}
	if more := m.objects.MoreFaults; more > 0 {
		faults = append(faults, fmt.Sprintf("and %d more", more))
	}
	return faults, ignored
}

// writeReport writes a report into a file, or to standard output.
func writeReport(stdout io.Writer, result *reports.Report, format, file string) error {
	var out bytes.Buffer
	var err error
	switch format {
	case reportHTML:
		err = result.HTML(&out)
	case reportMarkdown:
		err = result.Markdown(&out)
	case reportJSON:
		err = result.JSON(&out)
	default:
		width := 0
		if file == "" {
			width = min(widthOf(stdout), mostReportWidth)
		}
		err = result.Text(&out, width)
	}
	if err != nil {
		return err
	}
	if file != "" {
		return os.WriteFile(file, out.Bytes(), 0o600)
	}
	_, err = stdout.Write(out.Bytes())
	return err
}

// mostReportWidth is the width in columns beyond which lines are hard to read.
const mostReportWidth = 120
