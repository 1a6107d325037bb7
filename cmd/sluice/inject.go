package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"

	"github.com/sluiceproxy/sluice/inject"
	"github.com/sluiceproxy/sluice/inject/manifest"
)

// maxInjectFiles bounds the files of one call, and maxManifest the size of each in bytes.
const maxInjectFiles, maxManifest = 1000, 64 << 20

// injectCommand injects the pods of workloads in files.
func (p *process) injectCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "inject [FILE | - ...] [-f FILE] [-o FILE]",
		Short: "add sidecars and variables to the pods of workloads in files",
		Long: "Change the pods of workloads in manifests, as the webhook does when they are created, and print the manifests.\n" +
			"Everything else stays as it is. Files are those for kubectl apply, - is standard input. The configuration has\n" +
			"the form of Istio's sidecar injector, as a file, a folder with the files config and values, or a ConfigMap;\n" +
			"without one, pods with the label inject.sluice.dev/inject=true are injected.\n\n" +
			"Exit codes: 0, 1 when a document cannot be injected, and with --check when one would change, 2 for wrong\n" +
			"arguments, or for a configuration or a file that cannot be read. Then nothing is written.",
		Example: "  sluice inject -f deployment.yaml | kubectl apply -f -\n" +
			"  kubectl kustomize . | sluice inject - --injectConfigFile inject.yaml --diff\n" +
			"  sluice inject deployment.yaml --explain",
		ValidArgsFunction: completeOptions(completeFiles),
	}
	flags := command.Flags()
	f := injectFlags{
		files:   flags.StringArrayP("filename", "f", nil, "a `FILE` to read, or - for standard input; may repeat"),
		output:  flags.StringP("output", "o", "", "the `FILE` to write; standard output by default"),
		config:  flags.String("injectConfigFile", "", "the `FILE` or folder of the injector's configuration"),
		values:  flags.String("valuesFile", "", "the `FILE` with the values of the templates"),
		native:  flags.Bool("native-sidecars", true, "make sidecars init containers (Kubernetes 1.29 and later)"),
		diff:    flags.Bool("diff", false, "print what changes, as a unified diff"),
		explain: flags.Bool("explain", false, "print why each object is changed, or why not"),
		check:   flags.Bool("check", false, "print the objects that would change, and fail if there are any"),
	}
	f.namespace = flags.StringP("namespace", "n", "default", "the `NAMESPACE` of objects that name none")
	p.takes(command, maxInjectFiles, false, func(given arguments) int {
		return p.inject(append(*f.files, given.positional...), f)
	})
	return command
}

type injectFlags struct {
	files                             *[]string
	output, config, values, namespace *string
	native, diff, explain, check      *bool
}

// configuration compiles the configuration that the flags name.
func (f injectFlags) configuration() (*inject.Configuration, error) {
	switch {
	case *f.config == "" && *f.values == "":
		return inject.Default()
	case *f.config == "":
		return nil, errors.New("--valuesFile needs --injectConfigFile")
	case *f.values == "":
		return inject.Load(*f.config)
	}
	return inject.LoadFiles(*f.config, *f.values)
}

// inject runs the command and returns its exit code.
func (p *process) inject(files []string, f injectFlags) int {
	fail := func(err error) int {
		say(p.stderr, "sluice inject: %s\n", strings.ReplaceAll(err.Error(), "\n", "\nsluice inject: "))
		return exitBroken
	}
	if len(files) == 0 {
		return fail(errors.New("name a file with -f, or - for standard input"))
	}
	config, err := f.configuration()
	if err != nil {
		return fail(err)
	}
	done := injected{flags: f}
	for _, file := range files {
		if err := done.add(config, file, os.Stdin); err != nil {
			return fail(err)
		}
	}
	done.report(p.stderr)
	if done.failed {
		return exitNone
	}
	if err := done.write(p.stdout); err != nil {
		return fail(err)
	}
	if *f.check && done.changes {
		return exitNone
	}
	return exitFine
}

// injected is what becomes of files.
type injected struct {
	flags           injectFlags
	output, diffs   bytes.Buffer
	outcomes        []manifest.Outcome
	failed, changes bool
}

