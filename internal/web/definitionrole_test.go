package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// The sources of a factory are for those who may change it, and nobody else sees a way to them.
func TestS3ViewersAndMembersReadNoDefinition(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	f := s.factory("Shop")
	at := "/factories/" + f.UID
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleManager} {
		may := role == lineshaft.RoleManager
		as := s.signedIn(role)
		_, _, text := as.get(at)
		for _, path := range []string{"/revisions", "/revisions/1", "/export"} {
			status, _, _ := as.get(at + path)
			if shown := strings.Contains(text, at+path); may != (status != http.StatusForbidden) || !may && shown {
				t.Errorf("%s as %s: %d, with a link: %v", path, role, status, shown)
			}
		}
	}
}
