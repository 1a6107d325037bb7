package document

import "strings"

// nearestLength is the longest name that Nearest compares.
const nearestLength = 64

// Nearest returns the known name that is most similar to name, ignoring case, if it is close enough: at most one edit
// for three characters, and at least two edits for names of four characters or more. An edit is an inserted, removed,
// changed or swapped character. The first of equally close names wins.
func Nearest(name string, known []string) (string, bool) {
	if len(name) > nearestLength {
		return "", false
	}
	folded := []rune(strings.ToLower(name))
	limit := max(1, len(folded)/3)
	if len(folded) >= 4 {
		limit = max(2, limit)
	}
	best, found := "", false
	for _, candidate := range known {
		if len(candidate) > nearestLength {
			continue
		}
		if d := distance(folded, []rune(strings.ToLower(candidate))); d <= limit {
			best, found, limit = candidate, true, d-1
		}
	}
	return best, found
}

// Distance returns the number of edits between two texts, as Nearest counts them, ignoring case. The time that it takes
// is the product of their lengths.
func Distance(a, b string) int {
	return distance([]rune(strings.ToLower(a)), []rune(strings.ToLower(b)))
}

// distance is the optimal string alignment distance.
func distance(a, b []rune) int {
	rows := [3][]int{}
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	older, old, row := rows[0], rows[1], rows[2]
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
}
