//go:build !race

package compress

// bodies is how many generated bodies are sent in each encoding.
const bodies = 1000
