package picker

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// Strategy is how a list picks. It is comparable: equal strategies pick alike.
type Strategy struct {
	// Name is one of the strategies of package dynamic; empty is wrr.
	Name string
	// Hash is what hash hashes; the zero value for any other strategy.
	Hash Hash
}

// Hash is the key of the strategy hash, with defaults filled in.
type Hash struct {
	// Source is one of the sources of package dynamic.
	Source string
	// Name is the header in its canonical form, the cookie or the query parameter; empty for other sources.
	Name string
	// Expression is the text with variables of nginx of the source expression; empty for other sources.
	Expression string
	// SubsetSize is how many candidates share a key; 0 is one.
	SubsetSize int
	// BoundedLoad is how many requests a candidate has in flight before the next in line takes over, in percent of its
	// share of all that are in flight. 0 sets no bound; otherwise it is 100 at least.
	BoundedLoad int
}

// defaultBoundedLoad is the default of loadBalancer.hash.boundedLoad.
const defaultBoundedLoad = 125

// NewStrategy translates loadBalancer.strategy and loadBalancer.hash; an empty name is wrr. The error names an
// unknown strategy, or options of hash that contradict one another or the strategy.
func NewStrategy(name string, hash *dynamic.HashStrategy) (Strategy, error) {
	switch name {
	case "":
		name = dynamic.StrategyWRR
	case dynamic.StrategyWRR, dynamic.StrategyP2C, dynamic.StrategyHRW, dynamic.StrategyLeastTime,
		dynamic.StrategyPeakEWMA,
		dynamic.StrategyLeastRequest:
	case dynamic.StrategyHash:
		key, err := newHash(hash)
		if err != nil {
			return Strategy{}, fmt.Errorf("strategy hash: %w", err)
		}
		return Strategy{Name: name, Hash: key}, nil
	default:
		return Strategy{}, unknown("strategy", name, dynamic.StrategyWRR, dynamic.StrategyP2C, dynamic.StrategyHRW,
			dynamic.StrategyLeastTime, dynamic.StrategyPeakEWMA, dynamic.StrategyLeastRequest, dynamic.StrategyHash)
	}
	if hash != nil {
		return Strategy{}, fmt.Errorf("the options of hash are set, but the strategy is %s", name)
	}
	return Strategy{Name: name}, nil
}

// UsesLatency reports whether the strategy needs Candidate.Latency.
func (s Strategy) UsesLatency() bool {
	return s.Name == dynamic.StrategyPeakEWMA || s.Name == dynamic.StrategyLeastTime
}

// CountsPool reports whether the strategy needs State.InFlight.
func (s Strategy) CountsPool() bool { return s.Name == dynamic.StrategyHash && s.Hash.BoundedLoad > 0 }

func newHash(config *dynamic.HashStrategy) (Hash, error) {
	hash := Hash{Source: dynamic.HashClientIP, BoundedLoad: defaultBoundedLoad}
	if config == nil {
		return hash, nil
	}
	if config.Source != "" {
		hash.Source = config.Source
	}
	hash.Name, hash.Expression, hash.SubsetSize = config.Name, config.Expression, config.SubsetSize
	if config.BoundedLoad != nil {
		hash.BoundedLoad = *config.BoundedLoad
	}
	if hash.BoundedLoad != 0 && hash.BoundedLoad < 100 {
		return Hash{}, fmt.Errorf("a bounded load of %d %% is neither 0 nor 100 at least", hash.BoundedLoad)
	}
	if hash.SubsetSize < 0 {
		return Hash{}, fmt.Errorf("a subset size of %d is negative", hash.SubsetSize)
	}
	return hash, hash.complete()
}

// complete checks the name and brings it into its one form.
func (h *Hash) complete() error {
	if (h.Source == dynamic.HashExpression) != (h.Expression != "") {
		return errors.New("the source expression and the option expression need one another")
	}
	switch h.Source {
	case dynamic.HashExpression:
		if h.Name != "" {
			return fmt.Errorf("the source %s has no name, but %q is given", h.Source, h.Name)
		}
		if _, err := h.template(); err != nil {
			return fmt.Errorf("expression: %w", err)
		}
		return nil
	case dynamic.HashClientIP, dynamic.HashPath:
		if h.Name != "" {
			return fmt.Errorf("the source %s has no name, but %q is given", h.Source, h.Name)
		}
		return nil
	case dynamic.HashHeader, dynamic.HashCookie:
		if h.Name != "" && strings.ContainsFunc(h.Name, notOfToken) {
			return fmt.Errorf("%q can't be the name of a %s", h.Name, h.Source)
		}
	case dynamic.HashQuery:
	default:
		return unknown("source", h.Source, dynamic.HashClientIP, dynamic.HashHeader, dynamic.HashCookie, dynamic.HashQuery,
			dynamic.HashPath, dynamic.HashExpression)
	}
	if h.Name == "" {
		return errors.New("the source " + h.Source + " needs a name")
	}
	if h.Source == dynamic.HashHeader {
		h.Name = http.CanonicalHeaderKey(h.Name)
	}
	return nil
}

// notOfToken reports whether a character is none of a token's (RFC 9110, section 5.6.2).
func notOfToken(c rune) bool {
	return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
}

func unknown(what, name string, known ...string) error {
	if nearest, ok := document.Nearest(name, known); ok {
		return fmt.Errorf("the %s %q is unknown; did you mean %q?", what, name, nearest)
	}
	return fmt.Errorf("the %s %q is none of %s", what, name, strings.Join(known, ", "))
}
