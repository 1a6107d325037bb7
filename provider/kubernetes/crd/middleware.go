package crd

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// middleware translates a Middleware. Options that files have too are decoded like those of files. What manifests spell
// otherwise are references to Secrets, Services and other Middlewares: the fields of v1alpha1 with the tag reference.
func (t *translator) middleware(result *translation.Result, source translation.Source, object *v1alpha1.Middleware) {
	name := objectName(source.Namespace, source.Name)
	r := &reading{
		t: t, namespace: source.Namespace, result: result,
		ref: dynamic.Ref{Kind: dynamic.KindMiddleware, Name: name},
	}
	spec := &object.Spec
	node := r.spec(spec, spec.Malformed)
	references := referencesIn(nil, nil, reflect.ValueOf(spec).Elem())
	for _, ref := range references {
		take(node, ref.path...)
	}
	middleware := decoded[dynamic.Middleware](r, node)
	for _, ref := range references {
		if owner := optionsAt(reflect.ValueOf(middleware), ref.path[:len(ref.path)-1]); owner != nil {
			r.resolve(ref, owner, source.Name)
		}
	}
	result.Put(r.ref, middleware)
}

// reference is an option of a manifest that names other objects.
type reference struct {
	// path is where the option is, such as basicAuth, secret.
	path []string
	// value is what the manifest has there.
	value any
}

// option returns the path as users write it.
func (r reference) option() string { return strings.Join(r.path, ".") }

// name returns the name that the option holds; empty when it holds something else.
func (r reference) name() string {
	name, _ := r.value.(string)
	return name
}

// referencesIn adds the fields of a struct, and of structs in it that are set, that have the tag reference. It follows
// no lists: the references of those are a value as a whole.
func referencesIn(found []reference, path []string, value reflect.Value) []reference {
	for i := range value.NumField() {
		inner := value.Field(i)
		if isNil(inner) && inner.Kind() == reflect.Pointer {
			continue
		}
		field := value.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		below := path
		if name != "" {
			below = append(slices.Clip(path), name)
		}
		inner = reflect.Indirect(inner)
		switch _, refers := field.Tag.Lookup("reference"); {
		case refers:
			found = append(found, reference{path: below, value: inner.Interface()})
		case inner.Kind() == reflect.Struct:
			found = referencesIn(found, below, inner)
		}
	}
	return found
}

// optionsAt returns a pointer to the options at a path of json names; nil when they are not set.
func optionsAt(value reflect.Value, path []string) any {
	value = value.Elem()
	for _, name := range path {
		at, known := fieldOf(value.Type(), name)
		if !known || isNil(value.Field(at)) {
			return nil
		}
		value = reflect.Indirect(value.Field(at))
	}
	return value.Addr().Interface()
}

// fieldOf returns the index of a field by its json name.
func fieldOf(of reflect.Type, name string) (at int, known bool) {
	for i := range of.NumField() {
		if found, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); found == name {
			return i, true
		}
	}
	return 0, false
}

// resolve reads what an option refers to into the options that it is a part of. A service is declared under a name of
// the middleware's own.
func (r *reading) resolve(ref reference, into any, middleware string) {
	switch into := into.(type) {
	case *dynamic.BasicAuth:
		into.Users = r.users(ref, basicUsers)
	case *dynamic.DigestAuth:
		into.Users = r.users(ref, digestUsers)
	case *dynamic.ClientTLS:
		r.clientTLS(ref, into)
	case *dynamic.JWT:
		r.signingSecret(ref, into)
	case *dynamic.EnvironmentSigning:
		r.signingKey(ref, into)
	case *dynamic.Redis:
		r.login(ref, into)
	case *dynamic.Chain:
		into.Middlewares = r.middlewares(ref)
	case *dynamic.SatisfyAny:
		into.Middlewares = r.middlewares(ref)
	case *dynamic.ClientCertificate:
		r.clientAuthorities(ref, into)
	case *dynamic.ErrorPage:
		into.Service = r.service(ref, errorServiceName(r.namespace, middleware))
	case *dynamic.ExternalAuth:
		into.Service = r.service(ref, authorizationServiceName(r.namespace, middleware))
	default: // A reference of a new kind; the option must not be ignored.
		r.wrong(ref.option(), "is not supported yet")
	}
}

