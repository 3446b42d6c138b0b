//go:build linux

package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/model"
)

// canary is a variable of the server's own environment.
const (
	canaryVariable = "LINESHAFT_TEST_CANARY"
	canary         = "canary-of-the-servers-environment"
)

// dial tries to connect, from inside a sandbox, and reports the result.
func dial(network, address string) int {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(context.Background(), network, address)
	if err != nil {
		fmt.Fprintln(os.Stdout, "refused:", address)
		return 1
	}
	_ = conn.Close()
	fmt.Fprintln(os.Stdout, "CONNECTED:", address)
	return 0
}

// fort is a whole server whose agents attack it.
type fort struct {
	t     *testing.T
	cfg   config.Config
	app   *app.App
	key   string
	admin lineshaft.Caller
}

// besiege starts a server with agents in bubblewrap, without a network and with
// small limits.
func besiege(t *testing.T, change func(*config.Config, *app.Options)) *fort {
	t.Helper()
	cfg, opts := settings(t), options(t, nil)
	cfg.Isolation, cfg.Egress = "bubblewrap", "none"
	cfg.MemoryLimit, cfg.ProcessLimit, cfg.DiskLimit = 96<<20, 64, 24<<20
	if change != nil {
		change(&cfg, &opts)
	}
	f := &fort{t: t, cfg: cfg, app: start(t, cfg, opts)}
	raw, err := os.ReadFile(cfg.AdminKeyFile())
	if err != nil {
		t.Fatal(err)
	}
	f.key = strings.TrimSpace(string(raw))
	if f.admin, err = f.app.Control().Authenticate(t.Context(), f.key); err != nil {
		t.Fatal(err)
	}
	return f
}

// begin starts a run of a script.
func (f *fort) begin(script string) (runID string) {
	f.t.Helper()
	body, err := json.Marshal(map[string]string{"prompt": "```sh\n" + script + "\n```"})
	if err != nil {
		f.t.Fatal(err)
	}
	status, text := call(f.t, "POST", f.app.URL()+"/api/v1/agent/runs", f.key, string(body))
	var started struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal(text, &started); err != nil || status != http.StatusOK {
		f.t.Fatalf("%d %s", status, text)
	}
	return started.RunID
}

// follow gathers what a run's agent prints until it has printed a text, or with
// none until the run ends.
func (f *fort) follow(runID, until string) string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	follower, err := f.app.Control().Follow(ctx, f.admin, runID, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	defer follower.Close()
	var out strings.Builder
	for {
		items, err := follower.Next(ctx)
		for _, item := range items {
			var data lineshaft.OutputData
			if item.Event.Type == lineshaft.EventOutput && json.Unmarshal(item.Event.Data, &data) == nil {
				out.WriteString(data.Text)
			}
		}
		if err != nil || until != "" && strings.Contains(out.String(), until) {
			if ctx.Err() != nil {
				f.t.Fatalf("waited in vain for %q; got %q", until, out.String())
			}
			return out.String()
		}
	}
}

// attack runs a script to its end.
func (f *fort) attack(script string) (*lineshaft.Run, string) {
	f.t.Helper()
	runID := f.begin(script)
	out := f.follow(runID, "")
	run, err := f.app.Control().GetRun(f.t.Context(), f.admin, runID)
	if err != nil {
		f.t.Fatal(err)
	}
	return run, out
}

// find gives the path of a file of an agent on the host.
func (f *fort) find(name string) string {
	f.t.Helper()
	var found []string
	err := filepath.WalkDir(f.cfg.DataDir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() == name {
			found = append(found, path)
		}
		return nil
	})
	if err != nil || len(found) != 1 {
		f.t.Fatalf("%s is at %v, %v", name, found, err)
	}
	return found[0]
}

// cancel ends a run, and returns when nothing of it sleeps for the mark.
func (f *fort) cancel(runID, mark string) {
	f.t.Helper()
	call(f.t, "POST", f.app.URL()+"/api/v1/agent/runs/"+runID+"/cancel", f.key, "")
	f.follow(runID, "")
	for deadline := time.Now().Add(time.Minute); len(sleepers(mark)) > 0; {
		if time.Now().After(deadline) {
			f.t.Fatalf("%d processes are left", len(sleepers(mark)))
		}
		<-time.After(5 * time.Millisecond)
	}
}

// sleepers lists the live processes that sleep for the mark.
func sleepers(mark string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err == nil && strings.HasPrefix(string(args), "sleep\x00"+mark) {
			found = append(found, filepath.Base(dir))
		}
	}
	return found
}

