package oracle

import (
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
	"testing"
)

// target is the one that a response is the answer to.
func (r response) target(i int) string { return fmt.Sprintf("/response/%d", i) }

// sending is the request for it.
func (r response) sending(i int) sending {
	method := r.method
	if method == "" {
		method = "GET"
	}
	ask := sending{bytes: method + " " + r.target(i) + " HTTP/1.1\r\nHost: any.test\r\n\r\n"}
	if r.later != "" {
		ask.between = func(b *backend) { b.say(r.later) }
	}
	return ask
}

func scripts() map[string]script {
	all := map[string]script{}
	for i, one := range responses() {
		all[one.target(i)] = script{one.bytes, one.holds}
	}
	return all
}

func proveResponses(t *testing.T, stacks []stack, missing []string) {
	log.SetOutput(io.Discard) // net/http reports surplus there, and nowhere else.
	defer log.SetOutput(os.Stderr)
	cases := responses()
	sendings := make([]sending, len(cases))
	for i, one := range cases {
		sendings[i] = one.sending(i)
	}
	got := observe(t.Context(), stacks, sendings)
	for i, one := range cases {
		t.Run(one.name, func(t *testing.T) { one.prove(t, got[ours][i]) })
	}
	t.Run("peers", func(t *testing.T) {
		if len(missing) > 0 {
			t.Skipf("missing tool: %s", strings.Join(missing, ", "))
		}
		table := responseDifferences()
		for i, one := range cases {
			row, named := table[one.name]
			found := compareResponses(got[ours][i], got[nginx][i], got[haproxy][i])
			if found != row.does || named != (found != "") || named && !strings.Contains(row.why, "RFC") {
				complaint(t, known(stacks),
					found)("%s: Sluice differs by %q, the table says %q because of %q; sluice %s; nginx %s; haproxy %s; net/http %s",
					one.name, found, row.does, row.why,
					short(got[ours][i].gist()), short(got[nginx][i].gist()), short(got[haproxy][i].gist()),
					short(got[theirs][i].gist()))
			}
			delete(table, one.name)
		}
		for name := range table {
			t.Errorf("responseDifferences: there is no case %q", name)
		}
	})
}

// prove expects the required result, and no part of another response, for this and the next client.
func (r response) prove(t *testing.T, o outcome) {
	whole, cut := strings.CutSuffix(r.want, " cut")
	switch got, broken := strings.CutSuffix(o.gist(), " cut"); {
	case cut && broken && strings.HasPrefix(whole, got), cut && len(o.answers) == 0:
	case cut || broken || got != r.want:
		t.Errorf("the client got %q, want %q", short(o.gist()), short(r.want))
	}
	if o.next != answerTo("GET", "/next") {
		t.Errorf("the next client got: %s", o.next)
	}
	if len(o.answers) > 1 || o.odd != "" {
		t.Errorf("behind the answer: %+v, %q", o.answers, short(o.odd))
	}
	for _, one := range o.answers {
		if strings.Contains(fmt.Sprint(one.header, one.trailer, one.body), "poison") {
			t.Errorf("the client got an unsolicited response: %+v", one)
		}
		for name := range one.trailer {
			if slices.Contains([]string{"Content-Length", "Transfer-Encoding"}, name) {
				t.Errorf("the client got the trailer %s", name)
			}
		}
	}
	if len(o.answers) > 0 && o.answers[0].cut == nil && !o.kept {
		t.Error("the client's connection ended with a whole answer")
	}
	if o.silent {
		t.Error("the client waited")
	}
}

// gist is what a client made of an answer.
func (o outcome) gist() string {
	if len(o.answers) == 0 {
		return "nothing"
	}
	first := o.answers[0]
	text := fmt.Sprintf("%d %s", first.status, first.body)
	if first.cut != nil {
		text += " cut"
	}
	return text
}

func short(text string) string {
	if len(text) > 80 {
		return text[:80] + "..."
	}
	return text
}

// compareResponses returns a difference of Sluice from both peers for a response, if any.
func compareResponses(own, first, second outcome) string {
	a, b, c := own.passes(), first.passes(), second.passes()
	switch {
	case a && !b && !c:
		return "passes"
	case !a && b && c:
		return "refuses"
	case a && b && c && first.gist() == second.gist() && own.gist() != first.gist():
		return "changes"
	}
	return ""
}

// passes reports whether the client got the backend's response without a sign of an error.
func (o outcome) passes() bool {
	if len(o.answers) == 0 {
		return o.odd != "" || len(o.interim) > 0 && o.interim[0] < 100
	}
	return o.answers[0].cut == nil && o.answers[0].status/100 != 5
}
