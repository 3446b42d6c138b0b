package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lineshaft/lineshaft/client"
)

// These are sentences of the contract that once did not hold, tried from outside against
// the program: set LINESHAFT_BIN to an older build to watch them fail.

// sentence is one request and what its answer must be. Names in braces in the path, the
// body and says are replaced with what was kept before.
type sentence struct {
	name, method, path, body string
	status                   int
	// says must be in the answer, omits must not be.
	says, omits string
	// keep has a field of the answer kept under a name, as in "uid as W".
	keep string
}

// try tries sentences one after the other.
func (c caller) try(kept map[string]string, sentences []sentence) {
	c.t.Helper()
	for _, s := range sentences {
		var pairs []string
		for name, value := range kept {
			pairs = append(pairs, "{"+name+"}", value)
		}
		fill := strings.NewReplacer(pairs...).Replace
		status, text := c.ask(s.method, fill(s.path), fill(s.body))
		if status != s.status || !strings.Contains(text, fill(s.says)) || s.omits != "" && strings.Contains(text, fill(s.omits)) {
			c.t.Errorf("%s: %s %s %s: %d %.400s", s.name, s.method, fill(s.path), fill(s.body), status, text)
		}
		if field, name, ok := strings.Cut(s.keep, " as "); ok {
			var fields map[string]any
			_ = json.Unmarshal([]byte(text), &fields)
			if kept[name], _ = fields[field].(string); kept[name] == "" {
				c.t.Fatalf("%s: no %s in %d %.400s", s.name, field, status, text)
			}
		}
	}
}

const (
	get    = http.MethodGet
	post   = http.MethodPost
	put    = http.MethodPut
	patch  = http.MethodPatch
	remove = http.MethodDelete
)

