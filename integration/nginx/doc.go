// Package nginx compares what Sluice makes of an Ingress of ingress-nginx with nginx itself: the packages below nginx
// with the engine of the installed program, and translated Ingresses with server blocks that are written for it.
package nginx
