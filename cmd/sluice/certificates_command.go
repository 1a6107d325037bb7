package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const (
	// maxRenewed bounds the names of one call.
	maxRenewed = 1000
	// resolverFlag selects or maps resolvers.
	resolverFlag = "resolver"
)

// certificatesCommand has the commands on the certificates that resolvers obtain. Without the name of a command, it
// lists them.
func (p *process) certificatesCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "certificates [COMMAND]",
		Short: "list, renew, import and export the certificates that resolvers obtain",
		Long: "List the certificates that certificate resolvers obtain by ACME, as sluice certificates list does, or renew,\n" +
			"import or export them.\n\n" +
			"Exit codes: those of the command.",
		Example: "  sluice certificates\n" +
			"  sluice certificates renew shop.example.com\n" +
			"  sluice certificates import acme.json --dry-run",
	}
	commands := []*cobra.Command{
		p.certificatesListCommand(), p.certificatesRenewCommand(), p.certificatesImportCommand(),
		p.certificatesExportCommand(),
	}
	names := make([]string, 0, len(commands))
	for _, one := range commands {
		one.DisableAutoGenTag = true
		command.AddCommand(one)
		names = append(names, one.Name())
	}
	command.ValidArgsFunction = completeOptions(nil)
	body := p.listsCertificates(command)
	p.takes(command, 1, true, func(given arguments) int {
		if len(given.positional) > 0 {
			say(p.stderr, "sluice certificates: unknown command %q; one of %s\n", given.positional[0],
				strings.Join(names, ", "))
			return exitBroken
		}
		return body(given)
	})
	return command
}

// certificatesListCommand prints the certificates of resolvers.
func (p *process) certificatesListCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "list [--json] [--wide] [--api URL]",
		Short: "print the certificates that resolvers have, order and fail to obtain",
		Long: "Print each certificate of the certificate resolvers with its state: those that fail first, with the last\n" +
			"problem and the next attempt. A Sluice that runs answers: the one at --api, the one that serves the API of the\n" +
			"static configuration, or without any configuration the one on this machine. If none runs, the storage is read,\n" +
			"which knows certificates, open orders and failed ones. The first line of standard error says what answers.\n" +
			"Columns are fitted as by sluice routes.\n\n" +
			"States: valid; due for renewal; ordering; pending: not ordered yet; failing; unused: no router needs it, and it\n" +
			"is not renewed.\n\n" +
			"Exit codes: 0 when nothing fails; 1 when a resolver or a certificate does, or there is no resolver; 2 when the\n" +
			"configuration or the arguments are wrong.",
		Example: "  sluice certificates list --api http://127.0.0.1:8080",
	}
	command.ValidArgsFunction = completeOptions(nil)
	p.takes(command, 0, true, p.listsCertificates(command))
	return command
}

// listsCertificates adds the flags of the list to a command, and returns what it does.
func (p *process) listsCertificates(command *cobra.Command) func(arguments) int {
	flags := command.Flags()
	asJSON := flags.Bool("json", false, "print JSON")
	api := flags.String(apiFlag, "", "query the running Sluice whose API is at this `URL`")
	wide := flags.Bool("wide", false, "print a table with whole columns")
	return func(given arguments) int {
		look := tableLook{json: *asJSON}
		if !*wide {
			look.width = widthOf(p.stdout)
		}
		return p.listCertificates(*api, look, given)
	}
}

// certificatesRenewCommand makes certificates due.
func (p *process) certificatesRenewCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "renew NAME ... [--resolver RESOLVER]",
		Short: "have the certificates for host names renewed now",
		Long: "Write into the storage of the resolver that the certificate which covers NAME is due. The Sluice that leads\n" +
			"sees it within seconds and orders a new certificate, if a router needs it; the present one serves until then. If\n" +
			"only orders for NAME have failed, the next attempt is due. Nothing is ordered while no Sluice runs.\n\n" +
			"Exit codes: 0, 1 when there is no certificate for a name or the storage fails, 2 when the configuration or the\n" +
			"arguments are wrong.",
		Example: "  sluice certificates renew shop.example.com --configFile=/etc/sluice/sluice.yaml",
	}
	command.ValidArgsFunction = completeOptions(nil)
	resolver := command.Flags().String(resolverFlag, "", "the `RESOLVER` that has the certificates")
	p.takes(command, maxRenewed, true, func(given arguments) int {
		if len(given.positional) == 0 {
			say(p.stderr, "sluice certificates renew: name a host name of the certificate\n")
			return exitBroken
		}
		return p.renewCertificates(slices.Compact(given.positional), *resolver, given)
	})
	return command
}

// certificatesImportCommand fills storages from a file.
func (p *process) certificatesImportCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "import FILE [--resolver NAME=RESOLVER ...] [--dry-run]",
		Short: "put the accounts and certificates of an acme.json into the storage",
		Long: "Put the accounts and certificates of FILE, in the format of Traefik's acme.json, into the configured storage of\n" +
			"the resolvers with the same names. A certificate that does not end later than the one for the same names in the\n" +
			"storage is left out, and so is an account where one is registered. Sluice may run.\n\n" +
			"Exit codes: 0, 1 when something could not be imported, 2 when FILE cannot be read, or the configuration or the\n" +
			"arguments are wrong.",
		Example: "  sluice certificates import /etc/traefik/acme.json --resolver letsencrypt=le --dry-run",
	}
	command.ValidArgsFunction = completeOptions(completeFiles)
	flags := command.Flags()
	names := flags.StringArray(resolverFlag, nil, "`NAME=RESOLVER`: take what the file has of NAME for RESOLVER")
	dry := flags.Bool("dry-run", false, "print what would be imported, and write nothing")
	p.takes(command, 1, true, func(given arguments) int {
		if len(given.positional) == 0 {
			say(p.stderr, "sluice certificates import: name a file in the format of acme.json\n")
			return exitBroken
		}
		return p.importCertificates(given.positional[0], *names, *dry, given)
	})
	return command
}

// certificatesExportCommand writes storages into a file.
func (p *process) certificatesExportCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "export FILE [--force]",
		Short: "write accounts and certificates of the storage into an acme.json",
		Long: "Write the accounts and certificates of all resolvers, with their private keys, into FILE in the format of\n" +
			"Traefik's acme.json, with mode 0600.\n\n" +
			"Exit codes: 0, 1 when a storage or FILE fails, 2 when FILE exists, or the configuration or the arguments are\n" +
			"wrong.",
		Example: "  sluice certificates export acme.json --configFile=/etc/sluice/sluice.yaml",
	}
	command.ValidArgsFunction = completeOptions(completeFiles)
	force := command.Flags().Bool("force", false, "replace a file that exists")
	p.takes(command, 1, true, func(given arguments) int {
		if len(given.positional) == 0 {
			say(p.stderr, "sluice certificates export: name the file that is written\n")
			return exitBroken
		}
		return p.exportCertificates(given.positional[0], *force, given)
	})
	return command
}
