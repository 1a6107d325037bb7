package bucket

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// entryBytes is the size of a bucket as bytes: its key, and after how many nanoseconds it is full.
const entryBytes = 16

// String returns the rate as text: equal rates have equal ones.
func (r Rate) String() string { return fmt.Sprintf("%d/%d/%d", r.interval, r.capacity, r.delay) }

// String does not show the key.
func (HashKey) String() string { return "key of hashes" }

// GoString is String.
func (k HashKey) GoString() string { return k.String() }

// Counts are the buckets of a table with what another process needs to go on with them. They are secret, as the key is.
type Counts struct {
	// Rate is that of the buckets as text, and Key makes their keys.
	Rate string  `json:"rate"`
	Key  HashKey `json:"key"`
	// Buckets is what Export returns.
	Buckets []byte `json:"buckets"`
}

// ExportCounts returns the Counts of at most limit sources as ParseCounts reads them, and of how many; nil without any.
// key is what makes the keys of the table, and now as in Take.
func (t *Table) ExportCounts(key HashKey, now int64, limit int) (data []byte, sources int) {
	buckets := t.Export(now, limit)
	if len(buckets) == 0 {
		return nil, 0
	}
	data, _ = json.Marshal(Counts{t.rate.String(), key, buckets}) // Text and numbers can always be written.
	return data, Buckets(buckets)
}

// ParseCounts reads what ExportCounts has returned.
func ParseCounts(data []byte) (Counts, error) {
	var counts Counts
	if json.Unmarshal(data, &counts) != nil {
		return Counts{}, errors.New("the counts of a rate limit are not JSON as expected")
	}
	return counts, nil
}

// Export returns the buckets that are not full, at most limit of them, for Import in a table of another process.
func (t *Table) Export(now int64, limit int) []byte {
	var data []byte
	for i := range t.shards {
		data = t.shards[i].export(data, now, limit*entryBytes)
	}
	return data
}

func (s *shard) export(data []byte, now int64, limit int) []byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, one := range s.slots {
		if one.key == free || one.full <= now || len(data) >= limit {
			continue
		}
		data = binary.LittleEndian.AppendUint64(data, one.key)
		data = binary.LittleEndian.AppendUint64(data, uint64(one.full-now)) //nolint:gosec // above 0
	}
	return data
}

// Buckets returns how many buckets Export has returned.
func Buckets(data []byte) int { return len(data) / entryBytes }

// Import takes over the buckets of a table with the same rate. now is as in Take. After an error nothing has changed.
func (t *Table) Import(data []byte, now int64) error {
	if len(data)%entryBytes != 0 {
		return errors.New("the buckets of rates are cut off")
	}
	longest := uint64(t.rate.capacity + t.rate.delay) //nolint:gosec // not negative
	for entry := range slices.Chunk(data, entryBytes) {
		key, left := binary.LittleEndian.Uint64(entry), binary.LittleEndian.Uint64(entry[8:])
		if key != free {
			t.shards[key>>(64-shardBits)].add(key, now, int64(min(left, longest))) //nolint:gosec // at most longest
		}
	}
	return nil
}

// add has a bucket be full after a time, if it would be before.
func (s *shard) add(key uint64, now, left int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if found := s.find(key); found != nil {
		found.full = max(found.full, now+left)
		return
	}
	if 4*(s.taken+1) > 3*len(s.slots) {
		s.room(key, now)
	}
	s.put(slot{key: key, full: now + left})
}
