package trigger

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// pushAddresses are where forges put the addresses of a repository in what they send.
var pushAddresses = []string{
	"repository.clone_url", "repository.html_url", "repository.ssh_url", "repository.git_url", "repository.git_http_url",
	"repository.git_ssh_url", "repository.url", "repository.homepage", "project.git_http_url", "project.git_ssh_url", "project.web_url",
}

// PushTo says whether a body reports a push to the branch that is followed.
func PushTo(source *lineshaft.GitSource, doc *filter.Doc) bool {
	ref, ok := doc.Lookup("ref")
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	if !ok || !isBranch || !slices.ContainsFunc(pushAddresses, func(at string) bool {
		address, ok := doc.Lookup(at)
		return ok && sameRepository(address, source.URL)
	}) {
		return false
	}
	if source.Branch != "" {
		return branch == source.Branch
	}
	for _, at := range []string{"repository.default_branch", "project.default_branch"} {
		if name, ok := doc.Lookup(at); ok {
			return branch == name
		}
	}
	return true // looking costs little
}

// sameRepository compares addresses of a repository without what differs between the
// ways to it: scheme, user, letter case of the host, .git.
func sameRepository(a, b string) bool {
	a, b = plainAddress(a), plainAddress(b)
	return a != "" && a == b
}

func plainAddress(address string) string {
	address = strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(address, "/"), ".git"), "/")
	if rest, ok := strings.CutPrefix(address, "file://"); ok {
		address = rest
	}
	if strings.HasPrefix(address, "/") {
		return path.Clean(address)
	}
	host, folder, _ := strings.Cut(address, ":")
	host = host[strings.LastIndex(host, "@")+1:]
	if strings.Contains(address, "://") {
		u, err := url.Parse(address)
		if err != nil {
			return ""
		}
		host, folder = u.Hostname(), u.Path
	}
	if host == "" {
		return ""
	}
	return strings.ToLower(host) + path.Join("/", folder)
}

// notePushes makes the repositories due whose pushes deliveries reported, in one order everywhere.
func notePushes(ctx context.Context, tx *store.Tx, accepted []*acceptance) error {
	var uids []string
	for _, a := range accepted {
		if a.push && a.delivery.Status == lineshaft.DeliveryAccepted {
			uids = append(uids, a.Hook.FactoryUID)
		}
	}
	if len(uids) == 0 {
		return nil
	}
	slices.Sort(uids)
	for _, uid := range slices.Compact(uids) {
		if err := tx.DueRepository(ctx, uid); err != nil {
			return err
		}
	}
	tx.Wake(stream.RepositoriesTopic)
	return nil
}
