package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// file returns what is in a file of the Sluice's folder; nothing where there is none.
func (w *world) file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.sluice.Dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// lines reads an access log of JSON. A line that is none fails the test.
func lines(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(text) {
		one := map[string]any{}
		if err := json.Unmarshal([]byte(line), &one); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("no line of JSON: %v: %q", err, line)
		}
		all = append(all, one)
	}
	return all
}

// line waits for the line of a request.
func (w *world) line(t *testing.T, id string) map[string]any {
	t.Helper()
	var found map[string]any
	harness.Until(t, "a line for "+id, func() bool {
		text := w.file(t, "access.log")
		text = text[:strings.LastIndexByte(text, '\n')+1] // It may be writing.
		for _, one := range lines(t, text) {
			if one["RequestId"] == id {
				found = one
				return true
			}
		}
		return false
	})
	return found
}

const accessFile = `accessLog: {format: json, filePath: "${DIR}/access.log"}
`

// sent is a request and its client's result.
type sent struct {
	harness.Response
	id, port    string
	began, over time.Time
}

// ask sends a request with an id for the access log.
func ask(client *harness.Client, request *http.Request, id string) (sent, error) {
	s := sent{id: id, began: time.Now()}
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		address := got.Conn.LocalAddr().String()
		s.port = address[strings.LastIndexByte(address, ':')+1:]
	}}
	with(request, "X-Request-Id: "+id)
	var err error
	s.Response, err = client.Try(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
	s.over = time.Now()
	return s, err
}

