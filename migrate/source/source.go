// Package source reads the objects of a cluster that ingress-nginx would read, from YAML or JSON: files, folders, and a
// stream such as standard input.
package source

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/provider/kubernetes/manifest"
)

// Limits of what is read.
const (
	// MaxFile is the largest file or stream in bytes.
	MaxFile = 64 << 20
	// MaxTotal bounds the bytes of all files.
	MaxTotal = 256 << 20
	// MaxFiles is the number of files.
	MaxFiles = 20_000
	// MaxObjects is the number of objects.
	MaxObjects = 200_000
	// MaxFaults is how many faults are kept; more are counted.
	MaxFaults = 1000
)

// Stream is the path that stands for standard input.
const Stream = "-"

// Ingress is an Ingress and where it is declared.
type Ingress struct {
	*networkingv1.Ingress
	// File and Line are where its document begins.
	File string
	Line int
}

// Key returns NAMESPACE/NAME.
func (i *Ingress) Key() string { return i.Namespace + "/" + i.Name }

// Secret is a Secret without its values.
type Secret struct {
	Namespace, Name string
	// Keys are those whose value is not empty, ordered.
	Keys []string
}

// Objects are what has been read. Kinds that ingress-nginx does not read are left out.
type Objects struct {
	Ingresses []Ingress
	Classes   []*networkingv1.IngressClass
	// Namespaces are read from files; those of a cluster are read with ListNamespaces.
	Namespaces     []*corev1.Namespace
	Services       []*corev1.Service
	ConfigMaps     []*corev1.ConfigMap
	EndpointSlices []*discoveryv1.EndpointSlice
	Secrets        []Secret
	// Faults are what could not be read, with file and line.
	Faults []manifest.Fault
	// MoreFaults is the number of faults beyond MaxFaults.
	MoreFaults int
}

// Read reads paths: files, folders with all that is below them, and [Stream] for in. In folders, files with the
// extensions .yaml, .yml and .json are read, and hidden ones are not. An object that a list of paths has twice is read
// once.
//
// A document or an object that cannot be read is a fault and is left out. The error is for paths that cannot be read,
// and for more than the limits.
func Read(in io.Reader, paths ...string) (*Objects, error) {
	r := &reader{in: in, out: &Objects{}, seen: map[string]place{}}
	for _, path := range paths {
		if err := r.path(path); err != nil {
			return nil, err
		}
	}
	return r.out, nil
}

// place is where an object is declared.
type place struct {
	file string
	line int
}

type reader struct {
	in             io.Reader
	out            *Objects
	seen           map[string]place
	files, objects int
	bytes          int64
}

func (r *reader) path(path string) error {
	if path == Stream {
		return r.stream()
	}
	status, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !status.IsDir() {
		return r.file(path)
	}
	return filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(entry.Name(), ".") && name != path
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return filepath.SkipDir
		case hidden || entry.IsDir() || !readable(name):
			return nil
		}
		return r.file(name)
	})
}

// readable reports whether a file of a folder is read.
func readable(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

func (r *reader) stream() error {
	data, err := io.ReadAll(io.LimitReader(r.in, MaxFile+1))
	if err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	if len(data) > MaxFile {
		return fmt.Errorf("standard input is larger than %d bytes", MaxFile)
	}
	return r.text("standard input", data)
}

func (r *reader) file(name string) error {
	data, err := document.ReadRegular(name, MaxFile)
	if err != nil {
		return err
	}
	return r.text(name, data)
}

// text adds the objects of a file.
func (r *reader) text(name string, data []byte) error {
	r.files++
	r.bytes += int64(len(data))
	switch {
	case r.files > MaxFiles:
		return fmt.Errorf("%s: there are more than %d files", name, MaxFiles)
	case r.bytes > MaxTotal:
		return fmt.Errorf("%s: the files have more than %d bytes", name, MaxTotal)
	}
	objects, faults := manifest.Read(name, data)
	for _, fault := range faults {
		r.fault(fault)
	}
	for _, object := range objects {
		if r.objects++; r.objects > MaxObjects {
			return fmt.Errorf("%s: there are more than %d objects", name, MaxObjects)
		}
		r.add(object)
	}
	return nil
}

func (r *reader) fault(fault manifest.Fault) {
	if len(r.out.Faults) == MaxFaults {
		r.out.MoreFaults++
		return
	}
	r.out.Faults = append(r.out.Faults, fault)
}
