package nginx_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/integration/nginx/cases"
)

// judge returns what is not as expected.
func judge(e *cases.Exchange, answers []*response, followed *trace) []string {
	complaints := judgeStatuses(e, answers)
	for _, answer := range answers {
		for _, match := range e.Response.Header {
			if got := answer.header.Values(match.Name); !match.Matches(got) {
				complaints = append(complaints, fmt.Sprintf("the response has %s: %q, want %s", match.Name, got, wanted(match)))
			}
		}
		if !strings.Contains(answer.body, e.Response.Body) {
			complaints = append(complaints, fmt.Sprintf("the body is %q, want %q in it", answer.body, e.Response.Body))
		}
		if want := e.Response.Presented; want != "" && !slices.Contains(answer.presented, want) {
			complaints = append(complaints, fmt.Sprintf("the certificate is for %q, want %q", answer.presented, want))
		}
	}
	least := 0
	for _, u := range e.Upstreams {
		for _, count := range u.Counts {
			least += count.Min
		}
	}
	if len(complaints) > 0 {
		least = 0 // What has not come before another answer than the expected one does not come any more.
	}
	all := followed.collect(least)
	for _, u := range e.Upstreams {
		complaints = append(complaints, judgeUpstream(u, all)...)
	}
	return slices.Compact(complaints)
}

// judgeStatuses compares the number of answers with each status.
func judgeStatuses(e *cases.Exchange, answers []*response) []string {
	got := map[string]int{}
	for _, answer := range answers {
		status := strconv.Itoa(answer.status)
		if _, exact := e.Response.Statuses[status]; !exact {
			if class := status[:1] + "xx"; e.Response.Statuses[class] > 0 {
				status = class
			}
		}
		got[status]++
	}
	for status, count := range e.Response.Statuses {
		if got[status] != count {
			return []string{fmt.Sprintf("statuses are %v, want %v", got, e.Response.Statuses)}
		}
	}
	return nil
}

func wanted(m cases.Match) string {
	switch {
	case m.Absent:
		return "none"
	case m.Pattern != nil:
		return "one that matches " + m.Pattern.String()
	default:
		return strconv.Quote(m.Value)
	}
}

// judgeUpstream compares what servers have received.
func judgeUpstream(u cases.Upstream, all []received) (complaints []string) {
	counts := map[string]int{}
	for _, got := range all {
		if got.outside != (u.Outside != "") || got.outside && got.server != u.Outside {
			continue
		}
		counts[got.server]++
		if u.Request != "" && got.line != u.Request {
			complaints = append(complaints, fmt.Sprintf("%s receives %q, want %q", got.server, got.line, u.Request))
		}
		for _, match := range u.Header {
			if values := got.header.Values(match.Name); !match.Matches(values) {
				complaints = append(complaints, fmt.Sprintf("%s receives %s: %q, want %s", got.server, match.Name, values,
					wanted(match)))
			}
		}
		if u.Body != "" && got.body != u.Body {
			complaints = append(complaints, fmt.Sprintf("%s receives the body %q, want %q", got.server, got.body, u.Body))
		}
		if u.Length >= 0 && len(got.body) != u.Length {
			complaints = append(complaints, fmt.Sprintf("%s receives %d bytes, want %d", got.server, len(got.body), u.Length))
		}
	}
	for server, count := range counts {
		if _, ok := u.Counts[server]; !ok {
			complaints = append(complaints, fmt.Sprintf("%s receives %d requests, want none", server, count))
		}
	}
	for server, want := range u.Counts {
		if count := counts[server]; count < want.Min || count > want.Max {
			complaints = append(complaints, fmt.Sprintf("%s receives %d requests, want %d to %d", server, count, want.Min,
				want.Max))
		}
	}
	return complaints
}
