package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/static"
)

// topics are the pages of help that are neither a command nor options.
const (
	topicAll         = "all"
	topicUnsupported = "unsupported"
)

// helpCommand prints the overview, or the page of a command, of a section of options or of one option.
func (p *process) helpCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "help [COMMAND | SECTION | OPTION | all | unsupported]",
		Short: "print help on a command or on options of the static configuration",
		Long: "Print the overview, or the help on a command, on a section of options such as entryPoints or\n" +
			"providers.docker, or on one option such as log.level. The page all lists every option, the page unsupported\n" +
			"those that are known and do nothing yet.\n\n" +
			"Exit codes: 0, or 2 when there is no such page.",
		Example: "  sluice help entrypoints\n  sluice help providers.docker\n  sluice help log.level",
	}
	command.ValidArgsFunction = func(
		_ *cobra.Command, args []string, _ string,
	) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return helpTopics(command.Root()), cobra.ShellCompDirectiveNoFileComp
	}
	p.takes(command, 1, false, func(given arguments) int {
		if strings.Join(given.positional, "") == "" {
			writeHelp(p.stdout, command.Root())
			return exitFine
		}
		return p.helpOn(command.Root(), given.positional[0])
	})
	return command
}

// helpOn prints one page of help.
func (p *process) helpOn(root *cobra.Command, topic string) int {
	for _, command := range root.Commands() {
		if command.Name() == topic {
			writeHelp(p.stdout, command)
			if slices.Contains(static.SupportedSections(), topic) { // A command and a section have the same name.
				_, _ = io.WriteString(p.stdout, "\noptions of the section "+topic+":\n\n")
				_ = static.WriteHelpOn(p.stdout, topic)
			}
			return exitFine
		}
	}
	var err error
	switch topic = strings.TrimLeft(topic, "-"); topic {
	case topicAll:
		err = static.WriteHelp(p.stdout)
	case topicUnsupported:
		err = static.WriteUnsupported(p.stdout)
	default:
		err = static.WriteHelpOn(p.stdout, topic)
	}
	if err != nil {
		say(p.stderr, "sluice help: %v (sluice help lists the pages)\n", err)
		return exitBroken
	}
	return exitFine
}

// helpTopics returns the names of all pages but those of single options.
func helpTopics(root *cobra.Command) []string {
	topics := []string{topicAll, topicUnsupported}
	for _, command := range root.Commands() {
		if command.IsAvailableCommand() {
			topics = append(topics, command.Name())
		}
	}
	return append(topics, static.SupportedSections()...)
}

// writeHelp prints the help on a command.
func writeHelp(out io.Writer, command *cobra.Command) {
	if !command.HasParent() {
		writeOverview(out, command)
		return
	}
	_, _ = io.WriteString(out, command.Long+"\n\n")
	for _, one := range command.Commands() {
		_, _ = io.WriteString(out, "  "+one.CommandPath()+": "+one.Short+"\n")
	}
	if command.HasSubCommands() {
		_, _ = io.WriteString(out, "\n")
	}
	writeUsage(out, command)
	if command.Example != "" {
		_, _ = io.WriteString(out, "\nexamples:\n"+command.Example+"\n")
	}
}

// writeUsage prints the synopsis and the flags of a command.
func writeUsage(out io.Writer, command *cobra.Command) {
	_, _ = io.WriteString(out, "usage: "+usageLine(command)+"\n\nflags:\n"+command.LocalFlags().FlagUsages())
	if command.Flags().Lookup(configFile) != nil {
		_, _ = io.WriteString(out,
			"      --OPTION=VALUE        any option of the static configuration; see sluice help all\n")
	}
}

func usageLine(command *cobra.Command) string {
	if !command.HasParent() {
		return "sluice [--OPTION=VALUE ...]"
	}
	return command.Parent().CommandPath() + " " + command.Use
}

// writeOverview prints what fits on a screen: the commands, the flags that are used most, exit codes and further pages.
func writeOverview(out io.Writer, root *cobra.Command) {
	var b strings.Builder
	b.WriteString(root.Long + "\n\n" +
		"usage: sluice [-c FILE] [--OPTION=VALUE ...]              run\n" +
		"       sluice COMMAND [ARGUMENTS] [--OPTION=VALUE ...]\n\ncommands:\n")
	for _, command := range root.Commands() {
		if command.IsAvailableCommand() || command.Name() == "help" {
			b.WriteString("  " + command.Name() + strings.Repeat(" ", 13-len(command.Name())) + command.Short + "\n")
		}
	}
	b.WriteString(`
flags that are used most:
  -c, --configFile=FILE                      the file of the static configuration (YAML or TOML)
      --entryPoints.web.address=:80          an address on which requests are accepted; web is a name of your choice
      --providers.file.directory=FOLDER      the files with routers, services and middlewares
      --providers.docker=true                routes from the labels of containers
      --api.insecure=true                    the API and the dashboard, on the entrypoint traefik (port 8080)
      --log.level=DEBUG                      how much is logged
  -h, --help; -v, --version                  print this help, or that of a command; print the version

Options come from the file, from variables (SLUICE_LOG_LEVEL) and from flags; flags override variables, and variables
override the file. Without --configFile, the file is the first of sluice.toml, sluice.yaml, sluice.yml, traefik.toml,
traefik.yaml and traefik.yml in /etc/sluice, /etc/traefik, $XDG_CONFIG_HOME, $HOME/.config and the working directory.
exit codes: 0 success; 1 a finding, no router or a failure; 2 wrong arguments or nothing to answer from

more help:
  sluice help COMMAND        or sluice COMMAND --help; sluice help OPTION is on one option, such as log.level
  sluice help SECTION        options of a section: `)
	b.WriteString(strings.Join(static.SupportedSections(), ", "))
	b.WriteString(`
  sluice help all            all options; sluice help unsupported has those of Traefik that do nothing yet
`)
	_, _ = io.WriteString(out, wrap(b.String(), 118))
}

// wrap breaks lines that are longer than width at a comma; the rest is indented.
func wrap(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for len(line) > width {
			at := strings.LastIndex(line[:width], ", ")
			if at < 0 {
				break
			}
			b.WriteString(line[:at+1] + "\n")
			line = strings.Repeat(" ", 29) + line[at+2:]
		}
		b.WriteString(line)
	}
	return b.String()
}
