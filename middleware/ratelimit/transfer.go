package ratelimit

import (
	"encoding/json"
	"errors"

	"github.com/sluiceproxy/sluice/httpio/bucket"
)

// exported is what another process goes on with.
type exported struct {
	// Rate is that of the buckets, whose keys are hashes by Key.
	Rate    string    `json:"rate"`
	Key     [4]uint64 `json:"key"`
	Buckets []byte    `json:"buckets"`
}

// Export returns the counts of at most limit sources for Import in another process, and of how many; nil without any.
func (s *step) Export(limit int) (data []byte, sources int) {
	t := s.buckets.Load()
	if t == nil {
		return nil, 0
	}
	buckets := t.Export(s.limit.clock(), limit)
	if len(buckets) == 0 {
		return nil, 0
	}
	// Text and numbers can always be written.
	data, _ = json.Marshal(exported{Rate: s.limit.rate.String(), Key: *s.limit.key.Load(), Buckets: buckets})
	return data, bucket.Buckets(buckets)
}

// Import goes on with the counts of another process, before the first request. Those of another rate are left out.
func (s *step) Import(data []byte) error {
	var from exported
	if json.Unmarshal(data, &from) != nil {
		return errors.New("the counts of a rate limit are not JSON as expected")
	}
	if !s.limit.limited || from.Rate != s.limit.rate.String() {
		return nil
	}
	if err := s.buckets.table(s.limit.rate).Import(from.Buckets, s.limit.clock()); err != nil {
		return err
	}
	// The keys of all owners' buckets come from one rateLimit.
	s.limit.key.Store((*bucket.HashKey)(&from.Key))
	return nil
}
