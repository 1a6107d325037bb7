package translation

import (
	"cmp"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Source names one object of a cluster. It is comparable and may be a key.
type Source struct {
	// Kind is the object's kind: alone for the built-in ones (Service, Secret, Ingress), with its group for those of
	// custom resources (IngressRoute.traefik.io).
	Kind string
	// Namespace is empty for objects of the whole cluster.
	Namespace string
	// Name is the object's name.
	Name string
}

// String returns the source as it is printed: KIND NAMESPACE/NAME.
func (s Source) String() string {
	if s.Namespace == "" {
		return s.Kind + " " + s.Name
	}
	return s.Kind + " " + s.Namespace + "/" + s.Name
}

// Compare orders sources by namespace, name and kind. Of two sources that declare the same name, the first one in this
// order declares it.
func (s Source) Compare(other Source) int {
	return cmp.Or(
		cmp.Compare(s.Namespace, other.Namespace),
		cmp.Compare(s.Name, other.Name),
		cmp.Compare(s.Kind, other.Kind),
	)
}

// Ref returns the reference of findings on the source itself, such as that it declares nothing.
func (s Source) Ref() dynamic.Ref { return dynamic.Ref{Kind: dynamic.KindSource, Name: s.String()} }

// Result is what became of one source. Names are those of its provider's Configuration, without @provider. The objects
// are immutable once the result has been returned; two sources may declare the same name, see Memory.
type Result struct {
	// Origin says where everything in the result was declared.
	Origin dynamic.Origin

	// Objects holds everything that is declared, as the pointers that dynamic.Configuration.Objects yields, and
	// certificates (KindCertificate) as pointers to a CertificateEntry, under their Names.
	Objects map[dynamic.Ref]any

	// Verdicts are the findings about the source and what it declares. An Origin that is zero becomes the result's.
	Verdicts []dynamic.Verdict
	// Needs is everything that the translation read beside the source itself, found or not; the result is made anew when
	// one of them is touched. It may hold duplicates.
	Needs []Source
}

// Put declares an object, or replaces the one of the same name.
func (r *Result) Put(ref dynamic.Ref, object any) {
	if r.Objects == nil {
		r.Objects = map[dynamic.Ref]any{}
	}
	r.Objects[ref] = object
}

// PutCertificate declares a certificate.
func (r *Result) PutCertificate(entry *dynamic.CertificateEntry) {
	r.Put(dynamic.Ref{Kind: dynamic.KindCertificate, Name: entry.Name}, entry)
}

// AddNeed notes that the translation read a source, or did not find it.
func (r *Result) AddNeed(kind, namespace, name string) {
	r.Needs = append(r.Needs, Source{Kind: kind, Namespace: namespace, Name: name})
}

// mostReason bounds the reason of a verdict in bytes. Reasons quote what users wrote, which may be as long as an
// object.
const mostReason = 1024

// clip shortens a reason.
func clip(reason string) string {
	if len(reason) <= mostReason {
		return reason
	}
	return strings.ToValidUTF8(reason[:mostReason], "") + "..."
}

// Quarantine adds a verdict that keeps an object from being applied. Missing says that what it refers to does not
// exist, or not yet.
func (r *Result) Quarantine(ref dynamic.Ref, code dynamic.Code, reason string, missing bool) {
	r.add(ref, dynamic.Quarantined, code, reason, missing)
}

// Revoke is as Quarantine, and no earlier definition of the object stays in use either.
func (r *Result) Revoke(ref dynamic.Ref, code dynamic.Code, reason string, missing bool) {
	r.Quarantine(ref, code, reason, missing)
	r.Verdicts[len(r.Verdicts)-1].Revokes = true
}

// Degrade adds a verdict on an object that works, with something that has no effect or does not exist (yet).
func (r *Result) Degrade(ref dynamic.Ref, code dynamic.Code, reason string, missing bool) {
	r.add(ref, dynamic.Degraded, code, reason, missing)
}

func (r *Result) add(ref dynamic.Ref, status dynamic.Status, code dynamic.Code, reason string, missing bool) {
	r.Verdicts = append(r.Verdicts, dynamic.Verdict{
		Ref: ref, Status: status, Code: code, Reason: clip(reason), Missing: missing,
	})
}
