package e2e

import (
	"crypto/sha256"
	"errors"
	"io"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/overlay"
)

// agreedSite is a server with workers that each keep prepared environments of a repository, which git's own
// server gives out.
type agreedSite struct {
	*testing.T
	n           *node
	c           *client.Client
	repository  *bareRepository
	forge       string
	environment string
}

// nobody is a user that may not mount.
const nobody = "65534"

func newAgreedSite(t *testing.T) *agreedSite {
	t.Helper()
	programs, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := &bareRepository{t: t, bare: filepath.Join(dir, "acme", "shop.git"), work: filepath.Join(dir, "work")}
	r.git("", "init", "--quiet", "--bare", "--initial-branch=main", r.bare)
	r.git("", "clone", "--quiet", r.bare, r.work)
	forge := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(programs)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
	})
	t.Cleanup(forge.Close)
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker", "--lease", "10m", "--log-level", "warn")
	n.start(t.Context())
	s := &agreedSite{T: t, n: n, c: n.client(), repository: r, forge: forge.URL}
	made, err := s.c.Environments.Create(t.Context(), client.EnvironmentConfig{
		Name: "shop", GithubRepos: []client.Repository{{Owner: "acme", Repo: "shop"}},
		SetupCommands: []string{
			"mkdir -p many closed && for i in $(seq 50); do cksum shop/shop/code > many/$i; done; ln -f many/1 second; ln -sf many/2 link",
			"touch -d 2001-02-03T04:05:06 many; chmod 755 closed; cp shop/shop/code closed/code; chmod 400 closed/code; chmod 555 closed",
		},
		RefreshCommands: []string{
			"for i in $(seq 50); do cksum shop/shop/code > many/$i; done; touch -d 2001-02-03T04:05:06 many",
			"chmod 755 closed; rm closed/code; cp shop/shop/code closed/code; chmod 400 closed/code; chmod 555 closed",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.environment = made.UID
	return s
}

// worker starts a worker in a folder of its own; one that is not root copies what others mount.
func (s *agreedSite) worker(id string, root bool) *remoteWorker {
	s.Helper()
	dir, err := os.MkdirTemp("", "lineshaft-agree-") // others may enter it, unlike that of a test
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := overlay.Clear(dir); err != nil { // a killed worker leaves mounts
			s.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			s.Error(err)
		}
	})
	w := prepareWorker(s.T, s.n, id, "--data-dir", filepath.Join(dir, "data"), "--isolation", "bubblewrap", "--forge-url", s.forge+"/{owner}/{repo}.git")
	if root || os.Geteuid() != 0 {
		w.start()
		return w
	}
	bin, err := binary()
	if err != nil {
		s.Fatal(err)
	}
	w.bin, w.inside = filepath.Join(dir, "lineshaft"), []string{"setpriv", "--reuid", nobody, "--regid", nobody, "--clear-groups"}
	// Copied by another process: children of other tests cannot have it open then.
	if out, err := exec.CommandContext(s.Context(), "sh", "-c", `cp "$0" "$1" && chown $2:$2 "$3" && chmod 755 "$3"`, bin, w.bin, nobody, dir).CombinedOutput(); err != nil {
		s.Fatalf("%v: %s", err, out)
	}
	w.start()
	return w
}

// agreedListing is everything that a run finds: names, kinds, modes, targets, contents, second names, the state of the
// repository and every object of its history. The index knows inodes, logs and packs know when they were made.
const agreedListing = `cd "$LINESHAFT_WORKSPACE" && find . ! -path './.lineshaft*' ! -path './shop/.git/index' ! -path '*/logs/*' ! -path '*/objects/*' ` +
	`! -name packed-refs ! -path '*/shop/.git' ! -path '*/refs/*' -printf '%p %y %m %l ' \( -type f -printf '%n ' -exec sha256sum '{}' ';' -o -printf '\n' \) | LC_ALL=C sort
cd shop; git fsck --full --strict 2>&1; git status --porcelain; git ls-files --stage; git for-each-ref; git reflog --format='%H %gd %gs'
git cat-file --batch-all-objects --batch-check; stat -c '%n %Y' ../many`

