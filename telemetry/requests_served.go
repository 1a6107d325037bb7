package telemetry

// Served says what is told apart of requests beside who answered them. Entrypoints together count them by it where metrics are pushed.
type Served struct {
	// Method is empty for methods nobody registered.
	Method string
	// Status is 0 where there was none.
	Status int
	// Scheme is the client's: http, https, ws or wss.
	Scheme string
	// Version is that of HTTP: 1.0, 1.1, 2 or 3; empty where it is another one.
	Version string
}

const (
	schemeCount  = 4
	versionCount = 5
)

// servedKey says which cell counts a request.
func servedKey(method int, record *Record) uint64 {
	status := record.Status
	if status < 0 || status >= statusCount {
		status = 0
	}
	return uint64(((method*schemeCount+schemeIndex(record))*versionCount+versionIndex(record.Version))*statusCount + status)
}

// servedBy undoes servedKey.
func servedBy(key uint64) Served {
	status, rest := int(key%statusCount), int(key/statusCount)
	s := Served{Status: status, Version: versionName(rest % versionCount), Scheme: schemeName(rest / versionCount % schemeCount)}
	if method := rest / versionCount / schemeCount; method > 0 {
		s.Method = methodName(method)
	}
	return s
}

func schemeName(index int) string { return [schemeCount]string{"http", "https", "ws", "wss"}[index] }

// schemeIndex believes what is forwarded, which is the entrypoint's own or that of a peer whom it trusts.
func schemeIndex(record *Record) int {
	if told := record.RequestHeader["X-Forwarded-Proto"]; len(told) > 0 {
		for i := range schemeCount {
			if told[0] == schemeName(i) {
				return i
			}
		}
	}
	if record.TLS != nil {
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
