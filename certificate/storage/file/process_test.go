package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Variables that have the test binary do a job in a process of its own.
const (
	jobVariable  = "SLUICE_TEST_JOB"
	pathVariable = "SLUICE_TEST_PATH"
)

// Jobs.
const (
	jobLead  = "lead"  // Leads until it is killed, and says so.
	jobFull  = "full"  // Demands that a Put fails that is larger than the limit of files.
	jobWrite = "write" // Writes 50 values with the IDs 0 to 49 for a resolver with its process ID.
)

// work does a job and returns the exit status.
func work(job, path string) int {
	store := Open(path, telemetry.Discard{})
	var err error
	switch job {
	case jobLead:
		err = store.Lead(context.Background(), func(context.Context) {
			_, _ = os.Stdout.WriteString("leads\n")
			select {}
		})
	case jobFull:
		err = fillUp(store)
	case jobWrite:
		for i := range 50 {
			key := storage.Key{Kind: storage.KindDemand, Resolver: strconv.Itoa(os.Getpid()), ID: strconv.Itoa(i)}
			err = errors.Join(err, store.Put(context.Background(), key, []byte("x")))
		}
	}
	if err != nil {
		_, _ = os.Stdout.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

// fillUp limits the size of files to 64 KB, which fails like a full disk, and writes more.
func fillUp(store *Store) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	key := storage.Key{Kind: storage.KindCertificate, ID: storage.CertificateID([]string{"a.example"}), Resolver: "le"}
	value := fmt.Appendf(nil, `{"main": "a.example", "chain": %q, "key": "x"}`, strings.Repeat("x", 100<<10))
	for _, inPlace := range []bool{false, true} {
		store.inPlace.Store(inPlace)
		if err := store.Put(context.Background(), key, value); !errors.Is(err, syscall.EFBIG) {
			return fmt.Errorf("in place %v: %w", inPlace, errors.Join(errors.New("no error about the size"), err))
		}
	}
	return nil
}

// process is this binary with a job.
func process(t *testing.T, job, path string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program)
	command.Env = append(os.Environ(), jobVariable+"="+job, pathVariable+"="+path)
	return command
}

func TestProcessesLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acme.json")
	watcher := storagetest.Watch(t, Open(path, telemetry.Discard{}))
	var processes []*exec.Cmd
	for range 3 {
		p := process(t, jobWrite, path)
		p.Stdout = os.Stderr
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		processes = append(processes, p)
	}
	for _, p := range processes {
		if err := p.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range processes {
		for i := range 50 {
			watcher.Await(storage.Key{
				Kind: storage.KindDemand, Resolver: strconv.Itoa(p.Process.Pid), ID: strconv.Itoa(i),
			}, []byte("x"))
		}
	}
}

func TestLeaderThatIsKilledIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acme.json")
	p := process(t, jobLead, path)
	output, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := output.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if held, err := (&leader{path: path + suffixLeader}).Acquire(ctx); held || err != nil {
		t.Errorf("there are two leaders: %v, %v", held, err)
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	var led bool
	if err := Open(path, telemetry.Discard{}).Lead(ctx, func(context.Context) {
		led = true
		cancel()
	}); err != nil || !led {
		t.Errorf("no other leader: %v", err)
	}
}

func TestFullDiskKeepsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acme.json")
	before := readTestdata(t, "traefik.json")
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := process(t, jobFull, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the file has changed: %v", err)
	}
	if _, err := os.Stat(path + suffixNew); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the new file is left: %v", err)
	}
}
