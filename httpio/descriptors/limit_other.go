//go:build !unix

package descriptors

// softLimit reports that descriptors have no limit that is known.
func softLimit() (int, bool) { return 0, false }
