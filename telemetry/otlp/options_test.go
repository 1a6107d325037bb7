package otlp_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/static"
)

func TestOptionsThatMakeNoSense(t *testing.T) {
	_, certPEM, keyPEM := certificate(t)
	missing := filepath.Join(t.TempDir(), "none.pem")
	tests := map[string]struct {
		grpc *static.OTLPGRPC
		http *static.OTLPHTTP
		want string
	}{
		"no port": {grpc: &static.OTLPGRPC{Endpoint: "collector"}, want: `grpc.endpoint: "collector" is not host:port`},
		"user of grpc": {
			grpc: &static.OTLPGRPC{Endpoint: "https://user:" + secret + "@c:1"},
			want: "grpc.endpoint: is host:port, without a user",
		},
		"header of net/http": {
			http: &static.OTLPHTTP{Endpoint: "https://c", Headers: map[string]string{"host": "other.example"}},
			want: "http.headers.host: is no header",
		},
		"insecure with tls": {
			grpc: &static.OTLPGRPC{Endpoint: "c:1", Insecure: true, TLS: &static.ClientTLS{}},
			want: "grpc.insecure: contradicts grpc.tls",
		},
		"no file": {
			grpc: &static.OTLPGRPC{Endpoint: "c:1", TLS: &static.ClientTLS{CA: missing}},
			want: "grpc.tls.ca: open " + missing,
		},
		"no authority": {
			grpc: &static.OTLPGRPC{Endpoint: "c:1", TLS: &static.ClientTLS{CA: keyPEM}},
			want: "grpc.tls.ca (inline PEM) holds no certificate",
		},
		"cert without key": {
			http: &static.OTLPHTTP{Endpoint: "https://c", TLS: &static.ClientTLS{Cert: certPEM}},
			want: "http.tls.cert and http.tls.key belong together",
		},
		"key without cert": {
			http: &static.OTLPHTTP{Endpoint: "https://c", TLS: &static.ClientTLS{Key: keyPEM}},
			want: "http.tls.cert and http.tls.key belong together",
		},
		"key for cert": {
			http: &static.OTLPHTTP{Endpoint: "https://c", TLS: &static.ClientTLS{Cert: keyPEM, Key: keyPEM}},
			want: "http.tls.cert and http.tls.key: ",
		},
		"no url": {http: &static.OTLPHTTP{Endpoint: "collector:4318"}, want: "http.endpoint: is not a URL"},
		"other scheme": {
			http: &static.OTLPHTTP{Endpoint: "ftp://user:" + secret + "@c"},
			want: "http.endpoint: is not a URL",
		},
		"query": {
			http: &static.OTLPHTTP{Endpoint: "https://c/?key=" + secret},
			want: "http.endpoint: may have a path",
		},
		"fragment": {http: &static.OTLPHTTP{Endpoint: "https://c/#" + secret}, want: "http.endpoint: may have a path"},
		"tls on http": {
			http: &static.OTLPHTTP{Endpoint: "http://c", TLS: &static.ClientTLS{}},
			want: "http.tls: the endpoint is http://",
		},
		"name of header": {
			http: &static.OTLPHTTP{Endpoint: "https://c", Headers: map[string]string{"a b": secret}},
			want: `http.headers: "a b" is not`,
		},
		"value of header": {
			grpc: &static.OTLPGRPC{Endpoint: "c:1", Headers: map[string]string{"a": secret + "\r\n"}},
			want: "grpc.headers.a: the value has",
		},
		"name of metadata": {
			grpc: &static.OTLPGRPC{Endpoint: "c:1", Headers: map[string]string{"a+b": secret}},
			want: `grpc.headers: "a+b" is not the name of a header of gRPC`,
		},
		"metadata of grpc": {
			grpc: &static.OTLPGRPC{Endpoint: "c:1", Headers: map[string]string{"Grpc-Timeout": secret}},
			want: "grpc.headers.Grpc-Timeout: is no header",
		},
		"field of a connection by HTTP": {
			http: &static.OTLPHTTP{Endpoint: "https://c", Headers: map[string]string{"connection": secret}},
			want: "http.headers.connection: can be close",
		},
		"upgrade": {
			http: &static.OTLPHTTP{Endpoint: "https://c", Headers: map[string]string{"Upgrade": secret}},
			want: "http.headers.Upgrade: is no header",
		},
		"field of a connection": {
			grpc: &static.OTLPGRPC{Endpoint: "c:1", Headers: map[string]string{"Keep-Alive": secret}},
			want: "grpc.headers.Keep-Alive: is no header",
		},
		"value of metadata": {
			grpc: &static.OTLPGRPC{Endpoint: "c:1", Headers: map[string]string{"a": secret + "\u00e9"}},
			want: "grpc.headers.a: the value has other",
		},
		"key as a file": {http: &static.OTLPHTTP{Endpoint: "https://c", TLS: &static.ClientTLS{Cert: certPEM, Key: secret +
			"=="}}, want: "http.tls.key is neither a path nor PEM text"},
	}
	for title, test := range tests {
		for signal, send := range senders() {
			err := send(t.Context(), test.grpc, test.http)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("%s, %s: error %v, want %s", title, signal, err, test.want)
			}
		}
	}
}

func TestTheDefaultIsTheLocalCollectorByHTTPS(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "")
	for signal, send := range senders() {
		err := send(t.Context(), nil, nil)
		if err == nil || !strings.Contains(err.Error(), "https://localhost:4318/v1/"+signal) {
			t.Errorf("%s: %v", signal, err)
		}
	}
}
