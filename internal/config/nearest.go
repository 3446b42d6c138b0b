package config

// Nearest finds the word that was probably meant, or "" when none is close.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", max(2, len(word)/3)+1
	for _, c := range candidates {
		if d := distance(word, c); c != "" && d < bestDistance && d < len(c) {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts the letters to add, drop, change or swap to make b of a.
func distance(a, b string) int {
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
