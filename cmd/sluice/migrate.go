package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/migrate/answer/live"
	"github.com/sluiceproxy/sluice/migrate/probe"
)

// migrateCommand has the commands for those who come from another proxy.
func (p *process) migrateCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "migrate COMMAND",
		Short: "show what changes when Sluice takes the place of another proxy",
		Long: "Show what changes when Sluice takes the place of another proxy.\n\n" +
			"Exit codes: those of the command, or 2 for wrong arguments.",
		DisableAutoGenTag: true,
	}
	one := p.migrateNGINXCommand()
	one.DisableAutoGenTag = true
	command.AddCommand(one)
	command.DisableFlagParsing = true
	command.Flags().BoolP("help", "h", false, "print this help")
	command.Run = func(_ *cobra.Command, args []string) {
		switch {
		case len(args) == 0 || args[0] == "-h" || args[0] == "--help":
			writeHelp(p.stdout, command)
		default:
			say(p.stderr, "sluice migrate: unknown command %q; one of %s\n", args[0], one.Name())
			p.code = exitBroken
		}
	}
	return command
}

// maxMigrateFiles bounds the files of one call.
const maxMigrateFiles = 1000

// migrateNGINXCommand compares ingress-nginx with Sluice.
func (p *process) migrateNGINXCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "ingress-nginx [-f FILE | FOLDER | - ...] [--output FORMAT] [-o FILE] [--live-old URL] [--live-new URL]",
		Short: "compare the answers of ingress-nginx with those of Sluice",
		Long: "Compare what ingress-nginx 1.15 answers with what Sluice answers that has the same objects, and print a report:\n" +
			"a verdict on each annotation, Ingress and host, Ingresses that change others, and every difference in status,\n" +
			"Location, cookies, CORS and what endpoints receive, with the Ingress that decides.\n\n" +
			"Objects are those of -f: Kubernetes manifests, which should have the ConfigMap of ingress-nginx. Without -f they\n" +
			"are read from the cluster of --kubeconfig, of the pod, or of the variable KUBECONFIG; nothing is written there.\n" +
			"Requests at the edges of what the Ingresses declare are answered by a model of ingress-nginx and by Sluice in\n" +
			"this process. Endpoints are not contacted, and values of Secrets are not used. Kinds of which there is no object\n" +
			"are presumed to be as the Ingresses need them.\n\n" +
			"--live-old and --live-new take the answers of a controller or of a Sluice in operation instead. Only GET, HEAD\n" +
			"and OPTIONS without a body are sent there, at a limited rate, with Host and SNI of the Ingresses.\n\n" +
			"--write prints objects that take the place of the Ingresses instead: IngressRoutes, or HTTPRoutes of the Gateway\n" +
			"API for the hosts that they can express. What cannot be written as it is, such as values of Secrets, is listed on\n" +
			"standard error and in comments; a route that lacks it answers 503. -o names the file.\n\n" +
			"The flags of the controller that change answers have the same names here. Options of the static configuration\n" +
			"are those of the Sluice that is compared: its entrypoints and providers.kubernetesIngressNGINX.\n\n" +
			"Exit codes: 0 when nothing differs but what annotations and options state, 1 when answers differ, annotations\n" +
			"lose their effect or something could not be read, with --write when something could not be written as it is, 2 for\n" +
			"wrong arguments, or input that cannot be read at all.",
		Example: "  kubectl get ingress,service,configmap,ingressclass,endpointslice -A -o yaml | sluice migrate ingress-nginx -f -\n" +
			"  sluice migrate ingress-nginx -f manifests/ -o report.html\n" +
			"  sluice migrate ingress-nginx -f manifests/ --write ingressroute -o routes.yaml\n" +
			"  sluice migrate ingress-nginx --live-old 192.0.2.10 --host shop.example.com",
		ValidArgsFunction: completeReport(completeOptions(completeFiles)),
	}
	flags := command.Flags()
	f := &migrateFlags{
		files:      flags.StringArrayP("filename", "f", nil, "a `FILE` or folder to read, or - for standard input; may repeat"),
		kubeconfig: flags.String("kubeconfig", "", "the `FILE` that names the cluster"),
		context:    flags.String("context", "", "the `NAME` of the context in --kubeconfig"),
		output: flags.StringArrayP("output", "o", nil,
			"the `FORMAT` ("+strings.Join(reportFormats(), ", ")+"), or the file to write, by whose extension the format is chosen;"+
				" may repeat"),
		format: flags.String("format", "", "the same as --output `FORMAT`"),
		write: flags.String("write", "", "print objects that take the place of the Ingresses instead of a report, as YAML: `FORMAT` "+
			strings.Join(writtenFormats(), ", ")),
		probes: flags.Int("probes", probe.DefaultPerHost, "most `REQUESTS` for each host; 0 for none"),
		hosts:  flags.StringArray("host", nil, "the `HOST` of an Ingress that is probed, in place of all; may repeat"),
		old: flags.StringArray("live-old", nil,
			"`ADDRESS` of a controller in operation: a host for the ports 80 and 443, or http://HOST:PORT or https://HOST:PORT"+
				" for that scheme; may repeat"),
		new:  flags.StringArray("live-new", nil, "the same of a Sluice in operation; `ADDRESS` as with --live-old"),
		rate: flags.Float64("rate", live.DefaultRate, "most `REQUESTS` per second to each of --live-old and --live-new"),
	}
	f.controller.add(flags)
	p.takes(command, maxMigrateFiles, true, func(given arguments) int {
		return p.migrateNGINX(f, append(slices.Clone(*f.files), given.positional...), given.options)
	})
	return command
}

// completeReport completes the formats of reports.
func completeReport(others completer) completer {
	return func(command *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		name, _, hasValue := strings.Cut(begun, "=")
		if !hasValue && len(args) > 0 {
			name = args[len(args)-1]
		}
		switch name {
		case "--format":
			return reportFormats(), cobra.ShellCompDirectiveNoFileComp
		case "--write":
			return writtenFormats(), cobra.ShellCompDirectiveNoFileComp
		case "--output", "-o":
			return reportFormats(), cobra.ShellCompDirectiveDefault
		case "--kubeconfig", "--filename", "-f":
			return nil, cobra.ShellCompDirectiveDefault
		}
		return others(command, args, begun)
	}
}
