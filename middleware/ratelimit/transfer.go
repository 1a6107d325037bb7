package ratelimit

import "github.com/sluiceproxy/sluice/httpio/bucket"

// Export returns the counts of at most limit sources for Import in another process, and of how many; nil without any.
func (s *step) Export(limit int) (data []byte, sources int) {
	t := s.buckets.Load()
	if t == nil {
		return nil, 0
	}
	return t.ExportCounts(*s.limit.key.Load(), s.limit.clock(), limit)
}

// Import goes on with the counts of another process, before the first request. Those of another rate are left out.
func (s *step) Import(data []byte) error {
	from, err := bucket.ParseCounts(data)
	if err != nil {
		return err
	}
	if !s.limit.limited || from.Rate != s.limit.rate.String() {
		return nil
	}
	if err := s.buckets.table(s.limit.rate).Import(from.Buckets, s.limit.clock()); err != nil {
		return err
	}
	// The keys of all owners' buckets come from one rateLimit.
	s.limit.key.Store(&from.Key)
	return nil
}
