package e2e

import (
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// deliver posts to an address outside of the API, such as a webhook's, without the key.
func (c caller) deliver(address, body string, header ...string) (int, string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), post, address, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
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

// packLonger packs a text so that it becomes longer.
func packLonger(t *testing.T, text string) string {
	t.Helper()
	var framed bytes.Buffer
	z, err := gzip.NewWriterLevel(&framed, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil || framed.Len() <= len(text) {
		t.Fatalf("%d bytes became %d: %v", len(text), framed.Len(), err)
	}
	return framed.String()
}

// TestContractOfIngress: what senders meet.
func TestContractOfIngress(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t)
	kept := map[string]string{}
	const token, key = "a-token~of-our-own-choice-0123456789", "whsec_of_our_own_choice_0123456789"
	admin.try(kept, []sentence{
		{name: "factory", method: post, path: "/factory", body: `{"name":"shop"}`, status: 201, keep: "uid as F"},
		{name: "webhook", method: post, path: "/factory/{F}/webhooks", body: `{"name":"hook","auth_mode":"url_token","secret":"` + token + `","max_body_bytes":1000}`, status: 201, keep: "uid as W"},
		{name: "of Stripe", method: post, path: "/factory/{F}/webhooks", body: `{"name":"pay","auth_mode":"signature","signature_scheme":"stripe","secret":"` + key + `"}`, status: 201, keep: "uid as S"},
	})
	at := admin.url + "/webhooks/w/" + kept["W"] + "/"
	full := `{"a":"` + strings.Repeat("x", 1000-len(`{"a":""}`)) + `"}`
	if status, text := admin.deliver(at+token, packLonger(t, full), "Content-Encoding", "gzip"); status != 202 {
		t.Errorf("W6 the limit means unpacked bytes: %d %s", status, text)
	}
	if status, text := admin.deliver(at+strings.Replace(token, "~", "%7E", 1), `{}`); status != 202 {
		t.Errorf("W6 an escaped tilde: %d %s", status, text)
	}
	status, text := admin.deliver(at+token, "From=%2B1&Body=hello", "Content-Type", "application/x-www-form-urlencoded")
	if status != 400 || !strings.Contains(text, "form") {
		t.Errorf("W6 the forms of Twilio: %d %s", status, text)
	}

	body, now := `{"id":"evt_first","type":"t","id":"evt_last"}`, strconv.FormatInt(time.Now().Unix(), 10)
	sum := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(sum, now+"."+body)
	signed := "t=" + now + ",v1=" + hex.EncodeToString(sum.Sum(nil))
	if status, text := admin.deliver(admin.url+"/webhooks/w/"+kept["S"], body, "Stripe-Signature", signed); status != 202 {
		t.Errorf("Stripe: %d %s", status, text)
	}
	admin.try(kept, []sentence{
		{name: "W10 the last id", method: get, path: "/factory/{F}/webhooks/{S}/deliveries", status: 200, says: `"identity":"evt_last"`},
	})
}

// visitor is a person who has signed in at the page with the admin key.
func (c caller) visitor() *http.Client {
	c.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	person := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := person.PostForm(c.url+"/login", url.Values{"key": {c.key}})
	if err != nil || answer.StatusCode != http.StatusOK {
		c.t.Fatalf("sign in: %v %v", answer, err)
	}
	_ = answer.Body.Close()
	return person
}

// page is what a person sees at a path.
func (c caller) page(person *http.Client, path string) string {
	c.t.Helper()
	answer, err := person.Get(c.url + path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		c.t.Fatalf("GET %s: %d %v", path, answer.StatusCode, err)
	}
	return string(text)
}

// TestContractOfPages: the log of a webhook has the words of the documentation.
func TestContractOfPages(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t)
	kept := map[string]string{}
	admin.try(kept, []sentence{
		{name: "factory", method: post, path: "/factory", body: `{"name":"shop"}`, status: 201, keep: "uid as F"},
		{name: "webhook", method: post, path: "/factory/{F}/webhooks", body: `{"name":"hook","secret":"a-token-of-our-own-choice-0123456789","max_body_bytes":100}`, status: 201, keep: "uid as W"},
	})
	at := admin.url + "/webhooks/w/" + kept["W"]
	_, text := admin.deliver(at, `{}`, "Authorization", "Bearer a-token-of-our-own-choice-0123456789", "X-Service-Delivery-Id", "mine")
	id := between(text, `"delivery_id":"`, `"`)
	admin.deliver(at, `{}`, "Authorization", "Bearer a-token-of-our-own-choice-0123456789", "X-Service-Delivery-Id", "mine")
	admin.deliver(at, `{`, "Authorization", "Bearer a-token-of-our-own-choice-0123456789")
	admin.deliver(at, `"`+strings.Repeat("x", 100)+`"`, "Authorization", "Bearer a-token-of-our-own-choice-0123456789")
	admin.deliver(at, `{}`, "Authorization", "Bearer another")
	page := admin.page(admin.visitor(), "/factories/"+kept["F"]+"/webhooks/"+kept["W"])
	for _, words := range []string{"Not listened to", "Duplicate", "Rejected (auth)", "Rejected (invalid JSON)", "Rejected (too large)", ">" + id + "</code>"} {
		if id == "" || !strings.Contains(page, words) {
			t.Errorf("I2 the log does not have %q", words)
		}
	}
}

