package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/overlay"
)

// guideFile is a file of a factory's folder that the page shows, with its name above it.
var guideFile = regexp.MustCompile("(?s)\n`([^`\n]+)`:\n\n```[a-z]+\n(.*?)\n```\n")

// guideEnvironment is what readers replace with the id of an environment of theirs.
const guideEnvironment = "7kQ2mXw9pLr4TzBv8NcYdA"

// pushSite is a server that was set up as the guide says, with a repository.
type pushSite struct {
	*docPage
	c          *client.Client
	repository *bareRepository
}

func newPushSite(t *testing.T) *pushSite {
	t.Helper()
	const page = "docs/prepared-environments.md"
	text, err := os.ReadFile(filepath.Join("..", page))
	if err != nil {
		t.Fatal(err)
	}
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir, forge := t.TempDir(), t.TempDir()
	data := filepath.Join(dir, "data")
	t.Cleanup(func() { // after the server has ended
		if err := overlay.Clear(data); err != nil {
			t.Error(err)
		}
	})
	r := &bareRepository{t: t, bare: filepath.Join(forge, "acme", "shop.git"), work: filepath.Join(forge, "work")}
	r.git("", "init", "--quiet", "--bare", "--initial-branch=main", r.bare)
	r.git("", "clone", "--quiet", r.bare, r.work)
	n := newNode(t, filepath.Join(dir, "l.db"), "--isolation", "bubblewrap", "--data-dir", data, "--allow-local-git",
		"--forge-url", "file://"+forge+"/{owner}/{repo}.git")
	n.start(t.Context())
	s := &pushSite{c: n.client(), repository: r, docPage: &docPage{
		node: n, name: page, dir: dir,
		env: []string{
			"HOME=" + dir, "PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "LINESHAFT_URL=" + n.url, "LINESHAFT_API_KEY=" + adminKey,
		},
	}}
	s.write("variables", "")
	s.write("bin/.keep", "")
	if err := os.Symlink(bin, filepath.Join(dir, "bin", "lineshaft")); err != nil {
		t.Fatal(err)
	}
	s.write("key.txt", docSecretText)
	s.run("lineshaft secret create NPM_TOKEN --access runs <key.txt; lineshaft secret create FORGE_WEBHOOK_SECRET <key.txt")
	s.run(`lineshaft environment create shop --repo acme/shop --setup-command 'echo "for $(cat shop/shop/code)" >>built' ` +
		`--setup-command 'echo "token=$NPM_TOKEN" >npmrc'`)
	s.run("lineshaft factory init shop")
	uid, files := s.ask("/agent/environments", "uid"), 0
	for _, found := range guideFile.FindAllStringSubmatch(string(text), -1) {
		files += strings.Count(found[2], guideEnvironment)
		s.write("shop/"+found[1], strings.ReplaceAll(found[2], guideEnvironment, uid)+"\n")
	}
	if files != 1 {
		t.Fatalf("%d files of the guide name the environment", files)
	}
	s.run("lineshaft factory apply shop")
	return s
}

// push sends what GitHub sends after a push to a branch, and gives the runs there are then, the newest first.
func (s *pushSite) push(branch string) (runs []client.Run) {
	s.t.Helper()
	s.write("push.json", `{"ref": "refs/heads/`+branch+`", "repository": {"full_name": "acme/shop"}}`)
	s.run("lineshaft webhook send forge --factory shop --secret-file key.txt --data @push.json --header 'X-GitHub-Event: push'")
	for run, err := range s.c.Runs.All(s.t.Context(), client.RunQuery{}) { // they are there before the answer
		if err != nil {
			s.t.Fatal(err)
		}
		if run.Source != "SCHEDULED_AGENT" { // the guide's clock starts one at six
			runs = append(runs, run)
		}
	}
	return runs
}

// log waits for a run and gives its log.
func (s *pushSite) log(runID string) string {
	s.t.Helper()
	if run := waitEnd(s.t.Context(), s.t, s.c, runID); run.State != "SUCCEEDED" {
		s.t.Fatalf("run %s: %+v\n%s", runID, run, printed(s.t, s.c, runID))
	}
	return printed(s.t, s.c, runID)
}

// the guide for pushes, as it is printed: the run that a push starts prepares the environment, and the
// next run with its secrets finds it ready; so does the one after a newer commit was pushed. Runs without the secret, or with its next value, do not.
func TestX14GuideToPrepareOnAPush(t *testing.T) {
	t.Parallel()
	s := newPushSite(t)
	start := func(secrets ...client.SecretRef) string {
		t.Helper()
		started, err := s.c.Runs.Create(t.Context(), client.RunRequest{
			Prompt: "```sh\necho found $(cat built)\ntest \"$(cat npmrc)\" = \"token=$NPM_TOKEN\" && echo ready:${NPM_TOKEN:+given}:\n```",
			Config: &client.AgentConfig{EnvironmentID: s.ask("/agent/environments", "uid"), Secrets: secrets},
		})
		if err != nil {
			t.Fatal(err)
		}
		return s.log(started.RunID)
	}
	use := func() string { return start(client.SecretRef{Name: "NPM_TOKEN"}) }
	s.repository.push(map[string]string{"code": "one\n"})
	if runs := s.push("other"); len(runs) != 0 {
		t.Fatalf("a push to another branch has started %+v", runs)
	}
	runs := s.push("main")
	if len(runs) != 1 {
		t.Fatalf("a push has started %+v", runs)
	}
	says := func(log string, wanted ...string) {
		t.Helper()
		for _, w := range wanted {
			if !strings.Contains(log, w) {
				t.Errorf("%q is not in\n%s", w, log)
			}
		}
	}
	says(s.log(runs[0].RunID), "Cold start", "It is kept for later runs")
	says(use(), "Warm start on layer", ": the environment was prepared", "found for one")
	s.repository.push(map[string]string{"code": "two\n"})
	says(s.log(s.push("main")[0].RunID), "for an earlier commit", "It is kept for later runs")
	log := use()
	says(log, "Warm start on layer", ": the environment was prepared", "found for one for two")
	if strings.Contains(log, "for an earlier commit") || strings.Contains(log, "Set-up command") {
		t.Errorf("it was not ready:\n%s", log)
	}
	says(log, "ready:given:")
	// What set-up wrote with a secret is for runs that are given that very value.
	says(start(), "Cold start: nothing like it", "ready::")
	s.write("new.txt", strings.ToUpper(docSecretText))
	s.run("lineshaft secret update NPM_TOKEN <new.txt")
	says(use(), "Cold start: nothing like it", "ready:given:")
	says(use(), "Warm start on layer", "ready:given:")
	says(start(), "Warm start on layer", "ready::")
	s.stop()
}
