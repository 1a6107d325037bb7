package xds

import (
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// maxRejections is how many verdicts there are at most on responses that clients have refused.
	maxRejections = 100
	// maxMessage is how much is kept of a client's error message, in bytes.
	maxMessage = 1024
)

// rejectionRef returns the object that has the verdict of a client on a type.
func rejectionRef(node string, of kind) dynamic.Ref {
	return dynamic.Ref{Kind: dynamic.KindSource, Name: "xds client " + node + " " + of.String()}
}

// rejectedType is what a verdict is about: a type of a stream. Several streams may have the same node.
type rejectedType struct {
	stream uint64
	kind   kind
}

// reject notes the verdict of a client that has not accepted a response.
func (p *Publisher) reject(key rejectedType, node string, rejection *Rejection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.rejections[key]; !known && len(p.rejections) >= maxRejections {
		return
	}
	p.rejections[key] = dynamic.Verdict{
		Ref: rejectionRef(node, key.kind), Status: dynamic.Degraded, Code: dynamic.CodeRejectedByClient,
		Reason: "the client has rejected version " + rejection.Version + ": " + rejection.Message,
	}
	p.announce()
}

// accept drops the verdict of a client that has accepted a response, or has disconnected.
func (p *Publisher) accept(key rejectedType) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.rejections[key]; known {
		delete(p.rejections, key)
		p.announce()
	}
}

// shortened returns a message of at most maxMessage bytes on one line.
func shortened(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return message
}
