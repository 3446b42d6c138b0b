package nearest_test

import (
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft/internal/nearest"
)

func TestWord(t *testing.T) {
	t.Parallel()
	words := []string{"listen", "lease", "log_level", "no_worker", ""}
	for word, want := range map[string]string{
		"lisen": "listen", "lsiten": "listen", "log-level": "log_level", "noworker": "no_worker", "leas": "lease",
		"zzz": "", "": "", "x": "", "completely_different": "",
	} {
		if got := nearest.Word(word, words); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestWordsAreInOrderOfDistance(t *testing.T) {
	t.Parallel()
	got := nearest.Words("triag", []string{"review", "triage", "trial", "deploy"}, 2)
	if !slices.Equal(got, []string{"triage", "trial"}) {
		t.Errorf("nearest are %v", got)
	}
	if got := nearest.Words("x", nil, 3); len(got) != 0 {
		t.Errorf("nearest of nothing are %v", got)
	}
}
