package loadbalancer

// Member is an endpoint's place in one pool. It stays the same value for as long as the endpoint serves the pool through
// the same server of its specification. Its weight belongs to the Snapshot.
type Member struct {
	upstream *Upstream
	host     string
	path     string
}

// Endpoint returns who would answer.
func (m *Member) Endpoint() *Endpoint { return m.upstream.endpoint }

// Upstream returns how the endpoint is spoken to.
func (m *Member) Upstream() *Upstream { return m.upstream }

// Address returns the endpoint's address as text: host:port, IPv6 in brackets.
func (m *Member) Address() string { return m.upstream.address }

// Host returns the authority of the server's URL, or the endpoint's address where there is none: what the Host header
// says when the client's is not passed on.
func (m *Member) Host() string { return m.host }

// Path returns the escaped path to put before the request's, empty for none.
func (m *Member) Path() string { return m.path }

// Begin counts a request in. It must be paired with Done.
func (m *Member) Begin() { m.upstream.begin() }

// Done counts a request out and says how it ended.
func (m *Member) Done(outcome Outcome) { m.upstream.done(outcome) }
