package cases

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads the cases of a file.
func Parse(group, text string) ([]*Case, error) {
	var all []*Case
	p := &parser{lines: strings.Split(text, "\n")}
	for p.next < len(p.lines) {
		line := p.lines[p.next]
		name, ok := strings.CutPrefix(line, "=== ")
		if !ok {
			if line == "" || strings.HasPrefix(line, "#") {
				p.next++
				continue
			}
			return nil, fmt.Errorf("%s:%d: %q is in front of the first case", group, p.next+1, line)
		}
		p.next++
		c := &Case{Group: group, Name: name}
		if err := p.read(c); err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", group, p.next, name, err)
		}
		if slices.ContainsFunc(all, func(other *Case) bool { return other.Name == name }) {
			return nil, fmt.Errorf("%s: two cases have the name %q", group, name)
		}
		all = append(all, c)
	}
	return all, nil
}

// parser reads lines.
type parser struct {
	lines []string
	next  int
	// state is that of the stage; changed means that the next request begins another one.
	state   State
	changed bool
}

// read reads a case behind its first line.
func (p *parser) read(c *Case) error {
	p.state, p.changed = State{Servers: map[string]Server{}}, true
	for ; p.next < len(p.lines) && !marked(p.lines[p.next]); p.next++ {
		if err := c.attribute(p.lines[p.next]); err != nil {
			return err
		}
	}
	for p.next < len(p.lines) && strings.HasPrefix(p.lines[p.next], "--- ") {
		words := strings.Fields(p.lines[p.next])[1:]
		p.next++
		if len(words) == 0 {
			return errors.New("a section without a name")
		}
		line := p.next
		body := p.section()
		if err := p.apply(c, words[0], words[1:], body, line); err != nil {
			return fmt.Errorf("section %s in line %d: %w", words[0], line, err)
		}
	}
	return c.complete()
}

// attribute reads a line in front of the sections.
func (c *Case) attribute(line string) error {
	key, value, _ := strings.Cut(line, ": ")
	switch {
	case line == "", strings.HasPrefix(line, "#"):
	case key == "e2e":
		c.Tests = append(c.Tests, value)
	case key == "nginx":
		verdict, reason, ok := strings.Cut(value, ", ")
		switch {
		case ok && verdict == "no":
			c.Unanswered = reason
		case ok && verdict == "refuses":
			c.Refused = reason
		default:
			return fmt.Errorf("%q is not \"no, REASON\" or \"refuses, ERROR\"", value)
		}
	default:
		return fmt.Errorf("unknown line %q", line)
	}
	return nil
}

// complete checks that a case can fail.
func (c *Case) complete() error {
	if len(c.Stages) == 0 {
		return errors.New("no request")
	}
	for _, stage := range c.Stages {
		for _, exchange := range stage.Exchanges {
			if len(exchange.Response.Statuses) == 0 {
				return fmt.Errorf("the request in line %d has no response", exchange.Line)
			}
			sum := 0
			for _, count := range exchange.Response.Statuses {
				sum += count
			}
			if sum != exchange.Request.Repeat {
				return fmt.Errorf("the request in line %d has %d statuses", exchange.Line, sum)
			}
		}
	}
	return nil
}

func marked(line string) bool {
	return strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "=== ")
}

