package kubernetes

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/kubernetes/kubetest"
)

// TestX5CheckNamesWhatIsMissing: a launcher does not start without its permissions.
func TestX5CheckNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if err := r.connect().Check(r.ctx); err != nil {
		t.Fatal(err)
	}
	r.cluster.Deny("create jobs", "get pods/log")
	err := r.connect().Check(r.ctx)
	if err == nil || !strings.Contains(err.Error(), "in namespace agents, to create jobs.batch, get pods/log;") {
		t.Error(err)
	}
	l, err := New(r.config, r.plane, r.connect())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(r.ctx); err == nil || !strings.Contains(err.Error(), "isolation kubernetes") {
		t.Error(err)
	}
	if err := l.Stop(r.ctx); err != nil {
		t.Error(err)
	}
	gone := r.connect()
	gone.server = "http://127.0.0.1:1"
	if err := gone.Check(r.ctx); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:1") {
		t.Error(err)
	}
	wrong := r.connect()
	wrong.token = func() (string, error) { return "another", nil }
	if err := wrong.Check(r.ctx); !hasCode(err, http.StatusUnauthorized) {
		t.Error(err)
	}
	if _, err := New(Config{}, r.plane, gone); err == nil || !strings.Contains(err.Error(), "--kubernetes-image") {
		t.Error(err)
	}
}

// TestX5EgressNoneNeedsAPolicy: without one the launcher refuses to start.
func TestX5EgressNoneNeedsAPolicy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := "/apis/networking.k8s.io/v1/namespaces/agents/networkpolicies"
	put := func(name, label string, types ...any) {
		t.Helper()
		policy := map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{
			"podSelector": map[string]any{"matchLabels": map[string]any{labelEgress: label}}, "policyTypes": types,
		}}
		if err := r.admin.Call(r.ctx, http.MethodPost, path, policy, nil); err != nil {
			t.Fatal(err)
		}
	}
	c := r.connect()
	put("others", "full", "Egress")
	put("ingress", "none", "Ingress")
	if err := c.CheckPolicy(r.ctx); err == nil || !strings.Contains(err.Error(), "lineshaft.dev/egress=none") {
		t.Error(err)
	}
	r.config.Template.Egress = "none"
	l, err := New(r.config, r.plane, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(r.ctx); err == nil {
		t.Error("it started")
	}
	put("ours", "none", "Ingress", "Egress")
	if err := c.CheckPolicy(r.ctx); err != nil {
		t.Error(err)
	}
}

