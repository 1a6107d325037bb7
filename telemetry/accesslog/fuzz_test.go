package accesslog_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/accesslog"
)

// hostile are texts that have broken logs before.
func hostile() []string {
	return []string{
		"", "plain", "\"", "\\", "\\\"", "\n", "\r\n{\"level\":\"info\"}", "\x00", "\x1b[2J", "\x7f", "\u0085",
		"\u2028\u2029", "\u202e", "\xff\xfe", "\xc3", "\xed\xa0\x80",
		"é", "日本", "😀", "\U000e0001", "a\tb c", "</script>", "\"} {\"a\":\"", "%0a", strings.Repeat("a\"", 500), "\ufffd",
		"1.2.3.4, 5.6.7.8", "[0", "]",
	}
}

// FuzzJSON puts a text into every place of a request and demands one line that reads back as the same texts.
func FuzzJSON(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text, "X-Fuzz", int64(1), 200)
	}
	f.Fuzz(func(t *testing.T, text, name string, number int64, status int) {
		record := filled(text, number, status)
		header := http.Header{name: {text, text}, "Single": {text}}
		record.ResponseHeader, record.OriginHeader = header, header
		c := config("json", collected(func(c *static.AccessLog) {
			c.Fields.Headers.DefaultMode, c.DualOutput = "keep",
				true
		}))
		var out sink
		e := &exporter{}
		log, stop := running(t, c, accesslog.Options{Stdout: &out, Exporter: e})
		log.Began(record, request(header))
		record.RequestID = text
		log.Finished(record)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		line, ok := strings.CutSuffix(got, "\n")
		if !ok || strings.ContainsFunc(line, func(r rune) bool {
			return r < ' ' || r == 0x7f || r == '\u2028' ||
				r == '\u2029'
		}) {
			t.Fatalf("not one printable line: %q", got)
		}
		members := object(t, line)
		want := map[string]any{
			"ClientHost": text, "RequestMethod": text, "RequestAddr": text, "RequestPath": path(text),
			"ClientUsername": dash(text), "RouterName": text,
			"ServiceName": text, "ServiceURL": text, "ServiceAddr": text, "ErrorCode": text, "ErrorReason": text,
			"RequestId":      text,
			"entryPointName": text, "RequestProtocol": text, "request_Single": text, "downstream_Single": text,
			"origin_Single": text,
		}
		for key, value := range want {
			got, exists := members[key]
			if value == "" && (!exists || key == "RequestId") {
				continue
			}
			if diff := cmp.Diff(valid(value.(string)), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", key, diff)
			}
		}
		for _, prefix := range []string{"request_", "downstream_", "origin_"} {
			value := members[prefix+valid(name)]
			if value != valid(text+","+text) && value != "REDACTED" && name != "Single" {
				t.Errorf("%s%s is %q", prefix, name, value)
			}
		}
		if members["OriginContentSize"] != float64(number) || members["DownstreamStatus"] != float64(status) {
			t.Errorf("numbers do not read back: %s", line)
		}
		for key, value := range e.attributes(t) {
			if diff := cmp.Diff(members[key], value); diff != "" {
				t.Errorf("attribute %s (-line +attribute):\n%s", key, diff)
			}
			delete(members, key)
		}
		if left := slices.Sorted(maps.Keys(members)); !slices.Equal(left, []string{"level", "msg", "time"}) {
			t.Errorf("%q are no attributes", left)
		}
	})
}

// FuzzCommon demands one line whatever a request holds, with as many columns as a line has.
func FuzzCommon(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text, int64(1), 200)
	}
	f.Fuzz(func(t *testing.T, text string, number int64, status int) {
		c := config("common", func(c *static.AccessLog) { c.Fields.Headers.DefaultMode = "keep" })
		got := written(t, c, http.Header{"User-Agent": {text}, "Referer": {text}}, filled(text, number, status))
		line, ok := strings.CutSuffix(got, "\n")
		if !ok || strings.ContainsFunc(line, func(r rune) bool {
			return r < ' ' || r == 0x7f || r == '\u2028' ||
				r == '\u2029'
		}) {
			t.Fatalf("not one printable line: %q", got)
		}
		columns := split(line)
		if len(columns) != 13 {
			t.Fatalf("%d columns, want 13: %.300s", len(columns), line)
		}
		if asked := strings.Count(columns[4], " "); asked != 2 {
			t.Errorf("the request has %d spaces, want 2: %s", asked, columns[4])
		}
	})
}

// split cuts a line of the common format into columns, as its readers do: at spaces outside of quotes and brackets.
func split(line string) []string {
	var columns []string
	var column strings.Builder
	var quoted, bracketed bool
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && i+1 < len(line):
			column.WriteByte(c)
			i++
			c = line[i]
		case c == '"':
			quoted = !quoted
		case c == '[' && !quoted && column.Len() == 0:
			bracketed = true
		case c == ']' && bracketed:
			bracketed = false
		case c == ' ' && !quoted && !bracketed:
			columns = append(columns, column.String())
			column.Reset()
			continue
		}
		column.WriteByte(c)
	}
	return append(columns, column.String())
}

// filled returns a record with the text wherever a client or a configuration may put one.
func filled(text string, number int64, status int) *telemetry.Record {
	return &telemetry.Record{
		Start: time.Unix(number%4_000_000_000, number&0x3fff_ffff%1_000_000_000), Method: text, Host: text, Path: text,
		Query: text, Client: text, ClientPort: "1", Version: text,
		Entrypoint: text, Router: text, Service: text, Endpoint: text, EndpointURL: text, Username: text, Status: status,
		BytesSent: 3, OriginBytes: number, Duration: time.Duration(number), Code: telemetry.Code(text), Reason: text,
		RequestID: text,
		Observe:   telemetry.ObserveAccess,
	}
}

// valid returns what is left of a text in JSON.
func valid(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		return err.Error()
	}
	var decoded string
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		return err.Error()
	}
	return decoded
}

func path(text string) string {
	if text == "" {
		return ""
	}
	return text + "?" + text
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
