package accesslog

import (
	"strconv"

	"github.com/sluiceproxy/sluice/telemetry"
)

// appendConnection appends the members of a connection of a TCP router, or of a session of a UDP router. Fields of
// requests are absent.
func (e *encoder) appendConnection(b []byte, r *request, start *stamp) []byte {
	kept, record := e.fields, r.record
	if kept&keepBytesReceived != 0 {
		b = strconv.AppendInt(append(b, `,"BytesReceived":`...), record.BytesReceived, 10)
	}
	if kept&keepBytesSent != 0 {
		b = strconv.AppendInt(append(b, `,"BytesSent":`...), record.BytesSent, 10)
	}
	if kept&keepClientAddr != 0 {
		b = append(appendAddress(append(b, `,"ClientAddr":"`...), record.Client, record.ClientPort), '"')
	}
	if kept&keepClientHost != 0 {
		b = appendJSON(append(b, `,"ClientHost":`...), record.Client)
	}
	if kept&keepClientPort != 0 {
		b = appendJSON(append(b, `,"ClientPort":`...), orDash(record.ClientPort))
	}
	if kept&keepConfigGeneration != 0 {
		b = strconv.AppendUint(append(b, `,"ConfigGeneration":`...), record.Generation, 10)
	}
	b = e.appendEnd(b, record)
	b = e.appendWay(b, r, start)
	return e.appendIdentity(b, r)
}

// appendEnd appends the fields of how a connection or session ended.
func (e *encoder) appendEnd(b []byte, record *telemetry.Record) []byte {
	kept := e.fields
	if kept&keepConnectionEnd != 0 && record.End != "" {
		b = appendJSON(append(b, `,"ConnectionEnd":`...), record.End)
	}
	if record.Protocol == telemetry.ProtocolUDP {
		if kept&keepDatagramsReceived != 0 {
			b = strconv.AppendInt(append(b, `,"DatagramsReceived":`...), record.DatagramsReceived, 10)
		}
		if kept&keepDatagramsSent != 0 {
			b = strconv.AppendInt(append(b, `,"DatagramsSent":`...), record.DatagramsSent, 10)
		}
	}
	if kept&keepDuration != 0 {
		b = strconv.AppendInt(append(b, `,"Duration":`...), int64(record.Duration), 10)
	}
	if kept&keepErrorCode != 0 && record.Code != "" {
		b = appendJSON(append(b, `,"ErrorCode":`...), string(record.Code))
	}
	if kept&keepErrorReason != 0 && record.Reason != "" {
		b = appendJSON(append(b, `,"ErrorReason":`...), record.Reason)
	}
	if kept&keepProtocol != 0 {
		b = appendJSON(append(b, `,"Protocol":`...), record.Protocol)
	}
	if kept&keepRetryAttempts != 0 {
		b = strconv.AppendInt(append(b, `,"RetryAttempts":`...), int64(max(record.Tries-1, 0)), 10)
	}
	return b
}

// appendCommonConnection appends a connection or session in the common format, up to the start as a request.
func (e *encoder) appendCommonConnection(b []byte, r *request) []byte {
	protocol := "TCP"
	if r.record.Protocol == telemetry.ProtocolUDP {
		protocol = "UDP"
	}
	b = append(b, ` "`...)
	b = e.column(b, keepProtocol, protocol, word)
	b = append(b, ' ')
	b = e.column(b, keepTLSServerName, r.record.ServerName, word)
	b = append(b, `" `...)
	b = e.column(b, keepConnectionEnd, r.record.Outcome(), bare)
	b = e.whole(append(b, ' '), keepBytesReceived, r.record.BytesReceived)
	b = e.whole(append(b, ' '), keepBytesSent, r.record.BytesSent)
	if !e.columns {
		return b
	}
	b = e.text(append(b, ' '), keepRouterName, r.record.Router)
	b = e.text(append(b, ' '), keepServiceAddr, r.record.Endpoint)
	return e.elapsed(append(b, ' '), r)
}