func uniqueMark() string { return fmt.Sprintf("86400.%d%d", os.Getpid(), time.Now().UnixNano()) }

func TestX5HostileAgentReadsNoServerFiles(t *testing.T) {
	t.Parallel()
	f := besiege(t, nil)
	data := f.cfg.DataDir
	run, out := f.attack(`
ls -la ` + data + ` ` + filepath.Dir(data) + ` && echo LEAK
for p in ` + f.cfg.DatabaseOrDefault() + ` ` + f.cfg.AdminKeyFile() + ` ` + f.cfg.MasterKeyFileOrDefault() + ` /proc/1/root` + f.cfg.AdminKeyFile() + ` /proc/1/cwd/` + data + `; do
  [ -e "$p" ] && echo LEAK $p; cat "$p" 2>/dev/null && echo LEAK
done
find / -xdev \( -name lineshaft.db -o -name master.key -o -name admin.key \) 2>/dev/null
ln -s ` + f.cfg.AdminKeyFile() + ` link && cat link 2>/dev/null && echo LEAK
cat /etc/shadow 2>/dev/null && echo LEAK
mount --bind / /tmp 2>/dev/null && echo LEAK
echo done`)
	if run.State != lineshaft.Succeeded || !strings.Contains(out, "done\n") || strings.Contains(out, "LEAK") || strings.Contains(out, f.key) || strings.Contains(out, "lineshaft.db\n") {
		t.Errorf("%s: %s", run.State, out)
	}
}

func TestX5HostileAgentReachesNoOtherRun(t *testing.T) {
	t.Parallel()
	f := besiege(t, nil)
	mark := uniqueMark()
	victim := f.begin("echo private > only-of-the-victim; echo ready; exec sleep " + mark)
	f.follow(victim, "ready")
	// The link leads to the victim's file by its path on the host.
	file := f.find("only-of-the-victim")
	_, out := f.attack(`
find / -xdev -name only-of-the-victim 2>/dev/null
cat ` + file + ` 2>/dev/null && echo LEAK
ln -s ` + file + ` link; cat link 2>/dev/null && echo LEAK
cat /proc/[0-9]*/cmdline | tr '\0' ' ' | grep '8640[0][.]' && echo LEAK
for d in /proc/[0-9]*; do cat $d/root/workspace/only-of-the-victim 2>/dev/null && echo LEAK; done
trap '' TERM; kill -TERM -1; echo done`)
	if !strings.Contains(out, "done\n") || strings.Contains(out, "LEAK") || strings.Contains(out, "only-of-the-victim") || strings.Contains(out, "private") {
		t.Errorf("got %s", out)
	}
	if len(sleepers(mark)) != 1 {
		t.Error("the victim was killed")
	}
	f.cancel(victim, mark)
}

func TestX5HostileAgentFindsNoSecretThatItWasNotGiven(t *testing.T) {
	t.Parallel()
	f := besiege(t, nil)
	secret := "value-" + id.Secret(16)
	if status, text := call(t, "POST", f.app.URL()+"/api/v1/secrets", f.key, `{"name": "NOT_FOR_EVERYBODY", "value": "`+secret+`"}`); status >= 300 {
		t.Fatalf("%d %s", status, text)
	}
	_, out := f.attack(`
env; set
cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n'
cat /proc/self/mountinfo /proc/[0-9]*/maps
find /workspace /tmp /run /etc /dev/shm /var -type f ! -name lineshaft -exec cat {} + 2>/dev/null
echo done`)
	if !strings.Contains(out, "done\n") || strings.Contains(out, secret) || strings.Contains(out, "NOT_FOR_EVERYBODY") || strings.Contains(out, canary) || strings.Contains(out, f.key) {
		t.Errorf("got %s", out)
	}
}

