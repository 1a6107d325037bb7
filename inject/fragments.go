package inject

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/lru"
)

const (
	// maxParsed is how many texts a template has parsed ones kept of, maxParsedSize the size of the largest one, in bytes.
	maxParsed, maxParsedSize = 64, 32 << 10
)

// parsed is a text that a template has rendered, as it was parsed. It is never changed.
type parsed struct {
	content  map[string]any // empty when there is nothing to merge
	warnings []string       // about fields that pods do not have
}

// parsedTexts keeps the texts of one template that were used last. Pods of the same workload have the same text, unless
// the template puts names or values of the pod into it, and parsing takes longer than rendering. It is safe for
// concurrent use.
type parsedTexts struct{ kept *lru.Cache }

func newParsedTexts() parsedTexts { return parsedTexts{lru.New(maxParsed)} }

// parse is parseFragment. The caller may change what it returns.
func (p parsedTexts) parse(rendered []byte) (parsed, error) {
	key := string(rendered)
	known, ok := p.kept.Get(key)
	if !ok {
		made, err := parseFragment(rendered)
		if err != nil {
			return parsed{}, err
		}
		if len(rendered) > maxParsedSize {
			return made, nil
		}
		p.kept.Add(key, made)
		known = made
	}
	one := known.(parsed)
	return parsed{runtime.DeepCopyJSON(one.content), slices.Clone(one.warnings)}, nil
}
