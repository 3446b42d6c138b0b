package api

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// scriptedGit answers by the address: one with "broken" in it has a mistake, one with
// "gone" does not exist.
type scriptedGit struct{}

const scriptedCommit = "9fceb02d0ae598e95dc970b74767f19372d61af8"

func (scriptedGit) URL(r lineshaft.Repository) string {
	return "https://forge.example/" + r.String() + ".git"
}

func (scriptedGit) Check(url string) error {
	if strings.HasPrefix(url, "ext::") {
		return lineshaft.Invalid("url", "helpers of git are not run")
	}
	return nil
}

func (scriptedGit) Head(_ context.Context, url, _ string) (string, error) {
	if strings.Contains(url, "gone") {
		return "", &lineshaft.Error{Code: lineshaft.CodeNotFound, Message: "there is no repository at " + url, Cause: errors.New("a path of the server")}
	}
	return scriptedCommit, nil
}

func (scriptedGit) Tree(_ context.Context, url, _ string, keep func(string, int64) bool) (map[string]string, error) {
	files := map[string]string{
		"shop/factory.yaml":            "schemaVersion: v1alpha1\nname: From the repository\n",
		"shop/agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\nSee to it.\n",
		"elsewhere":                    "x",
	}
	if strings.Contains(url, "acme/tools") {
		files["skills/triage/SKILL.md"] = "---\nname: Triage\ndescription: Sorts issues.\n---\nRead $ARGUMENTS."
	}
	if strings.Contains(url, "broken") {
		files["shop/factory.yaml"] += "titel: x\n"
	}
	for name, text := range files {
		if !keep(name, int64(len(text))) {
			delete(files, name)
		}
	}
	return files, nil
}

func TestF5RepositoriesOverTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	made := decode[Factory](t, b.check(t, scenario{
		method: post, path: "/factory", as: lineshaft.RoleManager, status: 201,
		body: `{"name":"Shop","repository":{"url":"https://forge.example/shop.git","branch":"main","path":"shop"}}`,
		has:  []string{`"name":"Shop"`, `"mode":"repository"`, `"repository":{"url":"https://forge.example/shop.git","branch":"main","path":"shop","problems":[]}`},
	}))
	path := "/factory/" + made.UID
	sync := path + "/repository/sync"
	b.play(t, []scenario{
		{name: "sync", method: post, path: sync, as: lineshaft.RoleManager, status: 200, has: []string{`"name":"From the repository"`, `"seen_commit":"` + scriptedCommit, `"applied_commit":"` + scriptedCommit, `"checked_at":"`, `"applied_at":"`, `"problems":[]`}, not: []string{`"fault"`}},
		{name: "read", method: get, path: path, as: lineshaft.RoleViewer, status: 200, has: []string{`"applied_commit":"` + scriptedCommit}},
		{name: "list", method: get, path: "/factory", as: lineshaft.RoleViewer, status: 200, has: []string{`"applied_commit":"` + scriptedCommit}},
		{name: "viewers do not sync", method: post, path: sync, as: lineshaft.RoleViewer, status: 403, code: "not_authorized"},
		{name: "edit", method: patch, path: path, as: lineshaft.RoleAdmin, body: `{"name":"x"}`, status: 409, code: "conflict", has: []string{"https://forge.example/shop.git", "branch main", "folder shop", `"retryable":false`}},
		{name: "automation", method: post, path: path + "/automations", as: lineshaft.RoleAdmin, body: `{"name":"a","prompt":"p","triggers":[{"provider":"webhook","event":"received","filter":{"webhooks":["w"]}}]}`, status: 409, code: "conflict", has: []string{"https://forge.example/shop.git"}},
		{name: "webhook", method: post, path: path + "/webhooks", as: lineshaft.RoleAdmin, body: `{"name":"a"}`, status: 409, code: "conflict", has: []string{"https://forge.example/shop.git"}},
		{name: "pause", method: patch, path: path, as: lineshaft.RoleManager, body: `{"paused":true}`, status: 200, has: []string{`"paused":true`, `"mode":"repository"`, `"applied_commit"`}},
		{name: "broken", method: patch, path: path, as: lineshaft.RoleManager, body: `{"repository":{"url":"https://forge.example/broken.git","path":"shop"}}`, status: 200, has: []string{`"url":"https://forge.example/broken.git"`}, not: []string{`"applied_commit"`, `"branch"`}},
		{name: "sync of broken", method: post, path: sync, as: lineshaft.RoleManager, status: 200, has: []string{`"name":"From the repository"`, `"file":"shop/factory.yaml","line":3,"column":1`, `titel`, `"seen_commit"`}, not: []string{`"applied_commit"`}},
		{name: "gone", method: patch, path: path, as: lineshaft.RoleManager, body: `{"repository":{"url":"https://forge.example/gone.git"}}`, status: 200},
		{name: "sync of gone", method: post, path: sync, as: lineshaft.RoleManager, status: 200, has: []string{`"fault":"there is no repository at https://forge.example/gone.git"`}, not: []string{"path of the server"}},
		{name: "unlink", method: patch, path: path, as: lineshaft.RoleManager, body: `{"repository":null}`, status: 200, has: []string{`"mode":"managed"`, `"name":"From the repository"`}, not: []string{`"repository":{`}},
		{name: "sync of managed", method: post, path: sync, as: lineshaft.RoleManager, status: 409, code: "conflict", has: []string{"follows no repository"}},
		{name: "edit again", method: patch, path: path, as: lineshaft.RoleManager, body: `{"name":"Mine"}`, status: 200, has: []string{`"name":"Mine"`}},
		{name: "link again", method: patch, path: path, as: lineshaft.RoleManager, body: `{"repository":{"url":"https://forge.example/shop.git","path":"shop"}}`, status: 200, has: []string{`"mode":"repository"`}},
		{name: "delete", method: del, path: path, as: lineshaft.RoleManager, status: 204},
		{name: "sync of nothing", method: post, path: sync, as: lineshaft.RoleManager, status: 404, code: "resource_not_found"},
	})
}

