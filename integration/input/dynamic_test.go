package input

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// static is the configuration of a Sluice that reads a directory.
const static = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  traefik: {address: "127.0.0.1:0"}
ping: {}
providers:
  file: {directory: "${DYNAMIC}", watch: true}
`

// rest is the file beside the one with the mistake. The router "below" would take what is meant for bad.test, if the
// router that is to answer it were gone.
const rest = `
http:
  routers:
    rest: {rule: "Host(` + "`rest.test`" + `)", service: rest}
    below: {rule: "Host(` + "`bad.test`" + `)", priority: 1, service: below}
  services:
    rest: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}
    below: {loadBalancer: {servers: [{url: "http://${BELOW}"}]}}
`

// mistake is one folder of testdata/dynamic.
type mistake struct {
	folder string
	// bad is the response to bad.test, and neighbour that to neighbour.test, which is in the same file.
	bad, neighbour string
	// accepted is set if check reports no quarantined object.
	accepted bool
}

const (
	served   = "200 backend"
	disabled = "503"       // The router stays in the table, so that no other one takes its requests.
	absent   = "200 below" // Its rule cannot be matched here, so that it has no place.
	unread   = "404"       // The file declares nothing that can be used.
)

func mistakes() []mistake {
	return []mistake{
		{"unknown-option-of-a-router", disabled, served, false},
		{"unknown-option-of-a-service", disabled, served, false},
		{"unknown-option-of-a-middleware", disabled, served, false},
		{"unknown-kind-of-a-middleware", disabled, served, false},
		{"unknown-section", absent, served, false},
		{"wrong-type", disabled, served, false},
		{"unknown-matcher", absent, served, false},
		{"unbalanced-rule", absent, served, false},
		{"missing-rule", absent, served, false},
		{"wrong-argument", absent, served, false},
		{"rule-of-v2", absent, served, false},
		{"rule-syntax-v3", absent, served, false},
		{"missing-service", disabled, served, false},
		{"missing-middleware", disabled, served, false},
		{"missing-transport", disabled, served, false},
		{"missing-tls-options", absent, served, false},
		{"recursive-middlewares", disabled, served, false},
		{"recursive-services", disabled, served, false},
		{"two-kinds-of-service", disabled, served, false},
		{"two-kinds-of-middleware", disabled, served, false},
		{"no-kind-of-service", disabled, served, false},
		{"bad-url", disabled, served, false},
		{"bad-certificate", absent, served, false},
		{"bad-tls-options", absent, served, false},
		{"bad-tls-entrypoints", absent, served, false},
		{"twice-in-one-file", served, served, false},
		{"twice-in-two-files", served, served, false},
		{"half-written-yaml", absent, unread, false},
		{"toml-value", absent, unread, false},
		{"toml-unknown-option", disabled, served, false},
		{"template", absent, unread, false},
		{"template-renders-a-mistake", disabled, served, false},
		{"unknown-entrypoint", absent, served, false},
		{"one-unknown-entrypoint", served, served, true},
		{"missing-users-file", disabled, served, false},
		{"balancing", disabled, served, false},
		{"plugin", disabled, served, false},
		{"tcp-and-udp", absent, served, false},
		{"priority-too-high", disabled, served, false},
		{"empty-pool", disabled, served, true},
		{"no-certificate", served, served, true},
	}
}

// fileLine matches the place with which a finding begins.
var fileLine = regexp.MustCompile(`^(\S+\.(?:yaml|toml)):\d+: `)

// withoutLines returns findings without their lines: check has those of options, /ready those of objects.
func withoutLines(found []string) []string {
	plain := slices.Clone(found)
	for i := range plain {
		plain[i] = fileLine.ReplaceAllString(plain[i], "$1: ")
	}
	return plain
}

func TestAMistakeCostsItsObject(t *testing.T) {
	for _, mistake := range mistakes() {
		t.Run(mistake.folder, func(t *testing.T) {
			t.Parallel()
			files := read(t, "dynamic/"+mistake.folder)
			files["rest.yaml"] = rest
			s := harness.Start(t, harness.Setup{Static: static, Dynamic: files, Vars: map[string]string{
				"BACKEND": backend(t, "backend"), "BELOW": backend(t, "below"),
			}, NotReady: true})
			checked := check(t, s)
			golden(t, "dynamic/"+mistake.folder+"/check.golden", plain(s, checked.Stdout))
			if want := map[bool]int{true: 0, false: 1}[mistake.accepted]; checked.Code != want || checked.Stderr != "" {
				t.Errorf("check: exit code %d, want %d; stderr %q", checked.Code, want, checked.Stderr)
			}
			found := lines(checked.Stdout)
			found = found[:len(found)-1] // The last line is the summary.
			own, disabled := folded(withoutLines(found))
			// Most of the configuration serves, so that it is ready.
			ready := s.Until("ready with the findings of check", func(r harness.Readiness) bool {
				return r.Status == http.StatusOK && len(r.Verdicts) >= len(own)
			})
			reported := withoutLines(findings(ready))
			for _, line := range own {
				if !slices.Contains(reported, line) {
					t.Errorf("/ready does not have %s:\n%s", line, strings.Join(reported, "\n"))
				}
			}
			for i, line := range reported {
				if !slices.Contains(own, line) && !strings.Contains(disabled, ready.Verdicts[i].Name) {
					t.Errorf("check does not have %s", line)
				}
			}
			for host, want := range map[string]string{
				"rest.test": served, "neighbour.test": mistake.neighbour,
				"bad.test": mistake.bad,
			} {
				if got := ask(t, s, host); got != want {
					t.Errorf("%s is answered with %q, want %q", host, got, want)
				}
			}
		})
	}
}

// folded splits the findings of check into the faults and the objects that they disable.
func folded(found []string) (faults []string, disabled string) {
	for _, line := range found {
		fault, objects, _ := strings.Cut(line, "; disables ")
		faults, disabled = append(faults, fault), disabled+objects+" "
	}
	return faults, disabled
}

// findings returns what /ready lists, a line each in the form of check.
func findings(ready harness.Readiness) []string {
	found := []string{}
	for _, verdict := range ready.Verdicts {
		line := fmt.Sprintf("%s: %s %s: %s [%s]", verdict.Origin, verdict.Kind, verdict.Name, verdict.Reason, verdict.Code)
		if verdict.Kind == "source" {
			line = fmt.Sprintf("%s: %s [%s]", verdict.Origin, verdict.Reason, verdict.Code)
		}
		if verdict.Status != "quarantined" {
			line += " (warning)"
		}
		found = append(found, line)
	}
	return found
}

// plain replaces what differs from run to run.
func plain(s *harness.Sluice, text string) string {
	return strings.NewReplacer(s.DynamicDir, "${DYNAMIC}", s.Dir, "${DIR}").Replace(text)
}
