package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

func TestS2SecretValuesAreInNoPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	values := []string{"hunter2-hunter2", "first line\nsecond-line-of-it", "third-of-them"}
	hidden := func(page string) {
		t.Helper()
		for _, value := range []string{"hunter2", "first line", "second-line", "third-of", "wrong-name-value"} {
			if strings.Contains(page, value) {
				t.Errorf("a page has %q:\n%s", value, page)
			}
		}
	}
	hidden(s.sends("/secrets", url.Values{"name": {"TOKEN"}, "value": {values[0]}, "access": {"granted"}, "description": {"reads"}}, http.StatusOK, "/secrets/TOKEN", "reads", "cannot be read again"))
	hidden(s.sends("/secrets/TOKEN/value", url.Values{"lines": {"first line\r\nsecond-line-of-it"}}, http.StatusOK, "/secrets/TOKEN", "replaced"))
	hidden(s.sends("/secrets/TOKEN", url.Values{"description": {"changed"}, "access": {"runs"}}, http.StatusOK, "/secrets/TOKEN", "changed"))
	// Forms that come back have all but the value.
	hidden(s.sends("/secrets", url.Values{"name": {"lower"}, "value": {"wrong-name-value"}, "access": {"granted"}, "description": {"kept text"}}, http.StatusBadRequest, "", "capital letter", "kept text"))
	hidden(s.sends("/secrets", url.Values{"name": {"TOKEN"}, "value": {"wrong-name-value"}, "access": {"granted"}}, http.StatusConflict, ""))
	hidden(s.sends("/secrets/TOKEN/value", url.Values{"value": {"wrong-name-value"}, "lines": {"third-of-them"}}, http.StatusBadRequest, "", "one of the two"))
	hidden(s.sends("/secrets/TOKEN/value", url.Values{}, http.StatusBadRequest, "", "cannot be empty"))
	hidden(s.sends("/secrets/TOKEN", url.Values{"access": {"everybody"}, "description": {"not lost"}}, http.StatusBadRequest, "", "not one of granted, runs", "not lost"))
	for _, path := range []string{"/secrets", "/secrets/new", "/secrets/TOKEN", "/secrets/TOKEN/delete", "/audit", "/audit/export"} {
		_, _, page := s.get(path)
		hidden(page)
	}
	form := s.shows("/secrets/TOKEN", `type="password" autocomplete="off"`, `value="runs" checked`)
	if strings.Contains(form, `name="value" type="password" value=`) {
		t.Error("the field for the value has one")
	}
	found, err := s.control.GetSecret(t.Context(), s.admin, "TOKEN")
	if err != nil || found.Access != lineshaft.AccessRuns || found.Description != "changed" {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestI2SecretIsDeletedWhenNothingNamesIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	s.platform()
	environment := must(s.control.CreateEnvironment(t.Context(), s.admin, lineshaft.EnvironmentConfig{Name: hostileName, Secrets: []string{"TOKEN"}}))
	s.shows("/secrets/TOKEN", "environment &lt;script&gt;", "!<script>alert")
	s.shows("/secrets/TOKEN/delete", "environment &lt;script&gt;", "Change these first", "!Delete secret</button>")
	s.sends("/secrets/TOKEN/delete", nil, http.StatusConflict, "", "is in use by")
	if err := s.control.DeleteEnvironment(t.Context(), s.admin, environment.UID); err != nil {
		t.Fatal(err)
	}
	s.shows("/secrets/TOKEN/delete", "Delete secret</button>")
	s.sends("/secrets/TOKEN/delete", nil, http.StatusOK, "/secrets", "TOKEN is deleted", "No secrets yet")
}

// I-2: credentials of webhooks do not hide the secrets that runs use.
func TestI2CredentialsOfWebhooksAreOnATab(t *testing.T) {
	t.Parallel()
	s := newShop(t, lineshaft.RoleAdmin)
	credential := s.hook.SecretName
	s.shows("/secrets", "No secrets yet", "!"+credential)
	s.sends("/secrets", url.Values{"name": {"TOKEN"}, "value": {"v"}, "access": {"granted"}}, http.StatusOK, "/secrets/TOKEN")
	s.shows("/secrets", ">TOKEN<", "!"+credential)
	s.shows("/secrets?kind=webhook", ">"+credential+"<", "!>TOKEN<", "no run")
}