func TestX5AnswersOfTheAPI(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.connect()
	for code, want := range map[int]struct {
		final bool
		wait  time.Duration
	}{
		400: {final: true}, 401: {}, 403: {final: true}, 404: {final: true}, 422: {final: true},
		408: {}, 429: {wait: 7 * time.Second}, 500: {}, 503: {wait: 7 * time.Second}, 504: {},
	} {
		r.cluster.Fault(func(*http.Request) (int, string) {
			if want.wait > 0 {
				return code, "7"
			}
			return code, ""
		})
		_, err := c.createJob(r.ctx, &Job{})
		e, ok := errors.AsType[*APIError](err)
		if !ok || e.Code != code || e.Wait != want.wait || final(err) != want.final {
			t.Errorf("%d: %+v", code, err)
		}
		if code == 403 && !strings.Contains(err.Error(), "create jobs.batch") {
			t.Error(err)
		}
	}
	r.cluster.Fault(func(*http.Request) (int, string) { return 429, "3600" })
	if e, _ := errors.AsType[*APIError](c.deleteJob(r.ctx, "x")); e.Wait != maxWait {
		t.Errorf("waits %s", e.Wait)
	}
	r.cluster.Fault(nil)
	if err := errors.Join(c.deleteJob(r.ctx, "none"), c.deleteSecret(r.ctx, "none")); err != nil {
		t.Errorf("what is gone is deleted: %v", err)
	}
	for range 2 { // the second finds the first
		made, err := c.createJob(r.ctx, Template{Image: "x"}.job("farm", testJob()))
		if err != nil || made.Metadata.UID == "" {
			t.Errorf("%v %v", made, err)
		}
	}
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	r.cluster.Fault(func(*http.Request) (int, string) { return 500, "" })
	if err := persist(ctx, func(ctx context.Context) error { return c.deleteJob(ctx, "x") }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestX5WatchSurvives: a watch that breaks continues where it was, one that is too old
// lists again, and bookmarks move it on.
func TestX5WatchSurvives(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var mu sync.Mutex
	lists, there := 0, map[string]bool{}
	w := &watcher[Job]{
		client: r.connect(), kind: jobsKind(), selector: selector("farm"), logger: slog.New(slog.DiscardHandler),
		all: func(jobs []Job) {
			mu.Lock()
			defer mu.Unlock()
			lists++
			clear(there)
			for _, j := range jobs {
				there[j.Metadata.Name] = true
			}
		},
		one: func(j Job, gone bool) {
			mu.Lock()
			defer mu.Unlock()
			there[j.Metadata.Name] = !gone
		},
		meta: func(j *Job) *Meta { return &j.Metadata },
	}
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan struct{})
	go func() { defer close(done); w.run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	make1 := func(host, id string) string {
		t.Helper()
		job := testJob()
		job.ExecutionID = id
		made := Template{Image: "x"}.job(host, job)
		if err := r.admin.Call(r.ctx, http.MethodPost, "/apis/batch/v1/namespaces/agents/jobs", made, nil); err != nil {
			t.Fatal(err)
		}
		return made.Metadata.Name
	}
	sees := func(name string, want bool) {
		t.Helper()
		r.await("seeing "+name, func() bool { mu.Lock(); defer mu.Unlock(); return there[name] == want })
	}
	sees(make1("farm", "a"), true)
	other := make1("another", "b")
	r.cluster.Forget()
	sees(make1("farm", "c"), true)
	mu.Lock()
	if lists < 2 {
		t.Errorf("%d lists", lists)
	}
	if there[other] {
		t.Error("a Job of another worker is seen")
	}
	mu.Unlock()
	if err := r.admin.Delete(r.ctx, "jobs", jobName("a"), "propagationPolicy=Foreground"); err != nil {
		t.Fatal(err)
	}
	sees(jobName("a"), false)
}

// TestX5WatchPagesAndBrokenAnswers covers what the scripted cluster cannot do.
func TestX5WatchPagesAndBrokenAnswers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch query := q.URL.Query(); {
		case query.Get("watch") == "":
			text := `{"metadata":{"resourceVersion":"7","continue":"next"},"items":[{"metadata":{"name":"a"}}]}`
			if query.Get("continue") == "next" {
				text = `{"metadata":{"resourceVersion":"8"},"items":[{"metadata":{"name":"b"}}]}`
			}
			_, _ = w.Write([]byte(text))
		case query.Get("resourceVersion") == "1":
			_, _ = w.Write([]byte(`{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"2"}}}` + "\n" + `{"type":"AD`))
		case query.Get("resourceVersion") == "3":
			_, _ = w.Write([]byte(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"4"}}}` + "\n"))
		default:
			_, _ = w.Write([]byte(`{"type":"ERROR","object":{"code":410,"message":"too old"}}`))
		}
	}))
	t.Cleanup(server.Close)
	c, err := newClient(server.URL, "ns", nil, nil, func() (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.http.CloseIdleConnections)
	var all, one []string
	w := &watcher[Pod]{
		client: c, kind: podsKind(), all: func(pods []Pod) {
			for _, p := range pods {
				all = append(all, p.Metadata.Name)
			}
		}, one: func(p Pod, _ bool) { one = append(one, p.Metadata.Name) }, meta: func(p *Pod) *Meta { return &p.Metadata },
	}
	if version, err := w.list(t.Context()); err != nil || version != "8" || strings.Join(all, "") != "ab" {
		t.Error(version, all, err)
	}
	if version, seen, err := w.watch(t.Context(), "1"); err == nil || !seen || version != "2" || len(one) != 1 {
		t.Error(version, seen, err)
	}
	if version, _, err := w.watch(t.Context(), "3"); err != nil || version != "4" || len(one) != 1 {
		t.Error(version, err, one)
	}
	if _, _, err := w.watch(t.Context(), "5"); !hasCode(err, http.StatusGone) {
		t.Error(err)
	}
}

func TestX5Kubeconfig(t *testing.T) {
	t.Parallel()
	tls := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer from-file" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"status":{"allowed":true}}`))
	}))
	t.Cleanup(tls.Close)
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw})
	for name, text := range map[string]string{"token": "from-file\n", "ca.crt": string(ca), "namespace": "mine\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inside, err := inCluster(tls.URL, dir, "")
	if err != nil || inside.Namespace() != "mine" {
		t.Fatal(err)
	}
	file := func(cluster, user string) string {
		t.Helper()
		path := filepath.Join(dir, "config")
		text := "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: " + cluster + "}]\nusers: [{name: u, user: " + user + "}]\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	outside, err := Connect(file("{server: '"+tls.URL+"/', certificate-authority-data: "+base64.StdEncoding.EncodeToString(ca)+"}", "{tokenFile: token}"), "")
	if err != nil || outside.Namespace() != "default" {
		t.Fatal(err)
	}
	for _, c := range []*Client{inside, outside} {
		t.Cleanup(c.http.CloseIdleConnections)
		if err := c.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}
	untrusted, err := Connect(file("{server: '"+tls.URL+"'}", "{token: from-file}"), "ns")
	if err != nil {
		t.Fatal(err)
	}
	if err := untrusted.Check(t.Context()); !errors.As(err, new(x509.UnknownAuthorityError)) {
		t.Error(err)
	}
}

func TestX5KubeconfigRefused(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][3]string{
		"no server": {"{}", "{}", "has no server"}, "insecure": {"{server: x, insecure-skip-tls-verify: true}", "{}", "insecure-skip-tls-verify"},
		"exec": {"{server: x}", "{exec: {command: aws}}", "exec and auth-provider"}, "no CA": {"{server: x, certificate-authority: none.crt}", "{}", "certificate-authority"},
		"no PEM": {"{server: x, certificate-authority-data: eA==}", "{}", "not PEM"}, "no base64": {"{server: x, certificate-authority-data: '%'}", "{}", "not base64"},
		"half a certificate": {"{server: x}", "{client-certificate-data: eA==}", "client certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "config")
			text := "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: " + parts[0] + "}]\nusers: [{name: u, user: " + parts[1] + "}]\n"
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Connect(path, ""); err == nil || !strings.Contains(err.Error(), parts[2]) {
				t.Error(err)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte("token: [s3cret-value"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{path, path + "-none"} {
		if _, err := Connect(bad, ""); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Error(err)
		}
	}
	if _, err := Connect(kubetest.New(t).Admin().Kubeconfig(t), "other"); err != nil {
		t.Error(err)
	}
	if _, err := inCluster("https://x", t.TempDir(), ""); err == nil {
		t.Error("there is no service account")
	}
}
