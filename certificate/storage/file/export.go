package file

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Write writes the accounts and certificates among values as a file in the format of acme.json, with mode 0600. Other
// kinds are left out. A file that exists is replaced.
func Write(path string, values map[storage.Key][]byte) error {
	out := &acme{}
	keys := slices.SortedFunc(maps.Keys(values), func(a, b storage.Key) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Resolver, b.Resolver), cmp.Compare(a.ID, b.ID))
	})
	for _, key := range keys {
		if key.Kind != storage.KindAccount && key.Kind != storage.KindCertificate {
			continue
		}
		if err := out.put(key, values[key]); err != nil {
			return fmt.Errorf("%s of resolver %s: %w", key.Kind, key.Resolver, err)
		}
	}
	text, err := out.format()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return Open(path, telemetry.Discard{}).write(path, text)
}
