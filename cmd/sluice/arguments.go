package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/static"
)

const configFile = "configFile"

// headerFlag collects -H 'Name: value', which may repeat.
type headerFlag http.Header

// String returns nothing: headers have no default.
func (headerFlag) String() string { return "" }

// Type returns what a value is.
func (headerFlag) Type() string { return "header" }

// Set adds one header.
func (h headerFlag) Set(text string) error {
	name, value, found := strings.Cut(text, ":")
	if !found || strings.TrimSpace(name) == "" {
		return fmt.Errorf("%q is not of the form 'Name: value'", text)
	}
	http.Header(h).Add(strings.TrimSpace(name), strings.TrimSpace(value))
	return nil
}

// addCommonFlags adds what every command that reads the static configuration takes, for its help and its completion.
func addCommonFlags(command *cobra.Command) {
	command.Flags().StringP(configFile, "c", "", "the `FILE` of the static configuration")
	command.Flags().BoolP("help", "h", false, "print this help")
}

// arguments are those of one call of a command.
type arguments struct {
	positional []string
	// options are flags of the static configuration, as they were given.
	options []string
}

// takes has a command parse its flags, and those of the static configuration, in any order among its at most most
// positional arguments, and run body, whose result is the exit code. static is false for a command that reads no
// configuration.
func (p *process) takes(command *cobra.Command, most int, static bool, body func(arguments) int) {
	command.DisableFlagParsing = true
	if static {
		addCommonFlags(command)
	} else {
		command.Flags().BoolP("help", "h", false, "print this help")
	}
	command.Run = func(_ *cobra.Command, args []string) {
		given, err := parseMixed(command.Flags(), args)
		switch {
		case err == nil && command.Flags().Changed("help"):
			writeHelp(p.stdout, command)
		case err != nil:
			say(p.stderr, "%s: %s\n", command.CommandPath(), err.Error())
			p.code = exitBroken
		case len(given.options) > 0 && !static:
			say(p.stderr, "%s: unknown flag %s\n", command.CommandPath(), given.options[0])
			p.code = exitBroken
		case len(given.positional) > most:
			p.code = p.unexpected(command, given.positional[most])
		default:
			p.code = body(given)
		}
	}
}

// parseMixed parses flags and positional arguments in any order. Flags that the set does not define are options of the
// static configuration, returned as they are; their values are given behind "=". -c FILE is --configFile=FILE.
func parseMixed(flags *pflag.FlagSet, args []string) (arguments, error) {
	var given arguments
	var own []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if len(arg) < 2 || arg[0] != '-' {
			given.positional = append(given.positional, arg)
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		known := lookup(flags, name)
		isConfigFile := strings.EqualFold(name, configFile) || (known != nil && known.Name == configFile)
		switch {
		case isConfigFile && !hasValue && i+1 == len(args):
			return given, fmt.Errorf("flag %s needs a value", arg)
		case isConfigFile:
			if !hasValue {
				i++
				value = args[i]
			}
			given.options = append(given.options, "--"+configFile+"="+value)
		case known == nil || switchesAPI(known, hasValue, value, args[i+1:]):
			if known == nil {
				if near := nearestOption(name, flags); near != "" {
					return given, fmt.Errorf("unknown flag %s; did you mean --%s?", arg, near)
				}
			}
			given.options = append(given.options, arg)
		default:
			own = append(own, dashes(known, name)+strings.TrimLeft(arg, "-"))
			if !hasValue && known.NoOptDefVal == "" && i+1 < len(args) {
				i++
				own = append(own, args[i])
			}
		}
	}
	return given, flags.Parse(own)
}

// lookup returns the flag of a name or of one letter, or nil.
func lookup(flags *pflag.FlagSet, name string) *pflag.Flag {
	if len(name) == 1 {
		return flags.ShorthandLookup(name)
	}
	return flags.Lookup(name)
}

// dashes returns what pflag wants before a flag that was given with one dash or with two.
func dashes(flag *pflag.Flag, name string) string {
	if name == flag.Shorthand {
		return "-"
	}
	return "--"
}

// switchesAPI reports whether --api is the option of the static configuration, which stands alone or is true or false,
// and not the flag that names the URL of a running Sluice.
func switchesAPI(flag *pflag.Flag, hasValue bool, value string, rest []string) bool {
	if flag.Name != apiFlag {
		return false
	}
	if hasValue {
		_, err := strconv.ParseBool(value)
		return err == nil
	}
	return len(rest) == 0 || strings.HasPrefix(rest[0], "-")
}

// nearestOption returns the flag of the set that was probably meant by a name that is no option of the static
// configuration either, or "". (Names below a section of options are static.Load's to judge.)
func nearestOption(name string, flags *pflag.FlagSet) string {
	if strings.EqualFold(name, configFile) {
		return ""
	}
	var names []string
	flags.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	near, _ := document.Nearest(name, names)
	if near == "" {
		return ""
	}
	first, _, _ := strings.Cut(name, ".")
	for _, option := range static.Options() {
		if root, _, _ := strings.Cut(option.Path, "."); strings.EqualFold(root, first) {
			return ""
		}
	}
	return near
}

// isFile reports whether an argument names a file or a folder.
func isFile(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
