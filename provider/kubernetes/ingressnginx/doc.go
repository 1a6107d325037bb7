// Package ingressnginx reads Ingresses as ingress-nginx 1.15.1 does: which ones are its own, which server each host
// becomes, and which locations a server has.
package ingressnginx
