package file

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// Write writes the accounts and certificates among values as a file in the format of acme.json, with mode 0600. Other
// kinds are left out. A file that exists is replaced.
func Write(path string, values map[storage.Key][]byte) error {
	doc := document{}
	for _, key := range slices.SortedFunc(maps.Keys(values), compareKeys) {
		if err := doc.add(key, values[key]); err != nil {
			return fmt.Errorf("%s of resolver %s: %w", key.Kind, key.Resolver, err)
		}
	}
	text, err := doc.format()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return replaceAtomically(path, text)
}

// add adds a value that the document does not have.
func (d document) add(key storage.Key, value []byte) error {
	if key.Kind != storage.KindAccount && key.Kind != storage.KindCertificate {
		return nil
	}
	s := d[key.Resolver]
	if s == nil {
		s = &section{}
		d[key.Resolver] = s
	}
	if key.Kind == storage.KindAccount {
		s.account = &account{}
		return json.Unmarshal(value, &s.account.value)
	}
	c := &certificate{}
	s.certificates = append(s.certificates, c)
	return json.Unmarshal(value, &c.value)
}
