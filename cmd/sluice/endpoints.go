package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/api/admin"
	"github.com/sluiceproxy/sluice/api/live"
)

// endpointsCommand prints the endpoints of services, and has the commands that drain them.
func (p *process) endpointsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "endpoints [FILTER] [--service SERVICE] [--json] [--wide] [--api URL]",
		Short: "print the endpoints of services, and drain them by hand",
		Long: "Print the endpoints of each service with their state, their share of new requests and the requests in flight,\n" +
			"or those that have FILTER in their service or address. A running Sluice answers: the one at --api, or the one\n" +
			"on this machine. Columns are fitted as by sluice routes.\n\n" +
			"Exit codes: 0 when there is an endpoint, 1 when there is none, 2 when there is no answer or the arguments are\n" +
			"wrong.",
		Example: "  sluice endpoints --service web@file\n" +
			"  sluice endpoints drain 10.0.0.1:80 --for 10m --api https://ann:secret@admin.example.com",
	}
	flags := command.Flags()
	service := flags.String("service", "", "print those of this `SERVICE`")
	asJSON := flags.Bool("json", false, "print JSON")
	address := flags.String(apiFlag, "", "query the running Sluice whose API is at this `URL`")
	wide := flags.Bool("wide", false, "print a table with whole columns")
	for _, one := range []*cobra.Command{p.drainCommand(), p.undrainCommand()} {
		one.DisableAutoGenTag = true
		command.AddCommand(one)
	}
	p.takes(command, 1, false, func(given arguments) int {
		look := tableLook{json: *asJSON}
		if !*wide {
			look.width = widthOf(p.stdout)
		}
		return p.endpoints(strings.Join(given.positional, ""), *service, apiAddress(*address), look)
	})
	return command
}

// endpoints prints endpoints, and returns the exit code.
func (p *process) endpoints(filter, service, address string, look tableLook) int {
	all, err := queryPages[live.Endpoint](address, "endpoints")
	if err != nil {
		say(p.stderr, "sluice endpoints: %v\n", err)
		return exitBroken
	}
	var kept []live.Endpoint
	for _, endpoint := range all {
		endpoint.Pools = slices.DeleteFunc(endpoint.Pools, func(pool live.EndpointPool) bool {
			return service != "" && pool.Service != service ||
				!strings.Contains(strings.ToLower(endpoint.Address+"\n"+pool.Service), strings.ToLower(filter))
		})
		if len(endpoint.Pools) > 0 {
			kept = append(kept, endpoint)
		}
	}
	if look.json {
		printJSON(p.stdout, append([]live.Endpoint{}, kept...)) // [], and not null.
	} else if len(kept) > 0 {
		printFitted(p.stdout, endpointRows(kept), look.width)
	}
	if len(kept) == 0 {
		say(p.stderr, "sluice endpoints: none of %d endpoints is selected\n", len(all))
		return exitNone
	}
	return exitFine
}

// endpointRows are the rows of a table, sorted by service and address.
func endpointRows(endpoints []live.Endpoint) [][]string {
	var rows [][]string
	for _, endpoint := range endpoints {
		for _, pool := range endpoint.Pools {
			service := pool.Service
			if pool.Protocol != "http" {
				service = pool.Protocol + " " + service
			}
			rows = append(rows, []string{
				service, endpoint.Address, pool.State, strconv.FormatFloat(100*pool.Share, 'f', 1, 64) + "%",
				strconv.Itoa(endpoint.InFlight), cmp.Or(pool.Reason, "-"),
			})
		}
	}
	slices.SortStableFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return slices.Insert(rows, 0, []string{"SERVICE", "ENDPOINT", "STATE", "SHARE", "IN FLIGHT", "REASON"})
}

// drainFlags are what selects the endpoints that are drained.
type drainFlags struct{ service, protocol, address *string }

func addDrainFlags(command *cobra.Command) drainFlags {
	flags := command.Flags()
	return drainFlags{
		service:  flags.String("service", "", "the `SERVICE`, with its provider"),
		protocol: flags.String("protocol", "", "the `PROTOCOL` of the service: http, tcp or udp (default http)"),
		address:  flags.String(apiFlag, "", "the `URL` at which a running Sluice serves admin@internal"),
	}
}

