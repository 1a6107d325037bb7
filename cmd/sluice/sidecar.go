package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// sidecarPresets are the options of the static configuration that sluice sidecar begins with.
func sidecarPresets() []string {
	return []string{
		"--entryPoints.proxy.address=127.0.0.1:15001",
		"--entryPoints.proxy.forwardProxy=true",
		"--entryPoints.proxy.http.sanitizePath=false",
		"--entryPoints.ping.address=:15021",
		"--entryPoints.ping.asDefault=false",
		"--entryPoints.proxy.asDefault=true",
		"--ping.entryPoint=ping",
		"--log.level=WARN",
	}
}

// sidecarCommand runs Sluice as the forward proxy of the applications of a pod.
func (p *process) sidecarCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "sidecar [OPTION ...]",
		Short: "run Sluice as the HTTP proxy of the applications of a pod",
		Long: "Run Sluice as an explicit forward proxy beside an application, which has its address in HTTP_PROXY.\n" +
			"Requests to Services are balanced over the endpoints that an xDS server publishes\n" +
			"(--providers.xds.address); all others go to the host that they name.\n\n" +
			"It is sluice run with these options first, each of which may be given anew:\n  " +
			strings.Join(sidecarPresets(), "\n  ") + "\n\n" +
			"Exit codes: 0 after a clean stop, 1 when Sluice cannot start or an entrypoint fails, 2 for wrong arguments.",
		Example: "  sluice sidecar --providers.xds.address=sluice-xds.sluice:18000 --providers.xds.allowInsecure \\\n" +
			"    --providers.xds.namespace=shop",
		DisableFlagParsing: true, ValidArgsFunction: completeOptions(nil),
	}
	addCommonFlags(command)
	command.Run = func(_ *cobra.Command, args []string) {
		p.code = p.serveOptions(command, withPresets(args, sidecarPresets()))
	}
	return command
}

// withPresets returns arguments behind those of the presets whose options they do not give.
func withPresets(args, presets []string) []string {
	given := map[string]bool{}
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		given[strings.ToLower(name)] = true
	}
	var all []string
	for _, preset := range presets {
		if name, _, _ := strings.Cut(strings.TrimLeft(preset, "-"), "="); !given[strings.ToLower(name)] {
			all = append(all, preset)
		}
	}
	return append(all, args...)
}
