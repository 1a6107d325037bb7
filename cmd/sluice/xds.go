package main

import (
	"crypto/tls"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/clienttls"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/xds/client"
)

// xdsCommand has the commands of an xDS client.
func (p *process) xdsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "xds COMMAND",
		Short: "show what an xDS server publishes",
		Long: "Connect to an xDS server, which is a Sluice with the option xds, and print what a client would get.\n" +
			"With sluice help xds, the options of the server follow.\n\n" +
			"Exit codes: 0, or 2 for wrong arguments.",
		DisableAutoGenTag: true,
	}
	for _, one := range []*cobra.Command{p.xdsGetCommand(), p.xdsWatchCommand()} {
		one.DisableAutoGenTag = true
		command.AddCommand(one)
	}
	command.DisableFlagParsing = true
	command.Flags().BoolP("help", "h", false, "print this help")
	command.Run = func(_ *cobra.Command, args []string) {
		switch {
		case len(args) == 0 || args[0] == "-h" || args[0] == "--help":
			writeHelp(p.stdout, command)
		default:
			say(p.stderr, "sluice xds: unknown command %q; one of get, watch\n", args[0])
			p.code = exitBroken
		}
	}
	return command
}

// xdsGetCommand prints the resources of listeners once.
func (p *process) xdsGetCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "get [NAME ...] [--server HOST:PORT]",
		Short: "print listeners with their routes, clusters and endpoints",
		Long: "Print the listeners of these names, with what they lead to: routes, clusters and endpoints. Without a name,\n" +
			"print the names of all listeners.\n\n" +
			"Exit codes: 0, 1 when a name does not exist, cannot be read or is not complete in time, 2 when the server\n" +
			"cannot be reached or the arguments are wrong.",
		Example: "  sluice xds get\n  sluice xds get web.shop:80 orders@file",
	}
	flags := addXDSFlags(command)
	timeout := command.Flags().Duration("timeout", 5*time.Second, "longest `TIME` to wait for the server")
	p.takes(command, maxXDSNames, false, func(given arguments) int {
		return p.xdsGet(given.positional, flags, *timeout)
	})
	return command
}

// xdsWatchCommand prints changes until it is interrupted.
func (p *process) xdsWatchCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "watch [NAME ...] [--server HOST:PORT]",
		Short: "print each change of listeners, routes, clusters and endpoints",
		Long: "Print each change of the listeners of these names, and of what they lead to, until SIGINT or SIGTERM.\n" +
			"Without a name, all listeners are watched. A lost connection is made again.\n\n" +
			"Exit codes: 0 after an interruption, 2 when the arguments are wrong.",
		Example: "  sluice xds watch web.shop:80",
	}
	flags := addXDSFlags(command)
	p.takes(command, maxXDSNames, false, func(given arguments) int { return p.xdsWatch(given.positional, flags) })
	return command
}

// maxXDSNames bounds the names of one call.
const maxXDSNames = 1000

// xdsFlags say how a server is reached.
type xdsFlags struct {
	server, node, ca, cert, key, tokenFile *string
	secure, json                           *bool
}

func addXDSFlags(command *cobra.Command) xdsFlags {
	set := command.Flags()
	return xdsFlags{
		server:    set.String("server", static.DefaultXDSAddress, "`ADDRESS` of the xDS server, as host:port"),
		node:      set.String("node", "sluice-xds-command", "`ID` of the node, under which the server lists the client"),
		secure:    set.Bool("tls", false, "use TLS with the authorities of the system; --ca and --cert imply it"),
		ca:        set.String("ca", "", "`FILE` with the authorities of the server's certificate"),
		cert:      set.String("cert", "", "`FILE` with the client's certificate"),
		key:       set.String("key", "", "`FILE` with the key of the certificate"),
		tokenFile: set.String("token-file", "", "`FILE` with a bearer token"),
		json:      set.Bool("json", false, "print the resources as JSON, one on each line"),
	}
}

// client returns the client; it fails when a file cannot be read.
func (f xdsFlags) client() (*client.Client, error) {
	options := client.Options{Address: *f.server, Node: *f.node, Agent: "sluice xds", Version: release().Version}
	if *f.secure || *f.ca != "" || *f.cert != "" || *f.key != "" {
		secured, err := clienttls.New("--", &clienttls.Options{CA: *f.ca, Cert: *f.cert, Key: *f.key}, nil)
		if err != nil {
			return nil, errors.New(strings.ReplaceAll(err.Error(), "--.", "--"))
		}
		options.TLS = func() (*tls.Config, error) { return secured, nil }
	}
	if *f.tokenFile != "" {
		token, err := os.ReadFile(*f.tokenFile)
		if err != nil {
			return nil, err
		}
		options.Token = func() (string, error) { return string(token), nil }
	}
	return client.New(options), nil
}
