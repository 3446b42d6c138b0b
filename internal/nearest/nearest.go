// Package nearest guesses which word was meant by one that is not known, so that an
// error can name it.
package nearest

import (
	"cmp"
	"slices"
)

// Words are the candidates in order of their distance, at most limit of them: for
// messages that list what there is.
func Words(word string, candidates []string, limit int) []string {
	sorted := slices.SortedStableFunc(slices.Values(candidates), func(a, b string) int {
		return cmp.Compare(Distance(word, a), Distance(word, b))
	})
	return sorted[:min(limit, len(sorted))]
}

// Word finds the word that was probably meant, or "" when none is close.
func Word(word string, candidates []string) string {
	best, bestDistance := "", max(2, len(word)/3)+1
	for _, c := range candidates {
		if d := Distance(word, c); c != "" && d < bestDistance && d < len(c) {
			best, bestDistance = c, d
		}
	}
	return best
}

// Distance counts the letters to add, drop, change or swap to make b of a.
func Distance(a, b string) int {
	previous2, previous := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current := make([]int, len(b)+1)
		current[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], previous2[j-2]+1)
			}
		}
		previous2, previous = previous, current
	}
	return previous[len(b)]
}
