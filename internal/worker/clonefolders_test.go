package worker

import (
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// Two repositories of one name are cloned side by side.
func TestF2FoldersOfRepositories(t *testing.T) {
	t.Parallel()
	got := cloneFolders([]lineshaft.Repository{{Owner: "acme", Name: "api"}, {Owner: "other/tools", Name: "API"}, {Owner: "x", Name: "other-tools-api"}, {Owner: "y", Name: "web"}})
	if want := []string{"api", "other-tools-API", "x-other-tools-api", "web"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
