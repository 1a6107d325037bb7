package nginx_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/nginx"
	"github.com/sluiceproxy/sluice/integration/nginx/cases"
	"github.com/sluiceproxy/sluice/integration/nginx/render"
)

// read reads the files of cases, once.
var read = sync.OnceValues(func() (map[string][]*cases.Case, error) {
	names, err := filepath.Glob("cases/*.txt")
	if err != nil {
		return nil, err
	}
	all := map[string][]*cases.Case{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		group := strings.TrimSuffix(filepath.Base(name), ".txt")
		if all[group], err = cases.Parse(group, string(text)); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// groups returns the cases by file.
func groups(t *testing.T) map[string][]*cases.Case {
	t.Helper()
	all, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no cases")
	}
	return all
}

// TestCases sends the requests of all cases that nginx can answer to an nginx for each group.
func TestCases(t *testing.T) {
	own, others := newAuthority(t, "authority"), newAuthority(t, foreign)
	for group, all := range groups(t) {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			bench := newBench(t, own, others)
			var answered []*cases.Case
			for _, c := range all {
				if c.Unanswered == "" && c.Refused == "" {
					answered = append(answered, c)
				}
			}
			bench.load(t, answered)
			for _, c := range answered {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					bench.run(t, c)
				})
			}
		})
	}
}

// TestRefused gives nginx the configurations that it refuses as a whole.
func TestRefused(t *testing.T) {
	own := newAuthority(t, "authority")
	bench := newBench(t, own, own)
	for _, all := range groups(t) {
		for _, c := range all {
			if c.Refused == "" {
				continue
			}
			t.Run(c.String(), func(t *testing.T) {
				err := bench.reload(t, []*cases.Case{c})
				if err == nil || !strings.Contains(err.Error(), c.Refused) {
					t.Errorf("nginx says %v, want %q", err, c.Refused)
				}
			})
		}
	}
}

// bench is an nginx, or Sluice, with what stands in front of it and behind it.
type bench struct {
	nginx    *nginx.Process
	address  func(state *cases.State, kind string) string
	backends *backends
	own      *authority
	client   *client
	// sockets maps the states of cases to the beginning of the names of their sockets.
	sockets map[*cases.State]string
}

func newBench(t *testing.T, own, others *authority) *bench {
	t.Helper()
	b := &bench{nginx: nginx.Start(t, nginx.Options{}), own: own, sockets: map[*cases.State]string{}}
	if !b.nginx.Tested() {
		t.Logf("the expectations are those of another version than %s", b.nginx.Version)
	}
	b.address = func(state *cases.State, kind string) string { return b.nginx.Socket(b.sockets[state] + kind) }
	b.client = &client{own: own, others: others, t: t}
	b.backends = startBackends(t, b.nginx.Socket("b"), b.nginx.Socket("bs"), own.issue(t, "upstream"))
	return b
}

// load gives nginx the configurations of all cases. States that differ only in the answers of servers share one.
func (b *bench) load(t *testing.T, all []*cases.Case) {
	t.Helper()
	if err := b.reload(t, all); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) reload(t *testing.T, all []*cases.Case) error {
	t.Helper()
	text := render.Head
	number := 0
	for _, c := range all {
		var last *cases.State
		for i := range c.Stages {
			state := &c.Stages[i].State
			if last != nil && same(last, state) {
				b.sockets[state] = b.sockets[last]
				continue
			}
			prefix := fmt.Sprintf("c%d", number)
			number++
			b.sockets[state], last = prefix, state
			output := b.render(t, c, state, prefix)
			for path, content := range output.Files {
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			text += output.HTTP
		}
	}
	if err := b.nginx.Reload(text); err != nil {
		return fmt.Errorf("%w\n%s", err, excerpt(text, err))
	}
	return nil
}

// render returns the configuration of a state.
func (b *bench) render(t *testing.T, c *cases.Case, state *cases.State, prefix string) render.Output {
	t.Helper()
	unix := func(name string) string { return "unix:" + b.nginx.Socket(name) }
	in := render.Input{
		State: state, Prefix: prefix, HTTP: unix(prefix + "http"), HTTPS: unix(prefix + "https"), H2C: unix(prefix + "h2c"),
		Backend: unix("b"), BackendTLS: unix("bs"), Folder: filepath.Dir(b.nginx.Socket("b")),
		Certificates: b.own.secrets(t, state.Certificates),
		Default:      render.PEM{Certificate: b.own.text(t, b.own.issue(t, "ingress.local"))},
	}
	for _, stage := range c.Stages {
		for _, exchange := range stage.Exchanges {
			in.Targets = append(in.Targets, exchange.Request.Target)
		}
	}
	return render.Render(in)
}

// same reports whether two states have the same configuration.
func same(a, b *cases.State) bool {
	endpoints := func(s *cases.State) string {
		var all strings.Builder
		for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
			fmt.Fprintln(&all, name, s.Servers[name].Endpoints)
		}
		return all.String()
	}
	return slices.Equal(a.Objects.Ingresses, b.Objects.Ingresses) && maps.Equal(a.Settings, b.Settings) &&
		slices.Equal(a.Flags, b.Flags) && len(a.Certificates) == len(b.Certificates) && endpoints(a) == endpoints(b)
}

