package overload

import "strings"

// compressingPeers compress as Sluice does. Each has all requests served, and then a limit of those of the path /other.
func compressingPeers() []peer {
	const unlimited = "8192"
	var peers []peer
	for _, limit := range []string{unlimited, "10"} {
		text := func(text string) string { return strings.ReplaceAll(text, "${LIMIT}", limit) }
		peers = append(peers, nginxPeer("1", text(nginxCompressing)), haproxyPeer(text(haproxyCompressing)), peer{
			"traefik",
			[]string{"--configFile=${DIR}/static.yaml"},
			map[string]string{"static.yaml": traefikStatic, "dynamic.yaml": text(traefikCompressing)},
		})
	}
	return peers
}

const nginxCompressing = `  proxy_set_header Accept-Encoding "";
  gzip on;
  gzip_types text/plain;
  gzip_proxied any;
  limit_conn_zone $server_name zone=other:64k;
  upstream text { server ${BACKEND} max_fails=0; keepalive 256; }
  server {
    listen ${WEB};
    server_name any.test;
    location / { proxy_pass http://text; }
    location /other { limit_conn other ${LIMIT}; proxy_pass http://text; }
  }
}
`

const haproxyCompressing = `global
  nbthread 1
  maxconn 9000
defaults
  mode http
  timeout connect 10s
  timeout client 60s
  timeout server 60s
  compression algo gzip
  compression type text/plain
frontend web
  bind ${WEB}
  use_backend other if { path /other }
  default_backend text
backend text
  server b ${BACKEND}
backend other
  timeout queue 1s
  server b ${BACKEND} maxconn ${LIMIT} maxqueue 1
`

const traefikStatic = `
entryPoints: {web: {address: "${WEB}"}}
providers: {file: {filename: "${DIR}/dynamic.yaml"}}
log: {level: ERROR}
`

const traefikCompressing = `
http:
  routers:
    text: {rule: "PathPrefix(` + "`/`" + `)", service: text, middlewares: [compress]}
    other: {rule: "Path(` + "`/other`" + `)", service: text, middlewares: [limit, compress], priority: 100}
  middlewares:
    compress: {compress: {encodings: [gzip]}}
    limit: {inFlightReq: {amount: ${LIMIT}, sourceCriterion: {requestHost: true}}}
  services:
    text: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}
`
