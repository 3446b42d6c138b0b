package client

import (
	"strings"
	"testing"
)

func TestX9EnvironmentCalls(t *testing.T) {
	t.Parallel()
	one := `{"uid":"7hQ2mXv9LkD4sTfR1bWcYz","config":{"name":"shop","github_repos":[{"owner":"acme","repo":"shop"}]},"last_updated":"2026-08-01T09:30:00Z","setup_failed":true,` +
		`"last_task_run_timestamp":"2026-08-01T09:30:00Z","last_task_created":{"id":"r","title":"t","state":"FAILED","created_at":"2026-08-01T09:30:00Z","updated_at":"2026-08-01T09:30:00Z","started_at":null},` +
		`"scope":{"type":"Team"},"creator":{"type":"user","uid":"u","display_name":"Ann"},"last_editor":{"type":"user","uid":"u"}}`
	c, s := scripted(
		t, answer(201, one), answer(200, one), answer(200, one), answer(200, `{"environments":[`+one+`]}`), answer(200, `{"environments":[]}`), answer(204, ""),
	)
	config := EnvironmentConfig{Name: "shop", GithubRepos: []Repository{{"acme", "shop"}}, SetupCommands: []string{"make"}, Secrets: []SecretRef{{Name: "TOKEN"}}, GitCredentials: "FORGE"}
	made, err := c.Environments.Create(t.Context(), config)
	if err != nil || made.UID != "7hQ2mXv9LkD4sTfR1bWcYz" || !made.SetupFailed || made.LastRun == nil || made.LastRun.StartedAt != nil || made.LastRunAt.IsZero() || made.Creator.DisplayName != "Ann" {
		t.Errorf("Create = %+v, %v", made, err)
	}
	if got, err := c.Environments.Get(t.Context(), made.UID); err != nil || got.Config.GithubRepos[0].Repo != "shop" {
		t.Errorf("Get = %+v, %v", got, err)
	}
	if _, err := c.Environments.Update(t.Context(), made.UID, EnvironmentConfig{Name: "x"}); err != nil {
		t.Error(err)
	}
	if list, err := c.Environments.List(t.Context(), ""); err != nil || len(list) != 1 {
		t.Errorf("List = %+v, %v", list, err)
	}
	if list, err := c.Environments.List(t.Context(), "name"); err != nil || len(list) != 0 {
		t.Errorf("List = %+v, %v", list, err)
	}
	if err := c.Environments.Delete(t.Context(), made.UID); err != nil {
		t.Error(err)
	}
	var calls []string
	for _, r := range s.requests() {
		calls = append(calls, strings.TrimSuffix(r.method+" "+strings.TrimPrefix(r.path, "/api/v1/agent")+"?"+r.query, "?"))
	}
	uid := "/environments/" + made.UID
	want := "POST /environments, GET " + uid + ", PUT " + uid + ", GET /environments, GET /environments?sort_by=name, DELETE " + uid
	if got := strings.Join(calls, ", "); got != want {
		t.Errorf("called %s", got)
	}
	if got, want := s.requests()[0].body, `{"config":{"name":"shop","github_repos":[{"owner":"acme","repo":"shop"}],"setup_commands":["make"],"secrets":[{"name":"TOKEN"}],"git_credentials":"FORGE"}}`; got != want {
		t.Errorf("the create sends %s", got)
	}
	if got := s.requests()[2].body; got != `{"config":{"name":"x"}}` {
		t.Errorf("the update sends %s", got)
	}
}

func TestX9EnvironmentUIDsAreOneSegment(t *testing.T) {
	t.Parallel()
	c, s := scripted(t)
	for _, uid := range []string{"", ".", ".."} {
		if _, err := c.Environments.Get(t.Context(), uid); err == nil {
			t.Errorf("%q is taken", uid)
		}
		if err := c.Environments.Delete(t.Context(), uid); err == nil {
			t.Errorf("%q is taken", uid)
		}
	}
	if len(s.requests()) > 0 {
		t.Errorf("%d requests were sent", len(s.requests()))
	}
}