// start starts a run on a worker that keeps what it finds as an artifact, and then destroys it.
func (s *agreedSite) start(worker, before string) (runID string) {
	s.Helper()
	started, err := s.c.Runs.Create(s.Context(), client.RunRequest{
		Prompt: "```sh\n" + before + "\n{ " + agreedListing + "\n} > \"$LINESHAFT_ARTIFACTS/found.txt\"\n" +
			"cd ..; ls | tr '\\n' ' '; chmod -R u+w closed; rm -rf ./* shop\n```",
		Config: &client.AgentConfig{EnvironmentID: s.environment, WorkerHost: worker, Retry: &client.Retry{MaxAttempts: 3}},
	})
	if err != nil {
		s.Fatal(err)
	}
	return started.RunID
}

// end waits for a run and gives what it found. Its log has to say how it started.
func (s *agreedSite) end(runID string, says ...string) (found string) {
	s.Helper()
	run, log := waitEnd(s.Context(), s.T, s.c, runID), printed(s.T, s.c, runID)
	if run.State != "SUCCEEDED" || len(run.Artifacts) != 1 {
		s.Fatalf("%+v\n%s", run, log)
	}
	for _, text := range append(says, "closed link many second shop ") {
		if !strings.Contains(log, text) {
			s.Errorf("%q is not in\n%s", text, log)
		}
	}
	file, err := s.c.Artifacts.Download(s.Context(), run.Artifacts[0].Data.ArtifactUID)
	if err != nil {
		s.Fatal(err)
	}
	text, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// same compares what a run found with what a cold start of the same commit gave.
func (s *agreedSite) same(cold, found, who string) {
	s.Helper()
	if sha256.Sum256([]byte(found)) != sha256.Sum256([]byte(cold)) {
		s.Errorf("%s finds\n%s\na cold start\n%s", who, strings.Join(lacks(found, cold), "\n"), strings.Join(lacks(cold, found), "\n"))
	}
}

// lacks are the lines that another text does not have.
func lacks(text, other string) []string {
	known := strings.Split(other, "\n")
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return slices.Contains(known, line) })
}

// two workers, one without overlays and one that is killed in the midst of a run and started again on its folder, give
// the same files and results as a cold start, for one commit and for the next.
func TestX14TwoWorkersAgree(t *testing.T) {
	t.Parallel()
	s := newAgreedSite(t)
	const cold, warm, older = "Cold start: nothing like it was prepared", ": the environment was prepared ", "prepared for an earlier commit"
	s.repository.push(map[string]string{"code": "one\n"})
	killed, copies := s.worker("killed", true), s.worker("copies", false)
	first := s.end(s.start("killed", ""), cold)
	s.same(first, s.end(s.start("copies", ""), cold), "the other worker")
	copies.says("prepared environments are copied for each run")

	run := s.start("killed", "[ -e mine ] || { touch mine; echo waits; sleep 1000; }; rm mine")
	waitOutput(t, s.c, run, "waits")
	killed.kill()
	killed.start()
	s.same(first, s.end(run, warm, "is still here and is used again"), "the run of the killed worker")
	s.same(first, s.end(s.start("killed", ""), warm), "the killed worker")
	s.same(first, s.end(s.start("copies", ""), warm, "files were copied in"), "the worker that copies")

	s.repository.push(map[string]string{"code": "two\n"})
	s.worker("fresh", true)
	second := s.end(s.start("fresh", ""), cold)
	if second == first {
		t.Error("another commit gave the same")
	}
	killed.kill()
	killed.start()
	for _, worker := range []string{"killed", "copies"} {
		s.same(second, s.end(s.start(worker, ""), older), worker+" with a newer commit")
		s.same(second, s.end(s.start(worker, ""), warm), worker+" with what that has made")
	}
	t.Logf("%d runs of 3 workers found the same as a cold start: %x and %x", 9, sha256.Sum256([]byte(first)), sha256.Sum256([]byte(second)))
	copies.stop()
	killed.stop()
}