func TestContractOfRefusals(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t)
	admin.try(map[string]string{}, []sentence{
		{name: "factory", method: post, path: "/factory", body: `{"name":"shop"}`, status: 201, keep: "uid as F"},
		{name: "webhook", method: post, path: "/factory/{F}/webhooks", body: `{"name":"hook","auth_mode":"url_token"}`, status: 201, keep: "uid as W"},
		{name: "automation", method: post, path: "/factory/{F}/automations", body: `{"name":"nightly","prompt":"p","triggers":[{"provider":"webhook","event":"received","filter":{"webhook_ids":["{W}"]}}]}`, status: 201, keep: "uid as A"},
		{name: "run", method: post, path: "/agent/runs", body: `{"prompt":"true"}`, status: 200, keep: "run_id as R"},
		{name: "S3 a key for no factory", method: post, path: "/apikeys", body: `{"name":"k","role":"viewer","factory_uids":[]}`, status: 400, says: "factory_uids"},
		{name: "S3 a key for a factory that is not there", method: post, path: "/apikeys", body: `{"name":"k","role":"viewer","factory_uids":["0199d1f6-0000-7000-8000-000000000000"]}`, status: 400, says: "factory_uids"},
		{name: "S3 a notification for no factory", method: post, path: "/notifications", body: `{"url":"https://example.com/","factory_uids":[]}`, status: 400, says: "factory_uids"},
		{name: "notification", method: post, path: "/notifications", body: `{"url":"https://example.com/","factory_uids":["{F}"]}`, status: 201, keep: "id as N"},
		{name: "S3 all factories, or some", method: post, path: "/notifications", body: `{"url":"https://example.com/","factory_uids":["{F}"],"all_factories":true}`, status: 400, says: "all_factories"},
		{name: "S3 not all, and none", method: post, path: "/notifications", body: `{"url":"https://example.com/","all_factories":false}`, status: 400, says: "all_factories"},
		{name: "S3 none is not all", method: patch, path: "/notifications/{N}", body: `{"factory_uids":[]}`, status: 400, says: "factory_uids"},
		{name: "S3 all is all", method: patch, path: "/notifications/{N}", body: `{"all_factories":true}`, status: 200, says: `"all_factories":true`},
		{name: "H3 names in another case", method: post, path: "/apikeys", body: `{"name":"k","role":"viewer","Role":"admin"}`, status: 201, says: `"role":"viewer"`},
		{name: "R2 white space as a prompt", method: post, path: "/agent/runs", body: `{"prompt":" \n "}`, status: 400, says: "prompt"},
		{name: "R2 white space as a message", method: post, path: "/agent/runs/{R}/followups", body: `{"message":" \n "}`, status: 400, says: "message"},
		{name: "W17 white space as a title", method: post, path: "/agent/runs", body: `{"prompt":"p","title":"  "}`, status: 400, says: "title"},
		{name: "X11 a worker that cannot be", method: post, path: "/agent/runs", body: `{"prompt":"p","config":{"worker_host":"a b"}}`, status: 400, says: "worker_host"},
		{name: "R12 a filter with a field that is not one", method: post, path: "/agent/runs/cancel", body: `{"filter":{"name":"x"},"nope":true}`, status: 400, says: "nope"},
		{name: "F1 a name of two lines", method: post, path: "/factory", body: `{"name":"a\nb"}`, status: 400, says: "name"},
		{name: "F5 a webhook by case", method: post, path: "/factory/{F}/webhooks", body: `{"name":"HOOK","auth_mode":"url_token"}`, status: 409},
		{name: "F5 an automation by case", method: post, path: "/factory/{F}/automations", body: `{"name":"Nightly","prompt":"p","triggers":[{"provider":"webhook","event":"received","filter":{"webhook_ids":["{W}"]}}]}`, status: 409},
		{name: "Greek", method: post, path: "/factory", body: `{"name":"a","alias":"σας"}`, status: 201},
		{name: "F2 an alias by case", method: post, path: "/factory", body: `{"name":"b","alias":"ΣΑΣ"}`, status: 409},
		{name: "F6 a chain on nobody", method: post, path: "/factory/{F}/automations", body: `{"name":"after","prompt":"p","triggers":[{"provider":"run","event":"finished","filter":{"automations":["nobody"]}}]}`, status: 400, says: "nobody"},
		{name: "chain", method: post, path: "/factory/{F}/automations", body: `{"name":"chained","prompt":"p","triggers":[{"provider":"run","event":"finished"}]}`, status: 201, keep: "uid as C"},
		{name: "F6 a key without a payload", method: patch, path: "/factory/{F}/automations/{C}", body: `{"concurrency":{"key":"k-{{payload.x}}"}}`, status: 400, says: "concurrency.key"},
		{name: "F6 a key for a schedule alone", method: post, path: "/factory/{F}/automations", body: `{"name":"timed","prompt":"p","concurrency":{"key":"k-{{payload.x}}"},"triggers":[{"provider":"schedule","event":"cron_fired","schedule":{"cron":"0 9 * * *"}}]}`, status: 400, says: "concurrency.key"},
		{name: "W2 signatures as identities", method: post, path: "/factory/{F}/webhooks", body: `{"name":"other","auth_mode":"url_token","delivery_id_header":"X-Hub-Signature-256"}`, status: 400, says: "delivery_id_header"},
		{name: "W18 a filter for a body that the ingress takes", method: post, path: "/factory/{F}/test-filter", body: `{"filter":{},"payload":{"a":"\u0000"}}`, status: 200},
		{name: "H4 a method", method: put, path: "/factory", status: 405},
		{name: "H4 a path", method: get, path: "/factory/{F}/nothing", status: 404, omits: "rest..."},
		{name: "texts: numbers", method: post, path: "/factory/{F}/webhooks", body: `{"name":"big","auth_mode":"url_token","max_body_bytes":100000000}`, status: 400, says: "max_body_bytes", omits: "e+0"},
		{name: "texts: times", method: get, path: "/agent/runs?created_after=yesterday", status: 400, says: "RFC 3339", omits: "15:04"},
		{name: "texts: a plain date", method: get, path: "/agent/runs?created_after=2026-01-31", status: 200},
	})
}

func TestContractOfChanges(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t)
	hooked := `"triggers":[{"provider":"webhook","event":"received","filter":{"webhook_ids":["{W}"]}}]`
	admin.try(map[string]string{}, []sentence{
		{name: "factory", method: post, path: "/factory", body: `{"name":"shop"}`, status: 201, keep: "uid as F"},
		{name: "webhook", method: post, path: "/factory/{F}/webhooks", body: `{"name":"hook","auth_mode":"url_token"}`, status: 201, keep: "uid as W"},
		{name: "automation", method: post, path: "/factory/{F}/automations", body: `{"name":"nightly","prompt":"p",` + hooked + `}`, status: 201, keep: "uid as A"},
		{name: "chain", method: post, path: "/factory/{F}/automations", body: `{"name":"after","prompt":"p","triggers":[{"provider":"run","event":"finished","filter":{"automations":["nightly"]}}]}`, status: 201, keep: "uid as C"},
		{name: "F1 a change of nothing", method: patch, path: "/factory/{F}", body: `{}`, status: 200, says: `"revision":4,`},
		{name: "a budget", method: patch, path: "/factory/{F}", body: `{"daily_budget":{"max_cost_usd":5}}`, status: 200, says: `"max_cost_usd":5`},
		{name: "F1 no budget any more", method: patch, path: "/factory/{F}", body: `{"daily_budget":null}`, status: 200, omits: `"max_cost_usd":5`},
		{name: "a new name", method: patch, path: "/factory/{F}/automations/{A}", body: `{"name":"daily"}`, status: 200},
		{name: "F6 a chain follows it", method: get, path: "/factory/{F}/automations/{C}", status: 200, says: `"daily"`, omits: "nightly"},
		{name: "the webhook goes", method: remove, path: "/factory/{F}/webhooks/{W}", status: 204},
		{name: "F6 filters of others are kept", method: post, path: "/factory/{F}/automations", body: `{"name":"chat","prompt":"p","triggers":[{"provider":"slack","event":"app_mention","filter":{"channel_ids":["C024BE91L"]}}]}`, status: 201, says: "C024BE91L"},
	})
}