// add injects a file.
func (i *injected) add(config *inject.Configuration, file string, stdin io.Reader) error {
	data, shown, err := readManifest(file, stdin)
	if err != nil {
		return err
	}
	out, outcomes := manifest.Inject(config, shown, data, manifest.Options{
		Namespace: *i.flags.namespace, NativeSidecars: *i.flags.native,
	})
	if before := i.output.Bytes(); len(before) > 0 && !bytes.HasPrefix(out, []byte("---")) {
		if !bytes.HasSuffix(before, []byte("\n")) {
			i.output.WriteByte('\n')
		}
		i.output.WriteString("---\n")
	}
	i.output.Write(out)
	i.outcomes = append(i.outcomes, outcomes...)
	for _, one := range outcomes {
		i.failed = i.failed || one.Err != nil
		i.changes = i.changes || one.Result.Injected
	}
	return difflib.WriteUnifiedDiff(&i.diffs, difflib.UnifiedDiff{
		A: diffLines(data), B: diffLines(out), FromFile: shown, ToFile: shown, Context: 3,
	})
}

// diffLines returns the lines of a text as a diff shows them.
func diffLines(text []byte) []string {
	lines := slices.Collect(strings.Lines(string(text)))
	if last := len(lines) - 1; last >= 0 && !strings.HasSuffix(lines[last], "\n") {
		lines[last] += "\n\\ No newline at end of file\n"
	}
	return lines
}

// readManifest reads a file or standard input.
func readManifest(file string, stdin io.Reader) (data []byte, shown string, err error) {
	if file == "-" {
		data, err = io.ReadAll(io.LimitReader(stdin, maxManifest+1))
		shown = "stdin"
	} else {
		var opened *os.File
		if opened, err = os.Open(file); err != nil {
			return nil, "", err
		}
		defer func() { _ = opened.Close() }()
		data, err = io.ReadAll(io.LimitReader(opened, maxManifest+1))
		shown = file
	}
	if err == nil && len(data) > maxManifest {
		err = fmt.Errorf("%s: is larger than %d MiB", shown, maxManifest>>20)
	}
	return data, shown, err
}

// report writes errors and warnings.
func (i *injected) report(out io.Writer) {
	for _, one := range i.outcomes {
		for _, warning := range one.Result.Warnings {
			say(out, "%s: %s (warning)\n", place(one), onOneLine(warning))
		}
		if one.Err != nil {
			say(out, "%s: %s\n", place(one), onOneLine(one.Err.Error()))
		}
	}
}

// place returns FILE:LINE: OBJECT.
func place(one manifest.Outcome) string {
	at := fmt.Sprintf("%s:%d", one.File, one.Line)
	if one.Object != "" {
		at += ": " + one.Object
	}
	return at
}

// write writes what the flags ask for: explanations, a diff, or the manifests.
func (i *injected) write(stdout io.Writer) error {
	f := i.flags
	if *f.output != "" {
		if err := os.WriteFile(*f.output, i.output.Bytes(), 0o644); err != nil { //nolint:gosec // Manifests are no secrets.
			return err
		}
	}
	for _, one := range i.outcomes {
		if *f.explain || *f.check && one.Result.Injected {
			say(stdout, "%s: %s\n", place(one), explanation(one))
		}
	}
	switch {
	case *f.diff:
		_, err := stdout.Write(i.diffs.Bytes())
		return err
	case *f.explain || *f.check || *f.output != "":
		return nil
	}
	_, err := stdout.Write(i.output.Bytes())
	return err
}

// explanation says in one line what became of an object.
func explanation(one manifest.Outcome) string {
	reason := one.Result.Reason
	switch {
	case !one.Workload:
		return "unchanged: it has no pods that are injected"
	case !one.Result.Injected:
		return fmt.Sprintf("unchanged [%s]: %s", reason.Code, onOneLine(reason.Text))
	}
	return fmt.Sprintf("injected [%s]: %s; templates: %s", reason.Code, onOneLine(reason.Text),
		strings.Join(one.Result.Templates, ", "))
}
