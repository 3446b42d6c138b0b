package e2e

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lineshaft/lineshaft/client"
)

// These are attacks that once succeeded, played from outside against the program: set
// LINESHAFT_BIN to an older build to watch them succeed.

// caller asks a server with a key or a run token, and nothing else.
type caller struct {
	t        *testing.T
	url, key string
	// run is the agent's own run, where the key is a run token.
	run string
}

// ask returns the status and the text of an answer.
func (c caller) ask(method, path, body string) (int, string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	answer, err := browser().Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// must asks for something that is allowed and returns a field of the answer.
func (c caller) must(method, path, body, field string) string {
	c.t.Helper()
	status, text := c.ask(method, path, body)
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil || status >= 300 {
		c.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	value, _ := fields[field].(string)
	if value == "" {
		c.t.Fatalf("%s %s: no %s in %s", method, path, field, text)
	}
	return value
}

// refused asks for something that must not be given.
func (c caller) refused(what, method, path, body string) {
	c.t.Helper()
	if status, text := c.ask(method, path, body); status < 400 || status >= 500 {
		c.t.Errorf("%s: %d %s", what, status, text)
	}
}

// attacked is a server whose worker gives agents no sandbox: what these attacks get, the
// control plane has given.
func attacked(t *testing.T, flags ...string) (*node, caller) {
	t.Helper()
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), append([]string{"--isolation", "none"}, flags...)...)
	n.start(t.Context())
	return n, caller{t: t, url: n.url, key: adminKey}
}

// factory makes a factory and returns the path that starts its runs.
func (c caller) factory(name string) (uid, runs string) {
	c.t.Helper()
	uid = c.must(http.MethodPost, "/factory", fmt.Sprintf(`{"name":%q}`, name), "uid")
	return uid, "/factory/" + uid + "/runs"
}

// inside starts a run that hands its token to the test and then waits.
func (c caller) inside(runs, config string) caller {
	c.t.Helper()
	dir := c.t.TempDir()
	script := fmt.Sprintf("```sh\ncd %s\nprintf %%s \"$LINESHAFT_RUN_TOKEN\" > made && mv made token\nwhile [ ! -e done ]; do sleep 0.05; done\n```", dir)
	c.t.Cleanup(func() { _ = os.WriteFile(filepath.Join(dir, "done"), nil, 0o600) })
	prompt, err := json.Marshal(script)
	if err != nil {
		c.t.Fatal(err)
	}
	run := c.must(http.MethodPost, runs, fmt.Sprintf(`{"prompt":%s,"config":{%s}}`, prompt, config), "run_id")
	var token []byte
	eventually(c.t, "the agent has its token", func() bool {
		token, err = os.ReadFile(filepath.Join(dir, "token"))
		return err == nil
	})
	return caller{t: c.t, url: c.url, key: string(token), run: run}
}

// TestX15RecipeOntoAnotherWorker: an agent, or a key that is limited to a factory, gets work
// onto a worker of its choice.
func TestX15RecipeOntoAnotherWorker(t *testing.T) {
	t.Parallel()
	n, admin := attacked(t)
	newWorker(t, n, "build-box", "--isolation", "none")
	eventually(t, "the worker is connected", func() bool {
		_, text := admin.ask(http.MethodGet, "/agent/connected-self-hosted-workers", "")
		return strings.Contains(text, "build-box")
	})
	factory, runs := admin.factory("payments")
	for kind, path := range map[string]string{"of no factory": "/agent/runs", "of a factory": runs} {
		agent := admin.inside(path, "")
		if _, text := agent.ask(http.MethodGet, "/agent/connected-self-hosted-workers", ""); strings.Contains(text, "build-box") {
			t.Errorf("%s: the agent learns of the worker: %s", kind, text)
		}
		agent.refused(kind+": a child on the worker", http.MethodPost, "/agent/runs", `{"prompt":"id","config":{"worker_host":"build-box","harness":{"type":"shell"}}}`)
	}
	member := caller{t: t, url: n.url, key: admin.must(http.MethodPost, "/apikeys", fmt.Sprintf(`{"name":"m","role":"member","factory_uids":[%q]}`, factory), "key")}
	parent := member.must(http.MethodPost, runs, `{"prompt":"true"}`, "run_id")
	member.refused("a limited key with a parent", http.MethodPost, "/agent/runs", fmt.Sprintf(`{"prompt":"id","parent_run_id":%q,"config":{"worker_host":"build-box"}}`, parent))
}

