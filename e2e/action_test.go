package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/lineshaft/lineshaft/client"
)

const actionDir = "../deploy/github-action"

// action is a composite action as its file says it.
type action struct {
	Inputs map[string]struct {
		Required bool   `yaml:"required"`
		Default  string `yaml:"default"`
	} `yaml:"inputs"`
	Outputs map[string]struct {
		Value string `yaml:"value"`
	} `yaml:"outputs"`
	Runs struct {
		Using string `yaml:"using"`
		Steps []struct {
			ID    string            `yaml:"id"`
			Shell string            `yaml:"shell"`
			Run   string            `yaml:"run"`
			Env   map[string]string `yaml:"env"`
		} `yaml:"steps"`
	} `yaml:"runs"`
}

func readAction(t *testing.T) action {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(actionDir, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

var inputExpression = regexp.MustCompile(`\$\{\{ inputs\.([a-z-]+) \}\}`)

// stepResult is what a runner sees of an action.
type stepResult struct {
	code                 int
	log, output, summary string
	outputs              map[string]string
}

// runAction does what a runner does: inputs into the variables of each step, a file for
// the script, files for outputs and summary.
func runAction(ctx context.Context, t *testing.T, inputs map[string]string, extra ...string) stepResult {
	t.Helper()
	a, dir := readAction(t), t.TempDir()
	where, err := filepath.Abs(actionDir)
	if err != nil {
		t.Fatal(err)
	}
	output, summary := filepath.Join(dir, "output"), filepath.Join(dir, "summary")
	result := stepResult{outputs: map[string]string{}}
	for i, step := range a.Runs.Steps {
		script := filepath.Join(dir, fmt.Sprintf("step-%d.sh", i))
		if err := os.WriteFile(script, []byte(step.Run), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
		cmd.Dir = dir
		cmd.Env = append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GITHUB_ACTIONS=true", "GITHUB_ACTION_PATH=" + where, "GITHUB_OUTPUT=" + output, "GITHUB_STEP_SUMMARY=" + summary,
			"GITHUB_RUN_ID=4711", "GITHUB_RUN_ATTEMPT=1", "GITHUB_JOB=fix", "GITHUB_ACTION=" + t.Name(), "GITHUB_REPOSITORY=acme/shop", "GITHUB_SHA=0123abcd",
			"GITHUB_SERVER_URL=https://github.example", "RUNNER_NAME=runner-1", "LINESHAFT_POLL_SECONDS=0", "LINESHAFT_RETRY_SECONDS=0",
		}, extra...)
		for name, value := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+inputExpression.ReplaceAllStringFunc(value, func(expression string) string {
				input := inputExpression.FindStringSubmatch(expression)[1]
				if given, ok := inputs[input]; ok {
					return given
				}
				return a.Inputs[input].Default
			}))
		}
		var log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		result.code, result.log = cmd.ProcessState.ExitCode(), log.String()
	}
	result.output, result.summary = readText(output), readText(summary)
	for line := range strings.Lines(result.output) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		result.outputs[name] = value
	}
	return result
}

func readText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "" // nothing was written
	}
	return string(text)
}

func actionServer(t *testing.T) *node {
	t.Helper()
	n := newNode(t, filepath.Join(t.TempDir(), "lineshaft.db"), "--isolation", "none")
	n.start(t.Context())
	return n
}

func (n *node) inputs(pairs ...string) map[string]string {
	inputs := map[string]string{"url": n.url, "api-key": adminKey}
	for i := 0; i+1 < len(pairs); i += 2 {
		inputs[pairs[i]] = pairs[i+1]
	}
	return inputs
}

