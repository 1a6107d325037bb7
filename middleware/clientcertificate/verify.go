package clientcertificate

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"sync"
	"time"
)

const (
	// validFor bounds how long a verdict is kept.
	validFor = time.Minute
	// Verdicts are kept in shards, each with a lock. maxBytes bounds a shard, maxVerdict a verdict that is kept, in
	// bytes: 4 MiB in all.
	shards     = 32
	maxBytes   = 128 << 10
	maxVerdict = 16 << 10
)

// verify judges the certificates of a client, its own first. The verdict holds until a time.
func (s *settings) verify(presented []*x509.Certificate) (judged *verdict, until time.Time) {
	now := s.now()
	until = now.Add(validFor)
	intermediates := s.others.Clone()
	for _, one := range presented[1:] {
		intermediates.AddCert(one)
	}
	chains, err := presented[0].Verify(x509.VerifyOptions{
		Roots: s.roots, Intermediates: intermediates, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); !unknown {
			return refused(err.Error()), until
		}
		reason := unknownIssuer(presented)
		if s.mode != optionalNoCA {
			return refused(reason), until
		}
		return s.describe(presented[0], "FAILED:"+reason), until
	}
	short := chains[:0]
	for _, chain := range chains {
		if len(chain)-2 <= s.depth { // The client's and the trusted certificate do not count.
			short = append(short, chain)
		}
	}
	if len(short) == 0 {
		return refused("the chain has more intermediate certificates than depth"), until
	}
	if s.revocations != nil {
		if err := s.revocations.Check(short, now); err != nil {
			return refused(err.Error()), until
		}
		until = earlier(until, s.revocations.Until())
	}
	for _, chain := range short {
		for _, one := range chain {
			until = earlier(until, one.NotAfter)
		}
	}
	return s.describe(presented[0], "SUCCESS"), until
}

// unknownIssuer says in OpenSSL's words that no authority is known that has signed. Services may compare them.
func unknownIssuer(presented []*x509.Certificate) string {
	last := presented[len(presented)-1]
	switch itself := bytes.Equal(last.RawSubject, last.RawIssuer); {
	case itself && len(presented) == 1:
		return "self-signed certificate"
	case itself:
		return "self-signed certificate in certificate chain"
	case len(presented) == 1:
		return "unable to verify the first certificate"
	}
	return "unable to get local issuer certificate"
}

// earlier returns the earlier of two times, of which the second may be zero.
func earlier(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// key identifies the certificates that a client has presented.
type key = [sha256.Size]byte

func keyOf(presented []*x509.Certificate) key {
	hash := sha256.New()
	for _, one := range presented {
		_, _ = hash.Write(one.Raw) // DER says itself how long it is.
	}
	var sum key
	hash.Sum(sum[:0])
	return sum
}

// cache keeps verdicts for a short time, so that not every request costs signatures. Clients with other certificates
// mostly use other locks.
type cache struct {
	shards [shards]shard
	now    func() time.Time
}

type shard struct {
	mutex    sync.Mutex
	verdicts map[key]kept
	bytes    int
}

type kept struct {
	verdict *verdict
	until   time.Time
}

func newCache() *cache { return &cache{now: time.Now} }

// get returns the verdict on certificates; nil without one that holds.
func (c *cache) get(of key) *verdict {
	s := &c.shards[of[0]%shards]
	s.mutex.Lock()
	found, known := s.verdicts[of]
	s.mutex.Unlock()
	if !known || !c.now().Before(found.until) {
		return nil
	}
	return found.verdict
}

// put keeps a verdict until a time, unless it is too large. A full shard is emptied.
func (c *cache) put(of key, judged *verdict, until time.Time) {
	size := judged.size()
	if size > maxVerdict {
		return
	}
	s := &c.shards[of[0]%shards]
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if before, known := s.verdicts[of]; known {
		s.bytes -= before.verdict.size()
	}
	if s.bytes+size > maxBytes || s.verdicts == nil {
		s.verdicts, s.bytes = map[key]kept{}, 0
	}
	s.verdicts[of] = kept{judged, until}
	s.bytes += size
}
