package static

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// WriteHelp writes every option that does something as a flag, with its type, default and meaning. The error is that
// of w.
func WriteHelp(w io.Writer) error {
	var b strings.Builder
	b.WriteString(
		`Every option can be written in the configuration file (YAML or TOML), as a variable of the environment, or as a flag:
entryPoints.web.address is SLUICE_ENTRYPOINTS_WEB_ADDRESS and --entryPoints.web.address. Flags override variables, and
variables override the file. TRAEFIK_ENTRYPOINTS_WEB_ADDRESS is read too; variables with SLUICE_ override those. Case
does not count. <name> is a name of your choice; a list is written with commas.

  --configFile string
      The configuration file. By default the first of sluice.toml, sluice.yaml, sluice.yml, traefik.toml, traefik.yaml
      and traefik.yml in /etc/sluice, /etc/traefik, $XDG_CONFIG_HOME, $HOME/.config and the working directory.
`)
	for _, option := range Options() {
		if option.Support == Supported {
			writeFlag(&b, option)
		}
	}
	b.WriteString("\nsluice help unsupported lists the options of Traefik that do nothing yet.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteUnsupported writes the options that are known and do nothing, with what Sluice does when one is written. The
// error is that of w.
func WriteUnsupported(w io.Writer) error {
	var b strings.Builder
	b.WriteString("Options of Traefik that are known and do nothing yet:\n\n")
	for _, option := range Options() {
		if option.Support != Supported {
			writeUnsupported(&b, option)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteHelpOn writes the option of a path and those below it; any name may stand for <name>, and case does not count.
// Those that do nothing yet are last. The error is that of w, or names the nearest option when there is none.
func WriteHelpOn(w io.Writer, path string) error {
	var supported, unsupported strings.Builder
	for _, option := range Options() {
		switch {
		case !option.under(path):
		case option.Support == Supported:
			writeFlag(&supported, option)
		default:
			writeUnsupported(&unsupported, option)
		}
	}
	if unsupported.Len() > 0 {
		if supported.Len() > 0 {
			supported.WriteString("\nKnown, and without effect yet:\n\n")
		}
		supported.WriteString(unsupported.String())
	}
	if supported.Len() == 0 {
		return fmt.Errorf("there is no option %q%s", path, nearestPath(path))
	}
	_, err := io.WriteString(w, supported.String())
	return err
}

// SupportedSections returns the first words of the options of which at least one does something, in their order.
func SupportedSections() []string {
	var sections []string
	for _, option := range Options() {
		first, _, _ := strings.Cut(option.Path, ".")
		if option.Support == Supported && !slices.Contains(sections, first) {
			sections = append(sections, first)
		}
	}
	return sections
}

// under reports whether the option has the path, or is below it.
func (o Option) under(path string) bool {
	words := strings.Split(o.Path, ".")
	wanted := strings.Split(path, ".")
	if len(wanted) > len(words) {
		return false
	}
	for i, word := range wanted {
		if !strings.EqualFold(word, words[i]) && !strings.HasPrefix(words[i], "<") {
			return false
		}
	}
	return true
}

// nearestPath names the option that was probably meant by a path: a section of which the path is the singular, an
// option of which the path is the last word, or one with a similar name.
func nearestPath(path string) string {
	for _, section := range SupportedSections() {
		if strings.EqualFold(section, path+"s") {
			return "; did you mean " + section + "?"
		}
	}
	var known []string
	for _, option := range Options() {
		if strings.HasSuffix(strings.ToLower(option.Path), "."+strings.ToLower(path)) {
			return "; did you mean " + option.Path + "?"
		}
		known = append(known, option.Path)
	}
	known = append(known, SupportedSections()...)
	if near, ok := document.Nearest(path, known); ok {
		return "; did you mean " + near + "?"
	}
	return ""
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

// writeUnsupported writes an option that does nothing, with what happens to it.
func writeUnsupported(b *strings.Builder, option Option) {
	fmt.Fprintf(b, "  --%s\n      %s\n", option.Path, option.Support.reason(option.Why))
}
