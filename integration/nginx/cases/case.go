package cases

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// Case is a series of states of the cluster, and requests to each.
type Case struct {
	// Group is the name of the file without extension; Name is unique in it.
	Group, Name string
	// Tests are the end-to-end tests of ingress-nginx that check the behaviour, as "FILE: DESCRIPTION".
	Tests []string
	// Unanswered is why nginx without the controller's modules cannot answer; empty where it can.
	Unanswered string
	// Refused is in the error with which nginx refuses the configuration, so that it goes on with the one before, for all
	// hosts; empty where it does not. What is expected then is what the Ingresses mean.
	Refused string
	// Stages are the states, in order.
	Stages []Stage
}

// String returns the name with its group.
func (c *Case) String() string { return c.Group + "/" + c.Name }

// Stage is one state of the cluster.
type Stage struct {
	State
	// Exchanges are requests to it, in order.
	Exchanges []Exchange
}

// State is what a configuration is made of.
type State struct {
	Objects Objects
	// Settings are those of the controller's ConfigMap.
	Settings map[string]string
	// Flags are those of the controller, with the dashes.
	Flags []string
	// Certificates describe Secrets.
	Certificates []Certificate
	// Servers are the Services, as "NAMESPACE/NAME", and the servers outside of the cluster whose answers are described.
	Servers map[string]Server
}

// Objects are those of the Kubernetes API. All have a namespace, and Ingresses a creation timestamp.
type Objects struct {
	Ingresses  []*networkingv1.Ingress
	Classes    []*networkingv1.IngressClass
	Services   []*corev1.Service
	Secrets    []*corev1.Secret
	ConfigMaps []*corev1.ConfigMap
	Namespaces []*corev1.Namespace
}

// Certificate is a Secret with a certificate.
type Certificate struct {
	// Namespace and Name are those of the Secret.
	Namespace, Name string
	// Hosts are the subject alternative names; the first is the common name too.
	Hosts []string
	// Authority adds the certificate of the authority of clients' certificates.
	Authority bool
	// Broken means that the Secret has neither certificate nor key.
	Broken bool
}

// Server is how the endpoints of a Service, or a server outside of the cluster, answer.
type Server struct {
	// Endpoints is their number. Missing means that the Service does not exist.
	Endpoints int
	Missing   bool
	// Replies are tried in order. Without a match the status is 200.
	Replies []Reply
}

// Reply is an answer to the requests that match.
type Reply struct {
	// Path is the beginning of the target, Field with Value a field of the request. All are empty in a reply to any.
	Path, Field, Value string
	// Status is 0 where the connection is closed instead.
	Status int
	Header []Field
	Body   string
	// Hold is how many answers to the repeated request the endpoint waits for.
	Hold int
	// Times is how many of the requests have this reply, 0 for all.
	Times int
}

// Field is a header field.
type Field struct{ Name, Value string }

// Exchange is a request and what is expected of it.
type Exchange struct {
	Request  Request
	Response Response
	// Upstreams are what the Services, and the servers outside of the cluster, receive.
	Upstreams []Upstream
	// Line is where the request stands in its file.
	Line int
}

// Request is sent to the controller.
type Request struct {
	Method, Scheme, Host, Target string
	// Header are the fields beside Host. Their order and spelling are kept.
	Header []Field
	Body   string
	// Client is the address that the request comes from, 192.0.2.1 by default.
	Client string
	// Certificate is the common name of the client's certificate; "foreign" is of another authority.
	Certificate string
	// ServerName is that of the handshake, the host by default.
	ServerName string
	// Length is that of a body of zeros that is sent instead of Body, in bytes; Chunked sends a body without its length.
	Length  int
	Chunked bool
	// Repeat is how often the request is sent, 1 by default; Parallel sends them at once.
	Repeat   int
	Parallel bool
	// Cookies means that cookies of the answers to earlier requests of the case are sent.
	Cookies bool
	// Protocol is "h2" for HTTP/2, and "1.0"; HTTP/1.1 by default.
	Protocol string
	// Proxy is the destination port of the PROXY protocol's header of the client; 0 where it has sent none.
	Proxy int
}

// Response is what is expected of the answers.
type Response struct {
	// Statuses maps statuses such as "200" and "5xx" to the number of the answers.
	Statuses map[string]int
	Header   []Match
	// Body is a part of the body; empty where nothing is expected.
	Body string
	// Presented is the name that the certificate of the handshake must have; empty where nothing is expected.
	Presented string
}

// Match is an expectation of a field.
type Match struct {
	Name string
	// Absent means that there is no such field. Otherwise there is exactly one, which has the value, or there are some,
	// which all match the pattern.
	Absent  bool
	Value   string
	Pattern *regexp.Regexp
}

// Upstream is what is expected of a server.
type Upstream struct {
	// Outside is the server's name where it is outside of the cluster; empty for Services.
	Outside string
	// Counts map Services to how many of the requests they receive. Without one, none receives any.
	Counts map[string]Range
	// Request is "METHOD TARGET"; empty where nothing is expected.
	Request string
	Header  []Match
	// Body is what the whole body must be, where Length is not negative its length.
	Body   string
	Length int
}

// Range are bounds, both included.
type Range struct{ Min, Max int }
