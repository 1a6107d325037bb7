// Command image writes the container image of a release as an OCI image layout, without a container engine: an index
// with one image for each platform, whose only layer is the binary. Its configuration is that of the Dockerfile, except
// for HEALTHCHECK, which the OCI image specification does not have. The same input yields the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// source is the repository of the image, for its labels.
const source = "https://github.com/sluiceproxy/sluice"

// release is what all images have in common.
type release struct {
	version, revision string
	created           time.Time
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

// run reads the arguments and writes the layout.
func run(args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	version := flags.String("version", "", "the version, which is the tag of the image")
	revision := flags.String("revision", "", "the commit")
	created := flags.Int64("created", 0, "the time of the commit, in seconds since 1970")
	out := flags.String("out", "", "the folder that the layout is written to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" || *revision == "" || *out == "" || flags.NArg() == 0 {
		return errors.New("usage: image -version V -revision COMMIT -created SECONDS -out FOLDER PLATFORM=BINARY [...]")
	}
	r := release{version: *version, revision: *revision, created: time.Unix(*created, 0).UTC()}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, argument := range flags.Args() {
		name, binary, found := strings.Cut(argument, "=")
		platform, err := v1.ParsePlatform(name)
		if err != nil || !found || platform.Architecture == "" {
			return fmt.Errorf("%q is not of the form linux/amd64=BINARY", argument)
		}
		image, err := r.image(*platform, binary)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	path, err := layout.Write(*out, empty.Index)
	if err != nil {
		return err
	}
	name := map[string]string{"org.opencontainers.image.ref.name": r.version}
	return path.AppendIndex(index, layout.WithAnnotations(name))
}

// image returns the image of one platform.
func (r release) image(platform v1.Platform, binary string) (v1.Image, error) {
	layer, err := binaryLayer(binary, r.created)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant, Created: v1.Time{Time: r.created},
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User:         "65532:65532",
			Entrypoint:   []string{"/sluice"},
			ExposedPorts: map[string]struct{}{"80/tcp": {}, "443/tcp": {}, "8080/tcp": {}},
			Labels: map[string]string{
				"org.opencontainers.image.title":    "sluice",
				"org.opencontainers.image.version":  r.version,
				"org.opencontainers.image.revision": r.revision,
				"org.opencontainers.image.source":   source,
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: r.created}, CreatedBy: "make release", Comment: "the binary"},
	})
}