// TestX15RecipeToolServerOfOnesChoice: an agent without a way out names a tool server, and the
// gateway passes to it; or it has the server fetch a repository.
func TestX15RecipeToolServerOfOnesChoice(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t, "--allow-local-mcp")
	agent := admin.inside("/agent/runs", "")
	agent.refused("a tool server", http.MethodPost, "/agent/runs", `{"prompt":"x","config":{"mcp_servers":{"out":{"url":"http://127.0.0.1:9/any/path"}},"harness":{"type":"opencode","mode":"command","command":["sh","-c","true"]}}}`)
	agent.refused("a repository", http.MethodGet, "/agent?repo=somebody/else", "")
}

// TestX15RecipeSecretsOfAnEnvironment: an agent that was given no secret finds an environment
// that names one, and starts a child in it.
func TestX15RecipeSecretsOfAnEnvironment(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t)
	admin.must(http.MethodPost, "/secrets", `{"name":"DEPLOY_KEY","value":"secret-depl0y-0001"}`, "name")
	environment := admin.must(http.MethodPost, "/agent/environments", `{"config":{"name":"production","secrets":[{"name":"DEPLOY_KEY"}]}}`, "uid")
	agent := admin.inside("/agent/runs", "")
	if _, text := agent.ask(http.MethodGet, "/agent", ""); strings.Contains(text, environment) {
		t.Errorf("the agent learns of the environment: %s", text)
	}
	agent.refused("a child in it", http.MethodPost, "/agent/runs", fmt.Sprintf(`{"prompt":"env","config":{"environment_id":%q}}`, environment))
}

// TestX15RecipeChildrenWithoutBrakes: children have larger budgets, more time, more attempts
// and weaker permissions than their parent.
func TestX15RecipeChildrenWithoutBrakes(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t)
	agent := admin.inside("/agent/runs", `"budget":{"max_tokens":1000,"max_cost_usd":1},"harness":{"permissions":"deny"},"timeout_minutes":30`)
	for _, config := range []string{
		`"budget":{"max_tokens":1000000000}`, `"budget":{"max_cost_usd":1000000}`, `"harness":{"permissions":"allow"}`,
		`"timeout_minutes":10080`, `"retry":{"max_attempts":20}`,
	} {
		agent.refused(config, http.MethodPost, "/agent/runs", fmt.Sprintf(`{"prompt":"true","config":{%s}}`, config))
	}
}

// TestX15RecipeKeysHoldUpTheFactory: a child takes the concurrency key of its factory's work.
func TestX15RecipeKeysHoldUpTheFactory(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t)
	_, runs := admin.factory("payments")
	agent := admin.inside(runs, "")
	var own struct {
		Executor struct {
			UID string `json:"uid"`
		} `json:"executor"`
	}
	if _, text := admin.ask(http.MethodGet, "/agent/runs/"+agent.run, ""); json.Unmarshal([]byte(text), &own) != nil || own.Executor.UID == "" {
		t.Fatal(text)
	}
	child := agent.must(http.MethodPost, "/agent/runs", "{\"prompt\":\"```sh\\nsleep 60\\n```\",\"config\":{\"concurrency\":{\"key\":\"deploy\"}}}", "run_id")
	defer admin.ask(http.MethodPost, "/agent/runs/"+child+"/cancel", "")
	work := admin.must(http.MethodPost, "/agent/runs", fmt.Sprintf(`{"prompt":"true","agent_identity_uid":%q,"config":{"concurrency":{"key":"deploy"}}}`, own.Executor.UID), "run_id")
	if _, text := admin.ask(http.MethodGet, "/agent/runs/"+work, ""); strings.Contains(text, "waiting for run "+child) {
		t.Errorf("the factory's work waits for a child: %s", text)
	}
}

// TestX15RecipeDescendantsWithoutEnd: a run has a new child as soon as the last has ended.
func TestX15RecipeDescendantsWithoutEnd(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t)
	agent := admin.inside("/agent/runs", "")
	started := 0
	within(t, 5*patience, "the run has all the descendants that it may have", func() bool { // each is a process, one after the other
		for started <= 100 {
			status, text := agent.ask(http.MethodPost, "/agent/runs", "{\"prompt\":\"```sh\\ntrue\\n```\"}")
			switch {
			case status == http.StatusOK:
				started++
			case strings.Contains(text, "which is the limit for one root"):
				return true
			case strings.Contains(text, "live"): // too many at once: one of them ends soon
				return false
			default:
				t.Fatalf("%d %s", status, text)
			}
		}
		return true
	})
	if started > 100 {
		t.Errorf("%d descendants of one run", started)
	}
}