// between is the first text between two others.
func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}

// TestContractOfRuns: what runs were said to have, and what is said about them.
func TestContractOfRuns(t *testing.T) {
	t.Parallel()
	n, admin := attacked(t, "--base-url", "http://lineshaft.invalid")
	kept := map[string]string{}
	admin.try(kept, []sentence{
		{name: "run", method: post, path: "/agent/runs", body: "{\"prompt\":\"```sh\\ntrue\\n```\"}", status: 200, keep: "run_id as R"},
		{name: "environment", method: post, path: "/agent/environments", body: `{"config":{"name":"broken","setup_commands":["false"]}}`, status: 201, keep: "uid as E"},
		{name: "image", method: post, path: "/agent/environments", body: `{"config":{"name":"image","docker_image":"debian:13"}}`, status: 201, keep: "uid as I"},
		{name: "in it", method: post, path: "/agent/runs", body: "{\"prompt\":\"```sh\\ntrue\\n```\",\"config\":{\"environment_id\":\"{E}\"}}", status: 200, keep: "run_id as S"},
		{name: "with it", method: post, path: "/agent/runs", body: "{\"prompt\":\"```sh\\ntrue\\n```\",\"config\":{\"environment_id\":\"{I}\"}}", status: 200, keep: "run_id as J"},
	})
	for _, run := range []string{"R", "S", "J"} {
		waitEnd(t.Context(), t, n.client(), kept[run])
	}
	admin.try(kept, []sentence{
		{name: "R7 nothing to cascade to", method: post, path: "/agent/runs/{R}/cancel?cascade=1", status: 400},
		{name: "R2 set-up is not the agent's start", method: get, path: "/agent/runs/{S}", status: 200, says: `"environment_setup_failed"`, omits: `"started_at":"`},
		{name: "X5 an image that is not used", method: get, path: "/agent/runs/{J}/events", status: 200, says: "debian:13"},
		{name: "texts: a skill as it was sent", method: post, path: "/agent/runs", body: `{"prompt":"p","config":{"skill_spec":"a b:c"}}`, status: 400, says: "config.skill_spec", omits: "skills[0]"},
		{name: "texts: a label's key", method: post, path: "/agent/runs", body: `{"prompt":"p","metadata":{"ok":"x","team":7}}`, status: 400, says: "metadata.team"},
		{name: "H3 what interactive does", method: get, path: "/openapi.json", status: 200, says: "it changes nothing"},
	})

	status, text := admin.deliver(n.url+"/api/v1/mcp", `{"jsonrpc":"2.0","id":7,"method":"secrets/list"}`,
		"Authorization", "Bearer "+adminKey, "Accept", "application/json, text/event-stream")
	if status != 200 || !strings.Contains(text, "-32601") {
		t.Errorf("I4 an unknown method: %d %s", status, text)
	}

	held := admin.inside("/agent/runs", "")
	held.try(nil, []sentence{{name: "X15 its own run", method: get, path: "/agent/runs", status: 200, says: held.run}})
	admin.try(map[string]string{"R": held.run}, []sentence{{name: "cancel", method: post, path: "/agent/runs/{R}/cancel", status: 200}})
	if status, text := admin.ask(remove, "/agent/runs/"+held.run, ""); status != 204 && !strings.Contains(text, `"retryable":true`) {
		t.Errorf("R12 delete just after a cancel: %d %s", status, text)
	}

	ask := `curl -s -o /dev/null -w 'answered-%{http_code}' -H "Authorization: Bearer $LINESHAFT_RUN_TOKEN" "$LINESHAFT_API_URL/api/v1/agent/runs/$LINESHAFT_RUN_ID"`
	own := waitEnd(t.Context(), t, n.client(), admin.must(post, "/agent/runs", fmt.Sprintf(`{"prompt":%q}`, "```sh\n"+ask+"\n```"), "run_id"))
	if out := printed(t, n.client(), own.RunID); !strings.Contains(out, "answered-200") {
		t.Errorf("X12 an agent of the server's own worker got %q", out)
	}
}