// section returns the lines up to the next section or case, without empty ones at the end.
func (p *parser) section() []string {
	start := p.next
	for p.next < len(p.lines) && !marked(p.lines[p.next]) {
		p.next++
	}
	lines := p.lines[start:p.next]
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// apply reads one section.
func (p *parser) apply(c *Case, name string, arguments, lines []string, line int) (err error) {
	switch name {
	case "objects":
		p.changed = true
		p.state.Objects, err = parseObjects(strings.Join(lines, "\n"))
		return err
	case "settings":
		p.changed = true
		p.state.Settings, err = parseSettings(lines)
		return err
	case "flags":
		p.changed = true
		p.state.Flags = lines
		return nil
	case "certificate":
		p.changed = true
		certificate, err := parseCertificate(arguments)
		p.state.Certificates = append(slices.Clip(p.state.Certificates), certificate)
		return err
	case "service", "host":
		p.changed = true
		return p.server(arguments, lines)
	case "request":
		if p.changed {
			c.Stages = append(c.Stages, Stage{State: p.state.clone()})
			p.changed = false
		}
		request, err := parseRequest(arguments, lines)
		stage := &c.Stages[len(c.Stages)-1]
		stage.Exchanges = append(stage.Exchanges, Exchange{Request: request, Line: line})
		return err
	case "response", "upstream":
		if len(c.Stages) == 0 || p.changed {
			return errors.New("no request in front of it")
		}
		stage := &c.Stages[len(c.Stages)-1]
		exchange := &stage.Exchanges[len(stage.Exchanges)-1]
		if name == "upstream" {
			return exchange.upstream(arguments, lines)
		}
		return exchange.Response.parse(lines, exchange.Request.Repeat)
	default:
		return errors.New("unknown section")
	}
}

// clone returns a copy that later sections do not change.
func (s State) clone() State {
	servers := make(map[string]Server, len(s.Servers))
	for name, server := range s.Servers {
		servers[name] = server
	}
	s.Servers = servers
	return s
}

func parseSettings(lines []string) (map[string]string, error) {
	settings := make(map[string]string, len(lines))
	for _, line := range lines {
		key, value, ok := strings.Cut(line, ": ")
		if !ok {
			return nil, fmt.Errorf("%q is not \"KEY: VALUE\"", line)
		}
		settings[key] = value
	}
	return settings, nil
}

func parseCertificate(arguments []string) (c Certificate, err error) {
	if len(arguments) == 0 {
		return c, errors.New("no name")
	}
	c.Namespace, c.Name, _ = strings.Cut(arguments[0], "/")
	for _, argument := range arguments[1:] {
		key, value, _ := strings.Cut(argument, "=")
		switch key {
		case "hosts":
			c.Hosts = strings.Split(value, ",")
		case "authority":
			c.Authority = true
		case "broken":
			c.Broken = true
		default:
			return c, fmt.Errorf("unknown argument %q", argument)
		}
	}
	return c, nil
}

// server reads how a Service or a server outside of the cluster answers.
func (p *parser) server(arguments, lines []string) error {
	if len(arguments) == 0 {
		return errors.New("no name")
	}
	server := Server{Endpoints: 1}
	for _, argument := range arguments[1:] {
		key, value, _ := strings.Cut(argument, "=")
		var err error
		switch key {
		case "endpoints":
			server.Endpoints, err = strconv.Atoi(value)
		case "missing":
			server.Missing, server.Endpoints = true, 0
		default:
			err = errors.New("unknown")
		}
		if err != nil {
			return fmt.Errorf("argument %q: %w", argument, err)
		}
	}
	for _, line := range lines {
		if err := server.reply(line); err != nil {
			return err
		}
	}
	p.state = p.state.clone()
	p.state.Servers[arguments[0]] = server
	return nil
}

// reply reads a line: the first of a reply, or a part of the last one.
func (s *Server) reply(line string) error {
	if name, value, ok := strings.Cut(line, ": "); ok && !strings.Contains(name, " ") {
		if len(s.Replies) == 0 {
			return fmt.Errorf("no reply in front of %q", line)
		}
		last := &s.Replies[len(s.Replies)-1]
		var err error
		switch name {
		case "body":
			last.Body = value
		case "hold":
			last.Hold, err = strconv.Atoi(value)
		case "times":
			last.Times, err = strconv.Atoi(value)
		default:
			last.Header = append(last.Header, Field{name, value})
		}
		return err
	}
	at := strings.LastIndexByte(line, ' ')
	if at < 0 {
		return fmt.Errorf("%q is not \"PATTERN STATUS\"", line)
	}
	pattern, status := line[:at], line[at+1:]
	reply := Reply{}
	switch name, value, ok := strings.Cut(pattern, "="); {
	case pattern == "*":
	case strings.HasPrefix(pattern, "/"):
		reply.Path = pattern
	case ok:
		reply.Field, reply.Value = name, value
	default:
		return fmt.Errorf("unknown pattern %q", pattern)
	}
	if status != "close" {
		number, err := strconv.Atoi(status)
		if err != nil {
			return err
		}
		reply.Status = number
	}
	s.Replies = append(s.Replies, reply)
	return nil
}
