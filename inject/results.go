package inject

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/utils/lru"
)

const (
	// maxResults is how many results a configuration keeps, maxPodKept the size of the largest pod of one, in bytes.
	maxResults, maxPodKept = 256, 32 << 10
	// tokenVolume begins the name of the volume with the token of a pod. The API server adds five random characters, so
	// that pods of the same workload differ in nothing else.
	tokenVolume = "kube-api-access-"
	tokenRandom = 5
	// placeholder stands for that name. JSON does not contain it.
	placeholder = "\x00"
)

// results keeps the results for the last pods: those of a workload are the same until its pod template changes. An
// injection depends on its input and the configuration alone, and templates cannot read the time, random numbers or the
// environment. It is safe for concurrent use.
type results struct {
	kept *lru.Cache
	// renames is whether the name of the volume with the token may be left out of what is compared: nothing in the
	// configuration can be compared with it.
	renames bool
}

func newResults(config, values []byte) *results {
	known := bytes.Contains(config, []byte(tokenVolume)) || bytes.Contains(values, []byte(tokenVolume))
	return &results{lru.New(maxResults), !known}
}

// resultKey identifies what an injection depends on. volume is the name that is left out of it; "" if there is none.
type resultKey struct {
	sum    [sha256.Size]byte
	volume string
}

// key returns the key of an input. It is false for inputs whose results are not kept.
func (r *results) key(in *Input) (resultKey, bool) {
	if len(in.Pod) > maxPodKept {
		return resultKey{}, false
	}
	pod, key := in.Pod, resultKey{}
	if r.renames {
		if key.volume = volumeIn(pod); key.volume != "" {
			pod = bytes.ReplaceAll(pod, []byte(key.volume), []byte(placeholder))
		}
	}
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%q %q %t", in.Namespace, in.Environment, in.NativeSidecars) // A hash does not fail.
	if in.Owner != nil {
		_, _ = fmt.Fprintf(hash, "%q", *in.Owner)
	}
	_, _ = hash.Write([]byte(placeholder))
	_, _ = hash.Write(pod)
	hash.Sum(key.sum[:0])
	return key, true
}

// volumeIn returns the name of the volume with the token. It returns "" when there is none, when there are several, and
// when it is in another place than the value of a key "name".
func volumeIn(pod []byte) string {
	const before = `"name":"`
	name := ""
	for rest := pod; ; {
		at := bytes.Index(rest, []byte(tokenVolume))
		if at < 0 {
			return name
		}
		end := at + len(tokenVolume) + tokenRandom
		if end >= len(rest) || rest[end] != '"' || !bytes.HasSuffix(rest[:at], []byte(before)) {
			return ""
		}
		found := string(rest[at:end])
		other := strings.Trim(found[len(tokenVolume):], "abcdefghijklmnopqrstuvwxyz0123456789")
		if name != "" && found != name || other != "" {
			return ""
		}
		name, rest = found, rest[end:]
	}
}

// get returns the result for a key.
func (r *results) get(key resultKey) (Result, bool) {
	known, ok := r.kept.Get(key.kept())
	if !ok {
		return Result{}, false
	}
	return renamed(known.(Result), placeholder, key.volume), true
}

// kept is the key in the cache: where a name is left out, the result is another one than for a pod without it.
func (k *resultKey) kept() any {
	return struct {
		sum     [sha256.Size]byte
		renamed bool
	}{k.sum, k.volume != ""}
}

// add keeps a result. Where a name is left out, opaque says that the templates do not look at the names of volumes.
func (r *results) add(key resultKey, result Result, opaque bool) {
	metadata := *result.Metadata // Without the rest of the pod.
	if key.volume != "" {
		encoded, err := json.Marshal(metadata)
		if err != nil || !opaque || bytes.Contains(encoded, []byte(key.volume)) {
			return
		}
	}
	result = renamed(result, key.volume, placeholder)
	result.Metadata = &metadata
	r.kept.Add(key.kept(), result)
}

// renamed returns a copy of a result in which a name is replaced, unless it or the other one is "".
func renamed(result Result, from, to string) Result {
	if from == "" || to == "" {
		result.Patch = bytes.Clone(result.Patch)
		return result
	}
	result.Patch = bytes.ReplaceAll(result.Patch, []byte(from), []byte(to))
	warnings := result.Warnings
	result.Warnings = nil
	for _, one := range warnings {
		result.Warnings = append(result.Warnings, strings.ReplaceAll(one, from, to))
	}
	return result
}

// opaque reports whether templates ship: those do not look at the names of volumes.
func (c *Configuration) opaque(templates []string) bool {
	for _, name := range templates {
		if !c.templates[name].ships {
			return false
		}
	}
	return true
}
