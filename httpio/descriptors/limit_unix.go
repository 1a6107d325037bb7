//go:build unix

package descriptors

import (
	"math"
	"syscall"
)

// softLimit returns how many descriptors the process may have, if that is limited.
func softLimit() (int, bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	if most := uint64(limit.Cur); most < math.MaxInt32 { // Some systems have a signed number.
		return int(most), true
	}
	return 0, false
}
