package input

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestACrashKeepsSecrets has the Go runtime write down what every goroutine does, as it does when a program crashes,
// while requests with credentials are under way.
func TestACrashKeepsSecrets(t *testing.T) {
	t.Parallel()
	v := &vault{issued: harness.NewAuthority(t).Issue("secured.test"), dir: t.TempDir()}
	hanging := harness.StartBackend(t, "hanging", nil)
	config := v.sound(t, hanging.H1, harness.RefusedAddress(t))
	credentials, session := v.credentials(), v.keep("s3ssionOfTheClient")
	dir := t.TempDir()
	write(t, dir+"/sound.yaml", marshal(t, config))
	write(t, dir+"/sluice.yaml", strings.NewReplacer("${DYNAMIC}", dir+"/sound.yaml", "directory:",
		"filename:").Replace(asking))
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close() //nolint:errcheck // The process writes it.
	command := exec.CommandContext(t.Context(), harness.Binary(t), "--configFile="+dir+"/sluice.yaml")
	command.Stdout, command.Stderr = output, output
	command.Env = append(os.Environ(), "GOTRACEBACK=system")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	address := listening(t, output.Name())
	stream := hanging.Stream("held")
	held := make(chan struct{})
	client := harness.NewClient(t, harness.H1, address, "fields-alive.test", nil)
	request := client.Request(http.MethodPost, "/hang?id=held&session="+session, strings.NewReader("b0dyOfTheClient"))
	request.Header.Set("Authorization", credentials[0])
	request.Header.Set("Cookie", "session="+session)
	go func() {
		defer close(held)
		_, _ = client.Try(request) // It ends with the process.
	}()
	harness.Await(t, stream.Begun, "the request begins")
	if err := command.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Error(err)
	}
	if err := command.Wait(); err == nil {
		t.Error("it does not crash")
	}
	harness.Await(t, held, "the request ends")
	text, err := os.ReadFile(output.Name())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), "\ngoroutine ") < 5 {
		t.Errorf("that is no crash:\n%s", text)
	}
	search(t, map[string]string{"crash": string(text)}, append(v.secrets, "b0dyOfTheClient")...)
}

// listening waits until the entrypoint web listens and a table serves, and returns its address.
func listening(t *testing.T, file string) string {
	t.Helper()
	bound := regexp.MustCompile(`(?s)msg=listening[^\n]*entrypoint=web\b`)
	where := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range 3000 {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if address := where.FindString(line); bound.MatchString(line) && address != "" {
				awaitServed(t, address)
				return address
			}
		}
		<-ticker.C
	}
	t.Fatal("Sluice does not listen")
	return ""
}

// awaitServed waits until the configuration serves.
func awaitServed(t *testing.T, address string) {
	t.Helper()
	client := harness.NewClient(t, harness.H1, address, "fields-alive.test", nil)
	client.Transport.DisableKeepAlives = true
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range 3000 {
		if got, err := client.Try(client.Request(http.MethodGet, "/", nil)); err == nil && got.StatusCode == http.StatusOK {
			return
		}
		<-ticker.C
	}
	t.Fatal("the configuration does not serve")
}