// TestH14RecipeDefinitionsOfManyKeys: someone without a key has a small folder parsed for
// many seconds.
func TestH14RecipeDefinitionsOfManyKeys(t *testing.T) {
	t.Parallel()
	n, _ := attacked(t, "--no-worker")
	var body bytes.Buffer
	zip := gzip.NewWriter(&body)
	folder := tar.NewWriter(zip)
	text := strings.Repeat("a:\n", 4990)
	for i := range 65 {
		if err := folder.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("webhooks/w%d.yaml", i), Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(folder, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(folder.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	_, answer := caller{t: t, url: n.url}.ask(http.MethodPost, "/factory-files/validate", body.String())
	if !strings.Contains(answer, "4000 keys") {
		t.Errorf("the folder was parsed: %.300s", answer)
	}
}

// TestH14RecipeListsOfLongPrompts: a list carries each run's prompt whole.
func TestH14RecipeListsOfLongPrompts(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t, "--no-worker")
	for range 3 {
		admin.must(http.MethodPost, "/agent/runs", fmt.Sprintf(`{"prompt":%q,"config":{"base_prompt":%[1]q}}`, strings.Repeat("long ", 100_000)), "run_id")
	}
	if _, text := admin.ask(http.MethodGet, "/agent/runs", ""); len(text) > 64<<10 {
		t.Errorf("three runs are %d bytes", len(text))
	}
}

// TestR11RecipeSparseArtifacts: files that take nothing on the worker's disk fill the database.
func TestR11RecipeSparseArtifacts(t *testing.T) {
	t.Parallel()
	n, _ := attacked(t, "--disk-limit", "20MiB")
	c := n.client()
	started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "```sh\ncd $LINESHAFT_ARTIFACTS\nfor i in 1 2 3 4 5 6 7 8 9 10; do truncate -s 9M s$i; done\n```"})
	if err != nil {
		t.Fatal(err)
	}
	var kept int64
	for _, a := range waitEnd(t.Context(), t, c, started.RunID).Artifacts {
		kept += a.Data.SizeBytes
	}
	if kept > 20<<20 {
		t.Errorf("%d MiB of artifacts were kept where the disk has 20", kept>>20)
	}
}

// TestX5RecipeNestedNamespaces: an agent in its sandbox makes a user namespace and has every
// capability in it.
func TestX5RecipeNestedNamespaces(t *testing.T) {
	t.Parallel()
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--isolation", "bubblewrap")
	n.start(t.Context())
	c := n.client()
	started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "```sh\ngrep Seccomp: /proc/self/status\nunshare -U true || echo no namespace\n```"})
	if err != nil {
		t.Fatal(err)
	}
	waitEnd(t.Context(), t, c, started.RunID)
	if text := printed(t, c, started.RunID); !strings.Contains(text, `Seccomp:\t2`) || !strings.Contains(text, "no namespace") {
		t.Errorf("system calls are not filtered:\n%s", text)
	}
}

// TestR9ManyFilteredStreamsSeeTheirRunsOnly has 300 followers of runs that never come beside
// one whose runs do.
func TestR9ManyFilteredStreamsSeeTheirRunsOnly(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var seen atomic.Int64
	var strangers sync.WaitGroup
	for i := range 300 {
		stream := admin.follow(ctx, fmt.Sprintf("stranger-%d", i))
		strangers.Go(func() {
			for lines := bufio.NewScanner(stream); lines.Scan(); {
				if strings.HasPrefix(lines.Text(), "data:") {
					seen.Add(1)
				}
			}
		})
	}
	mine := bufio.NewScanner(admin.follow(ctx, "mine"))
	for range 10 {
		run := admin.must(http.MethodPost, "/agent/runs", "{\"prompt\":\"```sh\\ntrue\\n```\",\"config\":{\"name\":\"mine\"}}", "run_id")
		for ended := false; !ended; {
			if !mine.Scan() {
				t.Fatal(mine.Err())
			}
			ended = strings.Contains(mine.Text(), run) && strings.Contains(mine.Text(), "SUCCEEDED")
		}
	}
	stop()
	strangers.Wait()
	if n := seen.Load(); n != 0 {
		t.Errorf("strangers saw %d changes", n)
	}
}

// follow opens the stream of all runs that have a name.
func (c caller) follow(ctx context.Context, name string) io.Reader {
	c.t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/api/v1/agent/events/stream?name="+name, http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	answer, err := browser().Do(request)
	if err != nil || answer.StatusCode != http.StatusOK {
		c.t.Fatalf("follow: %v %v", answer, err)
	}
	context.AfterFunc(ctx, func() { _ = answer.Body.Close() })
	return answer.Body
}
