package resource

import (
	"encoding/json"
	"errors"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/sluiceproxy/sluice/dynamic"
)

// metadataKey is the name of the metadata of a virtual host with the options of an environment service. Clients other
// than Sluice ignore it.
const metadataKey = "sluice.dev/environment"

// metadata returns the options of a choice as metadata.
func (c *choice) metadata() *corev3.Metadata {
	// Options are texts, flags and lists of them, which both forms have.
	var fields map[string]any
	text, _ := json.Marshal(c.options)
	_ = json.Unmarshal(text, &fields)
	options, _ := structpb.NewStruct(fields)
	return &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{metadataKey: options}}
}

// optionsOf returns the options in metadata; nil if there are none.
func optionsOf(from *corev3.Metadata) (*dynamic.Environment, error) {
	fields := from.GetFilterMetadata()[metadataKey]
	if fields == nil {
		return nil, nil //nolint:nilnil // no error
	}
	text, err := fields.MarshalJSON()
	if err != nil {
		return nil, err
	}
	options := &dynamic.Environment{}
	if json.Unmarshal(text, options) != nil {
		return nil, errors.New("the metadata " + metadataKey + " has a field of another type")
	}
	return options, nil
}

// named returns the clusters that the options name.
func (c *choice) named() []string {
	var names []string
	for i := range c.options.Subsets {
		names = append(names, c.options.Subsets[i].Service)
	}
	names = append(names, c.options.Service)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