// middlewares returns the names of the middlewares that an option refers to.
func (r *reading) middlewares(ref reference) []string {
	names, problem := r.t.middlewares(r.namespace, ref.value.([]v1alpha1.ObjectRef))
	if problem != nil {
		r.problem(ref.option(), problem)
	}
	return names
}

// clientAuthorities reads the Secrets with the authorities of clients' certificates, and their CRLs.
func (r *reading) clientAuthorities(ref reference, into *dynamic.ClientCertificate) {
	for i, secret := range distinct(ref.value.([]string)) {
		if authority := r.authority(indexed(ref.option(), i), secret); authority != "" {
			into.CAFiles = append(into.CAFiles, authority)
			if crl := r.revocations(secret); crl != "" {
				into.CRLFiles = append(into.CRLFiles, crl)
			}
		}
	}
}

// service declares the service that a middleware uses, and returns its name. Own is the name of one that is balanced
// for the middleware alone.
func (r *reading) service(ref reference, own string) string {
	service := ref.value.(v1alpha1.Service)
	name, problem := r.t.service(r.result, r.namespace, own, &service.LoadBalancerSpec)
	if problem != nil {
		r.problem(ref.option(), problem)
	}
	return name
}

// keySigning is the key of a Secret with what tokens are signed with.
const keySigning = "signingSecret"

// signingSecret reads the Secret that tokens are signed with, which is optional.
func (r *reading) signingSecret(ref reference, into *dynamic.JWT) {
	if ref.name() == "" {
		return
	}
	if secret := r.secret(ref.option(), ref.name()); secret != nil {
		if into.SigningSecret = string(secret.Data[keySigning]); into.SigningSecret == "" {
			r.unusable(ref.option(), backend.KindSecret, ref.name(), errors.New("holds no "+keySigning))
		}
	}
}

// keyOfTags is the key of a Secret with what tags of environments are signed with.
const keyOfTags = "signingKey"

// signingKey reads the Secret that tags of environments are signed with. It is required: without a key, the middleware
// is refused.
func (r *reading) signingKey(ref reference, into *dynamic.EnvironmentSigning) {
	if ref.name() == "" {
		return
	}
	if secret := r.secret(ref.option(), ref.name()); secret != nil {
		if into.Key = string(secret.Data[keyOfTags]); into.Key == "" {
			r.unusable(ref.option(), backend.KindSecret, ref.name(), errors.New("holds no "+keyOfTags))
		}
	}
}

// users returns the users that a Secret lists; none, with a finding, when it lists none.
func (r *reading) users(ref reference, of func(*corev1.Secret) ([]string, error)) []string {
	secret := r.secret(ref.option(), ref.name())
	if secret == nil {
		return nil
	}
	users, err := of(secret)
	if err != nil {
		r.unusable(ref.option(), backend.KindSecret, ref.name(), err)
	}
	return users
}

// clientTLS reads the optional Secret of TLS towards a server that a middleware queries.
func (r *reading) clientTLS(ref reference, into *dynamic.ClientTLS) {
	switch {
	case ref.name() == "":
	case ref.path[len(ref.path)-1] == "caSecret":
		into.CA = r.authority(ref.option(), ref.name())
	default:
		if pair, ok := r.keyPair(ref.option(), ref.name()); ok {
			into.Cert, into.Key = pair.CertFile, pair.KeyFile
		}
	}
}

// login reads the Secret with the user of a Redis, which is optional.
func (r *reading) login(ref reference, into *dynamic.Redis) {
	if ref.name() == "" {
		return
	}
	if secret := r.secret(ref.option(), ref.name()); secret != nil {
		var err error
		if into.Username, into.Password, err = login(secret); err != nil {
			r.unusable(ref.option(), backend.KindSecret, ref.name(), err)
		}
	}
}
