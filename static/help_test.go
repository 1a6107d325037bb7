package static

import (
	"strings"
	"testing"
)

func TestHelpOnOptions(t *testing.T) {
	tests := []struct {
		topic      string
		has, lacks string
	}{
		{"log.level", "--log.level string", "--log.format"},
		{"entrypoints", "--entryPoints.<name>.address string", "--log.level"},
		{"entryPoints.web.http.redirections", "--entryPoints.<name>.http.redirections.entryPoint.to", ".address string"},
		{"certificatesResolvers", "--certificatesResolvers.<name>.acme.email string", "--log"},
		{"ocsp", "--ocsp", "--log"},
	}
	for _, test := range tests {
		var b strings.Builder
		if err := WriteHelpOn(&b, test.topic); err != nil {
			t.Errorf("%s: %v", test.topic, err)
		}
		if !strings.Contains(b.String(), test.has) || strings.Contains(b.String(), test.lacks) {
			t.Errorf("%s: %s", test.topic, &b)
		}
	}
	for topic, want := range map[string]string{
		"level":      `there is no option "level"; did you mean log.level?`,
		"entrypoint": `there is no option "entrypoint"; did you mean entryPoints?`,
		"providrs":   `there is no option "providrs"; did you mean providers?`,
		"xxxxxxxxx":  `there is no option "xxxxxxxxx"`,
	} {
		if err := WriteHelpOn(&strings.Builder{}, topic); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", topic, err, want)
		}
	}
}

// Every option is on exactly one of the two pages.
func TestHelpIsComplete(t *testing.T) {
	var all, unsupported strings.Builder
	if err := WriteHelp(&all); err != nil {
		t.Fatal(err)
	}
	if err := WriteUnsupported(&unsupported); err != nil {
		t.Fatal(err)
	}
	for _, option := range Options() {
		line := "  --" + option.Path
		on := strings.Contains(all.String(), line+"\n") || strings.Contains(all.String(), line+" ")
		off := strings.Contains(unsupported.String(), line+"\n")
		if on != (option.Support == Supported) || off == (option.Support == Supported) {
			t.Errorf("%s: %v on the page of options, %v on that of the others", option.Path, on, off)
		}
	}
}
