package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
)

var shownKey = regexp.MustCompile(`ls_[A-Za-z0-9_-]{30,}`)

func TestS2KeyIsShownOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	factory := s.factory("Shop").UID
	page := s.sends("/keys", url.Values{"name": {hostileName}, "role": {"member"}, "factory": {factory}, "expires": {"30"}, "workers": {"ignored"}}, http.StatusOK, "/keys", "shown only once", "export LINESHAFT_API_KEY=ls_")
	key := shownKey.FindString(page)
	if strings.Count(page, key) != 2 || strings.Contains(page, "<script>alert") {
		t.Errorf("the key is there %d times", strings.Count(page, key))
	}
	c, err := s.control.Authenticate(t.Context(), key)
	if err != nil || c.Role != lineshaft.RoleMember || len(c.FactoryUIDs) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	made := must(s.control.GetAPIKey(t.Context(), s.admin, c.KeyID))
	if days := time.Until(made.ExpiresAt).Hours() / 24; days < 29 || days > 31 {
		t.Errorf("expires in %v days", days)
	}
	for _, path := range []string{"/keys", "/keys?show=ended", "/keys/new", "/keys/" + c.KeyID + "/revoke", "/audit", "/audit/export"} {
		if _, _, text := s.get(path); strings.Contains(text, key) || strings.Contains(text, "<script>alert") {
			t.Errorf("%s has the key", path)
		}
	}
	s.shows("/keys", "Only <bdi>Shop</bdi>", made.Hint, "yours")
	s.shows("/keys/"+c.KeyID+"/revoke", "signed out", "!you will be signed out", "Revoke key</button>")
	s.sends("/keys/"+c.KeyID+"/revoke", nil, http.StatusOK, "/keys", "is revoked")
	if _, err := s.control.Authenticate(t.Context(), key); err == nil {
		t.Error("the key still opens something")
	}
	s.shows("/keys?show=ended", made.Hint, "revoked", "!/revoke\"")
}

func TestS3KeyForms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	s.shows("/keys/new?role=worker&worker=mac-mini", `value="worker" checked`, `value="mac-mini"`)
	s.shows("/keys/new", `value="member" checked`)
	worker := s.sends("/keys", url.Values{"name": {"w"}, "role": {"worker"}, "workers": {"mac-mini, big-box"}, "until": {"2099-12-31"}, "expires": {"90"}}, http.StatusOK, "", "lineshaft worker --id mac-mini")
	c := must(s.control.Authenticate(t.Context(), shownKey.FindString(worker)))
	if made := must(s.control.GetAPIKey(t.Context(), s.admin, c.KeyID)); strings.Join(made.WorkerIDs, " ") != "mac-mini big-box" || made.ExpiresAt.UTC().Format(time.DateOnly) != "2100-01-01" {
		t.Errorf("%+v", made)
	}
	before := len(must(s.control.ListAPIKeys(t.Context(), s.admin, base.MaxPage, "")).Items)
	for name, form := range map[string]url.Values{
		"no name":    {"role": {"member"}},
		"no role":    {"name": {"n"}},
		"role run":   {"name": {"n"}, "role": {"run"}},
		"no worker":  {"name": {"n"}, "role": {"worker"}},
		"bad worker": {"name": {"n"}, "role": {"worker"}, "workers": {"hosted"}},
		"past":       {"name": {"n"}, "role": {"member"}, "until": {"2001-01-01"}},
		"no day":     {"name": {"n"}, "role": {"member"}, "until": {"soon"}},
		"odd days":   {"name": {"n"}, "role": {"member"}, "expires": {"-1"}},
		"hostile":    {"name": {"n"}, "role": {"<script>alert(1)"}},
	} {
		status, _, text := s.post("/keys", form)
		if status != http.StatusBadRequest || !strings.Contains(text, "callout bad") || strings.Contains(text, "<script>alert") {
			t.Errorf("%s: %d\n%s", name, status, content(text))
		}
	}
	if after := len(must(s.control.ListAPIKeys(t.Context(), s.admin, base.MaxPage, "")).Items); after != before {
		t.Errorf("%d keys more", after-before)
	}
}

// The key that you have signed in with is not revoked by the button beside it.
func TestI2YourOwnKeyIsRevokedAtTheEndOfThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.as(lineshaft.RoleAdmin)
	other, _, err := s.control.CreateAPIKey(t.Context(), s.admin, access.NewAPIKey{Name: "ci", Role: lineshaft.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	rows, rest, _ := strings.Cut(s.shows("/keys"), "</table>")
	own := "/keys/" + c.KeyID + "/revoke"
	if !strings.Contains(rows, "/keys/"+other.ID+"/revoke") || strings.Contains(rows, own) || strings.Count(rest, own) != 1 {
		t.Errorf("rows:\n%s\nbelow:\n%s", rows, rest)
	}
	s.shows("/keys?show=ended", "!/revoke")
}

// People who revoke the key that they have signed in with are notified, and signed out.
func TestS4RevokingOnesOwnKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.as(lineshaft.RoleAdmin)
	s.shows("/keys/"+c.KeyID+"/revoke", "you will be signed out")
	if _, at, _ := s.post("/keys/"+c.KeyID+"/revoke", nil); !strings.HasPrefix(at, "/login") {
		t.Errorf("at %s", at)
	}
}

// An admin of some factories neither sees nor ends the keys of others.
func TestS3KeysOfALimitedAdmin(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	factory := s.factory("Shop").UID
	wide, _, err := s.control.CreateAPIKey(t.Context(), s.admin, access.NewAPIKey{Name: "wide key", Role: lineshaft.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	s.as(lineshaft.RoleAdmin, factory)
	s.shows("/keys", "!wide key")
	if status, _, _ := s.get("/keys/" + wide.ID + "/revoke"); status != http.StatusNotFound {
		t.Errorf("question: %d", status)
	}
	s.sends("/keys/"+wide.ID+"/revoke", nil, http.StatusNotFound, "")
	s.sends("/keys", url.Values{"name": {"n"}, "role": {"admin"}}, http.StatusForbidden, "")
}