// request returns the request for what is selected.
func (f drainFlags) request(given arguments) (admin.DrainRequest, error) {
	request := admin.DrainRequest{
		Protocol: *f.protocol, Service: *f.service, Endpoint: strings.Join(given.positional, ""),
	}
	if request.Service == "" && request.Endpoint == "" {
		return request, errors.New("name an endpoint, a service with --service, or both")
	}
	return request, nil
}

// drainCommand drains endpoints.
func (p *process) drainCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "drain [ADDRESS] [--service SERVICE] [--protocol PROTOCOL] [--for TIME] [--force] [--api URL]",
		Short: "give an endpoint, or those of a service, no new requests",
		Long: "Drain the endpoint at ADDRESS, an IP address with a port, in all services, or in SERVICE, or all endpoints of\n" +
			"SERVICE: they get no new requests, as with weight 0. Requests under way, sticky clients and connections go on.\n" +
			"The drain lasts until sluice endpoints undrain, the end of TIME or the end of the process, whatever the\n" +
			"configuration becomes. Without --force, it is refused where a service would have no endpoint left.\n\n" +
			"Exit codes: 0 when it is drained, 1 when that was refused, 2 when the arguments are wrong.",
		Example: "  sluice endpoints drain 10.0.0.1:80 --for 10m",
	}
	selects := addDrainFlags(command)
	lasting := command.Flags().Duration("for", 0, "the `TIME` after which the drain ends")
	force := command.Flags().Bool("force", false, "drain also where a service has no endpoint left")
	p.takes(command, 1, false, func(given arguments) int {
		request, err := selects.request(given)
		if err == nil && command.Flags().Changed("for") {
			if *lasting <= 0 {
				err = errors.New("--for is not above 0")
			}
			request.For = lasting.String()
		}
		if err != nil {
			say(p.stderr, "%s: %v\n", command.CommandPath(), err)
			return exitBroken
		}
		request.Force = *force
		var drained admin.Drain
		if err := changeAPI(apiAddress(*selects.address), http.MethodPost, "drains", request, &drained); err != nil {
			say(p.stderr, "%s: %v\n", command.CommandPath(), err)
			return exitNone
		}
		until := "until sluice endpoints undrain"
		if !drained.Until.IsZero() {
			until = "until " + drained.Until.Local().Format(time.DateTime)
		}
		say(p.stdout, "drained: %s, %d of services, %s\n", drainText(&drained), drained.Endpoints, until)
		return exitFine
	})
	return command
}

// undrainCommand ends drains.
func (p *process) undrainCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "undrain [ADDRESS] [--service SERVICE] [--protocol PROTOCOL] [--api URL]",
		Short: "end the drain of an endpoint, or those of a service",
		Long: "End the drains of the endpoint at ADDRESS in any service, or in SERVICE, or all drains of SERVICE.\n\n" +
			"Exit codes: 0 when a drain has ended, 1 when there was none, 2 when the arguments are wrong.",
		Example: "  sluice endpoints undrain 10.0.0.1:80",
	}
	selects := addDrainFlags(command)
	p.takes(command, 1, false, func(given arguments) int {
		request, err := selects.request(given)
		if err != nil {
			say(p.stderr, "%s: %v\n", command.CommandPath(), err)
			return exitBroken
		}
		var ended []admin.Drain
		if err := changeAPI(apiAddress(*selects.address), http.MethodDelete, "drains", request, &ended); err != nil {
			say(p.stderr, "%s: %v\n", command.CommandPath(), err)
			return exitNone
		}
		for i := range ended {
			say(p.stdout, "ended: %s\n", drainText(&ended[i]))
		}
		return exitFine
	})
	return command
}

// drainText says what a drain selects.
func drainText(drain *admin.Drain) string {
	of := "all services"
	if drain.Service != "" {
		of = fmt.Sprintf("%s service %s", drain.Protocol, drain.Service)
	}
	return cmp.Or(drain.Endpoint, "every endpoint") + " of " + of
}
