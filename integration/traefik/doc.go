// Package traefik runs the configuration files of Traefik's own integration tests through Sluice, unchanged: it checks
// all of them, starts those that run by themselves, and compares the answers with testdata/answers.txt. It writes the
// page docs/migrate/traefik-examples.md with the results, and fails while the page differs from them; with the flag
// -update it writes the page. With -update and TEST_TRAEFIK, the path of Traefik's binary, TestAnswers records the
// answers of Traefik in testdata, and another run with -update writes the page with them.
//
// TestTCPPrecedence has entrypoints of its own, with routers of TCP and HTTP of which the order decides, and compares
// with testdata/precedence.txt. It is recorded in the same way; differences are rows of docs/migrate/traefik.md.
package traefik