// excerpt returns the lines of a configuration around the one that an error is about.
func excerpt(text string, err error) string {
	const first = 14 // What stands in front of the text in the file.
	lines := strings.Split(text, "\n")
	at := len(lines)
	if _, number, ok := strings.Cut(err.Error(), ":"); ok {
		if n, err := strconv.Atoi(number); err == nil {
			at = n - first
		}
	}
	return strings.Join(lines[max(0, min(at-10, len(lines))):max(0, min(at+10, len(lines)))], "\n")
}

// run sends the requests of a case.
func (b *bench) run(t *testing.T, c *cases.Case) {
	for _, complaint := range b.complaints(t, c) {
		t.Error(complaint)
	}
}

// complaints sends the requests of a case, and returns what is not as expected.
func (b *bench) complaints(t *testing.T, c *cases.Case) (all []string) {
	t.Helper()
	cookies := map[string]string{}
	for i := range c.Stages {
		stage := &c.Stages[i]
		for j := range stage.Exchanges {
			exchange := &stage.Exchanges[j]
			followed, answers := b.exchange(t, fmt.Sprintf("%v#%d#%d", c, i, j), stage, exchange, cookies)
			for _, complaint := range judge(exchange, answers, followed) {
				all = append(all, fmt.Sprintf("%s.txt:%d: %s", c.Group, exchange.Line, complaint))
			}
		}
	}
	return all
}

// exchange sends a request as often as it asks for.
func (b *bench) exchange(t *testing.T, name string, stage *cases.Stage, e *cases.Exchange, cookies map[string]string) (
	*trace, []*response,
) {
	t.Helper()
	followed := b.backends.follow(name, stage.Servers)
	kind := e.Request.Scheme
	if e.Request.Protocol == "h2" && kind == "http" {
		kind = "h2c"
	}
	address := b.address(&stage.State, kind)
	more := []cases.Field{{Name: fieldTrace, Value: name}}
	if e.Request.Cookies {
		for _, cookie := range slices.Sorted(maps.Keys(cookies)) {
			more = append(more, cases.Field{Name: "Cookie", Value: cookie + "=" + cookies[cookie]})
		}
	}
	answers, errs := make([]*response, e.Request.Repeat), make([]error, e.Request.Repeat)
	var group sync.WaitGroup
	for n := range answers {
		one := func() {
			answers[n], errs[n] = b.client.send(t.Context(), address, e.Request, more...)
			followed.answered()
		}
		if e.Request.Parallel {
			group.Go(one)
			continue
		}
		one()
	}
	group.Wait()
	for n, err := range errs {
		if err != nil {
			t.Fatalf("line %d, request %d: %v", e.Line, n, err)
		}
		for _, line := range answers[n].header.Values("Set-Cookie") {
			pair, _, _ := strings.Cut(line, ";")
			key, value, _ := strings.Cut(pair, "=")
			cookies[key] = value
		}
	}
	return followed, answers
}

// collect returns what servers have received. Copies may come behind the answer; as many as wanted are waited for.
func (followed *trace) collect(wanted int) []received {
	var all []received
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for len(all) < wanted {
		select {
		case got := <-followed.arrived:
			all = append(all, got)
		case <-timer.C:
			return all
		}
	}
	for {
		select {
		case got := <-followed.arrived:
			all = append(all, got)
		default:
			return all
		}
	}
}