// TestAccessLogMatchesTheRequests compares each field with the data of client and endpoint, over every protocol.
func TestAccessLogMatchesTheRequests(t *testing.T) {
	t.Parallel()
	w := start(t, accessFile, nil)
	for _, protocol := range harness.Protocols() {
		t.Run(string(protocol), func(t *testing.T) {
			client := w.client(t, protocol, "shop.test:8443")
			request := with(client.Request(http.MethodPost, "/cart/a%20b?x=1&y=%22", strings.NewReader("twelve bytes")),
				"User-Agent: tester/1")
			before := w.sluice.Readiness().Generation
			done, err := ask(client, request, "truth-"+string(protocol))
			if err != nil {
				t.Fatal(err)
			}
			got := w.line(t, done.id)
			done.times(t, got)
			if generation := uint64(got["ConfigGeneration"].(float64)); generation < before ||
				generation > w.sluice.Readiness().Generation {
				t.Errorf("ConfigGeneration is %d", generation)
			}
			delete(got, "ConfigGeneration")
			want := map[string]any{
				"RequestId": done.id, "RequestMethod": "POST", "RequestPath": "/cart/a%20b?x=1&y=%22",
				"RequestAddr": "shop.test:8443", "RequestHost": "shop.test", "RequestPort": "8443",
				"RequestProtocol": done.Proto, "RequestScheme": protocol.Scheme(), "RequestContentSize": 12.0,
				"ClientAddr": "127.0.0.1:" + done.port, "ClientHost": "127.0.0.1", "ClientPort": done.port, "ClientUsername": "-",
				"entryPointName": entrypoint(protocol), "RouterName": "shop@file", "ServiceName": "shop@file",
				"ServiceAddr": w.backend.H1, "ServiceURL": "http://" + w.backend.H1,
				"OriginStatus": 200.0, "OriginContentSize": float64(len(done.Text)), "DownstreamStatus": 200.0,
				"DownstreamContentSize": float64(len(done.Text)),
				"RetryAttempts":         0.0, "level": "info", "msg": "",
			}
			if done.TLS != nil {
				want["TLSVersion"], want["TLSCipher"] = "1.3", "TLS_AES_128_GCM_SHA256"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	counts := map[any]bool{}
	for _, one := range lines(t, w.file(t, "access.log")) {
		if counts[one["RequestCount"]] {
			t.Errorf("two lines have the number %v", one["RequestCount"])
		}
		counts[one["RequestCount"]] = true
	}
}

// times compares those of a line with the client's clock, and removes what is different each time.
func (s sent) times(t *testing.T, got map[string]any) {
	t.Helper()
	began, err := time.Parse(time.RFC3339Nano, fmt.Sprint(got["StartUTC"]))
	if err != nil || began.Before(s.began) || began.After(s.over) || !strings.HasSuffix(fmt.Sprint(got["StartUTC"]), "Z") {
		t.Errorf("StartUTC %v is not within %v and %v", got["StartUTC"], s.began, s.over)
	}
	local, err := time.Parse(time.RFC3339Nano, fmt.Sprint(got["StartLocal"]))
	if err != nil || !local.Equal(began) {
		t.Errorf("StartLocal is %v, StartUTC %v", got["StartLocal"], got["StartUTC"])
	}
	duration, origin, overhead := got["Duration"].(float64), got["OriginDuration"].(float64), got["Overhead"].(float64)
	if duration <= 0 || origin <= 0 || overhead <= 0 || duration != origin+overhead ||
		duration > float64(s.over.Sub(s.began)+time.Second) {
		t.Errorf("it took %v ns, of which %v for the endpoint and %v for Sluice; the client waited %v", duration, origin,
			overhead, s.over.Sub(s.began))
	}
	if _, err := time.Parse(time.RFC3339, fmt.Sprint(got["time"])); err != nil || got["RequestCount"].(float64) < 1 {
		t.Errorf("time %v, count %v", got["time"], got["RequestCount"])
	}
	for _, name := range []string{
		"StartUTC", "StartLocal", "Duration", "OriginDuration", "Overhead", "time",
		"RequestCount",
	} {
		delete(got, name)
	}
}

// TestCommonFormats reads the two formats that are no JSON, one of them from standard output.
func TestCommonFormats(t *testing.T) {
	t.Parallel()
	const common = `^127\.0\.0\.1 - - \[\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2} \+0000\] "GET ` +
		`/bytes\?size=321&p=%s (HTTP/1\.1|HTTP/2\.0)" 200 321 "-" "tester \\"1\\""`
	tests := map[string]struct{ options, rest string }{
		"common": {
			`accessLog: {fields: {headers: {names: {User-Agent: keep}}}}`,
			` \d+ "shop@file" "http://127\.0\.0\.1:\d+" \d+ms$`,
		},
		"genericCLF": {`accessLog: {format: genericCLF, fields: {headers: {names: {User-Agent: keep}}}}`, `$`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, test.options+"\n", nil)
			for i, protocol := range harness.Protocols() {
				client := w.client(t, protocol, "shop.test")
				mark := strconv.Itoa(i)
				client.Send(with(client.Request(http.MethodGet, "/bytes?size=321&p="+mark, nil), `User-Agent: tester "1"`))
				line := w.sluice.WaitLog("&p=" + mark + " ")
				if want := regexp.MustCompile(fmt.Sprintf(common, mark) + test.rest); !want.MatchString(line) {
					t.Errorf("%s is not like %s", line, want)
				}
			}
		})
	}
}

// TestHeadersInTheAccessLog keeps, redacts and drops headers of request and response.
func TestHeadersInTheAccessLog(t *testing.T) {
	t.Parallel()
	w := start(t, `
accessLog:
  format: json
  filePath: "${DIR}/access.log"
  fields:
    headers: {defaultMode: keep, names: {X-Half: redact, User-Agent: drop, X-Backend: keep}}
    queryParameters: {defaultMode: redact}
`, nil)
	for _, protocol := range harness.Protocols() {
		client := w.client(t, protocol, "detailed.test")
		request := with(client.Request(http.MethodGet, "/fields?token=s3cret", nil), "Authorization: Bearer s3cret",
			"Cookie: session=s3cret", "X-Api-Key: s3cret",
			"X-Half: s3cret", "X-Whole: shown", "User-Agent: tester/1", "X-Evil: a\u2028\"b")
		done, err := ask(client, request, "headers-"+string(protocol))
		if err != nil {
			t.Fatal(err)
		}
		got := w.line(t, done.id)
		want := map[string]any{
			"request_Authorization": "REDACTED", "request_Cookie": "REDACTED", "request_X-Api-Key": "REDACTED",
			"request_X-Half": "REDACTED", "request_X-Whole": "shown", "request_User-Agent": nil,
			"request_X-Evil": "a\u2028\"b", "origin_Set-Cookie": "REDACTED", "downstream_Set-Cookie": "REDACTED",
			"origin_X-Backend": "shop", "downstream_X-Backend": "shop", "origin_X-Mark": nil, "downstream_X-Mark": "yes",
			"RequestPath": "/fields?token=REDACTED", "request_X-Forwarded-For": nil,
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %v, want %v", protocol, name, got[name], value)
			}
		}
	}
	if strings.Contains(w.file(t, "access.log"), "s3cret") {
		t.Errorf("a secret is written:\n%s", w.file(t, "access.log"))
	}
}

// TestFiltersOfTheAccessLog checks filters, and routers without access log.
func TestFiltersOfTheAccessLog(t *testing.T) {
	t.Parallel()
	const format = "accessLog: {format: json, filePath: '${DIR}/access.log'%s}\n"
	tests := []struct {
		name, options string
		lasts         time.Duration // how long the request "slow" lasts at least
		want          []string
	}{
		{"all but quiet", "", 0, []string{"fine", "flaky", "lost", "slow", "status"}},
		{"codes", ", filters: {statusCodes: ['404', '500-599']}", 0, []string{"lost", "status"}},
		{"minDuration", ", filters: {minDuration: 3s}", 3 * time.Second, []string{"slow"}},
		{"either", ", filters: {statusCodes: ['500'], minDuration: 3s}", 3 * time.Second, []string{"slow", "status"}},
		{"retries", ", filters: {retryAttempts: true}", 0, []string{"flaky"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := start(t, fmt.Sprintf(format, test.options), nil)
			for id, at := range map[string][2]string{
				"fine": {"shop.test", "/"}, "lost": {"lost.test", "/"}, "status": {"shop.test", "/status?code=500"},
				"quiet": {"quiet.test", "/"},
			} {
				client := w.client(t, harness.H1, at[0])
				if _, err := ask(client, client.Request(http.MethodGet, at[1], nil), id); err != nil {
					t.Fatal(err)
				}
			}
			w.slow(t, test.lasts)
			flaky := w.client(t, harness.H1, "flaky.test")
			for range 4 {
				if _, err := ask(flaky, flaky.Request(http.MethodGet, "/", nil), "flaky"); err != nil {
					t.Fatal(err)
				}
			}
			w.sluice.Stop() // All lines are written then.
			var got []string
			for _, one := range lines(t, w.file(t, "access.log")) {
				if id := fmt.Sprint(one["RequestId"]); !slices.Contains(got, id) && one["entryPointName"] != "traefik" {
					got = append(got, id)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// slow has a request that lasts for a time at least.
func (w *world) slow(t *testing.T, lasts time.Duration) {
	t.Helper()
	client := w.client(t, harness.H1, "shop.test")
	stream := w.backend.Stream("slow")
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		_, err := ask(client, client.Request(http.MethodGet, "/hang?id=slow", nil).WithContext(ctx), "slow")
		ended <- err
	}()
	harness.Await(t, stream.Begun, "the request")
	timer := time.NewTimer(lasts)
	defer timer.Stop()
	<-timer.C
	close(stream.Events)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
