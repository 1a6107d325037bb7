package traefik

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// answersFile holds an answer of Traefik on each line: the fixture, the request, and the answer.
const answersFile = "testdata/answers.txt"

// answers maps a fixture and a request, separated by a space, to the answer.
type answers map[string]string

// toDashboard is how redirections to the dashboard end. That of Traefik is permanent (301), and that of Sluice is not
// (302): browsers would keep it when another program uses the port. This difference is not listed for each request.
const toDashboard = ", to /dashboard/"

// difference is an answer that is not the one of Traefik, on purpose.
type difference struct {
	// request is the fixture and the request, separated by a space.
	request string
	// answer is that of Sluice.
	answer string
	// reason is for the page.
	reason string
}

// differences lists all of them in the order of the page.
func differences() []difference {
	const (
		site     = "https/https_domain_fronting.toml https://site4.www.snitest.com:4443"
		conflict = "https/https_tls_options_conflict.toml https://conflict.www.snitest.com:4443"
		refusal  = "421, certificate *.www.snitest.com"
		port     = "a server with a port above 65535: Sluice leaves it out with a warning; Traefik tries to connect"
		strict   = "`sniStrict`: the default certificate names the host; Sluice uses it, and Traefik takes only other " +
			"certificates into account"
		propagated = "`weighted` with `healthCheck` over a service without one: Sluice serves with a warning; in Traefik " +
			"the service does not exist"
		redis = "Redis does not answer: Sluice keeps the limit in each process; Traefik answers 500"
		below = "the API below a path: Sluice redirects to the dashboard below the same path; Traefik redirects to a path " +
			"that leads nowhere"
		shadowed = "a router on the entrypoint `traefik`: with `api.insecure`, the router of Traefik's dashboard has every " +
			"path of that entrypoint"
		options = "two routers of one host have different TLS options: Sluice refuses the requests of the router whose " +
			"options are not in force; Traefik takes the options `default` for both"
	)
	return []difference{
		{
			"healthcheck/propagate_no_healthcheck.toml http://root.localhost:8000/unmatched",
			"200, received root.localhost/unmatched", propagated,
		},
		{
			"https/https_sni_strict.toml https://snitest.com:4443/unmatched",
			"200, received snitest.com/unmatched, certificate snitest.com", strict,
		},
		{"https/https_sni_strict.toml https://snitest.com:8080/unmatched", "404, certificate snitest.com", strict},
		{"ratelimit/simple_redis.toml http://unmatched.example:8081/", "200, received unmatched.example/", redis},
		{"simple_secure_api.toml http://unmatched.example:8000/secure", "302, to /secure/dashboard/", below},
		{"simple_stats.toml http://unmatched.example:8080/whoami", "200, received unmatched.example/whoami", shadowed},
		{"error_pages/error.toml http://test.local:8080/unmatched", "503, received test.local/50x.html", port},
		{"error_pages/statusRewrites.toml http://test502.local:8080/unmatched", "503, received test502.local/50x.html", port},
		{site + "/bar", refusal, options},
		{site + "/unmatched", refusal, options},
		{conflict + "/same", refusal, options},
		{conflict + "/unmatched", refusal, options},
	}
}

// agree reports whether an answer of Sluice is that of Traefik.
func agree(sluice, traefik string) bool {
	return sluice == traefik || strings.HasSuffix(sluice, toDashboard) && strings.HasSuffix(traefik, toDashboard)
}

// recorded reads recorded answers.
func recorded(t *testing.T, file string) answers {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := answers{}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		all[fields[0]+" "+fields[1]] = fields[2]
	}
	return all
}

// write records the answers.
func (a answers) write(t *testing.T, file string) {
	t.Helper()
	var lines strings.Builder
	for _, key := range slices.Sorted(maps.Keys(a)) {
		fmt.Fprintf(&lines, "%s %s\n", key, a[key])
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// compare compares the answers of Sluice with those of Traefik. Each difference has to be a listed one, and each that
// is listed has to exist.
func (a answers) compare(t *testing.T, traefik answers, differences []difference) {
	t.Helper()
	if got, want := slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(traefik)); !slices.Equal(got, want) {
		t.Errorf("%d requests, but %d are recorded: record again with -update and %s", len(got), len(want), traefikVariable)
	}
	listed := map[string]string{}
	for _, one := range differences {
		listed[one.request] = one.answer
	}
	for _, key := range slices.Sorted(maps.Keys(traefik)) {
		want, differs := listed[key]
		switch {
		case !differs && !agree(a[key], traefik[key]):
			t.Errorf("%s: %s; Traefik: %s", key, a[key], traefik[key])
		case differs && (a[key] != want || traefik[key] == want):
			t.Errorf("%s: %s; listed as different: %s; Traefik: %s", key, a[key], want, traefik[key])
		}
	}
	for _, one := range differences {
		if _, known := traefik[one.request]; !known {
			t.Errorf("no such request: %s", one.request)
		}
	}
}
