package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/static"
)

// completer returns what can stand for an argument that has been begun. It is the type of cobra's ValidArgsFunction.
type completer func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// completionCommand prints the completion script of a shell.
func (p *process) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	command := &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "print the completion script of a shell",
		Long: "Print a script that completes commands, flags and options of the static configuration.\n\n" +
			"In bash (with bash-completion): source <(sluice completion bash), or save it in /etc/bash_completion.d/sluice\n\n" +
			"In zsh: sluice completion zsh > \"${fpath[1]}/_sluice\"\n\n" +
			"In fish: sluice completion fish > ~/.config/fish/completions/sluice.fish\n\n" +
			"Exit codes: 0, or 2 for another shell.",
		Example: "  source <(sluice completion bash)", ValidArgs: shells,
	}
	p.takes(command, 1, false, func(given arguments) int {
		if len(given.positional) != 1 || !slices.Contains(shells, given.positional[0]) {
			say(p.stderr, "sluice completion: name a shell: %s\n", strings.Join(shells, ", "))
			return exitBroken
		}
		var err error
		switch root := command.Root(); given.positional[0] {
		case "bash":
			err = root.GenBashCompletionV2(p.stdout, true)
		case "zsh":
			err = root.GenZshCompletion(p.stdout)
		default:
			err = writeFishCompletion(root, p.stdout)
		}
		if err != nil {
			say(p.stderr, "sluice completion: %v\n", err)
			return exitNone
		}
		return exitFine
	})
	return command
}

// writeFishCompletion writes the script of cobra, which takes the beginning of a flag for an option of "string split".
func writeFishCompletion(root *cobra.Command, out io.Writer) error {
	var script bytes.Buffer
	if err := root.GenFishCompletion(&script, true); err != nil {
		return err
	}
	_, err := out.Write(bytes.ReplaceAll(script.Bytes(), []byte(`string split --max 1 \t`),
		[]byte(`string split --max 1 -- \t`)))
	return err
}

// completeOptions completes options of the static configuration, and leaves other arguments to another completer,
// which may be nil.
func completeOptions(positional completer) completer {
	return func(command *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		name, value, hasValue := strings.Cut(begun, "=")
		switch {
		case afterConfigFile(args) || (hasValue && strings.EqualFold(strings.TrimLeft(name, "-"), configFile)):
			return []string{"toml", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		case name == "--format" || (len(args) > 0 && args[len(args)-1] == "--format"):
			return formats(), cobra.ShellCompDirectiveNoFileComp
		case hasValue:
			return optionValues(strings.TrimLeft(name, "-"), value)
		case strings.HasPrefix(begun, "--"):
			return optionNames(begun)
		case strings.HasPrefix(begun, "-") || positional == nil:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return positional(command, args, begun)
	}
}

// afterConfigFile reports whether the argument that follows is the configuration file.
func afterConfigFile(args []string) bool {
	if len(args) == 0 {
		return false
	}
	last := args[len(args)-1]
	return last == "-c" || strings.EqualFold(last, "--"+configFile)
}

// optionNames completes the name of an option up to its next dot, as a path is completed up to its next slash.
func optionNames(begun string) ([]string, cobra.ShellCompDirective) {
	words := strings.Split(strings.TrimPrefix(begun, "--"), ".")
	above, last := words[:len(words)-1], words[len(words)-1]
	var found []string
	for _, option := range static.Options() {
		path := strings.Split(option.Path, ".")
		if option.Support != static.Supported || len(path) <= len(above) || !within(path, above) ||
			!hasPrefixFold(path[len(above)], last) || strings.ContainsAny(path[len(above)], "<[") {
			continue
		}
		name := "--" + strings.Join(append(slices.Clone(above), path[len(above)]), ".")
		if len(path) > len(above)+1 {
			found = append(found, name+".")
			continue
		}
		found = append(found, fmt.Sprintf("%s=\t%s", name, option.Description))
	}
	if len(found) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	slices.Sort(found)
	return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// optionValues completes the value of an option that has a choice.
func optionValues(name, begun string) ([]string, cobra.ShellCompDirective) {
	words := strings.Split(name, ".")
	for _, option := range static.Options() {
		path := strings.Split(option.Path, ".")
		if len(path) != len(words) || !within(path, words) {
			continue
		}
		values := option.Values
		if option.Type == "bool" || option.Type == "section" {
			values = []string{"true", "false"}
		}
		var found []string
		for _, value := range values {
			if hasPrefixFold(value, begun) {
				found = append(found, value)
			}
		}
		if len(found) > 0 {
			return found, cobra.ShellCompDirectiveNoFileComp
		}
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// within reports whether the path of an option begins with words, of which a name that a user chose is any.
func within(path, words []string) bool {
	for i, word := range words {
		if !strings.EqualFold(path[i], word) && (word == "" || !strings.HasPrefix(path[i], "<")) {
			return false
		}
	}
	return true
}

func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}