// TestContractOfExports: what is exported applies, also when what it names is gone.
func TestContractOfExports(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t)
	kept := map[string]string{}
	admin.try(kept, []sentence{
		{name: "factory", method: post, path: "/factory", body: `{"name":"shop"}`, status: 201, keep: "uid as F"},
		{name: "webhook", method: post, path: "/factory/{F}/webhooks", body: `{"name":"hook","auth_mode":"url_token"}`, status: 201, keep: "uid as W"},
		{name: "automation", method: post, path: "/factory/{F}/automations", body: `{"name":"nightly","prompt":"p","triggers":[{"provider":"webhook","event":"received","filter":{"webhook_ids":["{W}"]}}]}`, status: 201},
		{name: "it goes", method: remove, path: "/factory/{F}/webhooks/{W}", status: 204},
	})
	_, kept["export"] = admin.ask(get, "/factory/"+kept["F"]+"/definition", "")
	admin.try(kept, []sentence{{name: "F5 applies", method: post, path: "/factory/{F}/definition/apply", body: "{export}", status: 200}})
}

// TestContractOfKeys: the last admin key stays, and a generated secret is changed by its name.
func TestContractOfKeys(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t)
	_, text := admin.ask(get, "/apikeys", "")
	var keys struct {
		Keys []struct {
			ID string `json:"id"`
		} `json:"apikeys"`
	}
	if err := json.Unmarshal([]byte(text), &keys); err != nil || len(keys.Keys) != 1 {
		t.Fatalf("%v in %s", err, text)
	}
	admin.try(map[string]string{"K": keys.Keys[0].ID}, []sentence{
		{name: "factory", method: post, path: "/factory", body: `{"name":"shop"}`, status: 201, keep: "uid as F"},
		{name: "webhook", method: post, path: "/factory/{F}/webhooks", body: `{"name":"hook","auth_mode":"url_token"}`, status: 201, keep: "secret_name as S"},
		{name: "S1 the webhook's generated secret", method: put, path: "/secrets/{S}", body: `{"value":"a-long-enough-value-of-our-own-choice-0123456789"}`, status: 200},
		{name: "S6 the last admin key", method: remove, path: "/apikeys/{K}", status: 409},
	})
}

// TestContractOfConversations: a run continues where the conversation's last one ended.
func TestContractOfConversations(t *testing.T) {
	t.Parallel()
	n, admin := attacked(t)
	kept := map[string]string{}
	ended := func(body string) string {
		kept["R"] = admin.must(post, "/agent/runs", body, "run_id")
		return waitEnd(t.Context(), t, n.client(), kept["R"]).ConversationID
	}
	kept["C"] = ended("{\"prompt\":\"```sh\\necho was-here > file\\n```\"}")
	ended(strings.Replace("{\"conversation_id\":\"{C}\",\"prompt\":\"```sh\\ncat file; echo then-here\\n```\"}", "{C}", kept["C"], 1))
	admin.try(kept, []sentence{
		{name: "R2 without a prompt", method: post, path: "/agent/runs", body: `{"conversation_id":"{C}"}`, status: 400, says: "prompt"},
		{name: "R10 from the first run", method: get, path: "/agent/conversations/{C}", status: 200, says: "echo was-here"},
		{name: "R2 the file of the first run", method: get, path: "/agent/conversations/{C}", status: 200, says: "was-here\\nthen-here"},
		{name: "a command goes on", method: post, path: "/agent/runs", body: `{"conversation_id":"{C}","prompt":"and then?","config":{"harness":{"type":"command","command":["sh","-c","cat $LINESHAFT_PROMPT_FILE; grep -c was-here .lineshaft/conversation.md"]}}}`, status: 200, keep: "run_id as D"},
		{name: "R3 the server's own harness", method: get, path: "/agent/runs/{R}?explain=1", status: 200, says: `"harness":"server"`},
	})
	if run := waitEnd(t.Context(), t, n.client(), kept["D"]); string(run.State) != "SUCCEEDED" {
		t.Errorf("R2 the transcript of a command: %s %+v", run.State, run.StatusMessage)
	}
}

