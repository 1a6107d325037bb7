package router

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/router/tcp"
	tcprule "github.com/sluiceproxy/sluice/router/tcp/rule"
)

// ConnectionQuestion is a TCP connection to explain.
type ConnectionQuestion struct {
	// Address is what the client connects to, as [host]:port; the host does not matter.
	Address string
	// EntryPoint is the entrypoint's name; empty means the one that listens on the port.
	EntryPoint string
	// TLS says that the client begins with TLS, as it does with a server name or protocols; StartTLS that it requests TLS
	// as clients of PostgreSQL do.
	TLS, StartTLS bool
	// ServerName is the SNI, and Protocols the names in ALPN.
	ServerName string
	Protocols  []string
	// Client is the client's address; empty means 127.0.0.1.
	Client string
}

// ConnectionExplanation says which router serves a TCP connection, and why.
type ConnectionExplanation struct {
	EntryPoint string   `json:"entryPoint"`
	Guess      string   `json:"guess,omitempty"`
	Client     string   `json:"client"`
	TLS        bool     `json:"tls"`
	StartTLS   bool     `json:"startTLS,omitempty"`
	ServerName string   `json:"serverName,omitempty"`
	Protocols  []string `json:"protocols,omitempty"`
	// Steps are the decisions in their order, of which the last one leads to Answer: "tcp" is the TCP router Router,
	// "http" the HTTP routers, "closed" that the connection is closed, with Reason.
	Steps  []string `json:"steps"`
	Answer string   `json:"answer"`
	Reason string   `json:"reason,omitempty"`
	// Router is the TCP router that serves the connection. Passthrough says that its TLS does not end at Sluice, and
	// Options are the TLS options where it does.
	Router      *Candidate     `json:"router,omitempty"`
	Passthrough bool           `json:"passthrough,omitempty"`
	Options     string         `json:"options,omitempty"`
	Middlewares []string       `json:"middlewares,omitempty"`
	Service     *ServiceStatus `json:"service,omitempty"`
	// Next are TCP routers that come next, and why they do not serve the connection.
	Next []Candidate `json:"next,omitempty"`
}

// ExplainConnection decides about a connection as an entrypoint does, and records the decisions.
func (t *Table) ExplainConnection(question ConnectionQuestion) (ConnectionExplanation, error) {
	_, port, err := net.SplitHostPort(question.Address)
	if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil {
		return ConnectionExplanation{}, fmt.Errorf("connection to explain: %q is not of the form [HOST]:PORT",
			question.Address)
	}
	client := question.Client
	if client == "" {
		client = "127.0.0.1"
	}
	address, ok := forwarded.ClientAddr(client)
	if !ok {
		return ConnectionExplanation{}, fmt.Errorf("connection to explain: client %q is not an IP address, with or without "+
			"a port", client)
	}
	secure := question.TLS || question.StartTLS || question.ServerName != "" || len(question.Protocols) > 0
	entry, guess, err := t.choose(Question{EntryPoint: question.EntryPoint, URL: "tcp://"}, port,
		normalServerName(question.ServerName), secure)
	if err != nil {
		return ConnectionExplanation{}, err
	}
	connection := tcprule.NewConnection(question.ServerName, question.Protocols, address)
	answer := ConnectionExplanation{
		EntryPoint: entry.entrypoint.Name, Guess: guess, Client: address.String(), TLS: secure, StartTLS: question.StartTLS,
		ServerName: connection.ServerName, Protocols: question.Protocols,
	}
	entry.explainConnection(&answer, &connection)
	return answer, nil
}

// explainConnection follows the order of the entrypoint.
func (e *entry) explainConnection(answer *ConnectionExplanation, c *tcprule.Connection) {
	note := func(format string, args ...any) { answer.Steps = append(answer.Steps, fmt.Sprintf(format, args...)) }
	s := &e.streams
	if s.needs&tcp.NeedsUnread != 0 {
		unread := tcprule.NewConnection("", nil, c.Client)
		if route := s.Route(tcp.Unread, &unread); route != nil {
			note("all TCP routers are without TLS and no HTTP router has TLS: the connection is routed by its client, unread")
			e.explainStream(answer, route, s.Plain, &unread)
			return
		}
		note("no TCP router takes the client's address before its first bytes")
	}
	stage, table := tcp.Plain, s.Plain
	switch {
	case answer.StartTLS && s.needs&tcp.NeedsHello == 0:
		note("no TCP router has TLS: the SSLRequest of PostgreSQL is passed on like other bytes")
		answer.TLS = false
	case answer.StartTLS:
		note("the SSLRequest of PostgreSQL is answered, and TCP routers with TLS alone are matched")
		stage, table = tcp.StartTLS, s.Secure
	case answer.TLS:
		stage, table = tcp.TLS, s.Secure
	}
	if stage == tcp.Plain {
		plain := tcprule.NewConnection("", nil, c.Client)
		c = &plain
	}
	if stage == tcp.TLS {
		e.noteHTTPS(c, note)
	}
	route := s.Route(stage, c)
	if route != nil {
		e.explainStream(answer, route, table, c)
		return
	}
	e.explainRest(answer, stage, c)
	for _, other := range table.Routes() {
		if len(answer.Next) < runnersUp {
			answer.Next = append(answer.Next, streamCandidate(other, c))
		}
	}
}

