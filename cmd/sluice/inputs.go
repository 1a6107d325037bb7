package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/docker"
	"github.com/sluiceproxy/sluice/provider/kubernetes/manifest"
	"github.com/sluiceproxy/sluice/static"
)

// inputs are the files that check was given as arguments, by what they hold.
type inputs struct {
	// options are those of the static configuration under which the files are read.
	options []string
	// manifests and containers are nil where there are none.
	manifests  *manifest.Server
	containers *docker.Containers

	static      []string
	dynamic     []string
	objects     []manifest.Object
	findings    []finding
	entrypoints []string
	// temporary is the copy of standard input, or "".
	temporary string
}

// readInputs reads the files, the folders, and standard input (-) that paths name.
func readInputs(paths []string, stdin io.Reader) (*inputs, error) {
	in := &inputs{}
	for _, path := range paths {
		if err := in.add(path, stdin); err != nil {
			in.close()
			return nil, err
		}
	}
	if err := in.complete(); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// close removes the copy of standard input.
func (in *inputs) close() {
	if in.temporary != "" {
		_ = os.RemoveAll(filepath.Dir(in.temporary))
	}
}

// add adds what a path names. It fails for a folder without any file to read.
func (in *inputs) add(path string, stdin io.Reader) error {
	if path == "-" {
		return in.addStdin(stdin)
	}
	status, err := os.Stat(path)
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", path, pathError.Err)
	}
	if err != nil {
		return err
	}
	if !status.IsDir() {
		return in.addFile(path, false)
	}
	return in.addFolder(path)
}

// addFolder adds the files of a folder that have a known extension. A dynamic file in JSON is reported, since the file
// provider does not read it.
func (in *inputs) addFolder(folder string) error {
	files := 0
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case static.InternalFile(entry.Name()) && entry.IsDir():
			return fs.SkipDir
		case static.InternalFile(entry.Name()), entry.IsDir(), !readable(name):
			return nil
		}
		files++
		known := len(in.dynamic)
		if err := in.addFile(name, true); err != nil {
			return err
		}
		if len(in.dynamic) > known && !static.ConfigurationFile(name) {
			in.dynamic = in.dynamic[:known]
			in.findings = append(in.findings, notRead(name))
		}
		return nil
	})
	if err == nil && files == 0 {
		err = fmt.Errorf("%s: there is no file in it with one of the extensions %s", folder,
			strings.Join(document.Extensions(), ", "))
	}
	return err
}

// readable reports whether the name of a file in a folder is one that may be read.
func readable(name string) bool {
	return slices.Contains(document.Extensions(), strings.ToLower(filepath.Ext(name)))
}

// notRead returns the finding for a dynamic file in JSON, which the file provider does not read in a folder.
func notRead(path string) finding {
	message := "is not read: in a folder, the file provider reads .yaml, .yml and .toml"
	return finding{
		Severity: severityError, File: path, Code: string(dynamic.CodeInvalidSource), Message: message,
		text: path + ": " + message,
	}
}

// addStdin copies standard input into a file, since providers read files. Text that is TOML and no YAML is TOML.
func (in *inputs) addStdin(stdin io.Reader) error {
	data, err := io.ReadAll(stdin)
	if err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	folder, err := os.MkdirTemp("", "sluice-check-")
	if err != nil {
		return err
	}
	in.temporary = filepath.Join(folder, "stdin.yaml")
	if _, err := document.Parse("stdin.yaml", data); err != nil && !manifest.IsManifest(data) {
		if _, err := document.Parse("stdin.toml", data); err == nil {
			in.temporary = filepath.Join(folder, "stdin.toml")
		}
	}
	if err := os.WriteFile(in.temporary, data, 0o600); err != nil {
		return err
	}
	return in.addFile(in.temporary, false)
}

// addFile adds a file by what it holds.
func (in *inputs) addFile(path string, inFolder bool) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if manifest.IsManifest(data) {
		objects, faults := manifest.Read(in.shown(path), data)
		for _, fault := range faults {
			in.findings = append(in.findings, faultOf(fault))
		}
		for _, object := range objects {
			in.entrypoints = append(in.entrypoints, entrypointsIn(object.Object)...)
		}
		in.objects = append(in.objects, objects...)
		return nil
	}
	root, err := document.ParseWithDuplicates(path, data)
	if err != nil { // The reader of the file reports it.
		in.dynamic = append(in.dynamic, path)
		return nil //nolint:nilerr // See above.
	}
	switch services := root.Get("services"); {
	case root.Kind == document.List:
		err = in.fixed().AddInspected(data)
	case services != nil && services.Value.Kind == document.Map && !hasAny(root, dynamic.Sections()):
		project := filepath.Base(filepath.Dir(in.absolute(path)))
		if path == in.temporary {
			project = "stdin"
		}
		in.fixed().AddCompose(in.shown(path), project, services.Value)
	case hasAny(root, static.Sections()):
		in.static = append(in.static, path)
		if inFolder && hasAny(root, dynamic.Sections()) { // As the file provider reads a directory.
			in.dynamic = append(in.dynamic, path)
		}
		return nil
	default:
		in.dynamic = append(in.dynamic, path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", in.shown(path), err)
	}
	in.entrypoints = append(in.entrypoints, entrypointsOf(root)...)
	return nil
}

