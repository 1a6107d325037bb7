package v1alpha1_test

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// kinds makes one empty object of each kind, by the name of its resource.
func kinds() map[string]runtime.Object {
	return map[string]runtime.Object{
		v1alpha1.ResourceIngressRoutes:        &v1alpha1.IngressRoute{},
		v1alpha1.ResourceIngressRouteTCPs:     &v1alpha1.IngressRouteTCP{},
		v1alpha1.ResourceIngressRouteUDPs:     &v1alpha1.IngressRouteUDP{},
		v1alpha1.ResourceMiddlewares:          &v1alpha1.Middleware{},
		v1alpha1.ResourceMiddlewareTCPs:       &v1alpha1.MiddlewareTCP{},
		v1alpha1.ResourceTraefikServices:      &v1alpha1.TraefikService{},
		v1alpha1.ResourceServersTransports:    &v1alpha1.ServersTransport{},
		v1alpha1.ResourceServersTransportTCPs: &v1alpha1.ServersTransportTCP{},
		v1alpha1.ResourceTLSOptions:           &v1alpha1.TLSOption{},
		v1alpha1.ResourceTLSStores:            &v1alpha1.TLSStore{},
	}
}

// filled makes one object of each kind with every field set, by the name of its resource.
func filled(t *testing.T) map[string]runtime.Object {
	t.Helper()
	objects := kinds()
	for _, object := range objects {
		value := reflect.ValueOf(object).Elem()
		value.FieldByName("ObjectMeta").Set(reflect.ValueOf(metav1.ObjectMeta{Name: "web", Namespace: "shop"}))
		fillIn(t, value.FieldByName("Spec"))
		fillIn(t, value.FieldByName("Status"))
	}
	return objects
}

// fillIn sets a value and all that is below it to something that is not zero.
func fillIn(t *testing.T, value reflect.Value) {
	t.Helper()
	switch value.Interface().(type) {
	case intstr.IntOrString:
		value.Set(reflect.ValueOf(intstr.FromString("30s")))
		return
	case runtime.RawExtension:
		value.Set(reflect.ValueOf(runtime.RawExtension{Raw: []byte(`{"a":["b",1]}`)}))
		return
	case metav1.Time:
		value.Set(reflect.ValueOf(metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Local())))
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).Tag.Get("json") != "-" {
				fillIn(t, value.Field(i))
			}
		}
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fillIn(t, value.Elem())
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 2, 2))
		for i := range value.Len() {
			fillIn(t, value.Index(i))
		}
	case reflect.Map:
		item := reflect.New(value.Type().Elem()).Elem()
		fillIn(t, item)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.ValueOf("key"), item)
	case reflect.String:
		value.SetString("text")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		value.SetInt(7)
	case reflect.Float64:
		value.SetFloat(7.5)
	default:
		t.Fatalf("nothing is known to fill a %s with", value.Type())
	}
}
