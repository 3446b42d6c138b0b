package app_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// nodesKey and nodesMaster are what nodes on one database share.
const (
	nodesKey    = config.Secret("ls_admin_key_of_the_nodes_of_a_test")
	nodesMaster = config.Secret("bGluZXNoYWZ0LW5vZGVzLXRlc3QtbWFzdGVyLWtleS0=")
)

func newNodes(t *testing.T, many int) (nodes []*app.App) {
	t.Helper()
	database := storetest.Postgres(t)
	for range many {
		cfg := settings(t)
		cfg.Database, cfg.AdminKey, cfg.MasterKey, cfg.NoWorker = database, nodesKey, nodesMaster, true
		nodes = append(nodes, start(t, cfg, options(t, nil)))
	}
	return nodes
}

// visitor is a browser that is signed in at a node.
type visitor struct {
	*testing.T
	base   string
	client *http.Client
}

func newVisitor(t *testing.T, base string) visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := visitor{t, base, &http.Client{Jar: jar}}
	res, err := v.client.PostForm(base+"/login", url.Values{"key": {nodesKey.Reveal()}, "next": {"/runs"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("signed in with %d", res.StatusCode)
	}
	return v
}

// shows wants texts on a page; with a ! before it a text must not be there.
func (v visitor) shows(path string, status int, wanted ...string) {
	v.Helper()
	req, err := http.NewRequestWithContext(v.Context(), http.MethodGet, v.base+path, nil)
	if err != nil {
		v.Fatal(err)
	}
	res, err := v.client.Do(req)
	if err != nil {
		v.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		v.Errorf("%s: %d, %v, want %d", path, res.StatusCode, err, status)
	}
	text := html.UnescapeString(string(raw))
	for _, want := range wanted {
		not := strings.HasPrefix(want, "!")
		if strings.Contains(text, strings.TrimPrefix(want, "!")) == not {
			v.Errorf("%s: %q", path, want)
		}
	}
}

// wrote sends a change to a node's API and gives what a field of the answer has.
func wrote(t *testing.T, node *app.App, method, path, field, body string, args ...any) string {
	t.Helper()
	status, text := call(t, method, node.URL()+"/api/v1"+path, nodesKey.Reveal(), fmt.Sprintf(body, args...))
	if status/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	answer := map[string]any{}
	if field == "" {
		return ""
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	value, _ := answer[field].(string)
	if value == "" {
		t.Fatalf("%s %s: no %s in %s", method, path, field, text)
	}
	return value
}

// D-1: what was written on one node is on the pages of another at once: made, changed and deleted.
func TestD1PagesAreRightOnEveryNode(t *testing.T) {
	t.Parallel()
	nodes := newNodes(t, 2)
	for i, writer := range nodes { // each of them once
		mark := []string{"first", "second"}[i]
		look := newVisitor(t, nodes[1-i].URL())
		// What the other node has shown before must not be what it shows later.
		look.shows("/runs", http.StatusOK, "!"+mark+" title")
		look.shows("/secrets", http.StatusOK, "!TOKEN_"+strings.ToUpper(mark))
		look.shows("/webhooks", http.StatusOK, "!"+mark+" hook")
		look.shows("/automations", http.StatusOK, "!"+mark+" automation")

		factory := wrote(t, writer, "POST", "/factory", "uid", `{"name": "%s works"}`, mark)
		look.shows("/factories", http.StatusOK, mark+" works")
		hook := wrote(t, writer, "POST", "/factory/"+factory+"/webhooks", "uid", `{"name": "%s hook"}`, mark)
		look.shows("/webhooks", http.StatusOK, mark+" hook")
		automation := wrote(t, writer, "POST", "/factory/"+factory+"/automations", "uid", `{"name": "%s automation", "prompt": "x",
			"triggers": [{"provider": "webhook", "event": "received", "filter": {"webhook_ids": [%q]}}]}`, mark, hook)
		look.shows("/automations", http.StatusOK, mark+" automation")
		wrote(t, writer, "POST", "/secrets", "name", `{"name": "TOKEN_%s", "value": "hidden-%s"}`, strings.ToUpper(mark), mark)
		look.shows("/secrets", http.StatusOK, "TOKEN_"+strings.ToUpper(mark), "!hidden-"+mark)
		run := wrote(t, writer, "POST", "/agent/runs", "run_id", `{"prompt": "x", "title": "%s title", "config": {"worker_host": "nobody"}}`, mark)
		look.shows("/runs", http.StatusOK, mark+" title")
		look.shows("/runs/"+run, http.StatusOK, mark+" title", "Queued")

		wrote(t, writer, "PATCH", "/factory/"+factory+"/webhooks/"+hook, "", `{"rate_limit": 4321}`)
		look.shows("/factories/"+factory+"/webhooks/"+hook, http.StatusOK, mark+" hook", "4,321")
		wrote(t, writer, "PATCH", "/factory/"+factory+"/automations/"+automation, "", `{"name": "%s renamed automation"}`, mark)
		look.shows("/factories/"+factory+"/automations/"+automation, http.StatusOK, mark+" renamed automation")
		wrote(t, writer, "POST", "/agent/runs/"+run+"/cancel", "", "")
		look.shows("/runs/"+run, http.StatusOK, "Cancelled")

		wrote(t, writer, "DELETE", "/factory/"+factory+"/automations/"+automation, "", "")
		look.shows("/factories/"+factory+"/automations/"+automation, http.StatusNotFound)
		wrote(t, writer, "DELETE", "/factory/"+factory+"/webhooks/"+hook, "", "")
		look.shows("/webhooks", http.StatusOK, "!"+mark+" hook")
		wrote(t, writer, "DELETE", "/secrets/TOKEN_"+strings.ToUpper(mark), "", "")
		look.shows("/secrets", http.StatusOK, "!TOKEN_"+strings.ToUpper(mark))
	}
}
