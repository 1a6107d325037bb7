package metrics

// served are the attributes by which requests of all entrypoints are counted together where metrics are pushed.
type served struct {
	// method is empty for methods that are not registered.
	method string
	// status is 0 where there was none.
	status int
	// scheme is the client's: http, https, ws or wss.
	scheme string
	// version is that of HTTP: 1.0, 1.1, 2 or 3; empty where it is another one.
	version string
}

const (
	schemeCount  = 4
	versionCount = 5
)

// servedKey returns the key of the shard that counts a request.
func servedKey(method int, r *Request) uint64 {
	status := r.Status
	if status < 0 || status >= statusCount {
		status = 0
	}
	attributes := (method*schemeCount+schemeIndex(r))*versionCount + versionIndex(r.Version)
	return uint64(attributes*statusCount + status)
}

// servedBy undoes servedKey.
func servedBy(key uint64) served {
	status, rest := int(key%statusCount), int(key/statusCount)
	s := served{
		status: status, version: versionName(rest % versionCount),
		scheme: schemeName(rest / versionCount % schemeCount),
	}
	if method := rest / versionCount / schemeCount; method > 0 {
		s.method = methodName(method)
	}
	return s
}

func schemeName(index int) string { return [schemeCount]string{"http", "https", "ws", "wss"}[index] }

// schemeIndex uses X-Forwarded-Proto, which is the entrypoint's own or that of a trusted peer.
func schemeIndex(r *Request) int {
	if forwarded := r.Header["X-Forwarded-Proto"]; len(forwarded) > 0 {
		for i := range schemeCount {
			if forwarded[0] == schemeName(i) {
				return i
			}
		}
	}
	if r.TLS != nil {
		return 1
	}
	return 0
}

func versionName(index int) string { return [versionCount]string{"", "1.0", "1.1", "2", "3"}[index] }

func versionIndex(protocol string) int {
	switch protocol {
	case "HTTP/1.0":
		return 1
	case "HTTP/1.1":
		return 2
	case "HTTP/2.0":
		return 3
	case "HTTP/3.0":
		return 4
	}
	return 0
}
