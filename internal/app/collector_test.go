package app

import "testing"

func TestH14HeapIsCollectedAsEverWhenItIsLarge(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for live, want := range map[uint64]int{0: 100, 1: 1000, 4 * mb: 900, 8 * mb: 400, 10 * mb: 300, 20 * mb: 100, 400 * mb: 100} {
		if got := growth(live); got != want {
			t.Errorf("with %d bytes alive it grows by %d %%, want %d", live, got, want)
		}
	}
}
