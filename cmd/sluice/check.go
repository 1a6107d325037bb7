package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// checkCommand validates the static and the dynamic configuration without listening.
func (p *process) checkCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "check [FILE | FOLDER | - ...] [--format FORMAT] [--offline] [--api URL]",
		Short: "validate the static and the dynamic configuration",
		Long: "Validate the static and the dynamic configuration without listening. Each finding is printed once, sorted by\n" +
			"file and line, with what else it disables. Without any configuration, the findings of the Sluice that runs\n" +
			"on this machine are printed.\n\n" +
			"Arguments are files, folders, or - for standard input: a static configuration, a dynamic one, Kubernetes\n" +
			"manifests, a Compose file, or the output of docker inspect. They are all that is read: the environment and the\n" +
			"usual places do not count. With manifests or containers, neither a cluster nor an engine is contacted. Without a\n" +
			"static configuration, the entrypoints that they name are taken to exist.\n\n" +
			"--offline leaves out the providers that need a connection (Docker, Kubernetes), for use in CI.\n\n" +
			"Exit codes: 0 when nothing is refused, 1 when something is, 2 for wrong arguments or without a configuration.",
		Example: "  sluice check /etc/sluice/sluice.yaml\n" +
			"  kubectl kustomize . | sluice check -\n" +
			"  sluice check --offline --format sarif > sluice.sarif\n" +
			"  sluice check --api http://127.0.0.1:8080",
		ValidArgsFunction: completeOptions(completeFiles),
	}
	flags := command.Flags()
	format := flags.String("format", formatText, "`FORMAT` of the output: "+strings.Join(formats(), ", "))
	asJSON := flags.Bool("json", false, "the same as --format json")
	asSARIF := flags.Bool("sarif", false, "the same as --format sarif")
	offline := flags.Bool("offline", false, "leave out the providers that need a connection")
	address := flags.String(apiFlag, "", "check the configuration of the running Sluice whose API is at this `URL`")
	p.takes(command, 1000, true, func(given arguments) int {
		switch {
		case *asJSON:
			*format = formatJSON
		case *asSARIF:
			*format = formatSARIF
		}
		if !slices.Contains(formats(), *format) {
			say(p.stderr, "sluice check: --format %s: one of %s\n", *format, strings.Join(formats(), ", "))
			return exitBroken
		}
		given.positional = slices.DeleteFunc(given.positional, func(path string) bool { return path == "" })
		report, err := check(*address, *offline, given, p.environ)
		if err != nil {
			say(p.stderr, "sluice check: %v\n", err)
			return exitBroken
		}
		if err := report.write(p.stdout, *format); err != nil {
			say(p.stderr, "sluice check: %v\n", err)
			return exitBroken
		}
		if !report.Valid {
			return exitNone
		}
		return exitFine
	})
	return command
}

// errFilesAndAPI is the error of a command that is given files and a running Sluice.
var errFilesAndAPI = errors.New("--api and files exclude each other")

// check returns the report on a configuration. The error says that there is none to report on.
func check(address string, offline bool, given arguments, environ []string) (*report, error) {
	if address != "" && len(given.positional) > 0 {
		return nil, errFilesAndAPI
	}
	in, err := readInputs(given.positional, os.Stdin)
	if err != nil {
		return nil, err
	}
	defer in.close()
	from, err := findSource(address, static.Sources{
		Args: append(in.options, given.options...), Environ: environ, Alone: len(given.positional) > 0,
	})
	if err != nil {
		return nil, err
	}
	if from.api != "" {
		return checkRunning(from)
	}
	checked := newReport(from.String())
	if len(given.positional) > 0 {
		checked.Source = strings.Join(in.names(given.positional), ", ")
	}
	for _, found := range in.findings {
		checked.add(found)
	}
	checked.addStatic(from.findings)
	if static.HasErrors(from.findings) {
		return checked.complete(), nil
	}
	config := from.loaded.Configuration
	if offline || in.manifests != nil || in.containers != nil {
		checked.Skipped = withoutConnections(config, in)
	}
	s, state, err := settle(from.loaded, in)
	if err != nil {
		checked.add(finding{Severity: severityError, Message: err.Error()})
		return checked.complete(), nil
	}
	checked.addStatic(s.brokenResolvers(from.loaded))
	checked.addVerdicts(placed(state.Verdicts, in))
	checked.notGiven(in)
	checked.addProviders(state, in)
	checked.count(state.Configuration)
	return checked.complete(), nil
}

// placed returns the verdicts with the lines of options, and with the files of the objects that come from the inputs.
func placed(verdicts []dynamic.Verdict, in *inputs) []dynamic.Verdict {
	verdicts = slices.Clone(verdicts)
	lines := positions{fields: map[string]map[int][]*document.Field{}}
	for i := range verdicts {
		verdicts[i].Origin.Line = lines.line(verdicts[i])
		verdicts[i].Origin = in.locate(verdicts[i])
	}
	return verdicts
}

// locate returns the origin of a verdict, with the file of an object that comes from the inputs.
func (in *inputs) locate(verdict dynamic.Verdict) dynamic.Origin {
	origin := verdict.Origin
	switch {
	case in.temporary != "" && origin.File == in.temporary:
		origin.File = in.shown(origin.File)
	case in.manifests != nil && origin.Resource != nil:
		origin.File, origin.Line = in.manifests.Find(origin.Resource)
	case in.containers != nil && origin.File == "":
		origin.File, origin.Line = in.containers.Find(verdict)
	}
	return origin
}

// completeFiles leaves the completion of files to the shell.
func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// withoutConnections removes the providers that need a connection, and returns their names. Those that read inputs need
// none.
func withoutConnections(config *static.Configuration, in *inputs) []string {
	var removed []string
	if config.Providers.Docker != nil && in.containers == nil {
		config.Providers.Docker = nil
		removed = append(removed, "docker")
	}
	if config.Providers.KubernetesCRD != nil && in.manifests == nil {
		config.Providers.KubernetesCRD = nil
		removed = append(removed, "kubernetescrd")
	}
	if config.Providers.KubernetesIngress != nil && in.manifests == nil {
		config.Providers.KubernetesIngress = nil
		removed = append(removed, "kubernetes")
	}
	if config.Providers.KubernetesIngressNGINX != nil && in.manifests == nil {
		config.Providers.KubernetesIngressNGINX = nil
		removed = append(removed, "kubernetesingressnginx")
	}
	if config.Providers.KubernetesGateway != nil && in.manifests == nil {
		config.Providers.KubernetesGateway = nil
		removed = append(removed, "kubernetesgateway")
	}
	return removed
}

// checkRunning returns the report that a running Sluice gives of its own configuration.
func checkRunning(from source) (*report, error) {
	checked := newReport(from.String())
	verdicts, err := queryPages[api.Finding](from.api, "verdicts")
	if err != nil {
		return nil, err
	}
	found := make([]finding, len(verdicts))
	for i, verdict := range verdicts {
		found[i] = runningFinding(verdict)
	}
	checked.addOnce(found)
	providers, err := queryProviders(from.api)
	if err != nil {
		return nil, err
	}
	for _, provider := range providers {
		if provider.Required && provider.State != dynamic.StateSynced.String() &&
			provider.State != dynamic.StateAbsent.String() {
			checked.addProvider(provider.Name, provider.State+": "+provider.Reason)
		}
	}
	if checked.Counts, err = queryCounts(from.api); err != nil {
		return nil, fmt.Errorf("the counts: %w", err)
	}
	return checked.complete(), nil
}
