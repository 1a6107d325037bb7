package main

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/api/environments"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
)

// environmentsCommand prints what answers the tags of environments.
func (p *process) environmentsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "environments [FILE | FOLDER | - ...] [--tag TAG] [--json] [--wide] [--api URL]",
		Short: "print which environment of each service answers a tag",
		Long: "Print each environment service with the subset that answers each tag of an environment, or with --tag what\n" +
			"answers that tag, and why; an empty TAG is a request without one. Without any configuration, the Sluice that\n" +
			"runs on this machine answers. Files are all that is read, as by sluice check. The first line of standard error\n" +
			"says what answers. From files, no endpoint has been checked. Columns are fitted as by sluice routes.\n\n" +
			"Exit codes: 0 when there is an environment service, and with --tag one that answers; 1 when there is none; 2 when\n" +
			"the configuration or the arguments are wrong.",
		Example: "  sluice environments --api http://127.0.0.1:8080\n" +
			"  sluice environments --tag dev.proj1.feature1",
		DisableAutoGenTag: true,
		ValidArgsFunction: completeOptions(completeFiles),
	}
	flags := command.Flags()
	tag := flags.String("tag", "", "print what answers this `TAG`")
	asJSON := flags.Bool("json", false, "print JSON")
	api := flags.String(apiFlag, "", "query the running Sluice whose API is at this `URL`")
	wide := flags.Bool("wide", false, "print a table with whole columns")
	command.AddCommand(p.signCommand())
	p.takes(command, 1000, true, func(given arguments) int {
		look := tableLook{json: *asJSON}
		if !*wide {
			look.width = widthOf(p.stdout)
		}
		if !flags.Changed("tag") {
			tag = nil
		}
		return p.environments(tag, *api, look, given)
	})
	return command
}

// environments prints what answers a tag, or all tags if it is nil, and returns the exit code.
func (p *process) environments(tag *string, address string, look tableLook, given arguments) int {
	list, err := p.readEnvironments(tag, address, given)
	if err != nil {
		say(p.stderr, "sluice environments: %v\n", err)
		return exitBroken
	}
	switch {
	case look.json:
		printJSON(p.stdout, list)
	case tag == nil:
		printFitted(p.stdout, matrixRows(list), look.width)
	default:
		printFitted(p.stdout, answerRows(list), look.width)
	}
	if len(list.Services) == 0 {
		say(p.stderr, "sluice environments: there is no environment service\n")
		return exitNone
	}
	if tag != nil && !slices.ContainsFunc(list.Services, answered) {
		say(p.stderr, "sluice environments: no service answers the tag %q\n", *tag)
		return exitNone
	}
	return exitFine
}

// answered reports whether a service answers a tag.
func answered(service environments.Service) bool {
	return slices.ContainsFunc(service.Answers, func(answer router.EnvironmentAnswer) bool {
		return answer.Reason != environment.None
	})
}

// readEnvironments returns all environment services with what answers the tag, or each tag if it is nil. What it
// answers from is the first line of stderr.
func (p *process) readEnvironments(tag *string, address string, given arguments) (environments.List, error) {
	if address != "" && len(given.positional) > 0 {
		return environments.List{}, errFilesAndAPI
	}
	in, err := readInputs(given.positional, os.Stdin)
	if err != nil {
		return environments.List{}, err
	}
	defer in.close()
	from, err := findSource(address, static.Sources{
		Args: append(in.options, given.options...), Environ: p.environ, Alone: len(given.positional) > 0,
	})
	if err != nil {
		return environments.List{}, err
	}
	if len(given.positional) > 0 {
		say(p.stderr, "configuration: %s\n", strings.Join(in.names(given.positional), ", "))
	} else {
		say(p.stderr, "configuration: %s\n", from.String())
	}
	if from.api != "" {
		return queryEnvironments(from.api, tag)
	}
	s, err := settleInputs(from, in, p.stderr)
	if err != nil {
		return environments.List{}, err
	}
	table := s.target.Table()
	list := environments.List{Tags: environments.Tags(table)}
	list.Services = environments.Services(table, func(ref dynamic.Ref) dynamic.Origin {
		return in.locate(dynamic.Verdict{Ref: ref, Origin: s.state.Origin(ref)})
	}, wanted(tag, list.Tags))
	if len(given.positional) > 0 {
		s.verdicts = placed(s.verdicts, in)
	}
	s.printConcerned(p.stderr, concernedServices(list))
	return list, nil
}

// wanted are the tags whose answers are printed.
func wanted(tag *string, all []string) []string {
	if tag != nil {
		return []string{*tag}
	}
	return all
}

// concernedServices returns the names of the environment services and of those that answer.
func concernedServices(list environments.List) []string {
	var names []string
	for _, service := range list.Services {
		names = append(names, service.Name)
		for _, subset := range service.Subsets {
			names = append(names, subset.Service)
		}
	}
	return names
}

// matrixRows are the rows of a table with what answers each tag: the tag of the subset, default, any, or - for none.
func matrixRows(list environments.List) [][]string {
	rows := [][]string{append([]string{"SERVICE"}, list.Tags...)}
	for _, service := range list.Services {
		cells := make(map[string]string, len(service.Answers))
		for _, answer := range service.Answers {
			cells[answer.Tag] = cell(answer)
		}
		row := []string{service.Name}
		for _, tag := range list.Tags {
			row = append(row, cmp.Or(cells[tag], "-"))
		}
		rows = append(rows, row)
	}
	return rows
}

// cell is what a matrix shows of an answer. A subset that cannot answer now is down.
func cell(answer router.EnvironmentAnswer) string {
	text := "-"
	switch answer.Reason {
	case environment.None:
		return text
	case environment.Exact, environment.Ancestor:
		text = answer.Subset
	case environment.Default, environment.Any:
		text = string(answer.Reason)
	}
	if !answer.Up {
		text += " (down)"
	}
	return text
}

// answerRows are the rows of a table with what answers one tag.
func answerRows(list environments.List) [][]string {
	rows := [][]string{{"SERVICE", "SUBSET", "REASON", "ENDPOINTS", "ANSWERED BY", "HEADER"}}
	for _, service := range list.Services {
		for _, answer := range service.Answers {
			endpoints := "-"
			if answer.Reason != environment.None {
				endpoints = strconv.Itoa(answer.Serving) + "/" + strconv.Itoa(answer.Endpoints)
			}
			rows = append(rows, []string{
				service.Name, cmp.Or(answer.Subset, "-"), string(answer.Reason), endpoints, cmp.Or(answer.Service, "-"),
				service.Header,
			})
		}
	}
	return rows
}