// TestContractOfModels: a run has the model that answers it, and lists agree about which are ready.
func TestContractOfModels(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(file, []byte("endpoints:\n  - name: main\n    protocol: anthropic\n    url: http://127.0.0.1:1\n    key_env: HOME\n    models:\n      - id: large\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n, admin := attacked(t, "--no-worker", "--models-file", file)
	kept := map[string]string{}
	admin.try(kept, []sentence{
		{name: "run", method: post, path: "/agent/runs", body: `{"prompt":"p"}`, status: 200, keep: "run_id as R"},
		{name: "R3 the server's model", method: get, path: "/agent/runs/{R}?explain=1", status: 200, says: `"model_id":"server"`},
		{name: "R4 found by it", method: get, path: "/agent/runs?model_id=large", status: 200, says: "{R}"},
	})
	listed, err := n.command("model", "list", "--output", "table")
	if err != nil || strings.Contains(listed, "unavailable") {
		t.Errorf("X6 the API lists nothing that is unavailable, the command (%v):\n%s", err, listed)
	}
	if _, api := admin.ask(get, "/agent/models", ""); strings.Contains(api, `"available":false`) {
		t.Errorf("X6 the API says %s", api)
	}
}

// TestContractOfSending: the command blames what is to blame.
func TestContractOfSending(t *testing.T) {
	t.Parallel()
	n, admin := attacked(t)
	admin.try(map[string]string{}, []sentence{
		{name: "factory", method: post, path: "/factory", body: `{"name":"shop"}`, status: 201, keep: "uid as F"},
		{name: "webhook", method: post, path: "/factory/{F}/webhooks", body: `{"name":"issues","auth_mode":"signature","signature_scheme":"linear","secret":"of-our-own-choice-0123456789"}`, status: 201},
	})
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("of-our-own-choice-0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := n.command("webhook", "send", "issues", "--secret-file", file, "--data", `{"action":"create","webhookTimestamp":1600000000000}`)
	if err == nil || !strings.Contains(out, "webhookTimestamp") || strings.Contains(out, "secret-file") {
		t.Errorf("I1 an old time: %v %s", err, out)
	}
	if out, err := n.command("webhook", "send", "issues", "--secret-file", file); err != nil {
		t.Errorf("without data: %v %s", err, out)
	}
}

// TestContractOfTheVersion: programs are asked for it in two ways.
func TestContractOfTheVersion(t *testing.T) {
	t.Parallel()
	flag, err := lineshaftCommand(t, "--version")
	if word, _ := lineshaftCommand(t, "version"); err != nil || flag != word {
		t.Errorf("I1 --version: %v %q, version: %q", err, flag, word)
	}
}

// command runs a command against the server.
func (n *node) command(args ...string) (string, error) {
	n.t.Helper()
	bin, err := binary()
	if err != nil {
		n.t.Fatal(err)
	}
	cmd := exec.CommandContext(n.t.Context(), bin, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + n.t.TempDir(), "LINESHAFT_URL=" + n.url, "LINESHAFT_API_KEY=" + adminKey}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestContractOfFiles: definitions that are checked, planned and applied by a server.
func TestContractOfFiles(t *testing.T) {
	t.Parallel()
	_, admin := attacked(t)
	const foreman = `"agents/foreman/agent.md":"---\nagentType: FOREMAN\n---\nYou look after the shop.\n"`
	files := func(more ...string) string {
		return `{"files":{"factory.yaml":"schemaVersion: v1alpha1\nname: shop\n",` + strings.Join(append(more, foreman), ",") + `}}`
	}
	broken := files(`"webhooks/ci.yaml":"secretName: NOWHERE\n"`,
		`"automations/daily/automation.md":"---\ntriggers:\n  - provider: schedule\n    event: cron_fired\n    schedule: {cron: nope}\n---\nWork.\n"`)
	quiet := files(`"automations/daily/automation.md":"---\nenabled: false\ntriggers:\n  - provider: schedule\n    event: cron_fired\n    schedule: {cron: '@daily'}\n---\nWork.\n"`)
	loud := strings.Replace(quiet, `enabled: false\n`, "", 1)
	both := strings.Replace(files(), `agentType: FOREMAN\n`, `agentType: FOREMAN\nbasePrompt: Be brief.\n`, 1)
	admin.try(map[string]string{}, []sentence{
		{name: "factory", method: post, path: "/factory", body: `{"name":"shop"}`, status: 201, keep: "uid as F"},
		{name: "short", method: post, path: "/secrets", body: `{"name":"SHORT","value":"short"}`, status: 201},
		{name: "F3 what the files have", method: post, path: "/factory/{F}/definition/validate", body: broken, status: 200, says: "cron"},
		{name: "F3 what the server has not", method: post, path: "/factory/{F}/definition/validate", body: broken, status: 200, says: "NOWHERE"},
		{name: "F2 a notice", method: post, path: "/factory/{F}/definition/plan", body: strings.Replace(files(), "name: shop\\n", "name: shop\\nintegrations:\\n  - type: slack\\n", 1), status: 200, says: "integrations"},
		{name: "apply", method: post, path: "/factory/{F}/definition/apply", body: loud, status: 200},
		{name: "texts: defaults in plans", method: post, path: "/factory/{F}/definition/plan", body: quiet, status: 200, says: `"true"`},
		{name: "texts: the value of a secret", method: post, path: "/factory/{F}/webhooks", body: `{"name":"w","auth_mode":"url_token","secret_name":"SHORT"}`, status: 400, says: "lineshaft secret update SHORT --team", omits: "leave it out"},
		{name: "apply both", method: post, path: "/factory/{F}/definition/apply", body: both, status: 200},
		{name: "dispatch", method: post, path: "/factory/{F}/runs", body: `{"prompt":"p"}`, status: 200, keep: "run_id as R"},
		{name: "F2 the base prompt", method: get, path: "/agent/runs/{R}", status: 200, says: "Be brief."},
		{name: "F2 the agent's own", method: get, path: "/agent/runs/{R}", status: 200, says: "You look after the shop."},
		{name: "agent", method: post, path: "/agent/identities", body: `{"name":"helper","factory_uid":"{F}"}`, status: 201},
		{name: "F5 an agent by case", method: post, path: "/agent/identities", body: `{"name":"HELPER","factory_uid":"{F}"}`, status: 409},
	})
}