func TestF5BadRepositories(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	uid, _ := b.factory("f", "hook")
	var list []scenario
	for name, body := range map[string]string{
		"no url": `{"branch":"main"}`, "empty url": `{"url":""}`, "helper": `{"url":"ext::sh"}`, "number": `{"url":5}`, "text": `"https://forge.example/x"`, "list": `[]`,
		"long": `{"url":"https://forge.example/` + strings.Repeat("x", 2100) + `"}`, "branch": `{"url":"https://forge.example/x","branch":"-x"}`,
		"path": `{"url":"https://forge.example/x","path":"../x"}`, "empty": `{}`,
	} {
		list = append(
			list,
			scenario{name: name, method: post, path: "/factory", as: lineshaft.RoleManager, body: `{"name":"x","repository":` + body + `}`, status: 400, code: "invalid_request", has: []string{"repository"}},
			scenario{name: name + " later", method: patch, path: "/factory/" + uid, as: lineshaft.RoleManager, body: `{"repository":` + body + `}`, status: 400, code: "invalid_request"},
		)
	}
	list = append(list,
		scenario{name: "with a name", method: patch, path: "/factory/" + uid, as: lineshaft.RoleManager, body: `{"name":"x","repository":{"url":"https://forge.example/x"}}`, status: 400, code: "invalid_request", has: []string{"repository"}},
		scenario{name: "with a limited key", method: patch, path: "/factory/" + uid, header: b.limited(lineshaft.RoleManager, uid), body: `{"repository":{"url":"https://forge.example/x"}}`, status: 403, code: "not_authorized", has: []string{"limited"}},
		scenario{name: "null asks for nothing", method: post, path: "/factory", as: lineshaft.RoleManager, body: `{"name":"x","repository":null}`, status: 201, has: []string{`"mode":"managed"`}},
	)
	b.play(t, list)
}
