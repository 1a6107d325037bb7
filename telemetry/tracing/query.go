package tracing

// query shows the parameters of a request's query.
type query struct{ safe map[string]bool }

func newQuery(safe []string) query {
	out := query{safe: make(map[string]bool, len(safe))}
	for _, name := range safe {
		out.safe[name] = true
	}
	return out
}
