package descriptors

import "os"

// directory has a name for each open descriptor.
const directory = "/proc/self/fd"

// Open returns how many descriptors the process has open. From Linux 6.2 on that takes a system call; before, and on
// other systems, the time grows with their number. It fails where /proc or /dev/fd is missing, and there may be no
// descriptor left to look.
func Open() (int, error) {
	info, err := os.Stat(directory)
	if err != nil {
		return 0, err
	}
	if size := info.Size(); size > 0 {
		return int(size), nil
	}
	return list(directory)
}
