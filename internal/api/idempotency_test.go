package api

import (
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func keyed(key string) map[string]string { return map[string]string{"Idempotency-Key": key} }

func TestH9SameKeySameAnswer(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	for _, path := range []string{"/agent/runs", "/agent/run"} {
		sc := scenario{method: post, path: path, as: lineshaft.RoleMember, header: keyed("k1"), body: `{"prompt":"x"}`, status: 200}
		first, second := b.check(t, sc), b.check(t, sc)
		if first.Body.String() != second.Body.String() {
			t.Errorf("%s: %s, then %s", path, first.Body, second.Body)
		}
		if first.Header().Get("Idempotent-Replayed") != "" || second.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: replayed %q, then %q", path, first.Header().Get("Idempotent-Replayed"), second.Header().Get("Idempotent-Replayed"))
		}
		sc.body, sc.status, sc.code = `{"prompt":"x" }`, 422, lineshaft.CodeIdempotencyMismatch
		b.check(t, sc)
	}
	if n := b.runs(t); n != 2 {
		t.Errorf("%d runs; the two paths are two scopes", n)
	}
	// Another principal's key of the same name is another key.
	b.check(t, scenario{method: post, path: "/agent/runs", as: lineshaft.RoleManager, header: keyed("k1"), body: `{"prompt":"y"}`, status: 200})
}

func TestH9FailuresAreNotKept(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	sc := scenario{method: post, path: "/agent/runs", as: lineshaft.RoleMember, header: keyed("k"), body: `{"prompt":""}`, status: 400, code: "invalid_request"}
	b.check(t, sc)
	sc.body, sc.status, sc.code = `{"prompt":"x"}`, 200, ""
	if w := b.check(t, sc); w.Header().Get("Idempotent-Replayed") != "" {
		t.Error("replayed a failure")
	}
}

func TestH9FollowupAndCancel(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	for _, sc := range []scenario{
		{method: post, path: "/agent/runs/" + id + "/followups", body: `{"message":"m"}`},
		{method: post, path: "/agent/runs/" + id + "/cancel"},
	} {
		sc.as, sc.header, sc.status = lineshaft.RoleManager, keyed("k"), 200
		first, second := b.check(t, sc), b.check(t, sc)
		if second.Header().Get("Idempotent-Replayed") != "true" || first.Body.String() != second.Body.String() {
			t.Errorf("%s: %q %q", sc.path, first.Body, second.Body)
		}
	}
}

func TestH9KeysAreBounded(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	for name, tc := range map[string]struct {
		key    string
		status int
	}{
		"255": {strings.Repeat("k", 255), 200}, "256": {strings.Repeat("k", 256), 400}, "empty": {"", 400}, "space": {"a b", 200},
		"not ASCII": {"schlüssel", 400}, "tab": {"a\tb", 400}, "DEL": {"a\x7f", 400},
	} {
		sc := scenario{name: name, method: post, path: "/agent/runs", as: lineshaft.RoleMember, header: keyed(tc.key), body: `{"prompt":"x"}`, status: tc.status}
		if tc.status == 400 {
			sc.code, sc.has = "invalid_request", []string{"Idempotency-Key: "}
		}
		b.check(t, sc)
	}
	// Operations that do not honour a key do not look at it.
	b.check(t, scenario{method: get, path: "/agent/runs", as: lineshaft.RoleMember, header: keyed(""), status: 200})
}

func TestH9ManyAtOnceStartOneRun(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.key(lineshaft.RoleMember)
	var wait sync.WaitGroup
	answers := make([]string, 16)
	for i := range answers {
		wait.Go(func() {
			answers[i] = b.check(t, scenario{method: post, path: "/agent/runs", as: lineshaft.RoleMember, header: keyed("k"), body: `{"prompt":"x"}`, status: 200}).Body.String()
		})
	}
	wait.Wait()
	for _, answer := range answers {
		if answer != answers[0] {
			t.Errorf("%s and %s", answer, answers[0])
		}
	}
	if n := b.runs(t); n != 1 {
		t.Errorf("%d runs", n)
	}
}
