package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// family returns a process and all of its descendants.
func family(root int) ([]int, error) {
	children := map[int][]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // has ended
		}
		pid, parent, err := parents(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		children[parent] = append(children[parent], pid)
	}
	found := []int{root}
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found, nil
}

// parents parses the ids of a process and its parent in /proc/PID/stat.
func parents(text string) (pid, parent int, err error) {
	end := strings.LastIndexByte(text, ')') // The name of the program may contain parentheses.
	number, _, _ := strings.Cut(text, " ")
	if end < 0 {
		return 0, 0, fmt.Errorf("no name of a program in %q", text)
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 2 {
		return 0, 0, fmt.Errorf("too few fields in %q", text)
	}
	if pid, err = strconv.Atoi(number); err != nil {
		return 0, 0, err
	}
	parent, err = strconv.Atoi(fields[1])
	return pid, parent, err
}

// cpuTime returns the CPU time of all threads of a process and its descendants, user and system.
func cpuTime(root int) (time.Duration, error) {
	processes, err := family(root)
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, pid := range processes {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil {
			return 0, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return 0, err
			}
			running, err := schedstat(string(text))
			if err != nil {
				return 0, fmt.Errorf("%s: %w", file, err)
			}
			total += running
		}
	}
	if total == 0 {
		return 0, fmt.Errorf("process %d has used no CPU time, or has ended", root)
	}
	return total, nil
}

// schedstat parses the CPU time in a thread's schedstat: nanoseconds, the first field.
func schedstat(text string) (time.Duration, error) {
	running, _, found := strings.Cut(text, " ")
	if !found {
		return 0, fmt.Errorf("not of three fields: %q", text)
	}
	nanoseconds, err := strconv.ParseInt(running, 10, 64)
	return time.Duration(nanoseconds), err
}

// resident returns the memory of a process and its descendants (sum of VmRSS), in KiB.
func resident(root int) (float64, error) {
	processes, err := family(root)
	if err != nil {
		return 0, err
	}
	var total float64
	for _, pid := range processes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			var kilobytes float64
			if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kilobytes); n == 1 {
				total += kilobytes
			}
		}
	}
	return total, nil
}

// openFiles returns the number of open files of a process and its descendants.
func openFiles(root int) (float64, error) {
	processes, err := family(root)
	if err != nil {
		return 0, err
	}
	total := 0
	for _, pid := range processes {
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			return 0, err
		}
		total += len(files)
	}
	return float64(total), nil
}

// ticks are the times of one core in clock ticks.
type ticks struct{ busy, total int64 }

// coreTicks parses the times of the cores in /proc/stat. Waiting for a disk is idle.
func coreTicks(text []byte) (map[int]ticks, error) {
	cores := map[int]ticks{}
	scanner := bufio.NewScanner(bytes.NewReader(text))
	for scanner.Scan() {
		fields := strings.Fields(scanner.Text())
		if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") || fields[0] == "cpu" {
			continue
		}
		core, err := strconv.Atoi(strings.TrimPrefix(fields[0], "cpu"))
		if err != nil {
			return nil, err
		}
		var sum ticks
		for i, field := range fields[1:9] { // user nice system idle iowait irq softirq steal; guests are part of user
			value, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return nil, err
			}
			sum.total += value
			if i != 3 && i != 4 {
				sum.busy += value
			}
		}
		cores[core] = sum
	}
	return cores, scanner.Err()
}

// share returns the usage of a core between two readings, from 0 to 1.
func share(before, after ticks) float64 {
	if after.total <= before.total {
		return 0
	}
	return float64(after.busy-before.busy) / float64(after.total-before.total)
}
