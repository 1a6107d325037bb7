package static

import (
	"fmt"
	"io"
	"strings"
)

// WriteHelp writes every option that does something as a flag, with its type, default and meaning, and after them the
// names of those that are only known. The error is that of w.
func WriteHelp(w io.Writer) error {
	var supported, known strings.Builder
	for _, option := range Options() {
		if option.Support == Supported {
			writeFlag(&supported, option)
			continue
		}
		fmt.Fprintf(&known, "  --%s\n", option.Path)
	}
	_, err := fmt.Fprintf(w,
		`Every option can be written in the configuration file (YAML or TOML), as a variable of the environment, or as a flag:
entryPoints.web.address is SLUICE_ENTRYPOINTS_WEB_ADDRESS and --entryPoints.web.address. Flags override variables, and
variables override the file. Case does not count. <name> is a name of your choice; a list is written with commas.

  --configFile string
      The configuration file. By default the first of sluice.toml, sluice.yaml, sluice.yml, traefik.toml, traefik.yaml
      and traefik.yml in /etc/sluice, /etc/traefik, $XDG_CONFIG_HOME, $HOME/.config and the working directory.
%s
Options of Traefik that are known and do nothing yet; the reference says for each whether it is ignored or refused:

%s`, supported.String(), known.String())
	return err
}

// writeFlag writes one option in two lines.
func writeFlag(b *strings.Builder, option Option) {
	fmt.Fprintf(b, "  --%s", option.Path)
	if option.Type != "section" && option.Type != "bool" {
		fmt.Fprintf(b, " %s", option.Type)
	}
	fmt.Fprintf(b, "\n      %s", option.Description)
	if option.Default != "" && option.Default != "false" {
		fmt.Fprintf(b, " Default: %s.", option.Default)
	}
	b.WriteByte('\n')
}