// noteHTTPS records which HTTP routers with TLS come before TCP routers.
func (e *entry) noteHTTPS(c *tcprule.Connection, note func(format string, args ...any)) {
	https := e.streams.HTTPS
	switch route := e.streams.Secure.Match(c); {
	case c.ServerName != "" && https.Names(c.ServerName):
		note("an HTTP router with TLS has the host %q, which comes before all TCP routers", c.ServerName)
	case route != nil && !route.Rule.IsCatchAll():
		note("no HTTP router with TLS has the host %q", c.ServerName)
	case https.CatchAll():
		note("an HTTP router with TLS has no Host, which comes before HostSNI(`*`)")
	case route != nil:
		note("no HTTP router with TLS has the host %q, or none at all", c.ServerName)
	}
}

// explainStream records the router that serves the connection.
func (e *entry) explainStream(
	answer *ConnectionExplanation, route *tcp.Route[*TCPRoute], table *tcp.Table[*TCPRoute], c *tcprule.Connection,
) {
	chosen := streamCandidate(route, c)
	answer.Answer, answer.Router = "tcp", &chosen
	answer.Middlewares = route.Value.middlewares
	answer.Passthrough = answer.TLS && !route.Value.terminates
	if route.Value.present != nil {
		answer.Options = route.Value.present.Name
	}
	if e.streams.needs&tcp.NeedsFirst != 0 && !answer.TLS {
		answer.Steps = append(answer.Steps, "the first bytes are no request of HTTP, which HTTP routers would get (tcp.preferHTTP)")
	}
	if fault := route.Value.fault; fault != nil {
		answer.Answer, answer.Reason = "closed", "the router is disabled: "+fault.Error()
	} else {
		status := route.Value.service.status()
		if answer.Service = &status; !status.answers() {
			answer.Answer, answer.Reason = "closed", "no endpoint can take the connection"
		}
	}
	after := false
	for _, other := range table.Routes() {
		if after && len(answer.Next) < runnersUp {
			next := streamCandidate(other, c)
			if next.Matches {
				next.Reason = "it comes after " + route.Name
			}
			answer.Next = append(answer.Next, next)
		}
		after = after || other == route
	}
}

// explainRest records what becomes of a connection that no TCP router takes.
func (e *entry) explainRest(answer *ConnectionExplanation, stage tcp.Stage, c *tcprule.Connection) {
	_, named := e.hosts.find(c.ServerName)
	switch {
	case stage == tcp.StartTLS:
		answer.Answer, answer.Reason = "closed", "no TCP router with TLS matches"
	case stage == tcp.TLS && e.accepting(c.ServerName) == nil:
		answer.Answer, answer.Reason = "closed", "the TLS options of the server name cannot be used"
	case stage == tcp.TLS && !named && !e.streams.HTTPS.CatchAll():
		answer.Answer, answer.Reason = "http", "no router matches: requests are answered 404"
	case stage == tcp.Plain && e.plain.Len() == 0:
		answer.Answer, answer.Reason = "http", "no router matches: requests are answered 404, and everything else 400"
	default:
		answer.Answer = "http"
	}
	answer.Steps = append(answer.Steps, "no TCP router takes the connection: it is served as HTTP"+
		map[bool]string{true: " with TLS"}[stage == tcp.TLS])
	if answer.Answer == "closed" {
		answer.Steps[len(answer.Steps)-1] = "the connection is closed"
	}
}

// streamCandidate returns a TCP router with the matchers that decide.
func streamCandidate(route *tcp.Route[*TCPRoute], c *tcprule.Connection) Candidate {
	matched, steps := route.Rule.Explain(c)
	found := Candidate{Name: route.Name, Rule: route.Value.Rule, Priority: route.Priority, Matches: matched}
	var not []string
	for _, step := range steps {
		found.Why = append(found.Why, step.String())
		not = append(not, step.String())
	}
	if !matched {
		found.Reason = "its rule does not match: " + strings.Join(not, ", ")
	}
	return found
}
