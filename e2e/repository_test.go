package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// bareRepository is one on disk, with a working copy to push from.
type bareRepository struct {
	t          *testing.T
	bare, work string
}

func newRepository(t *testing.T) *bareRepository {
	t.Helper()
	r := &bareRepository{t: t, bare: filepath.Join(t.TempDir(), "factories.git"), work: filepath.Join(t.TempDir(), "work")}
	r.git("", "init", "--quiet", "--bare", "--initial-branch=main", r.bare)
	r.git("", "clone", "--quiet", r.bare, r.work)
	return r
}

func (r *bareRepository) git(dir string, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// push writes files into folder shop, commits and pushes.
func (r *bareRepository) push(files map[string]string) (commit string) {
	r.t.Helper()
	for name, text := range files {
		path := filepath.Join(r.work, "shop", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git(r.work, "add", "--all")
	r.git(r.work, "commit", "--quiet", "-m", "change")
	r.git(r.work, "push", "--quiet", "origin", "HEAD:refs/heads/main")
	return r.git(r.work, "rev-parse", "HEAD")
}

func factoryFile(name string, lines ...string) map[string]string {
	return map[string]string{"factory.yaml": "schemaVersion: v1alpha1\nname: " + name + "\n" + strings.Join(append(lines, ""), "\n")}
}

// firstDefinition has a foreman, a webhook of the forge and an automation.
func firstDefinition() map[string]string {
	files := factoryFile("Shop one")
	files["agents/boss/agent.md"] = "---\nagentType: FOREMAN\n---\nSee to it.\n"
	files["webhooks/forge.yaml"] = "authMode: signature\nsignatureScheme: github\nsecretName: FORGE_SECRET\n"
	files["automations/pushed/automation.md"] = "---\ntriggers:\n  - provider: webhook\n    event: received\n    filter:\n      webhooks: [forge]\n---\nLook at it.\n"
	return files
}

// follow makes a factory that follows the repository.
func (n *node) follow(r *bareRepository) string {
	n.t.Helper()
	n.answerOf("POST", "/secrets", `{"name":"FORGE_SECRET","value":"the-secret-of-the-forge"}`, &struct{}{})
	var f client.Factory
	body, err := json.Marshal(client.FactoryRequest{Name: "Shop", Repository: &client.RepositorySource{URL: r.bare, Path: "shop"}})
	if err != nil {
		n.t.Fatal(err)
	}
	n.answerOf("POST", "/factory", string(body), &f)
	return f.UID
}

// until reads a factory until it is as wanted. The server is another process, so
// there is nothing to wait on.
func (n *node) until(uid, what string, wanted func(f client.Factory) bool) client.Factory {
	n.t.Helper()
	deadline := time.Now().Add(3 * patience)
	for {
		var f client.Factory
		n.answerOf("GET", "/factory/"+uid, "", &f)
		if f.Repository != nil && wanted(f) {
			return f
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("%s: still %+v %+v", what, f, f.Repository)
		}
		select {
		case <-n.exited:
			n.t.Fatalf("the server ended:\n%s", n.log.tail(4000))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func inForce(commit string) func(client.Factory) bool {
	return func(f client.Factory) bool { return f.Repository.AppliedCommit == commit }
}

// What is pushed is in force within the poll interval; what is broken is not, and the
// old stays; what is pushed while the server is down is found when it is back.
func TestF5FactoryFollowsItsRepository(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		r := newRepository(t)
		first := r.push(firstDefinition())
		n := newNode(t, database, "--allow-local-git", "--repository-poll", "1s")
		n.start(t.Context())
		uid := n.follow(r)
		if f := n.until(uid, "first", inForce(first)); f.Name != "Shop one" || f.ForemanAgent != "boss" || f.Mode != "repository" {
			t.Errorf("%+v", f)
		}
		second := r.push(factoryFile("Shop two"))
		if f := n.until(uid, "second", inForce(second)); f.Name != "Shop two" {
			t.Errorf("%+v", f)
		}
		broken := r.push(factoryFile("Shop three", "descriptin: typo"))
		f := n.until(uid, "broken", func(f client.Factory) bool { return f.Repository.SeenCommit == broken })
		p := f.Repository.Problems
		if f.Name != "Shop two" || f.Repository.AppliedCommit != second || len(p) != 1 || p[0].File != "shop/factory.yaml" || p[0].Line != 3 || p[0].Column != 1 ||
			!strings.Contains(p[0].Hint, "description") {
			t.Errorf("after a broken push: %+v %+v", f, f.Repository)
		}
		fixed := r.push(factoryFile("Shop three", "description: no typo"))
		if f := n.until(uid, "fixed", inForce(fixed)); f.Name != "Shop three" || len(f.Repository.Problems) != 0 {
			t.Errorf("%+v", f)
		}
		n.kill()
		last := r.push(factoryFile("Shop four"))
		n.start(t.Context())
		if f := n.until(uid, "after a restart", inForce(last)); f.Name != "Shop four" {
			t.Errorf("%+v", f)
		}
	})
}

// With a long poll interval a push that the forge reports is in force all the same,
// and so is one that a build syncs.
func TestF5PushWebhookTellsOfChanges(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		r := newRepository(t)
		first := r.push(firstDefinition())
		n := newNode(t, database, "--allow-local-git", "--repository-poll", "1d")
		n.start(t.Context())
		uid := n.follow(r)
		n.until(uid, "first", inForce(first))
		var hooks struct{ Webhooks []struct{ UID, Name string } }
		n.answerOf("GET", "/factory/"+uid+"/webhooks", "", &hooks)
		if len(hooks.Webhooks) != 1 || hooks.Webhooks[0].Name != "forge" {
			t.Fatalf("%+v", hooks)
		}
		second := r.push(factoryFile("Shop two"))
		body := fmt.Sprintf(`{"ref":"refs/heads/main","after":%q,"repository":{"full_name":"acme/factories","clone_url":%q,"default_branch":"main"}}`, second, r.bare)
		deliverPush(t, n, hooks.Webhooks[0].UID, body)
		if f := n.until(uid, "second", inForce(second)); f.Name != "Shop two" {
			t.Errorf("%+v", f)
		}
		third := r.push(factoryFile("Shop three"))
		var f client.Factory
		n.answerOf("POST", "/factory/"+uid+"/repository/sync", "", &f)
		if f.Repository == nil || f.Repository.AppliedCommit != third || f.Name != "Shop three" {
			t.Errorf("after a sync: %+v %+v", f, f.Repository)
		}
	})
}

// deliverPush sends a body as GitHub does.
func deliverPush(t *testing.T, n *node, webhook, body string) {
	t.Helper()
	mac := hmac.New(sha256.New, []byte("the-secret-of-the-forge"))
	_, _ = io.WriteString(mac, body)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.url+"/webhooks/w/"+webhook, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Github-Event", "push")
	req.Header.Set("X-Github-Delivery", "d-1")
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	res, err := browser().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode != http.StatusAccepted {
		t.Fatalf("delivery: %d %s %v", res.StatusCode, text, err)
	}
}
