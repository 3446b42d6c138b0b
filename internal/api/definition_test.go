package api

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/problem"
)

// folderBody is a folder as JSON, with more members of the request.
func folderBody(t *testing.T, files map[string]string, more ...string) string {
	t.Helper()
	text, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	return `{"files":` + string(text) + strings.Join(more, "") + `}`
}

// archived is a folder as a tar.gz.
func archived(t *testing.T, files map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: path, Mode: 0o600, Size: int64(len(files[path]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[path]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// shop makes a factory and the secret that the example names.
func (b *bench) shop(t *testing.T) string {
	t.Helper()
	if _, err := b.control.CreateSecret(t.Context(), b.admin(), lineshaft.Secret{Name: "ISSUES_WEBHOOK_SECRET"}, "the secret of the issues webhook"); err != nil {
		t.Fatal(err)
	}
	f, err := b.control.CreateFactory(t.Context(), b.admin(), factories.NewFactory{Name: "Web shop"})
	if err != nil {
		t.Fatal(err)
	}
	return "/factory/" + f.UID + "/definition"
}

func changed(files map[string]string, path, text string) map[string]string {
	out := maps.Clone(files)
	out[path] = text
	return out
}

func TestF4DefinitionsOverTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	path := b.shop(t)
	manager := lineshaft.RoleManager
	files := exampleFiles(t)
	other := changed(files, "factory.yaml", "schemaVersion: v1alpha1\nname: Other shop\n")
	bad := changed(files, "webhooks/issues.yaml", "secretNam: ISSUES\n")
	b.play(t, []scenario{
		{name: "valid", method: post, path: path + "/validate", as: manager, body: folderBody(t, files), status: 200, has: []string{`"valid":true`, `"problems":[]`, `"unused":[]`}},
		{name: "not valid", method: post, path: path + "/validate", as: manager, body: folderBody(t, bad), status: 200, has: []string{`"valid":false`, `"file":"webhooks/issues.yaml"`, `"line":1`}},
		{name: "plan", method: post, path: path + "/plan", as: manager, body: folderBody(t, files), status: 200, has: []string{`"revision":1`, `"action":"add"`, `"kind":"webhook"`, `"automation":"triage"`, `"problems":[]`}},
		{name: "drift", method: post, path: path + "/plan?drift=true", as: manager, body: folderBody(t, files), status: 200, has: []string{`"backtests":[]`, `"kind":"webhook"`}},
		{name: "apply", method: post, path: path + "/apply", as: manager, body: folderBody(t, files, `,"if_revision":1,"comment":"first"`), status: 200, has: []string{`"revision":2`, `"changed":true`}},
		{name: "again", method: post, path: path + "/apply", as: manager, body: folderBody(t, files), status: 200, has: []string{`"revision":2`, `"changed":false`, `"changes":[]`}},
		{name: "moved on", method: post, path: path + "/apply", as: manager, body: folderBody(t, other, `,"if_revision":1`), status: 409, code: "conflict", has: []string{"revision 2"}, not: []string{`"retryable":true`}},
		{name: "mistakes", method: post, path: path + "/apply", as: manager, body: folderBody(t, bad), status: 400, code: "invalid_request", has: []string{`"problems":[{"file":"webhooks/issues.yaml"`, `"detail":"the definition has`}},
		{name: "planned mistakes", method: post, path: path + "/plan", as: manager, body: folderBody(t, bad), status: 400, code: "invalid_request", has: []string{`"problems":[{"file":"webhooks/issues.yaml"`}},
		{name: "export", method: get, path: path, as: manager, status: 200, has: []string{`"revision":2`, `"factory.yaml":"schemaVersion`}},
		{name: "change", method: post, path: path + "/apply", as: manager, body: folderBody(t, other), status: 200, has: []string{`"revision":3`, `"before":"Web shop"`, `"after":"Other shop"`}},
		{name: "revisions", method: get, path: path + "/revisions?limit=2", as: manager, status: 200, has: []string{`"number":3`, `"number":2`, `"comment":"first"`, `"file_count":4`, `"has_next_page":true`}, not: []string{`"files"`}},
		{name: "revision", method: get, path: path + "/revisions/2", as: manager, status: 200, has: []string{`"number":2`, `"source":"apply"`, "name: Web shop"}},
		{name: "rollback", method: post, path: path + "/revisions/2/rollback", as: manager, status: 200, has: []string{`"revision":4`, `"changed":true`}},
		{name: "no revision", method: get, path: path + "/revisions/99", as: manager, status: 404, code: "resource_not_found"},
		{name: "no rollback", method: post, path: path + "/revisions/99/rollback", as: manager, status: 404, code: "resource_not_found"},
		{name: "no number", method: get, path: path + "/revisions/last", as: manager, status: 400, code: "invalid_request"},
		{name: "garbage", method: get, path: path + "/revisions?cursor=x", as: manager, status: 400, code: "invalid_request", has: []string{"cursor"}},
		{name: "no folder", method: post, path: path + "/apply", as: manager, body: `{}`, status: 400, code: "invalid_request", has: []string{"files: "}},
		{name: "no body", method: post, path: path + "/plan", as: manager, status: 400, code: "invalid_request"},
		{name: "empty folder", method: post, path: path + "/apply", as: manager, body: `{"files":{}}`, status: 400, code: "invalid_request", has: []string{`"problems":[`}},
		{name: "wrong type", method: post, path: path + "/apply", as: manager, body: `{"files":{"a":5}}`, status: 400, code: "invalid_request"},
		{name: "a viewer", method: get, path: path, as: lineshaft.RoleViewer, status: 403, code: "not_authorized"},
		{name: "a member", method: post, path: path + "/plan", as: lineshaft.RoleMember, body: folderBody(t, files), status: 403, code: "not_authorized"},
		{name: "no factory", method: post, path: "/factory/" + exampleFactoryUID + "/definition/validate", as: manager, body: folderBody(t, files), status: 404, code: "resource_not_found"},
	})
}

// All mistakes come in one answer, each with its place, and the detail shows the first.
func TestF3AllProblemsInOneAnswer(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	path := b.shop(t)
	files := exampleFiles(t)
	for i := range 30 {
		files[fmt.Sprintf("webhooks/w%02d.yaml", i)] = "secretName: NOWHERE\n"
	}
	w := b.check(t, scenario{method: post, path: path + "/apply", as: lineshaft.RoleManager, body: folderBody(t, files), status: 400, code: "invalid_request"})
	doc := decode[problem.Document](t, w)
	if len(doc.Problems) != 31 || !strings.Contains(doc.Detail, "31 mistakes") || !strings.Contains(doc.Detail, "webhooks/w00.yaml:1:13") {
		t.Fatalf("%d problems: %s", len(doc.Problems), doc.Detail)
	}
	for _, p := range doc.Problems[:30] {
		if p.Line != 1 || p.Column != 13 && p.Column != 0 && p.Column != 1 || p.Message == "" {
			t.Errorf("%+v", p)
		}
	}
}

// A tar.gz does as well, whatever the Content-Type says.
func TestF4ArchivesInAndOut(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	path := b.shop(t)
	files := exampleFiles(t)
	pack := archived(t, files)
	gz := map[string]string{"Content-Type": "application/gzip"}
	b.play(t, []scenario{
		{name: "validate", method: post, path: path + "/validate", as: lineshaft.RoleManager, header: gz, body: pack, status: 200, has: []string{`"valid":true`}},
		{name: "stale", method: post, path: path + "/apply?if_revision=7", as: lineshaft.RoleManager, header: gz, body: pack, status: 409, code: "conflict"},
		{name: "apply", method: post, path: path + "/apply?if_revision=1&comment=packed", as: lineshaft.RoleManager, body: pack, status: 200, has: []string{`"revision":2`}},
		{name: "the comment", method: get, path: path + "/revisions", as: lineshaft.RoleManager, status: 200, has: []string{`"comment":"packed"`}},
		{name: "public", method: post, path: "/factory-files/validate", body: pack, status: 200, has: []string{`"valid":true`}},
		{
			name: "of a new one", method: post, path: "/factory-files/plan", as: lineshaft.RoleManager, body: pack, status: 200,
			has: []string{`"revision":0`, `"action":"add","kind":"factory"`},
		},
		{name: "not gzip", method: post, path: path + "/apply", as: lineshaft.RoleManager, header: gz, body: folderBody(t, files), status: 400, code: "invalid_request"},
		{name: "cut off", method: post, path: path + "/apply", as: lineshaft.RoleManager, header: gz, body: pack[:len(pack)/2], status: 400, code: "invalid_request"},
		{name: "outside", method: post, path: path + "/apply", as: lineshaft.RoleManager, header: gz, body: archived(t, map[string]string{"../factory.yaml": "x"}), status: 400, code: "invalid_request"},
		{name: "not text", method: post, path: path + "/apply", as: lineshaft.RoleManager, header: gz, body: archived(t, changed(files, "webhooks/issues.yaml", "secretName: \xff\x00\n")), status: 400, code: "invalid_request", has: []string{`"file":"webhooks/issues.yaml"`}},
		{name: "a bomb", method: post, path: path + "/apply", as: lineshaft.RoleManager, header: gz, body: archived(t, map[string]string{"factory.yaml": strings.Repeat("#", 2<<20)}), status: 413, code: "payload_too_large"},
		{name: "elsewhere", method: post, path: "/factory", as: lineshaft.RoleManager, header: gz, body: pack, status: 400, code: "invalid_request"},
	})
	w := b.check(t, scenario{method: get, path: path, as: lineshaft.RoleManager, header: map[string]string{"Accept": "application/gzip"}, status: 200})
	got, err := definition.ReadTar(w.Body)
	if err != nil || !maps.Equal(got, files) || w.Header().Get("Content-Type") != gzipType || !strings.Contains(w.Header().Get("Content-Disposition"), "factory-2.tar.gz") {
		t.Errorf("%v, %v, %v", got, err, w.Header())
	}
}

// A folder that is too large is refused before it is read.
func TestH3FoldersAreBounded(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	path := b.shop(t)
	large := map[string]string{}
	for i := range 17 {
		large[fmt.Sprintf("benchmarks/%d.txt", i)] = strings.Repeat("x", 1<<20)
	}
	b.check(t, scenario{method: post, path: path + "/plan", as: lineshaft.RoleManager, body: folderBody(t, large), status: 413, code: "payload_too_large"})
	public := folderBody(t, map[string]string{"benchmarks/x": strings.Repeat("x", 1<<20)})
	b.check(t, scenario{method: post, path: "/factory-files/validate", body: public, status: 413, code: "payload_too_large"})
	packed := archived(t, map[string]string{"benchmarks/x": strings.Repeat("x", 600<<10), "benchmarks/y": strings.Repeat("x", 600<<10)})
	b.check(t, scenario{method: post, path: "/factory-files/validate", body: packed, status: 413, code: "payload_too_large"})
	b.check(t, scenario{method: post, path: path + "/validate", as: lineshaft.RoleManager, body: packed, status: 200})
	noise := make([]byte, 1<<20+512)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	b.check(t, scenario{method: post, path: "/factory-files/validate", body: "\x1f\x8b" + string(noise), status: 413, code: "payload_too_large"})
}

func TestF3PublicSchemasAndValidation(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.play(t, []scenario{
		{name: "versions", method: get, path: "/factory-files/schemas", status: 200, has: []string{`"versions":["v1alpha1"]`, `"current_version":"v1alpha1"`}},
		{name: "other version", method: get, path: "/factory-files/schemas/v2", status: 404, code: "resource_not_found", has: []string{"v1alpha1"}},
		{name: "other document", method: get, path: "/factory-files/schemas/v1alpha1/inbox", status: 404, code: "resource_not_found", has: []string{"webhook"}},
		{name: "valid", method: post, path: "/factory-files/validate", body: folderBody(t, exampleFiles(t)), status: 200, has: []string{`"valid":true`}},
		{name: "mistakes", method: post, path: "/factory-files/validate", body: `{"files":{"factory.yml":"x"}}`, status: 200, has: []string{`"valid":false`, `"hint"`}},
		{
			name: "published form", method: post, path: "/factory-files/validate", status: 200,
			body: `{"files":[{"path":"factory.yaml","content":"schemaVersion: v1alpha1\nname: a\nsecrets: [A]\nsize: 1\nagentDefaults: {runner: teams}\n"},{"path":"agents/a/agent.md","content":"---\nagentType: MAIN\n---\n"}]}`,
			has: []string{
				`"schema_version":"v1alpha1"`, `"diagnostics":[{"code":"FF_UNKNOWN_FIELD","path":"factory.yaml","line":4,"column":1,"message":"size: there is no such key`,
				`{"path":"factory.yaml","field":"secrets[0]","kind":"secret","value":"A","line":3,"column":11}`, `"field":"agentDefaults.runner","kind":"runner","value":"teams"`,
			},
			not: []string{`"code":"FF_INVALID_REFERENCE","path"`},
		},
		{name: "a path twice", method: post, path: "/factory-files/validate", body: `{"files":[{"path":"a","content":""},{"path":"a","content":""}]}`, status: 400, code: "invalid_request"},
		{name: "no content", method: post, path: "/factory-files/validate", body: `{"files":[{"path":"a"}]}`, status: 400, code: "invalid_request"},
		{name: "nothing", method: post, path: "/factory-files/validate", body: `{}`, status: 400, code: "invalid_request"},
	})
	all := decode[SchemaDocuments](t, b.check(t, scenario{method: get, path: "/factory-files/schemas/v1alpha1", status: 200}))
	if len(all.Schemas) != len(definition.Schemas()) || len(all.Schemas) == 0 {
		t.Fatalf("%d schemas", len(all.Schemas))
	}
	for name := range all.Schemas {
		for _, suffix := range []string{"", ".json", ".schema.json"} {
			one := decode[map[string]any](t, b.check(t, scenario{method: get, path: "/factory-files/schemas/v1alpha1/" + name + suffix, status: 200}))
			if one["$schema"] == nil {
				t.Errorf("%s: %v", name, one)
			}
		}
	}
}

// The examples of the documentation are a folder that works.
func TestContractDefinitionExampleIsAccepted(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	path := b.shop(t)
	for file, operation := range map[string]string{"validate_definition_request": "/validate", "apply_definition_request": "/apply"} {
		body := strings.Replace(string(example(file)), `"if_revision": 6`, `"if_revision": 1`, 1)
		b.check(t, scenario{method: post, path: path + operation, as: lineshaft.RoleManager, body: body, status: http.StatusOK, not: []string{`"valid":false`}})
	}
}

// Strangers have folders checked one after the other, so they cannot take the whole
// machine; a caller that waits too long is asked to come again.
func TestF3StrangersWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	s := &server{validating: make(chan struct{}, 1)}
	s.validating <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // instead of waiting
	_, err := s.validateFiles(ctx, &given[PublishedFolder]{})
	if lineshaft.CodeOf(err) != lineshaft.CodeUnavailable {
		t.Errorf("while another folder is checked: %v", err)
	}
	<-s.validating
	if _, err := s.validateFiles(t.Context(), &given[PublishedFolder]{}); lineshaft.CodeOf(err) == lineshaft.CodeUnavailable || len(s.validating) != 0 {
		t.Errorf("when its turn has come: %v, %d under way", err, len(s.validating))
	}
}
