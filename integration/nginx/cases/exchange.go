package cases

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// parseRequest reads a request and its options.
func parseRequest(options, lines []string) (Request, error) {
	r := Request{Client: "192.0.2.1", Repeat: 1}
	if len(lines) == 0 {
		return r, errors.New("no request line")
	}
	method, url, _ := strings.Cut(lines[0], " ")
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return r, fmt.Errorf("%q is not \"METHOD URL\"", lines[0])
	}
	r.Method, r.Scheme = method, scheme
	if at := strings.IndexByte(rest, '/'); at >= 0 {
		r.Host, r.Target = rest[:at], rest[at:]
	} else {
		r.Host, r.Target = rest, "/"
	}
	r.ServerName, _, _ = strings.Cut(r.Host, ":")
	head := lines[1:]
	if end := slices.Index(head, ""); end >= 0 {
		r.Body = strings.Join(head[end+1:], "\n")
		head = head[:end]
	}
	for _, line := range head {
		name, value, ok := strings.Cut(line, ": ")
		if !ok {
			return r, fmt.Errorf("%q is not a field", line)
		}
		if strings.EqualFold(name, "Host") {
			r.Host = value
			continue
		}
		r.Header = append(r.Header, Field{name, value})
	}
	for _, option := range options {
		if err := r.option(option); err != nil {
			return r, fmt.Errorf("option %q: %w", option, err)
		}
	}
	return r, nil
}

func (r *Request) option(option string) (err error) {
	key, value, _ := strings.Cut(option, "=")
	switch key {
	case "client":
		r.Client = value
	case "certificate":
		r.Certificate = value
	case "server-name":
		r.ServerName = value
	case "length":
		r.Length, err = strconv.Atoi(value)
	case "chunked":
		r.Chunked = true
	case "repeat":
		r.Repeat, err = strconv.Atoi(value)
	case "parallel":
		r.Parallel = true
	case "cookies":
		r.Cookies = true
	case "protocol":
		r.Protocol = value
	case "proxy":
		r.Proxy, err = strconv.Atoi(value)
	default:
		return errors.New("unknown")
	}
	return err
}

// parse reads what is expected of the answers.
func (r *Response) parse(lines []string, repeat int) error {
	if len(lines) == 0 {
		return errors.New("no status")
	}
	r.Statuses = map[string]int{}
	for _, word := range strings.Fields(lines[0]) {
		status, number, counted := strings.Cut(word, "*")
		count := repeat
		if counted {
			var err error
			if count, err = strconv.Atoi(number); err != nil {
				return err
			}
		}
		if !regexp.MustCompile(`^[1-5](\d\d|xx)$`).MatchString(status) {
			return fmt.Errorf("%q is no status", status)
		}
		r.Statuses[status] += count
	}
	for _, line := range lines[1:] {
		switch name, value, _ := strings.Cut(line, ": "); name {
		case "body":
			r.Body = value
		case "presented":
			r.Presented = value
		default:
			match, err := parseMatch(line)
			if err != nil {
				return err
			}
			r.Header = append(r.Header, match)
		}
	}
	return nil
}

// upstream reads what is expected of a server.
func (e *Exchange) upstream(arguments, lines []string) error {
	u := Upstream{Counts: map[string]Range{}, Length: -1}
	if len(arguments) > 0 {
		u.Outside = arguments[0]
	}
	if len(lines) == 0 {
		return errors.New("no server")
	}
	if err := u.counts(lines[0], e.Request.Repeat); err != nil {
		return err
	}
	for i, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ": ")
		var err error
		switch {
		case i == 0 && regexp.MustCompile(`^[A-Z]+ [^ ]+$`).MatchString(line):
			u.Request = line
		case ok && name == "body":
			u.Body = value
		case ok && name == "length":
			u.Length, err = strconv.Atoi(value)
		default:
			var match Match
			match, err = parseMatch(line)
			u.Header = append(u.Header, match)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
	e.Upstreams = append(e.Upstreams, u)
	return nil
}

// counts reads the first line of an expectation.
func (u *Upstream) counts(line string, repeat int) error {
	if line == "none" {
		return nil
	}
	for _, word := range strings.Fields(line) {
		name, bounds, counted := strings.Cut(word, "*")
		within := Range{repeat, repeat}
		if counted {
			least, most, ranged := strings.Cut(bounds, "..")
			if !ranged {
				most = least
			}
			var errs [2]error
			within.Min, errs[0] = strconv.Atoi(least)
			within.Max, errs[1] = strconv.Atoi(most)
			if err := errors.Join(errs[:]...); err != nil {
				return err
			}
		}
		u.Counts[name] = within
	}
	return nil
}

// parseMatch reads an expectation of a field.
func parseMatch(line string) (m Match, err error) {
	if name, ok := strings.CutPrefix(line, "!"); ok {
		return Match{Name: name, Absent: true}, nil
	}
	if name, pattern, ok := strings.Cut(line, " ~ "); ok && !strings.Contains(name, " ") {
		m.Name = name
		m.Pattern, err = regexp.Compile(pattern)
		return m, err
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return m, fmt.Errorf("%q is not a field", line)
	}
	return Match{Name: name, Value: strings.TrimPrefix(value, " ")}, nil
}

// Matches reports whether the values of a field are as expected.
func (m Match) Matches(values []string) bool {
	switch {
	case m.Absent:
		return len(values) == 0
	case m.Pattern != nil:
		return len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return !m.Pattern.MatchString(v) })
	default:
		return len(values) == 1 && values[0] == m.Value
	}
}
