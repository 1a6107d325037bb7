package client

import (
	"bytes"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// jsonSerializer is the negotiated serializer of custom resources, with typeMeta in place of a JSON parser's pass.
type jsonSerializer struct {
	runtime.NegotiatedSerializer
	types *runtime.Scheme
}

// SupportedMediaTypes replaces the decoder of JSON.
func (s jsonSerializer) SupportedMediaTypes() []runtime.SerializerInfo {
	media := slices.Clone(s.NegotiatedSerializer.SupportedMediaTypes()) // All requests share the original.
	decoder := json.NewSerializerWithOptions(typeMeta{}, s.types, s.types, json.SerializerOptions{})
	for i := range media {
		if media[i].MediaType == runtime.ContentTypeJSON {
			media[i].Serializer = decoder
			stream := *media[i].StreamSerializer
			stream.Serializer, stream.Framer = eventDecoder{decoder}, eventFramer{stream.Framer}
			media[i].StreamSerializer = &stream
		}
	}
	return media
}

// typeMeta reads apiVersion and kind from the beginning of an object, where an API server writes them, and otherwise by
// parsing all of it.
type typeMeta struct{ json.SimpleMetaFactory }

// Interpret returns the group, version and kind of an object.
func (f typeMeta) Interpret(data []byte) (*schema.GroupVersionKind, error) {
	version, rest, ok := leadingMember(data, `{"apiVersion":"`)
	if !ok {
		return f.SimpleMetaFactory.Interpret(data)
	}
	kind, _, ok := leadingMember(rest, `,"kind":"`)
	if !ok {
		return f.SimpleMetaFactory.Interpret(data)
	}
	parsed, err := schema.ParseGroupVersion(version)
	if err != nil {
		return nil, err
	}
	return &schema.GroupVersionKind{Group: parsed.Group, Version: parsed.Version, Kind: kind}, nil
}

// leadingMember returns the string value of the member that data begins with, and what follows it. A value with escapes
// is not read.
func leadingMember(data []byte, prefix string) (value string, rest []byte, ok bool) {
	rest, ok = bytes.CutPrefix(data, []byte(prefix))
	if !ok {
		return "", nil, false
	}
	end := bytes.IndexAny(rest, `"\`)
	if end < 0 || rest[end] == '\\' {
		return "", nil, false
	}
	return string(rest[:end]), rest[end+1:], true
}
