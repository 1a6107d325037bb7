//go:build race

package compress

// bodies is how many generated bodies are sent in each encoding. The detector makes each ten times as dear.
const bodies = 200