func TestX5HostileAgentReachesNoNetwork(t *testing.T) {
	t.Parallel()
	f := besiege(t, nil)
	var config net.ListenConfig
	abstract, err := config.Listen(t.Context(), "unix", "@lineshaft-hostile-"+id.Secret(8))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = abstract.Close() }()
	named, err := config.Listen(t.Context(), "unix", filepath.Join("/tmp", "lineshaft-hostile-"+id.Secret(8)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = named.Close() }()
	server := strings.TrimPrefix(f.app.URL(), "http://")
	targets := [][2]string{{"tcp", server}, {"unix", abstract.Addr().String()}, {"unix", named.Addr().String()}, {"tcp", "192.0.2.1:443"}, {"udp", "192.0.2.1:53"}}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(server)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			targets = append(targets, [2]string{"tcp", net.JoinHostPort(ip.IP.String(), port)})
		}
	}
	var script strings.Builder
	for _, target := range targets {
		fmt.Fprintf(&script, "lineshaft dial %s '%s'\n", target[0], target[1])
	}
	_, out := f.attack(script.String() + "tail -n +3 /proc/net/dev | cut -d: -f1\nunshare -rn true 2>/dev/null; ip link add x type dummy 2>/dev/null && echo CONNECTED\necho done")
	if !strings.Contains(out, "done\n") || strings.Count(out, "refused:") != len(targets) || strings.Contains(out, "CONNECTED") {
		t.Errorf("got %s", out)
	}
	// The same words outside prove that they can connect at all.
	if dial("unix", abstract.Addr().String()) != 0 || dial("tcp", server) != 0 {
		t.Error("the targets do not listen")
	}
}

func TestX5HostileAgentDoesNotSurviveCancel(t *testing.T) {
	t.Parallel()
	f := besiege(t, nil)
	mark := uniqueMark()
	runID := f.begin(strings.ReplaceAll(`trap '' TERM INT HUP QUIT
setsid sleep MARK &
nohup sleep MARK >/dev/null 2>&1 &
(setsid sh -c '(sleep MARK &) ; exec sleep MARK' &)
unshare -U -r -p -f --kill-child=SIGCONT sleep MARK 2>/dev/null &
(while :; do sleep MARK; done) &
echo armed
while :; do sleep MARK; done`, "MARK", mark))
	f.follow(runID, "armed")
	deadline := time.Now().Add(time.Minute)
	for len(sleepers(mark)) < 6 {
		if time.Now().After(deadline) {
			t.Fatalf("only %d processes", len(sleepers(mark)))
		}
		<-time.After(5 * time.Millisecond)
	}
	f.cancel(runID, mark)
	run, err := f.app.Control().GetRun(t.Context(), f.admin, runID)
	if err != nil || run.State != lineshaft.Cancelled {
		t.Errorf("%+v %v", run.State, err)
	}
}

func TestX5HostileAgentFillsNoDisk(t *testing.T) {
	t.Parallel()
	f := besiege(t, nil)
	run, out := f.attack("i=0; while :; do head -c 2000000 /dev/zero > f$i || exit 1; i=$((i+1)); done")
	if run.State != lineshaft.Failed || !strings.Contains(run.Status.Message, "more disk space than this worker allows") {
		t.Errorf("workspace: %s %q %s", run.State, run.Status.Message, out)
	}
	// Files there are memory.
	for _, dir := range []string{"/tmp", "/dev/shm", "/var/tmp"} {
		run, out = f.attack("i=0; while [ $i -lt 400 ]; do head -c 1000000 /dev/zero > " + dir + "/f$i || exit 1; i=$((i+1)); done; echo filled")
		if run.State != lineshaft.Failed || strings.Contains(out, "filled") {
			t.Errorf("%s: %s %q %s", dir, run.State, run.Status.Message, out)
		}
	}
}

// The bomb has an end of its own, for machines where the limit does not hold.
func TestX5HostileAgentForksNoBomb(t *testing.T) {
	t.Parallel()
	f := besiege(t, func(c *config.Config, _ *app.Options) { c.MemoryLimit = 0 })
	mark := uniqueMark()
	runID := f.begin(`echo armed; bomb() { if [ $1 -gt 0 ]; then bomb $(($1-1)) & bomb $(($1-1)) & else exec sleep ` + mark + `; fi; wait; }; bomb 9; wait; sleep ` + mark)
	f.follow(runID, "armed")
	most := 0
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		most = max(most, len(sleepers(mark)))
		<-time.After(20 * time.Millisecond)
	}
	if most > f.cfg.ProcessLimit+1 {
		t.Errorf("%d processes", most)
	}
	// Either the bomb has ended itself for want of processes, or it is ended.
	f.cancel(runID, mark)
	if run, out := f.attack("echo alive"); run.State != lineshaft.Succeeded {
		t.Errorf("the next run: %s %s", run.State, out)
	}
}