// TestI1ActionIsSafe: nothing of an input is text of a script, and every input arrives.
func TestI1ActionIsSafe(t *testing.T) {
	t.Parallel()
	a := readAction(t)
	used := map[string]bool{}
	for _, step := range a.Runs.Steps {
		if a.Runs.Using != "composite" || step.Shell != "bash" || strings.Contains(step.Run, "${{") {
			t.Errorf("step %s: %s", step.ID, step.Run)
		}
		for _, value := range step.Env {
			if match := inputExpression.FindStringSubmatch(value); match == nil || match[0] != value {
				t.Errorf("%s is more than an input", value)
			} else {
				used[match[1]] = true
			}
		}
	}
	for input := range a.Inputs {
		if !used[input] {
			t.Errorf("input %s goes nowhere", input)
		}
	}
	for name, output := range a.Outputs {
		if output.Value != "${{ steps.run.outputs."+name+" }}" {
			t.Errorf("output %s is %s", name, output.Value)
		}
	}
	shellcheck, err := exec.LookPath("shellcheck")
	if err != nil && os.Getenv("LINESHAFT_TEST_FULL") != "" {
		t.Fatal("make test needs shellcheck: scripts/install-deps installs it")
	}
	if err != nil {
		t.Skip("this machine has no shellcheck; scripts/install-deps installs it")
	}
	if out, err := exec.CommandContext(t.Context(), shellcheck, actionDir+"/run.sh", "../deploy/ci/lineshaft-run.sh").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestI1ActionSucceeds(t *testing.T) {
	t.Parallel()
	n := actionServer(t)
	r := runAction(t.Context(), t, n.inputs("prompt", "```sh\necho hello\n```", "name", "nightly", "title", "A title", "metadata", "team=core\nbuild=a=b\n"))
	if r.code != 0 || r.outputs["state"] != "SUCCEEDED" || r.outputs["url"] != n.url+"/runs/"+r.outputs["run-id"] || len(r.outputs) != 3 {
		t.Fatalf("%+v", r)
	}
	if !strings.Contains(r.log, "::add-mask::"+adminKey) || strings.Count(r.log, adminKey) != 1 || !strings.Contains(r.summary, "["+r.outputs["run-id"]+"]("+n.url) || strings.Contains(r.output+r.summary, adminKey) {
		t.Errorf("%+v", r)
	}
	run, err := n.client().Runs.Get(t.Context(), r.outputs["run-id"])
	if err != nil || run.Title != "A title" || run.AgentConfig.Name != "nightly" {
		t.Fatalf("%+v, %v", run, err)
	}
	for key, want := range map[string]string{"team": "core", "build": "a=b", "repository": "acme/shop", "commit": "0123abcd", "workflow_run": "https://github.example/acme/shop/actions/runs/4711"} {
		if run.Metadata[key] != want {
			t.Errorf("metadata %s is %q", key, run.Metadata[key])
		}
	}
}

func TestI1ActionFails(t *testing.T) {
	t.Parallel()
	n := actionServer(t)
	for _, tc := range []struct {
		name   string
		inputs map[string]string
		code   int
		log    string
	}{
		{"the run fails", n.inputs("prompt", "```sh\nexit 3\n```"), 1, "the run ended FAILED: block 1 of 1: sh exited with code 3 (agent_process_failed)\nlineshaft: Its log: " + n.url + "/runs/"},
		{"time-out", n.inputs("prompt", "```sh\nsleep 60\n```", "timeout", "0"), 1, "it continues"},
		{"wrong key", n.inputs("prompt", "x", "api-key", "ls_wrong"), 4, "does not accept this API key"},
		{"no key", n.inputs("prompt", "x", "api-key", ""), 4, "LINESHAFT_API_KEY is not set"},
		{"key with a line break", n.inputs("prompt", "x", "api-key", "ls_x\nheader = \"X: y\""), 2, "a character that no key has"},
		{"no prompt", n.inputs(), 2, "one prompt is needed"},
		{"two prompts", n.inputs("prompt", "x", "prompt-file", "y"), 2, "one prompt is needed"},
		{"empty prompt", n.inputs("prompt", " \n "), 2, "the prompt is empty"},
		{"no such file", n.inputs("prompt-file", "none.md"), 2, "is not a file"},
		{"address", n.inputs("prompt", "x", "url", "lineshaft.example"), 2, "is not the address"},
		{"metadata", n.inputs("prompt", "x", "metadata", "nonsense"), 2, "is not KEY=VALUE"},
		{"wait", n.inputs("prompt", "x", "wait", "perhaps"), 2, "neither true nor false"},
		{"time", n.inputs("prompt", "x", "timeout", "1h"), 2, "is not a number"},
		{"agent", n.inputs("prompt", "x", "agent", "../../whoami"), 2, "are uids"},
		{"no such agent", n.inputs("prompt", "x", "agent", "nosuch"), 3, "not found: agent_identity_uid: no agent"},
		{"no such environment", n.inputs("prompt", "x", "environment", "nosuch"), 3, "not found: config.environment_id: there is no environment"},
		{"no such factory", n.inputs("prompt", "x", "factory", "01980f10-2233-7445-9667-8899aabbccdd"), 3, "not found"},
		{"factory with a model", n.inputs("prompt", "x", "factory", "01980f10-2233-7445-9667-8899aabbccdd", "model", "m"), 2, "has its own settings"},
	} {
		r := runAction(t.Context(), t, tc.inputs)
		if r.code != tc.code || !strings.Contains(r.log, tc.log) || strings.Contains(r.log, "lineshaft runs ") { // a CI machine has no such command
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
	if r := runAction(t.Context(), t, n.inputs("prompt", "```sh\nsleep 60\n```", "wait", "false")); r.code != 0 || r.outputs["state"] == "" || r.outputs["run-id"] == "" {
		t.Errorf("%+v", r)
	}
}

// TestS2ActionTakesNoOrders: what strangers write stays text, in the prompt, the names,
// the log and the outputs.
func TestS2ActionTakesNoOrders(t *testing.T) {
	t.Parallel()
	n := actionServer(t)
	trap := filepath.Join(t.TempDir(), "trap")
	for _, evil := range []string{
		`"; touch ` + trap + `; "`, "$(touch " + trap + ")", "`touch " + trap + "`", "'; touch " + trap + " #", "\\\"}],\"x\":{", "--prompt-file", "-K/etc/passwd", "@/etc/passwd",
		"a\nEOF\nstate=SUCCEEDED\n::set-output name=x::y\n", "tab\tbell\aescape\x1b[2J\x7f", "größer ✓ 日本 \u202e", "%s%n%d", "*", "~", "\\u0041\\",
	} {
		r := runAction(t.Context(), t, n.inputs("prompt", evil+"\n\n```sh\ntrue\n```", "metadata", "title="+strings.ReplaceAll(evil, "\n", " ")))
		if r.code != 0 || r.outputs["state"] != "SUCCEEDED" || len(r.outputs) != 3 || regexp.MustCompile(`(?m)^::set-output`).MatchString(r.log) {
			t.Errorf("%q: %+v", evil, r)
			continue
		}
		run, err := n.client().Runs.Get(t.Context(), r.outputs["run-id"])
		if err != nil || run.Prompt != evil+"\n\n```sh\ntrue\n```" {
			t.Errorf("%q arrived as %q, %v", evil, run.Prompt, err)
		}
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("a prompt was executed by the runner")
	}
}

// TestI3ActionTriesAgain: 429, 503 and an answer that is lost; there is one run.
func TestI3ActionTriesAgain(t *testing.T) {
	t.Parallel()
	n := actionServer(t)
	target, err := url.Parse(n.url)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport = &http.Transport{DisableKeepAlives: true}
	var posts atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			forward.ServeHTTP(w, r)
			return
		}
		switch posts.Add(1) {
		case 1:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3: // the server has stored the run, but nobody learns of it
			forward.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		default:
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(proxy.Close)
	r := runAction(t.Context(), t, n.inputs("url", proxy.URL, "prompt", "```sh\ntrue\n```"))
	if r.code != 0 || r.outputs["state"] != "SUCCEEDED" || posts.Load() != 4 {
		t.Errorf("%d requests, %+v", posts.Load(), r)
	}
	page, err := n.client().Runs.List(t.Context(), client.RunQuery{})
	if err != nil || len(page.Runs) != 1 || page.Runs[0].RunID != r.outputs["run-id"] {
		t.Errorf("%d runs, %v", len(page.Runs), err)
	}
}

// TestI1CIScriptInOtherShells: the script is for images with a small shell.
func TestI1CIScriptInOtherShells(t *testing.T) {
	t.Parallel()
	n := actionServer(t)
	for _, shell := range []string{"dash", "bash --posix", "busybox sh"} {
		words := strings.Fields(shell)
		if _, err := exec.LookPath(words[0]); err != nil {
			continue // what is not here cannot be tried; bash is, since the tests above need it
		}
		cmd := exec.CommandContext(t.Context(), words[0], append(words[1:], "../deploy/ci/lineshaft-run.sh", "--prompt-file", "-")...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LINESHAFT_URL=" + n.url + "/", "LINESHAFT_API_KEY=" + adminKey, "LINESHAFT_POLL_SECONDS=0"}
		cmd.Stdin = strings.NewReader("Say it\n\n```sh\necho hello\n```\n")
		var out, log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &log
		if err := cmd.Run(); err != nil || len(strings.TrimSpace(out.String())) != 36 {
			t.Errorf("%s: %v, %q\n%s", shell, err, out.String(), log.String())
		}
	}
}

// ciScript runs the script alone and keeps its two streams apart.
func ciScript(ctx context.Context, t *testing.T, address string, env []string, args ...string) (code int, out, log string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, "sh", append([]string{"../deploy/ci/lineshaft-run.sh"}, args...)...)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "LINESHAFT_URL=" + address, "LINESHAFT_API_KEY=" + adminKey, "LINESHAFT_POLL_SECONDS=0", "LINESHAFT_RETRY_SECONDS=0",
	}, env...)
	var outs, logs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &outs, &logs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), outs.String(), logs.String()
}