// faultOf returns the finding for an object of a manifest that cannot be read, or for a field of one that is ignored.
func faultOf(fault manifest.Fault) finding {
	found := finding{
		Severity: severityError, File: fault.File, Line: fault.Line, Origin: fault.Object,
		Code: string(dynamic.CodeInvalidSource), Message: fault.Reason, text: fault.String(),
	}
	if fault.Ignored {
		found.Severity, found.Code = severityWarning, string(dynamic.CodeIneffectiveOption)
	}
	return found
}

// fixed returns the containers, which there are from now on.
func (in *inputs) fixed() *docker.Containers {
	if in.containers == nil {
		in.containers = &docker.Containers{}
	}
	return in.containers
}

// names returns the arguments as they are reported.
func (in *inputs) names(paths []string) []string {
	names := slices.Clone(paths)
	for i, path := range names {
		if path == "-" {
			names[i] = "standard input"
		}
	}
	return names
}

// shown returns the path as it is reported.
func (in *inputs) shown(path string) string {
	if path == in.temporary {
		return "stdin"
	}
	return path
}

func (in *inputs) absolute(path string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return absolute
}

// complete makes the options. Without a static file, the entrypoints that the files name are taken to exist.
func (in *inputs) complete() error {
	if len(in.static) > 1 {
		return fmt.Errorf("%s and %s are both static configurations: name one", in.static[0], in.static[1])
	}
	if len(in.static) == 1 {
		in.options = append(in.options, "--"+configFile+"="+in.static[0])
	}
	if len(in.dynamic) > 0 {
		// The provider reads all of them. Both options are set, so that they replace what a static file names.
		in.options = append(in.options, "--providers.file.filename="+in.dynamic[0], "--providers.file.directory=")
	}
	if len(in.objects) > 0 {
		in.manifests = manifest.NewServer(in.objects)
		in.options = append(in.options, "--providers.kubernetesCRD=true", "--providers.kubernetesIngress=true")
		if in.manifests.HasIngressNGINX() {
			in.options = append(in.options, "--providers.kubernetesIngressNGINX=true")
		}
		if in.manifests.HasGateways() {
			in.options = append(in.options, "--providers.kubernetesGateway=true")
		}
	}
	if in.containers != nil {
		in.options = append(in.options, "--providers.docker=true")
	}
	if len(in.static) == 0 {
		slices.Sort(in.entrypoints)
		for i, name := range slices.Compact(in.entrypoints) {
			in.options = append(in.options, fmt.Sprintf("--entryPoints.%s.address=:%d", name, 10000+i))
		}
	}
	return nil
}

// entrypointsOf returns the names of the entrypoints that are named anywhere in a document: as entryPoints, or by
// labels and annotations that end in .entrypoints.
func entrypointsOf(node *document.Node) []string {
	var names []string
	for i := range node.Fields {
		field := node.Fields[i]
		if !namesEntrypoints(field.Key) {
			names = append(names, entrypointsOf(field.Value)...)
			continue
		}
		names = append(names, document.SplitList(field.Value.Value)...)
		for _, item := range field.Value.Items {
			names = append(names, item.Value)
		}
	}
	for _, item := range node.Items {
		if name, value, ok := strings.Cut(item.Value, "="); ok && namesEntrypoints(name) {
			names = append(names, document.SplitList(value)...)
		}
		names = append(names, entrypointsOf(item)...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// entrypointsIn does the same in the content of a manifest.
func entrypointsIn(content any) []string {
	var names []string
	switch content := content.(type) {
	case map[string]any:
		for key, value := range content {
			text, isText := value.(string)
			list, isList := value.([]any)
			switch {
			case namesEntrypoints(key) && isText:
				names = append(names, document.SplitList(text)...)
			case namesEntrypoints(key) && isList:
				for _, item := range list {
					names = append(names, fmt.Sprint(item))
				}
			default:
				names = append(names, entrypointsIn(value)...)
			}
		}
	case []any:
		for _, item := range content {
			names = append(names, entrypointsIn(item)...)
		}
	}
	return names
}

func namesEntrypoints(key string) bool {
	key = strings.ToLower(key)
	return key == "entrypoints" || strings.HasSuffix(key, ".entrypoints")
}

func hasAny(root *document.Node, keys []string) bool {
	return slices.ContainsFunc(root.Fields, func(field document.Field) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return strings.EqualFold(key, field.Key) })
	})
}
