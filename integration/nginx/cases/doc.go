// Package cases holds requests to Ingresses of ingress-nginx and what they are answered: the behaviour that its
// end-to-end tests check, in files of a format of their own.
//
// A file is a group, and has cases:
//
//	=== NAME
//	e2e: FILE: TEST
//	nginx: no, REASON
//	--- SECTION ARGUMENTS
//	TEXT
//
// NAME is stable and unique in the group. A line "e2e" names the end-to-end test whose behaviour the case has, by its
// file below test/e2e and its description; there may be several. A line "nginx" is there where nginx without the
// modules of the controller cannot answer; in "nginx: refuses, ERROR" it refuses the whole configuration. Lines that
// begin with "#" in front of the first section are comments.
//
// Sections are read in order, and describe a state of the cluster and requests to it:
//
//   - objects: objects of the Kubernetes API in YAML. They replace those of earlier sections. An Ingress is older than
//     those behind it, unless they have timestamps. Every Service that an Ingress names exists and has one endpoint,
//     unless a section says otherwise.
//   - settings: the controller's ConfigMap, "KEY: VALUE" per line. It replaces the earlier one.
//   - flags: the controller's flags, one per line. They replace the earlier ones.
//   - certificate NAMESPACE/NAME [hosts=HOST,...] [authority] [broken]: a Secret with a certificate for the hosts, and
//     with that of the authority that has issued the certificates of clients.
//   - service NAMESPACE/NAME [endpoints=N] [missing]: how the endpoints of a Service answer. Replies are read in order;
//     the first that matches is sent. A reply is a line "PATTERN STATUS", with lines "Name: value" and "body: TEXT"
//     behind it, "hold: N" where it waits until N answers to the repeated request are there, and "times: N" where only N
//     requests have it. PATTERN is "*", the beginning of a path, or "Name=value" for a field of the request. STATUS may
//     be "close", which ends the connection. Without a reply the status is 200.
//   - host NAME: the same for a server outside of the cluster, by the host of its URL.
//   - request OPTIONS: "METHOD URL", fields, and behind an empty line the body. The target is sent as it is written.
//     The host of the URL is the field Host unless that is given. Options are those of [Request].
//   - response: statuses, and fields of the response. "!Name" is a field that must be absent, "Name ~ REGEX" one that
//     must match. Statuses are "200", "5xx", or counts of a repeated request such as "200*3 503*2".
//   - upstream: the Service that received the request, what it received as "METHOD TARGET", and fields. "none" means
//     that the request reached no Service. For a repeated request, counts "NAMESPACE/NAME*MIN..MAX" stand in the first
//     line. A section with an argument HOST is about the server outside of the cluster, such as a copy of the request.
package cases
