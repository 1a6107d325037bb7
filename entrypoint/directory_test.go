package entrypoint_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/router/tcp"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
	"github.com/sluiceproxy/sluice/static"
)

// listed returns an entrypoint with a directory.
func listed(t *testing.T, handler http.Handler, change func(*static.EntryPoint)) (*served, *entrypoint.Directory) {
	t.Helper()
	directory := entrypoint.NewDirectory()
	s := startDeps(t, handler, change, func(deps *entrypoint.Dependencies) { deps.Directory = directory })
	return s, directory
}

// only returns the one connection that is listed.
func only(t *testing.T, directory *entrypoint.Directory) entrypoint.ConnectionStatus {
	t.Helper()
	list, total := directory.Connections(entrypoint.Selection{}, 10)
	if len(list) != 1 || total != 1 {
		t.Fatalf("%d of %d connections are listed: %+v", len(list), total, list)
	}
	return list[0]
}

// TestConnectionsAreListed lists a connection of each protocol, and closes it with and without grace.
func TestConnectionsAreListed(t *testing.T) {
	t.Parallel()
	names := map[string]string{"h1": "http/1.1", "h1+TLS": "http/1.1", "h2": "h2", "h2c": "h2", "h3": "h3"}
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s, directory := listed(t, http.HandlerFunc(hello), nil)
			client, url := s.client(protocol)
			if transport, ok := client.Transport.(*http.Transport); ok {
				transport.TLSClientConfig.ServerName = "shop.test"
			}
			for range 2 {
				do(t, client, http.MethodGet, url, nil)
			}
			status := only(t, directory)
			if status.Protocol != names[protocol] || status.Entrypoint != "web" || status.Requests != 2 || status.ID == 0 ||
				status.Client != "127.0.0.1" || status.ClientPort == "" || time.Since(status.Since) > timeout {
				t.Errorf("listed: %+v", status)
			}
			if secure := protocol == "h1+TLS" || protocol == "h2"; secure != (status.ServerName == "shop.test") {
				t.Errorf("server name %q", status.ServerName)
			}
			byID := entrypoint.Selection{ID: status.ID}
			if done := directory.CloseConnections(t.Context(), byID, true); done.Closed+done.Closing != 1 {
				t.Errorf("closed gracefully: %+v", done)
			}
			s.gone(directory)
			s.eventually("a response on another connection", func() bool { // The client may learn of the end only now.
				_, _, err := try(t, client, http.MethodGet, url, nil)
				return err == nil
			})
			s.eventually("another connection alone", func() bool {
				list, _ := directory.Connections(entrypoint.Selection{}, 10)
				return len(list) == 1 && list[0].ID > status.ID
			})
			byID.ID = only(t, directory).ID
			done := directory.CloseConnections(t.Context(), byID, false)
			if want := (entrypoint.ClosedConnections{Closed: 1}); done != want {
				t.Errorf("closed: %+v", done)
			}
			s.eventually("the end of the connections", func() bool {
				_, total := directory.Connections(entrypoint.Selection{}, 10)
				return total == 0
			})
		})
	}
}

