package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// stateVersion is the version of the format of the state file.
const stateVersion = 1

// state is the content of the state file. Its keys are encoded, and its values base64.
type state struct {
	Version int               `json:"version"`
	Values  map[string][]byte `json:"values"`
}

// parseState reads the state file. An empty text has no values.
func parseState(text []byte) (*state, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return &state{Version: stateVersion, Values: map[string][]byte{}}, nil
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, errors.New("is damaged: it is not JSON of a state, or cut off")
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("has version %d, and this version of Sluice knows %d", s.Version, stateVersion)
	}
	if s.Values == nil {
		s.Values = map[string][]byte{}
	}
	return &s, nil
}

func (s *state) format() ([]byte, error) { return json.MarshalIndent(s, "", "  ") }

func (s *state) values() (map[storage.Key][]byte, error) {
	values := make(map[storage.Key][]byte, len(s.Values))
	for text, value := range s.Values {
		key, err := storage.DecodeKey(text)
		if err != nil {
			return nil, fmt.Errorf("is damaged: %w", err)
		}
		if value == nil {
			value = []byte{}
		}
		values[key] = value
	}
	return values, nil
}

func (s *state) put(key storage.Key, value []byte) error {
	s.Values[storage.EncodeKey(key)] = append([]byte{}, value...)
	return nil
}

func (s *state) remove(key storage.Key) (bool, error) {
	text := storage.EncodeKey(key)
	_, ok := s.Values[text]
	delete(s.Values, text)
	return ok, nil
}
