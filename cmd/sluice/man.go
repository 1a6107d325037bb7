package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/sluiceproxy/sluice/static"
)

// manCommand writes the man pages. It is for those who make packages, and is not listed.
func (p *process) manCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "man [FOLDER]",
		Short: "write the man pages into a folder",
		Long: "Write sluice(1), one page for each command, and sluice.yaml(5) with the options of the static\n" +
			"configuration into a folder, by default man, which is made. The date is that of the commit, or of\n" +
			"SOURCE_DATE_EPOCH.\n\n" +
			"Exit codes: 0, 1 when a file cannot be written, 2 for wrong arguments.",
		Hidden: true,
	}
	p.takes(command, 1, false, func(given arguments) int {
		folder := "man"
		if len(given.positional) > 0 {
			folder = given.positional[0]
		}
		if err := writeManPages(command.Root(), folder, manDate(p.environ)); err != nil {
			say(p.stderr, "sluice man: %v\n", err)
			return exitNone
		}
		return exitFine
	})
	return command
}

// writeManPages writes all pages into a folder.
func writeManPages(root *cobra.Command, folder string, date time.Time) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // Man pages are for everybody.
		return err
	}
	header := func(title, section string) *doc.GenManHeader {
		return &doc.GenManHeader{Title: title, Section: section, Date: &date, Source: "Sluice", Manual: "Sluice"}
	}
	commands := []*cobra.Command{root}
	for i := 0; i < len(commands); i++ {
		for _, one := range commands[i].Commands() {
			if one.IsAvailableCommand() {
				commands = append(commands, one)
			}
		}
	}
	for _, command := range commands {
		var page bytes.Buffer
		name := strings.ReplaceAll(command.CommandPath(), " ", "-")
		if err := doc.GenMan(command, header(strings.ToUpper(name), "1"), &page); err != nil {
			return err
		}
		if err := writeManPage(folder, name+".1", tidy(page.Bytes(), date)); err != nil {
			return err
		}
	}
	return writeManPage(folder, "sluice.yaml.5", tidy(md2man.Render([]byte(optionsPage(date))), date))
}

// tidy writes the date as ISO 8601 has it, does not stretch lines, in which names are long, and indents the
// descriptions of flags by requests in place of tabs.
func tidy(page []byte, date time.Time) []byte {
	page = bytes.Replace(page, []byte(".nh\n"), []byte(".nh\n.ad l\n"), 1)
	page = bytes.Replace(page, []byte(date.Format("Jan 2006")), []byte(date.Format(time.DateOnly)), 1)
	return regexp.MustCompile(`(?m)^\t(.+)$`).ReplaceAll(page, []byte(".RS 4\n$1\n.RE"))
}

func writeManPage(folder, name string, page []byte) error {
	return os.WriteFile(filepath.Join(folder, name), page, 0o644) //nolint:gosec // Man pages are for everybody.
}

// manDate is the date of the pages: SOURCE_DATE_EPOCH (reproducible-builds.org), or that of the commit, or none.
func manDate(environ []string) time.Time {
	for _, variable := range environ {
		if text, ok := strings.CutPrefix(variable, "SOURCE_DATE_EPOCH="); ok {
			if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
				return time.Unix(seconds, 0).UTC()
			}
		}
	}
	build, _ := debug.ReadBuildInfo()
	if build != nil {
		for _, setting := range build.Settings {
			if setting.Key == "vcs.time" {
				if at, err := time.Parse(time.RFC3339, setting.Value); err == nil {
					return at
				}
			}
		}
	}
	return time.Unix(0, 0).UTC()
}

// optionsPage returns the page of the options, in the Markdown that becomes a man page.
func optionsPage(date time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%% \"SLUICE.YAML\" \"5\" \"%s\" \"Sluice\" \"Sluice\"\n", date.Format(time.DateOnly))
	b.WriteString(`# NAME

sluice.yaml - options of the static configuration of Sluice

# DESCRIPTION

The static configuration is read once, when Sluice starts: from a file in YAML or TOML, from variables of the
environment, and from flags. Flags override variables, and variables override the file. The option
**entryPoints.web.address** is the variable **SLUICE_ENTRYPOINTS_WEB_ADDRESS** and the flag
**--entryPoints.web.address**. Case does not count. **NAME** stands for a name of your choice; a list is written with
commas in variables and flags.

The file is the one that **--configFile** names, or the first of sluice.toml, sluice.yaml, sluice.yml, traefik.toml,
traefik.yaml and traefik.yml in /etc/sluice, /etc/traefik, $XDG_CONFIG_HOME, $HOME/.config and the working directory.

# OPTIONS
`)
	for _, option := range static.Options() {
		if option.Support != static.Supported {
			continue
		}
		fmt.Fprintf(&b, "\n**%s** (%s)\n: %s", manText(strings.ReplaceAll(option.Path, "<name>", "NAME")), option.Type,
			manText(option.Description))
		if option.Default != "" {
			fmt.Fprintf(&b, " Default: %s.", manText(option.Default))
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n# SEE ALSO\n\n**sluice(1)**, **sluice-check(1)**\n")
	return b.String()
}

// manText escapes what Markdown would read as its own.
func manText(text string) string {
	return strings.NewReplacer("<", "\\<", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[").Replace(text)
}
