package document

import "strconv"

// Problem is one thing that is wrong with a value of a document.
type Problem struct {
	// Line is where, from 1; 0 when the document does not say.
	Line int
	// Path names the key below the value that was decoded: loadBalancer.servers[0].url. It is empty for the value itself.
	Path string
	// Reason is lower case and names neither the line nor the path.
	Reason string
}

// String returns PATH: REASON, or the reason alone when there is no path.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Reason
	}
	return p.Path + ": " + p.Reason
}

func joinKey(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func joinIndex(path string, index int) string {
	return path + "[" + strconv.Itoa(index) + "]"
}