// validated is what the program says about the definition of a factory, and whether it is sound.
func validated(t *testing.T, files map[string]string) (string, bool) {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, folderOf(files)); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), bin, "factory", "validate", dir).CombinedOutput()
	return string(out), err == nil
}

func folderOf(files map[string]string) fstest.MapFS {
	folder := fstest.MapFS{}
	for name, text := range files {
		folder[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o600}
	}
	return folder
}

func TestContractOfDefinitions(t *testing.T) {
	t.Parallel()
	foreman := "---\nagentType: FOREMAN\n---\nYou look after the shop.\n"
	for name, c := range map[string]struct {
		files map[string]string
		sound bool
		says  []string
	}{
		"F2 a platform as a block": {sound: true, files: map[string]string{
			"runners/linux.yaml": "platform:\n  os: linux\n  arch: x86_64\n  linux:\n    dockerImage: debian:13\n",
		}},
		"F2 a model, its key and integrations": {sound: true, files: map[string]string{
			"factory.yaml":            "schemaVersion: v1alpha1\nname: Shop\nintegrations:\n  - type: slack\n",
			"agents/foreman/agent.md": "---\nagentType: FOREMAN\nharness:\n  type: claude\n  model: sonnet\n  auth: {source: managedSecret, secretName: MODEL_KEY}\ncredentialStrategy: EXECUTOR\n---\nYou look after the shop.\n",
		}},
		"F2 the name of a schedule": {sound: true, files: map[string]string{
			"automations/daily/automation.md": "---\ntriggers:\n  - provider: schedule\n    event: cron_fired\n    schedule: {cron: '@daily', name: each day}\n---\nWork.\n",
		}},
		"F2 the model of another agent among defaults": {files: map[string]string{
			"factory.yaml": "schemaVersion: v1alpha1\nname: Shop\nagentDefaults:\n  model: m\n  harness: {type: claude}\n",
		}, says: []string{"agentDefaults.model"}},
		"texts: a block for a text": {files: map[string]string{
			"factory.yaml": "schemaVersion: v1alpha1\nname: {a: b}\n",
		}, says: []string{"write it as name: text"}},
		"texts: what fits": {files: map[string]string{
			"factory.yaml": "schemaVersion: v1alpha1\nname: Shop\nalias: a/b\n", "webhooks/ci.yaml": "secretName: CI\ndeliveryIdHeader: a b\n",
		}, says: []string{"for example web-shop", "such as X-Delivery-Id"}},
		"texts: another ending": {sound: true, files: map[string]string{"webhooks/ci.json": "{}"}, says: []string{"did you mean webhooks/ci.yaml?"}},
		"F6 triggers of other services": {sound: true, files: map[string]string{
			"automations/chat/automation.md": "---\ntriggers:\n  - provider: slack\n    event: app_mention\n    filter: {channels: [\"#ops\"]}\n  - provider: linear\n    event: issue_created\n  - provider: github\n    event: issue_mentioned\n---\nAnswer.\n",
		}},
		"F3 both mistakes": {files: map[string]string{
			"automations/daily/automation.md": "---\ntriggers:\n  - provider: schedule\n    event: cron_fired\n    schedule: {cron: nope, timezone: Nowhere/Else}\n---\nWork.\n",
		}, says: []string{"cron", "timezone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"factory.yaml": "schemaVersion: v1alpha1\nname: Shop\n", "agents/foreman/agent.md": foreman}
			maps.Copy(files, c.files)
			out, sound := validated(t, files)
			if sound != c.sound {
				t.Errorf("sound %t:\n%s", sound, out)
			}
			for _, text := range c.says {
				if !strings.Contains(out, text) {
					t.Errorf("no %q in:\n%s", text, out)
				}
			}
		})
	}
}

// TestR2AcrossWorkers: the second run is on another machine, which has the files by the
// snapshot of the first.
func TestR2AcrossWorkers(t *testing.T) {
	t.Parallel()
	n, admin := attacked(t)
	ended := func(body string) *client.Run {
		return waitEnd(t.Context(), t, n.client(), admin.must(post, "/agent/runs", body, "run_id"))
	}
	for _, name := range []string{"one", "two"} {
		newWorker(t, n, name, "--isolation", "none")
	}
	first := ended("{\"config\":{\"worker_host\":\"one\"},\"prompt\":\"```sh\\nmkdir -p a; echo was-here > a/file\\n```\"}")
	kept := map[string]string{"C": first.ConversationID}
	ended(fmt.Sprintf("{\"config\":{\"worker_host\":\"two\"},\"conversation_id\":%q,\"prompt\":\"```sh\\ncat a/file; echo then-here\\n```\"}", first.ConversationID))
	admin.try(kept, []sentence{
		{name: "the file of the first run", method: get, path: "/agent/conversations/{C}", status: 200, says: "was-here\\nthen-here"},
	})
}
