package base

import (
	"context"

	"github.com/lineshaft/lineshaft"
)

// Git reads repositories. What is not there is a CodeNotFound, a forge that does not
// answer a CodeUnavailable.
type Git interface {
	// URL is where the forge has a repository.
	URL(r lineshaft.Repository) string
	// Head finds the newest commit of a branch; of the default one for "".
	Head(ctx context.Context, url, branch string) (commit string, err error)
	// Tree reads the files of a commit that Head has named, those that keep asks for.
	Tree(ctx context.Context, url, commit string, keep func(path string, size int64) bool) (map[string]string, error)
}