// TestConnectionsAreSelected selects by client, which a PROXY header gives, and by entrypoint.
func TestConnectionsAreSelected(t *testing.T) {
	t.Parallel()
	s, directory := listed(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.ProxyProtocol = &static.ProxyProtocol{Insecure: true}
	})
	silent := s.dial()
	s.eventually("a silent connection", func() bool {
		_, total := directory.Connections(entrypoint.Selection{Client: netip.MustParsePrefix("127.0.0.1/32")}, 10)
		return total == 1
	})
	for _, client := range []string{"203.0.113.1", "203.0.113.2", "198.51.100.9"} {
		conn := s.dial()
		say(t, conn, proxyHeader(t, 1, client+":4711", "198.51.100.1:80")+get)
		answer(t, bufio.NewReader(conn))
	}
	tests := []struct {
		client, entrypoint string
		most, want, total  int
	}{
		{"0.0.0.0/0", "", 10, 4, 4},
		{"203.0.113.0/24", "web", 10, 2, 2},
		{"203.0.113.2/32", "", 10, 1, 1},
		{"0.0.0.0/0", "", 3, 3, 4},
		{"0.0.0.0/0", "other", 10, 0, 0},
		{"2001:db8::/32", "", 10, 0, 0},
	}
	for _, test := range tests {
		list, total := directory.Connections(entrypoint.Selection{
			Client: netip.MustParsePrefix(test.client), Entrypoint: test.entrypoint,
		}, test.most)
		if len(list) != test.want || total != test.total {
			t.Errorf("%s %s: %d of %d are listed", test.client, test.entrypoint, len(list), total)
		}
		for i, status := range list {
			if i > 0 && list[i-1].ID >= status.ID {
				t.Errorf("%d is listed before %d", list[i-1].ID, status.ID)
			}
		}
	}
	selection := entrypoint.Selection{Client: netip.MustParsePrefix("203.0.113.0/24")}
	if done := directory.CloseConnections(t.Context(), selection, false); done.Total() != 2 || done.Closed != 2 {
		t.Errorf("closed: %+v", done)
	}
	s.eventually("the end of two", func() bool {
		_, total := directory.Connections(entrypoint.Selection{}, 10)
		return total == 2
	})
	_ = silent.Close()
}

// TestCloseOfTheOwnConnection answers the request that closes all connections.
func TestCloseOfTheOwnConnection(t *testing.T) {
	t.Parallel()
	directory := entrypoint.NewDirectory()
	closing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done := directory.CloseConnections(r.Context(), entrypoint.Selection{Entrypoint: "web"}, false)
		if want := (entrypoint.ClosedConnections{Closed: 1, Closing: 1}); done != want {
			t.Errorf("closed: %+v", done)
		}
		hello(w, r)
	})
	s := startDeps(t, closing, nil, func(deps *entrypoint.Dependencies) { deps.Directory = directory })
	other, own := s.dial(), s.dial()
	s.eventually("both connections", func() bool {
		_, total := directory.Connections(entrypoint.Selection{}, 10)
		return total == 2
	})
	say(t, own, get)
	reader := bufio.NewReader(own)
	if response, _ := answer(t, reader); !response.Close {
		t.Error("the response does not say close")
	}
	if _, err := reader.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the own connection: %v", err)
	}
	if _, err := other.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the other connection: %v", err)
	}
}

// TestConnectionsOfTCPRoutersAreListed lists one with its server name. It is closed at once or not at all.
func TestConnectionsOfTCPRoutersAreListed(t *testing.T) {
	t.Parallel()
	directory := entrypoint.NewDirectory()
	options := newTLS(t, nil, nil).Config()
	s := startDeps(t, http.HandlerFunc(hello), nil, func(deps *entrypoint.Dependencies) {
		deps.Directory = directory
		deps.Streams = choice{tcp.NeedsHello, func(tcp.Stage, *rule.Connection) tcp.Stream {
			return &lines{mark: "db", options: options}
		}}
	})
	conn := tls.Client(s.dial(), &tls.Config{ServerName: "db.test", InsecureSkipVerify: true}) //nolint:gosec // It is generated.
	say(t, conn, "hello\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "db hello\n" {
		t.Fatalf("line %q, %v", line, err)
	}
	status := only(t, directory)
	if status.Protocol != "tcp" || status.ServerName != "db.test" {
		t.Errorf("listed: %+v", status)
	}
	done := directory.CloseConnections(t.Context(), entrypoint.Selection{}, true)
	if want := (entrypoint.ClosedConnections{Remaining: 1}); done != want {
		t.Errorf("closed gracefully: %+v", done)
	}
	done = directory.CloseConnections(t.Context(), entrypoint.Selection{}, false)
	if want := (entrypoint.ClosedConnections{Closed: 1}); done != want {
		t.Errorf("closed: %+v", done)
	}
	if rest, err := io.ReadAll(conn); err == nil && len(rest) > 0 {
		t.Errorf("it goes on: %q", strings.TrimSpace(string(rest)))
	}
	s.record()
}
