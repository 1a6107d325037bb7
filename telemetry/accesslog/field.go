package accesslog

import (
	"crypto/tls"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// fieldSet is a set of fields of a line of JSON.
type fieldSet uint64

// The fields, in the order of their names, which is that of fieldNames.
const (
	keepBytesReceived fieldSet = 1 << iota
	keepBytesSent
	keepClientAddr
	keepClientHost
	keepClientPort
	keepClientUsername
	keepConfigGeneration
	keepConnectionEnd
	keepDatagramsReceived
	keepDatagramsSent
	keepDownstreamContentSize
	keepDownstreamStatus
	keepDuration
	keepEnvironment
	keepEnvironmentReason
	keepErrorCode
	keepErrorReason
	keepGzipRatio
	keepKubernetesIngressName
	keepKubernetesIngressNamespace
	keepKubernetesServiceName
	keepKubernetesServicePort
	keepOriginContentSize
	keepOriginDuration
	keepOriginStatus
	keepOverhead
	keepProtocol
	keepRequestAddr
	keepRequestContentSize
	keepRequestCount
	keepRequestHost
	keepRequestID
	keepRequestMethod
	keepRequestPath
	keepRequestPort
	keepRequestProtocol
	keepRequestScheme
	keepRetryAttempts
	keepRouterName
	keepServiceAddr
	keepServiceName
	keepServiceURL
	keepSpanID
	keepStartLocal
	keepStartUTC
	keepTLSCipher
	keepTLSClientSubject
	keepTLSServerName
	keepTLSVersion
	keepTraceID
	keepEntryPointName
	keepSpanIDAgain
	keepTraceIDAgain
)

// fieldNames returns the names of all fields in their order. Those of Traefik have its names and forms.
func fieldNames() []string {
	return []string{
		"BytesReceived", "BytesSent", "ClientAddr", "ClientHost", "ClientPort", "ClientUsername", "ConfigGeneration",
		"ConnectionEnd", "DatagramsReceived", "DatagramsSent", "DownstreamContentSize", "DownstreamStatus",
		"Duration", "Environment", "EnvironmentReason", "ErrorCode", "ErrorReason", "GzipRatio",
		"KubernetesIngressName", "KubernetesIngressNamespace", "KubernetesServiceName", "KubernetesServicePort",
		"OriginContentSize", "OriginDuration", "OriginStatus", "Overhead", "Protocol", "RequestAddr",
		"RequestContentSize", "RequestCount", "RequestHost", "RequestId", "RequestMethod", "RequestPath",
		"RequestPort", "RequestProtocol", "RequestScheme", "RetryAttempts", "RouterName", "ServiceAddr",
		"ServiceName", "ServiceURL", "SpanId", "StartLocal", "StartUTC", "TLSCipher", "TLSClientSubject",
		"TLSServerName", "TLSVersion", "TraceId", "entryPointName", "span_id", "trace_id",
	}
}

// appendFields appends the members of the fields that are kept and that the request has. It is one piece after
// the other without a table of functions: mispredicted branches cost more here than the writing.
func (e *encoder) appendFields(b []byte, r *request, start *stamp) []byte {
	b = e.appendClient(b, r)
	if ingress := r.record.Ingress; ingress != nil {
		b = e.appendIngress(b, ingress)
	}
	b = e.appendOrigin(b, r)
	b = e.appendAsked(b, r)
	b = e.appendWay(b, r, start)
	return e.appendIdentity(b, r)
}

// appendClient appends the fields of the client, and of how the request ended.
func (e *encoder) appendClient(b []byte, r *request) []byte {
	kept, record := e.fields, r.record
	if kept&keepClientAddr != 0 {
		b = append(appendAddress(append(b, `,"ClientAddr":"`...), record.Client, record.ClientPort), '"')
	}
	if kept&keepClientHost != 0 {
		b = appendJSON(append(b, `,"ClientHost":`...), r.clientHost())
	}
	if kept&keepClientPort != 0 {
		b = appendJSON(append(b, `,"ClientPort":`...), orDash(record.ClientPort))
	}
	if kept&keepClientUsername != 0 {
		b = appendJSON(append(b, `,"ClientUsername":`...), orDash(record.Username))
	}
	if kept&keepConfigGeneration != 0 {
		b = strconv.AppendUint(append(b, `,"ConfigGeneration":`...), record.Generation, 10)
	}
	if kept&keepDownstreamContentSize != 0 {
		b = strconv.AppendInt(append(b, `,"DownstreamContentSize":`...), record.BytesSent, 10)
	}
	if kept&keepDownstreamStatus != 0 {
		b = strconv.AppendInt(append(b, `,"DownstreamStatus":`...), int64(record.Status), 10)
	}
	if kept&keepDuration != 0 {
		b = strconv.AppendInt(append(b, `,"Duration":`...), int64(record.Duration), 10)
	}
	if kept&keepEnvironment != 0 && record.Environment != "" {
		b = appendJSON(append(b, `,"Environment":`...), record.Environment)
	}
	if kept&keepEnvironmentReason != 0 && record.EnvironmentReason != "" {
		b = appendJSON(append(b, `,"EnvironmentReason":`...), record.EnvironmentReason)
	}
	if kept&keepErrorCode != 0 && record.Code != "" {
		b = appendJSON(append(b, `,"ErrorCode":`...), string(record.Code))
	}
	if kept&keepErrorReason != 0 && record.Reason != "" {
		b = appendJSON(append(b, `,"ErrorReason":`...), record.Reason)
	}
	if origin, sent := record.OriginBytes, record.BytesSent; kept&keepGzipRatio != 0 &&
		origin > 0 && sent > 0 && origin != sent {
		b = appendRatio(append(b, `,"GzipRatio":`...), origin, sent)
	}
	return b
}

// appendIngress appends the fields of the Ingress that the router was made of.
func (e *encoder) appendIngress(b []byte, ingress *telemetry.Ingress) []byte {
	kept := e.fields
	if kept&keepKubernetesIngressName != 0 && ingress.Name != "" {
		b = appendJSON(append(b, `,"KubernetesIngressName":`...), ingress.Name)
	}
	if kept&keepKubernetesIngressNamespace != 0 && ingress.Namespace != "" {
		b = appendJSON(append(b, `,"KubernetesIngressNamespace":`...), ingress.Namespace)
	}
	if kept&keepKubernetesServiceName != 0 && ingress.Service != "" {
		b = appendJSON(append(b, `,"KubernetesServiceName":`...), ingress.Service)
	}
	if kept&keepKubernetesServicePort != 0 && ingress.Port != "" {
		b = appendJSON(append(b, `,"KubernetesServicePort":`...), ingress.Port)
	}
	return b
}

// appendOrigin appends the fields of the endpoint's part.
func (e *encoder) appendOrigin(b []byte, r *request) []byte {
	kept, record := e.fields, r.record
	if kept&keepOriginContentSize != 0 {
		b = strconv.AppendInt(append(b, `,"OriginContentSize":`...), record.OriginBytes, 10)
	}
	if kept&keepOriginDuration != 0 {
		b = strconv.AppendInt(append(b, `,"OriginDuration":`...), int64(record.ServiceDuration), 10)
	}
	if kept&keepOriginStatus != 0 {
		b = strconv.AppendInt(append(b, `,"OriginStatus":`...), int64(record.OriginStatus), 10)
	}
	if kept&keepOverhead != 0 {
		b = strconv.AppendInt(append(b, `,"Overhead":`...), int64(record.Duration-record.ServiceDuration), 10)
	}
	return b
}

// appendAsked appends the fields of the request.
func (e *encoder) appendAsked(b []byte, r *request) []byte {
	kept, record := e.fields, r.record
	host, port := splitHost(record.Host)
	if kept&keepRequestAddr != 0 && record.Host != "" {
		b = appendJSON(append(b, `,"RequestAddr":`...), record.Host)
	}
	if kept&keepRequestContentSize != 0 {
		b = strconv.AppendInt(append(b, `,"RequestContentSize":`...), record.BytesReceived, 10)
	}
	if kept&keepRequestCount != 0 {
		b = strconv.AppendUint(append(b, `,"RequestCount":`...), r.count, 10)
	}
	if kept&keepRequestHost != 0 && host != "" {
		b = appendJSON(append(b, `,"RequestHost":`...), host)
	}
	if kept&keepRequestID != 0 {
		if b = append(b, `,"RequestId":"`...); record.RequestID != "" {
			b = appendText(b, record.RequestID)
		} else {
			b = e.ids.appendID(b, r.id)
		}
		b = append(b, '"')
	}
	if kept&keepRequestMethod != 0 && record.Method != "" {
		b = appendJSON(append(b, `,"RequestMethod":`...), record.Method)
	}
	if kept&keepRequestPath != 0 && record.Path != "" {
		b = append(r.appendTarget(append(b, `,"RequestPath":"`...), e.query, appendText), '"')
	}
	if kept&keepRequestPort != 0 && port != "" {
		b = appendJSON(append(b, `,"RequestPort":`...), port)
	}
	if kept&keepRequestProtocol != 0 && record.Version != "" {
		b = appendJSON(append(b, `,"RequestProtocol":`...), record.Version)
	}
	if kept&keepRequestScheme != 0 {
		if record.TLS != nil {
			b = append(b, `,"RequestScheme":"https"`...)
		} else {
			b = append(b, `,"RequestScheme":"http"`...)
		}
	}
	if kept&keepRetryAttempts != 0 {
		b = strconv.AppendInt(append(b, `,"RetryAttempts":`...), int64(max(record.Tries-1, 0)), 10)
	}
	return b
}

// appendWay appends the fields of the way of the request.
func (e *encoder) appendWay(b []byte, r *request, start *stamp) []byte {
	kept, record := e.fields, r.record
	if kept&keepRouterName != 0 && record.Router != "" {
		b = appendJSON(append(b, `,"RouterName":`...), record.Router)
	}
	if kept&keepServiceAddr != 0 && record.Endpoint != "" {
		b = appendJSON(append(b, `,"ServiceAddr":`...), record.Endpoint)
	}
	if kept&keepServiceName != 0 && record.Service != "" {
		b = appendJSON(append(b, `,"ServiceName":`...), record.Service)
	}
	if kept&keepServiceURL != 0 && record.EndpointURL != "" {
		b = appendJSON(append(b, `,"ServiceURL":`...), record.EndpointURL)
	}
	if kept&keepSpanID != 0 && record.Trace.Valid() {
		b = appendHex(append(b, `,"SpanId":`...), record.Trace.SpanID[:])
	}
	if kept&(keepStartLocal|keepStartUTC) == 0 {
		return b
	}
	part := fractionOf(record.Start.Nanosecond())
	if kept&keepStartLocal != 0 {
		b = appendTime(append(b, `,"StartLocal":`...), start.local, start.zone, &part)
	}
	if kept&keepStartUTC != 0 {
		b = appendTime(append(b, `,"StartUTC":`...), start.utc, "Z", &part)
	}
	return b
}

// appendIdentity appends the fields of the connection, and of the request among others.
func (e *encoder) appendIdentity(b []byte, r *request) []byte {
	kept, record := e.fields, r.record
	if state := record.TLS; kept&keepTLSCipher != 0 && state != nil {
		if text := e.cipher(state.CipherSuite); text != "" {
			b = appendJSON(append(b, `,"TLSCipher":`...), text)
		}
	}
	if state := record.TLS; kept&keepTLSClientSubject != 0 && state != nil {
		if text := subject(state); text != "" {
			b = appendJSON(append(b, `,"TLSClientSubject":`...), text)
		}
	}
	if kept&keepTLSServerName != 0 && record.ServerName != "" {
		b = appendJSON(append(b, `,"TLSServerName":`...), record.ServerName)
	}
	if state := record.TLS; kept&keepTLSVersion != 0 && state != nil {
		if text := metrics.TLSVersionName(state.Version); text != "" {
			b = appendJSON(append(b, `,"TLSVersion":`...), text)
		}
	}
	if kept&keepTraceID != 0 && record.Trace.Valid() {
		b = appendHex(append(b, `,"TraceId":`...), record.Trace.TraceID[:])
	}
	if kept&keepEntryPointName != 0 && record.Entrypoint != "" {
		b = appendJSON(append(b, `,"entryPointName":`...), record.Entrypoint)
	}
	if kept&keepSpanIDAgain != 0 && record.Trace.Valid() {
		b = appendHex(append(b, `,"span_id":`...), record.Trace.SpanID[:])
	}
	if kept&keepTraceIDAgain != 0 && record.Trace.Valid() {
		b = appendHex(append(b, `,"trace_id":`...), record.Trace.TraceID[:])
	}
	return b
}

// ciphers returns the names of cipher suites.
func ciphers() map[uint16]string {
	names := map[uint16]string{}
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		names[suite.ID] = suite.Name
	}
	return names
}

func (e *encoder) cipher(id uint16) string {
	if name := e.ciphers[id]; name != "" {
		return name
	}
	return "unknown"
}

// subject returns the subject of the client's certificate, or an empty string.
func subject(state *tls.ConnectionState) string {
	if len(state.PeerCertificates) == 0 || state.PeerCertificates[0] == nil {
		return ""
	}
	return state.PeerCertificates[0].Subject.String()
}

func appendHex(b, id []byte) []byte {
	return append(hex.AppendEncode(append(b, '"'), id), '"')
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
