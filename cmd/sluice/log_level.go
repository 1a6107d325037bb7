package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/api/admin"
)

// logLevelCommand prints and sets the levels of the log.
func (p *process) logLevelCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "log-level [[SUBSYSTEM] LEVEL] [--for TIME] [--json] [--api URL]",
		Short: "print or set the levels of the log of a running Sluice",
		Long: "Print the level of each subsystem of the log, or set that of SUBSYSTEM and those below it, or of all. LEVEL is\n" +
			"debug, info, warn, error or configured, which is that of the configuration. It lasts for TIME, or until the\n" +
			"process ends. --api is the URL at which a router leads to admin@internal.\n\n" +
			"Exit codes: 0 for success, 1 when it was refused, 2 when the arguments are wrong.",
		Example: "  sluice log-level provider.kubernetes debug --for 10m",
	}
	flags := command.Flags()
	lasting := flags.Duration("for", 0, "the `TIME` after which the level is as configured again")
	asJSON := flags.Bool("json", false, "print JSON")
	address := flags.String(apiFlag, "", "the `URL` at which a running Sluice serves admin@internal")
	p.takes(command, 2, false, func(given arguments) int {
		request, err := levelRequest(given.positional, flags.Changed("for"), *lasting)
		if err != nil {
			say(p.stderr, "%s: %v\n", command.CommandPath(), err)
			return exitBroken
		}
		levels, err := changeLevels(apiAddress(*address), request)
		switch {
		case err != nil:
			say(p.stderr, "%s: %v\n", command.CommandPath(), err)
			return exitNone
		case *asJSON:
			printJSON(p.stdout, levels)
		default:
			printFitted(p.stdout, levelRows(levels), 0)
		}
		return exitFine
	})
	return command
}

// levelRequest returns what the arguments request; nil is the list of levels.
func levelRequest(positional []string, limited bool, lasting time.Duration) (*admin.LevelRequest, error) {
	var request admin.LevelRequest
	switch {
	case len(positional) == 0 && limited:
		return nil, errors.New("--for needs a level")
	case len(positional) == 0:
		return nil, nil
	case limited && lasting <= 0:
		return nil, fmt.Errorf("--for %v is not above 0", lasting)
	case limited:
		request.For = lasting.String()
	}
	request.Level = positional[len(positional)-1]
	request.Subsystem = strings.Join(positional[:len(positional)-1], "")
	return &request, nil
}

// changeLevels sets a level, unless the request is nil, and returns all levels.
func changeLevels(address string, request *admin.LevelRequest) (levels []admin.Level, err error) {
	if request == nil {
		err = changeAPI(address, http.MethodGet, "log", nil, &levels)
	} else {
		err = changeAPI(address, http.MethodPut, "log", request, &levels)
	}
	return levels, err
}

// levelRows are the rows of a table of levels.
func levelRows(levels []admin.Level) [][]string {
	rows := [][]string{{"SUBSYSTEM", "LEVEL", "CONFIGURED", "UNTIL"}}
	for _, level := range levels {
		until := "-"
		if !level.Until.IsZero() {
			until = level.Until.Local().Format(time.DateTime)
		}
		rows = append(rows, []string{level.Subsystem, level.Level, level.Configured, until})
	}
	return rows
}
