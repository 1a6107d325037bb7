package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/api/admin"
)

// selectionFlags select connections.
type selectionFlags struct{ client, entryPoint *string }

func addSelectionFlags(command *cobra.Command) selectionFlags {
	return selectionFlags{
		client:     command.Flags().String("client", "", "those of this `CLIENT`, an IP address or a prefix"),
		entryPoint: command.Flags().String("entrypoint", "", "those of this `ENTRYPOINT`"),
	}
}

// connectionsCommand prints the open connections of clients, and has the command that closes them.
func (p *process) connectionsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "connections [--client CLIENT] [--entrypoint ENTRYPOINT] [--json] [--wide] [--api URL]",
		Short: "print the open connections of clients, and close them",
		Long: "Print the open connections of clients, the oldest first and 10,000 at most. A running Sluice answers: the one\n" +
			"at --api, or the one on this machine. Columns are fitted as by sluice routes.\n\n" +
			"Exit codes: 0 when there is a connection, 1 when there is none, 2 when there is no answer or the arguments are\n" +
			"wrong.",
		Example: "  sluice connections --client 203.0.113.0/24\n" +
			"  sluice connections close 4711 --api https://ann:secret@admin.example.com",
	}
	selects := addSelectionFlags(command)
	flags := command.Flags()
	asJSON := flags.Bool("json", false, "print JSON")
	address := flags.String(apiFlag, "", "query the running Sluice whose API is at this `URL`")
	wide := flags.Bool("wide", false, "print a table with whole columns")
	one := p.closeCommand()
	one.DisableAutoGenTag = true
	command.AddCommand(one)
	p.takes(command, 0, false, func(arguments) int {
		look := tableLook{json: *asJSON}
		if !*wide {
			look.width = widthOf(p.stdout)
		}
		return p.connections(selects, apiAddress(*address), look)
	})
	return command
}

// connections prints connections, and returns the exit code.
func (p *process) connections(selects selectionFlags, address string, look tableLook) int {
	list, err := queryConnections(address, selects)
	if err != nil {
		say(p.stderr, "sluice connections: %v\n", err)
		return exitBroken
	}
	if look.json {
		printJSON(p.stdout, list)
	} else if len(list) > 0 {
		printFitted(p.stdout, connectionRows(list), look.width)
	}
	if len(list) == 0 {
		say(p.stderr, "sluice connections: there is no such connection\n")
		return exitNone
	}
	return exitFine
}

// queryConnections returns the selected connections of a running Sluice, page by page. Those that came and went
// meanwhile may be missing; none is there twice.
func queryConnections(base string, selects selectionFlags) ([]api.Connection, error) {
	const page, most = 1000, 10_000
	all := []api.Connection{}
	for n := 1; n <= most/page; n++ {
		query := url.Values{"page": {strconv.Itoa(n)}, "per_page": {strconv.Itoa(page)}}
		if *selects.client != "" {
			query.Set("client", *selects.client)
		}
		if *selects.entryPoint != "" {
			query.Set("entryPoint", *selects.entryPoint)
		}
		var some []api.Connection
		if err := queryAPI(base, "connections", query, &some); err != nil {
			return nil, err
		}
		for i := range some {
			if len(all) == 0 || some[i].ID > all[len(all)-1].ID {
				all = append(all, some[i])
			}
		}
		if len(some) < page {
			break
		}
	}
	return all, nil
}

// connectionRows are the rows of a table of connections.
func connectionRows(list []api.Connection) [][]string {
	rows := [][]string{{"ID", "ENTRYPOINT", "PROTOCOL", "CLIENT", "SERVER NAME", "AGE", "REQUESTS"}}
	for i := range list {
		one := &list[i]
		rows = append(rows, []string{
			strconv.FormatUint(one.ID, 10), one.EntryPoint, cmp.Or(one.Protocol, "-"), one.Client + " " + one.ClientPort,
			cmp.Or(one.ServerName, "-"), time.Since(one.Since).Round(time.Second).String(), strconv.FormatInt(one.Requests, 10),
		})
	}
	return rows
}

// closeCommand closes connections.
func (p *process) closeCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "close [ID] [--client CLIENT] [--entrypoint ENTRYPOINT] [--graceful] [--api URL]",
		Short: "close connections of clients",
		Long: "Close the connection with this ID, or those of CLIENT, of ENTRYPOINT, or of both. What is under way is cut; with\n" +
			"--graceful, idle connections are closed, and others end with the responses that are under way. Those of TCP\n" +
			"routers and those with a WebSocket stay open then.\n" +
			"--api is the URL at which a router leads to admin@internal.\n\n" +
			"Exit codes: 0 when a connection was closed or will end, 1 when there was none or it was refused, 2 when the\n" +
			"arguments are wrong.",
		Example: "  sluice connections close --client 203.0.113.7",
	}
	selects := addSelectionFlags(command)
	graceful := command.Flags().Bool("graceful", false, "close idle connections, and let others end with their responses")
	address := command.Flags().String(apiFlag, "", "the `URL` at which a running Sluice serves admin@internal")
	p.takes(command, 1, false, func(given arguments) int {
		request, err := closeRequest(strings.Join(given.positional, ""), selects)
		if err != nil {
			say(p.stderr, "%s: %v\n", command.CommandPath(), err)
			return exitBroken
		}
		request.Graceful = *graceful
		var closed admin.Closed
		if err := changeAPI(apiAddress(*address), http.MethodPost, "connections/close", request, &closed); err != nil {
			say(p.stderr, "%s: %v\n", command.CommandPath(), err)
			return exitNone
		}
		say(p.stdout, "%s\n", closedText(closed))
		if closed.Closed+closed.Closing == 0 {
			return exitNone
		}
		return exitFine
	})
	return command
}

// closedText says what has become of connections.
func closedText(closed admin.Closed) string {
	text := fmt.Sprintf("closed: %d", closed.Closed)
	if closed.Closing > 0 {
		text += fmt.Sprintf(", ending with a response: %d", closed.Closing)
	}
	if closed.Remaining > 0 {
		text += fmt.Sprintf(", remaining: %d of TCP routers or with an upgrade such as a WebSocket", closed.Remaining)
	}
	return text
}

// closeRequest returns the request for what is selected.
func closeRequest(id string, selects selectionFlags) (admin.CloseRequest, error) {
	request := admin.CloseRequest{Client: *selects.client, EntryPoint: *selects.entryPoint}
	if id != "" {
		var err error
		if request.ID, err = strconv.ParseUint(id, 10, 64); err != nil || request.ID == 0 {
			return request, fmt.Errorf("%q is not the ID of a connection", id)
		}
	}
	if request == (admin.CloseRequest{}) {
		return request, errors.New("name the ID of a connection, --client or --entrypoint")
	}
	return request, nil
}
