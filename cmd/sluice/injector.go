package main

import (
	"context"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/inject/injector"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/election"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/log"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// injectorSection is the section of the static configuration that sluice injector reads.
const injectorSection = "injector"

// injectorCommand runs the admission webhook alone.
func (p *process) injectorCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "injector [--OPTION=VALUE ...]",
		Short: "run the admission webhook that injects into pods, without the router",
		Long: "Answer AdmissionReviews of the Kubernetes API server, and change new pods by the templates of a\n" +
			"configuration. Of the static configuration, the sections injector and log are used, and the connection to the\n" +
			"cluster in providers.kubernetesCRD or providers.kubernetesIngress; without one, the cluster is that of the pod\n" +
			"or of KUBECONFIG. Options of the section injector may be given without its name. SIGTERM and SIGINT drain and\n" +
			"stop it, SIGUSR1 opens the log file again. With sluice help injector, the options follow.\n\n" +
			"Exit codes: 0 after a clean stop, 1 when it cannot start or a listener fails, 2 for wrong arguments.",
		Example: "  sluice injector --config=/etc/sluice/inject --address=:8443\n" +
			"  sluice injector --configFile=/etc/sluice/sluice.yaml",
		DisableFlagParsing: true, ValidArgsFunction: completeOptions(nil),
	}
	addCommonFlags(command)
	command.Run = func(_ *cobra.Command, args []string) { p.code = p.runInjector(command, args) }
	return command
}

// runInjector runs the webhook with options of the static configuration.
func (p *process) runInjector(command *cobra.Command, args []string) int {
	given, err := parseMixed(command.Flags(), injectorOptions(args))
	switch {
	case err != nil:
		say(p.stderr, "%s: %s\n", command.CommandPath(), err.Error())
		return exitBroken
	case command.Flags().Changed("help"):
		writeHelp(p.stdout, command)
		return exitFine
	case len(given.positional) > 0:
		return p.unexpected(command, given.positional[0])
	}
	options := slices.Concat([]string{"--" + injectorSection + "=true"}, given.options)
	return runLogged(options, p.environ, p.stderr, serveInjector)
}

// injectorOptions returns arguments in which options of the section injector have its name, and their value behind "=".
func injectorOptions(args []string) []string {
	kinds := map[string]string{} // the types of the options by their names in lower case
	for _, option := range static.Options() {
		if name, inside := strings.CutPrefix(option.Path, injectorSection+"."); inside {
			kinds[strings.ToLower(name)] = option.Type
		}
	}
	var all []string
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		key := strings.TrimPrefix(strings.ToLower(name), injectorSection+".")
		kind, known := kinds[key]
		if strings.HasPrefix(key, "enforce.labels.") {
			known = true
		}
		if !strings.HasPrefix(args[i], "-") || !known {
			all = append(all, args[i])
			continue
		}
		option := "--" + injectorSection + "." + name[len(name)-len(key):]
		switch {
		case hasValue:
			option += "=" + value
		case kind != "bool" && kind != "section" && i+1 < len(args):
			i++
			option += "=" + args[i]
		}
		all = append(all, option)
	}
	return all
}

// serveInjector runs the webhook until ctx ends and it has drained.
func serveInjector(ctx context.Context, loaded static.Loaded, logs *log.Log) error {
	counters := metrics.New(metrics.Options{})
	counters.Register(metrics.Dropped("log", logs.Dropped))
	logger := logs.For(log.SubsystemInjector)
	client.LogThrough(logger)
	one, err := newInjector(loaded.Configuration, counters, logger, nil)
	if err != nil {
		return err
	}
	if err := one.Listen(ctx); err != nil {
		return err
	}
	rotations := notify(syscall.SIGUSR1)
	defer signal.Stop(rotations)
	var rotating sync.WaitGroup
	defer rotating.Wait()
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	rotating.Go(func() {
		each(waiting, rotations, func() {
			if err := logs.Reopen(); err != nil {
				logger.Error("SIGUSR1: the log file cannot be opened again", "error", err)
			}
		})
	})
	err = one.Run(ctx)
	logger.Info("stopped")
	return err
}

// inject listens for reviews and returns what answers them until its context ends and they have drained; it does
// nothing without the option injector. It fails when it cannot listen now.
func (s *system) inject(ctx context.Context) (serve func(context.Context) error, err error) {
	if s.injection == nil {
		return func(context.Context) error { return nil }, nil
	}
	if err := s.injection.Listen(ctx); err != nil {
		return nil, err
	}
	return s.injection.Run, nil
}

// newInjector returns the webhook of the option injector, of which nothing runs yet. Its counters are shown from then
// on. listen may be nil, for the sockets of the system.
func newInjector(
	config *static.Configuration, counters *metrics.Metrics, logger telemetry.Logger, listen injector.Listen,
) (*injector.Injector, error) {
	var one *injector.Injector
	meter := counters.Injector(func() (leaf, authority time.Time) {
		if one == nil {
			return time.Time{}, time.Time{}
		}
		return one.NotAfter()
	})
	clusters := clustersOf(&config.Providers)
	connection, _ := clusters.Connection()
	var err error
	one, err = injector.New(injector.Options{
		Config: config.Injector, Cluster: connection, Namespace: election.OwnNamespace(),
		Metrics: counters.Handler(), Meter: meter, Logger: logger, Listen: listen, Replaced: entrypoint.ErrHandedOver,
	})
	return one, err
}
