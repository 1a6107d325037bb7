package client

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
)

// JSON returns the resource in the JSON form of Protocol Buffers, which is the same for equal resources.
func (r Resource) JSON() (json.RawMessage, error) {
	content, err := r.Content.UnmarshalNew()
	if err != nil {
		return nil, err
	}
	loose, err := protojson.Marshal(content)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Compact(&out, loose) // protojson varies its spaces.
	return out.Bytes(), err
}