// I-2: a list of uses that ends early says so, and where the others are.
func TestI2MoreUsesSayWhereToLook(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	s.platform()
	environment := must(s.control.CreateEnvironment(t.Context(), s.admin, lineshaft.EnvironmentConfig{Name: "shared"}))
	f := s.factory("Shop")
	boss := must(s.control.CreateAgent(t.Context(), s.admin, lineshaft.Agent{FactoryUID: f.UID, Name: "Boss", Type: lineshaft.AgentCustom}))
	trigger := lineshaft.Trigger{Provider: lineshaft.ProviderRun, Event: lineshaft.EventFinished}
	add := func(from, to int) {
		for i := from; i < to; i++ {
			must(s.control.CreateAutomation(t.Context(), s.admin, f.UID, lineshaft.Automation{
				Name: fmt.Sprintf("use-%03d", i), Prompt: "p", Agent: "Boss", Triggers: []lineshaft.Trigger{trigger},
				Config: lineshaft.AgentConfig{Secrets: []string{"TOKEN"}, EnvironmentID: environment.UID},
			}))
		}
	}
	add(0, 5)
	const more, maybe = "There are more. Only the first five", "Only the first 100 automations"
	for _, path := range []string{"/secrets/TOKEN", "/secrets/TOKEN/delete", "/environments/" + environment.UID + "/delete"} {
		s.shows(path, "use-004", "!"+more)
	}
	add(5, 100)
	s.shows("/secrets/TOKEN", "use-004", "!use-005", more, `<a href="/environments">`, `<a href="/webhooks">webhooks</a> and <a href="/schedules">schedules</a>.`)
	s.shows("/secrets/TOKEN/delete", "!use-005", more, `<a href="/webhooks">webhooks</a> and <a href="/schedules">schedules</a>.`)
	s.shows("/environments/"+environment.UID+"/delete", "!use-005", more, `<a href="/schedules">schedules</a>.`)
	s.shows("/agents/"+boss.UID, "use-099", "!"+maybe)
	add(100, 101)
	s.shows("/agents/"+boss.UID, "use-099", "!use-100", maybe, `href="/automations?factory=`+f.UID)
	s.shows("/agents/"+boss.UID+"/delete", "use-099", "There may be more")
}

func TestI2UsesOfASecretLeadToThem(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	s.platform()
	config := lineshaft.AgentConfig{Secrets: []string{"TOKEN"}}
	f := s.factory("Shop")
	agent := must(s.control.CreateAgent(t.Context(), s.admin, lineshaft.Agent{
		FactoryUID: f.UID, Name: "Coder", Type: lineshaft.AgentCustom, Config: config,
	}))
	automation := must(s.control.CreateAutomation(t.Context(), s.admin, f.UID, lineshaft.Automation{
		Name: "Nightly", Prompt: "p", Agent: "Coder", Config: config,
		Triggers: []lineshaft.Trigger{{Provider: lineshaft.ProviderRun, Event: lineshaft.EventFinished}},
	}))
	environment := must(s.control.CreateEnvironment(t.Context(), s.admin, lineshaft.EnvironmentConfig{
		Name: "Lab", Secrets: []string{"TOKEN"},
	}))
	to := func(address, name string) string { return `<a href="` + address + `"><bdi>` + name + `</bdi></a>` }
	uses := []string{
		to("/agents/"+agent.UID, "agent Coder of factory Shop"), to("/environments/"+environment.UID, "environment Lab"),
		to("/factories/"+f.UID+"/automations/"+automation.UID, "automation Nightly of factory Shop"),
	}
	s.shows("/secrets/TOKEN", uses...)
	s.shows("/secrets/TOKEN/delete", uses...)

	hook := must(s.control.CreateWebhook(t.Context(), s.admin, f.UID, factories.NewWebhook{Name: "issues"}))
	s.shows("/secrets/"+hook.SecretName, to("/factories/"+f.UID+"/webhooks/"+hook.UID, "webhook issues"))
}

// A key that is limited to factories reaches no secrets.
func TestS3SecretsAreTheTeams(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.platform()
	s.as(lineshaft.RoleAdmin, s.factory("f").UID)
	for _, path := range []string{"/secrets", "/secrets/TOKEN", "/audit"} {
		if status, _, _ := s.get(path); status != http.StatusForbidden {
			t.Errorf("GET %s: %d, want 403", path, status)
		}
	}
	s.sends("/secrets", url.Values{"name": {"A"}, "value": {"x"}, "access": {"runs"}}, http.StatusForbidden, "")
}

func TestH8SecretsArePaged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for i := range 103 {
		name := "S" + strings.Repeat("A", i+1)
		if _, err := s.control.CreateSecret(t.Context(), s.admin, lineshaft.Secret{Name: name, Description: hostileName}, "v"); err != nil {
			t.Fatal(err)
		}
	}
	first := s.shows("/secrets", "Next", "!>First<", "!<script>alert")
	at := strings.Index(first, `href="/secrets?cursor=`)
	address, _, _ := strings.Cut(first[at+len(`href="`):], `"`)
	rest := s.shows(address, ">First<", "S"+strings.Repeat("A", 103))
	if n := strings.Count(first, `<td class="main">`) + strings.Count(rest, `<td class="main">`); n != 103 {
		t.Errorf("%d rows", n)
	}
	if status, _, _ := s.get("/secrets?cursor=bad"); status != http.StatusBadRequest {
		t.Errorf("bad cursor: %d", status)
	}
}