// pretendRun answers as a server whose run has succeeded; post answers what starts it.
func pretendRun(t *testing.T, post http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && post != nil {
			post(w, r)
			return
		}
		fmt.Fprint(w, `{"run_id":"r-1","state":"SUCCEEDED","session_link":"http://server/runs/r-1"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestS2CIScriptKeepsTheKeyOutOfItsOutput: what takes the id of the run gets nothing else,
// and the runner still learns what to mask.
func TestS2CIScriptKeepsTheKeyOutOfItsOutput(t *testing.T) {
	t.Parallel()
	code, out, log := ciScript(t.Context(), t, pretendRun(t, nil), []string{"GITHUB_ACTIONS=true"}, "--prompt", "x")
	if code != 0 || out != "r-1\n" || !strings.Contains(log, "::add-mask::"+adminKey+"\n") {
		t.Errorf("exit %d, %q\n%s", code, out, log)
	}
}

// TestI3CIScriptReadsRetryAfter: seconds are kept, what is none of them is not taken for
// no pause or handed to sleep, and a server that says no is not asked again.
func TestI3CIScriptReadsRetryAfter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, header, value string
		posts               int32
		log                 string
	}{
		{"seconds", "Retry-After", "1", 5, "again in 1s"},
		{"a date", "Retry-After", "Wed, 21 Oct 2037 07:28:00 GMT", 5, "again in 4s"},
		{"below zero", "Retry-After", "-5", 5, "again in 4s"},
		{"nonsense", "Retry-After", "1; true", 5, "again in 4s"},
		{"for ever", "Retry-After", "99999999999999999999", 5, "again in 120s"},
		{"never", "X-Should-Retry", "false", 1, ""},
	} {
		var posts atomic.Int32
		address := pretendRun(t, func(w http.ResponseWriter, _ *http.Request) {
			posts.Add(1)
			w.Header().Set(tc.header, tc.value)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		// A sleep that says for how long, and takes no time.
		bin := t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "sleep"), []byte("#!/bin/sh\ncase $1 in ''|*[!0-9]*) exit 1;; esac\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		code, out, log := ciScript(t.Context(), t, address, []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "LINESHAFT_RETRY_SECONDS=4"}, "--prompt", "x")
		if code != 1 || out != "" || posts.Load() != tc.posts || !strings.Contains(log, tc.log) || tc.log == "" && strings.Contains(log, "again in") || !strings.Contains(log, "the server answered 503") {
			t.Errorf("%s: exit %d, %d requests, %q\n%s", tc.name, code, posts.Load(), out, log)
		}
	}
}

// TestH9CIScriptStartsARunForEachCall of one job, however alike they are; a key of the
// caller's own makes them one.
func TestH9CIScriptStartsARunForEachCall(t *testing.T) {
	t.Parallel()
	keys := make(chan string, 8)
	address := pretendRun(t, func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Idempotency-Key")
		fmt.Fprint(w, `{"run_id":"r-1","state":"QUEUED"}`)
	})
	for _, job := range [][]string{{"CI_JOB_ID=77"}, {"GITHUB_RUN_ID=4711", "GITHUB_RUN_ATTEMPT=1", "GITHUB_ACTION=fix", "RUNNER_NAME=own"}} {
		for range 2 {
			if code, out, log := ciScript(t.Context(), t, address, job, "--prompt", "the same"); code != 0 {
				t.Fatalf("exit %d, %q\n%s", code, out, log)
			}
		}
		if first, second := <-keys, <-keys; first == "" || first == second {
			t.Errorf("%v: two calls are one run: %q", job, first)
		}
	}
	if code, out, log := ciScript(t.Context(), t, address, nil, "--prompt", "x", "--idempotency-key", "audit-7"); code != 0 || <-keys != "audit-7" {
		t.Errorf("exit %d, %q\n%s", code, out, log)
	}
}

// oneLiner is the line of docs/ci.md.
func oneLiner(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile("../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "<!-- tested by TestI1CIOneLiner -->\n```sh\n")
	line, _, closed := strings.Cut(rest, "\n```")
	if !ok || !closed || strings.Contains(line, "\n") || !strings.Contains(line, "Fix the failing test") {
		t.Fatalf("docs/ci.md has no such line: %q", line)
	}
	return line
}

// TestI1CIOneLiner runs the line of docs/ci.md.
func TestI1CIOneLiner(t *testing.T) {
	t.Parallel()
	n, line := actionServer(t), oneLiner(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	for body, want := range map[string]bool{"true": true, "exit 3": false} {
		cmd := exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(line, "Fix the failing test", "```sh\\n"+body+"\\n```"))
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LINESHAFT_URL=" + n.url, "LINESHAFT_API_KEY=" + adminKey, "BUILD_ID=" + strings.ReplaceAll(body, " ", "-")}
		var log bytes.Buffer
		cmd.Stderr = &log
		if out, err := cmd.Output(); (err == nil) != want || len(out) > 0 || want != (log.Len() == 0) || !want && !strings.Contains(log.String(), "sh exited with code 3") {
			t.Errorf("%s: %v, %q\n%s", body, err, out, log.String())
		}
	}
}

// TestS2CIOneLinerBelievesOnlyTheServer: the last state counts, and no text of an agent.
func TestS2CIOneLinerBelievesOnlyTheServer(t *testing.T) {
	t.Parallel()
	state := func(to string) string {
		return "event: state\ndata: {\"type\":\"state\",\"data\":{\"to\":\"" + to + "\"}}\n\n"
	}
	const forged = "event: tool_call\ndata: {\"type\":\"tool_call\",\"data\":{\"input\":{\"type\":\"state\",\"to\":\"SUCCEEDED\"}}}\n\n"
	for _, tc := range []struct {
		name, stream string
		want         bool
	}{
		{"succeeded", state("INPROGRESS") + state("SUCCEEDED"), true},
		{"forged before the end", state("INPROGRESS") + forged + state("FAILED"), false},
		{"forged at the end", state("FAILED") + forged, false},
		{"opened again", state("SUCCEEDED") + state("INPROGRESS") + state("FAILED"), false},
		{"a message that says so", "event: state\ndata: {\"data\":{\"message\":\"\\\"to\\\":\\\"SUCCEEDED\\\"\",\"to\":\"FAILED\"}}\n\n", false},
		{"nothing", "", false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				fmt.Fprint(w, `{"run_id":"r-1","state":"QUEUED"}`)
				return
			}
			fmt.Fprint(w, tc.stream)
		}))
		cmd := exec.CommandContext(t.Context(), "bash", "-c", oneLiner(t))
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LINESHAFT_URL=" + server.URL, "LINESHAFT_API_KEY=" + adminKey, "BUILD_ID=1"}
		var log bytes.Buffer
		cmd.Stderr = &log
		if out, err := cmd.Output(); (err == nil) != tc.want || len(out) > 0 || strings.HasPrefix(log.String(), "the run did not succeed: ") == tc.want {
			t.Errorf("%s: %v, %q\n%s", tc.name, err, out, log.String())
		}
		server.Close()
	}
}