func TestX5HostileAgentTakesNoMoreMemory(t *testing.T) {
	t.Parallel()
	f := besiege(t, nil)
	run, out := f.attack("tail /dev/zero; sleep 100")
	if run.State != lineshaft.Failed || !strings.Contains(run.Status.Message, "more memory than this worker allows") {
		t.Errorf("%s %q %s", run.State, run.Status.Message, out)
	}
}

// greedy asks its model once and then puts all it can see into a file.
type greedy struct{}

func (greedy) Name() string { return "shell" }

func (greedy) Open(_ context.Context, env harness.Environment) (harness.Session, error) {
	return greedySession{env}, nil
}

type greedySession struct{ env harness.Environment }

func (greedySession) Close(context.Context) error { return nil }

func (g greedySession) Turn(ctx context.Context, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	access, ok := g.env.Access(model.Anthropic)
	if !ok {
		return lineshaft.TurnResult{State: lineshaft.Failed, Message: "no model"}, nil
	}
	script, err := g.env.WriteFile("greedy.sh", turn.Message)
	if err != nil {
		return lineshaft.TurnResult{}, err
	}
	output := g.env.NewOutput(emit, "")
	exit, err := g.env.Run(ctx, harness.Program{
		Command: []string{"sh", script}, Env: []string{"MODEL_URL=" + access.URL, "MODEL_KEY=" + access.Key},
		Stdout: output.Stdout(), Stderr: output.Stderr(),
	})
	output.Close()
	if err != nil || !harness.Good(exit) {
		return lineshaft.TurnResult{State: lineshaft.Failed, Message: harness.Describe("sh", exit)}, err
	}
	return lineshaft.TurnResult{State: lineshaft.Succeeded}, nil
}

// The model's own key is used for the agent, and is nowhere the agent can look.
func TestX12RealKeyIsNeverInTheSandbox(t *testing.T) {
	t.Parallel()
	mark := uniqueMark()
	realKey := "sk-real-" + id.Secret(24)
	asked := make(chan string, 10)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("X-Api-Key")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"fake-1","content":[{"type":"text","text":"the answer of the model"}],
			"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":5}}`)
	}))
	defer endpoint.Close()
	f := besiege(t, func(c *config.Config, o *app.Options) {
		c.AnthropicAPIKey, c.AnthropicURL, c.Model = config.Secret(realKey), endpoint.URL, "fake-1"
		o.Harnesses = []harness.Harness{greedy{}}
		c.DefaultHarness, c.DiskLimit, c.MemoryLimit = "shell", 0, 0
	})
	body, err := json.Marshal(map[string]string{"prompt": `
curl -s "$MODEL_URL/v1/messages" -H "x-api-key: $MODEL_KEY" -H 'content-type: application/json' -d '{"model":"fake-1","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}' || exit 1
{ env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline
  find / -xdev \( -path /proc -o -path /usr -o -path /opt -o -path /nix -o -path /sys \) -prune -o -type f -readable -print 2>/dev/null | grep -v /seen | xargs -r -d '\n' cat
  find /workspace /tmp /run /dev/shm -type f ! -name lineshaft ! -name seen -exec cat {} +
  for p in /proc/[0-9]*; do # the memory of all processes, the forward's too
    [ -r $p/maps ] && sed -n 's/^\([0-9a-f]*\)-\([0-9a-f]*\) rw.*/\1 \2/p' $p/maps | while read from to; do
      dd if=$p/mem bs=4096 skip=$((0x$from/4096)) count=$(( (0x$to-0x$from)/4096 > 8192 ? 8192 : (0x$to-0x$from)/4096 )) 2>/dev/null
    done
  done
} > seen 2>/dev/null
echo looked; exec sleep ` + mark})
	if err != nil {
		t.Fatal(err)
	}
	status, text := call(t, "POST", f.app.URL()+"/api/v1/agent/runs", f.key, string(body))
	var started struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal(text, &started); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	out := f.follow(started.RunID, "looked\n") // its files go with the run
	defer f.cancel(started.RunID, mark)
	if !strings.Contains(out, "the answer of the model") || !strings.HasSuffix(out, "looked\n") {
		t.Fatalf("the agent did not get to its model: %s", out)
	}
	if got := <-asked; got != realKey {
		t.Errorf("the endpoint was asked with %q", got)
	}
	all, err := os.ReadFile(f.find("seen"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(all), "MODEL_KEY=") || len(all) < 100_000 {
		t.Errorf("it saw %d bytes and not even its own key", len(all))
	}
	if strings.Contains(string(all), realKey) || strings.Contains(out, realKey) {
		t.Error("the real key is in the sandbox")
	}
}
