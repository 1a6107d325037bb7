package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/document"
)

// The exit codes of all commands. A command that uses them otherwise says so in its help.
const (
	exitFine   = 0 // The command did what was requested, and there is nothing to report.
	exitNone   = 1 // There is a finding, no router answers, or the command failed.
	exitBroken = 2 // The arguments are wrong, or there is no configuration to answer from.
)

// process is what a command reads and writes, and its exit code.
type process struct {
	environ        []string
	stdout, stderr io.Writer
	code           int
}

// rootCommand returns the tree of commands. Without the name of a command, Sluice runs.
func (p *process) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "sluice",
		Short: "edge router that reads Traefik v3's configuration",
		Long: "Sluice is an edge router: it accepts HTTP traffic, selects a service by rules, and balances over the\n" +
			"endpoints of that service. It reads Traefik v3's configuration unchanged.",
		Example: "  sluice --configFile=/etc/sluice/sluice.yaml\n" +
			"  sluice check --configFile=/etc/sluice/sluice.yaml\n" +
			"  sluice explain GET https://shop.example.com/cart",
		SilenceErrors: true, SilenceUsage: true, DisableFlagParsing: true, DisableAutoGenTag: true,
		Args:              cobra.ArbitraryArgs,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		ValidArgsFunction: completeOptions(nil),
	}
	addCommonFlags(root)
	root.Flags().BoolP("version", "v", false, "print version, commit and Go version")
	root.Run = func(_ *cobra.Command, args []string) { p.code = p.runRoot(root, args) }
	for _, command := range []*cobra.Command{
		p.runCommand(), p.checkCommand(), p.explainCommand(), p.routesCommand(), p.environmentsCommand(),
		p.endpointsCommand(), p.connectionsCommand(), p.logLevelCommand(),
		p.certificatesCommand(), p.healthcheckCommand(), p.upgradeCommand(), p.bundleCommand(), p.xdsCommand(),
		p.injectCommand(), p.injectorCommand(), p.sidecarCommand(), p.migrateCommand(), p.whoamiCommand(),
		p.versionCommand(), p.completionCommand(), p.manCommand(),
	} {
		command.DisableAutoGenTag = true
		root.AddCommand(command)
	}
	help := p.helpCommand()
	root.AddCommand(help)
	root.SetHelpCommand(help)
	root.SetHelpFunc(func(command *cobra.Command, _ []string) { writeHelp(p.stdout, command) })
	root.SetUsageFunc(func(command *cobra.Command) error { writeUsage(p.stderr, command); return nil })
	return root
}

// runRoot handles a command line that does not begin with the name of a command.
func (p *process) runRoot(root *cobra.Command, args []string) int {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && args[0] != "" {
		return p.unknownCommand(root, args[0])
	}
	return p.serveOptions(root, args)
}

// unknownCommand reports a word that is no command, with the command that was probably meant.
func (p *process) unknownCommand(root *cobra.Command, word string) int {
	var names []string
	for _, command := range root.Commands() {
		if command.IsAvailableCommand() || command.Name() == "help" {
			names = append(names, command.Name())
		}
	}
	hint := "one of " + strings.Join(names, ", ")
	if near, ok := document.Nearest(word, names); ok {
		hint = "did you mean " + near + "?"
	} else if isFile(word) {
		hint = "did you mean --configFile=" + word + "?"
	}
	say(p.stderr, "sluice: unknown command %q; %s\n", word, hint)
	return exitBroken
}

// runCommand runs Sluice, as the name alone does.
func (p *process) runCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "run [--OPTION=VALUE ...]",
		Short: "run Sluice; the same as sluice without a command",
		Long: "Run Sluice in the foreground. SIGTERM and SIGINT drain and stop it, SIGHUP reads the files of the\n" +
			"dynamic configuration again, SIGUSR1 opens the log files again.\n\n" +
			"Exit codes: 0 after a clean stop, 1 when Sluice cannot start or an entrypoint fails, 2 for wrong arguments.",
		Example:            "  sluice run --configFile=/etc/sluice/sluice.yaml --log.level=DEBUG",
		DisableFlagParsing: true, ValidArgsFunction: completeOptions(nil),
	}
	addCommonFlags(command)
	command.Run = func(_ *cobra.Command, args []string) { p.code = p.serveOptions(command, args) }
	return command
}

// serveOptions runs Sluice with options of the static configuration, each of which may be followed by its value.
func (p *process) serveOptions(command *cobra.Command, args []string) int {
	var options []string
	for i, arg := range args {
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		flag := len(arg) > 1 && arg[0] == '-'
		switch {
		case flag && (name == "help" || name == "h") && !hasValue:
			writeHelp(p.stdout, command)
			return exitFine
		case flag && (name == "version" || name == "v") && !hasValue:
			return p.printVersion()
		case flag && name == "c" && hasValue:
			arg = "--configFile=" + value
		case flag && name == "c" && i+1 == len(args):
			say(p.stderr, "%s: flag %s needs a value\n", command.CommandPath(), arg)
			return exitBroken
		case flag && name == "c":
			arg = "--configFile"
		case flag && nearestOption(name, command.Flags()) != "":
			say(p.stderr, "%s: unknown flag %s; did you mean --%s?\n", command.CommandPath(), arg,
				nearestOption(name, command.Flags()))
			return exitBroken
		case !flag && (i == 0 || strings.Contains(args[i-1], "=") || args[i-1] == "" || args[i-1][0] != '-'):
			return p.unexpected(command, arg)
		}
		options = append(options, arg)
	}
	return serve(options, p.environ, p.stderr)
}

// unexpected reports an argument where none may be.
func (p *process) unexpected(command *cobra.Command, arg string) int {
	hint := ""
	if isFile(arg) {
		hint = "; did you mean --configFile=" + arg + "?"
	}
	say(p.stderr, "%s: unexpected argument %q%s\n", command.CommandPath(), arg, hint)
	return exitBroken
}