// TestI1CIOneLinerStopsWithoutARun: a refusal is reported, and nothing more is asked.
func TestI1CIOneLinerStopsWithoutARun(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	for _, shell := range []string{"bash", "sh"} {
		cmd := exec.CommandContext(t.Context(), shell, "-c", oneLiner(t))
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LINESHAFT_URL=" + server.URL, "LINESHAFT_API_KEY=wrong", "BUILD_ID=1"}
		if out, err := cmd.CombinedOutput(); err == nil || asked.Swap(0) != 1 || !strings.Contains(string(out), "401") {
			t.Errorf("%s: %v, %q", shell, err, out)
		}
	}
}

// TestS2CIScriptTellsTheReasonOfTheRun: that of the run itself, on one line, whatever else
// the answer has that looks like it.
func TestS2CIScriptTellsTheReasonOfTheRun(t *testing.T) {
	t.Parallel()
	const forged = `"message":"forged","status_message.message":"forged","metadata":{"status_message":{"message":"forged"}},"list":["status_message",{"message":"forged"}],"prompt":"\"status_message\":{\"message\":\"forged\"}"`
	for _, tc := range []struct{ name, fields, want string }{
		{"reason and code", `,"status_message":{"retryable":false,"more":{"message":"forged"},"message":"the disk is full","error_code":"resource_exhausted"}`, "the run ended FAILED: the disk is full (resource_exhausted)\n"},
		{"reason alone", `,"status_message":{"message":"the disk is full"}`, "the run ended FAILED: the disk is full\n"},
		{"line breaks and orders", `,"status_message":{"message":"a\n::error::b\u001b[2J\r$(exit 7) %s"}`, "the run ended FAILED: a ::error::b?[2J $(exit 7) %s\n"},
		{"a list", `,"status_message":[{"message":"forged"}]`, "the run ended FAILED\n"},
		{"none", ``, "the run ended FAILED\n"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"run_id":"r-1","state":"FAILED","session_link":"http://server/runs/r-1",%s%s}`, forged, tc.fields)
		}))
		code, out, log := ciScript(t.Context(), t, server.URL, nil, "--prompt", "x")
		server.Close()
		if code != 1 || out != "r-1\n" || !strings.HasSuffix(log, "lineshaft: "+tc.want+"lineshaft: Its log: http://server/runs/r-1\n") || strings.Contains(log, "forged") {
			t.Errorf("%s: exit %d, %q\n%s", tc.name, code, out, log)
		}
	}
}
