package main

import (
	"bufio"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestTheHeapRequestsHugePages looks the advice up in the memory map of the process.
func TestTheHeapRequestsHugePages(t *testing.T) {
	heap := reflect.ValueOf(new([1 << 12]byte)).Pointer()
	arenas := adviseHugePages(heap)
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		if arenas != 0 {
			t.Errorf("a kernel without huge pages took the advice for %d arenas", arenas)
		}
		return
	}
	if arenas < 1 {
		t.Fatalf("%d arenas were found", arenas)
	}
	if flags := flagsOf(t, heap); !strings.Contains(flags, " hg") {
		t.Errorf("the flags of the heap are %q", flags)
	}
}

// flagsOf returns the flags of the mapping that holds an address.
func flagsOf(t *testing.T, address uintptr) string {
	t.Helper()
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	within := false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		span, _, _ := strings.Cut(line, " ")
		if from, to, ok := strings.Cut(span, "-"); ok {
			low, lowErr := strconv.ParseUint(from, 16, 64)
			high, highErr := strconv.ParseUint(to, 16, 64)
			if lowErr == nil && highErr == nil {
				within = low <= uint64(address) && uint64(address) < high
			}
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && within {
			return flags
		}
	}
	t.Fatal("no mapping holds the heap")
	return ""
}
