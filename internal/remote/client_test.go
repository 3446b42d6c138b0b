package remote_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/remote"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// S-3: a key works for the ids that it names.
func TestS3KeysAndIDs(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir()+"/test.db")
	for _, tc := range []struct {
		name   string
		change func(*remote.Config)
		code   lineshaft.Code
	}{
		{"its id", func(*remote.Config) {}, ""},
		{"another id", func(c *remote.Config) { c.Host, c.Process = "farm", "farm/p" }, lineshaft.CodeNotAuthorized},
		{"the server's own", func(c *remote.Config) { c.Host, c.Process = "hosted", "hosted/p" }, lineshaft.CodeInvalidRequest},
		{"its old name", func(c *remote.Config) { c.Host, c.Process = "warp", "warp/p" }, lineshaft.CodeInvalidRequest},
		{"process of another", func(c *remote.Config) { c.Process = "farm/p" }, lineshaft.CodeInvalidRequest},
		{"no such key", func(c *remote.Config) { c.Key = "ls_" + strings.Repeat("x", 40) }, lineshaft.CodeAuthenticationRequired},
	} {
		c := b.client(tc.change)
		_, err := c.Connect(b.Context())
		if (err == nil) != (tc.code == "") || err != nil && (lineshaft.CodeOf(err) != tc.code || !remote.Refused(err)) {
			t.Errorf("%s: connect: %v", tc.name, err)
		}
		if tc.code == "" {
			continue
		}
		_, err = c.Claim(b.Context(), lineshaft.ClaimRequest{Limit: 1, Capacity: 1})
		wantCode(t, err, tc.code)
		_, err = c.Heartbeat(b.Context(), "", nil)
		wantCode(t, err, tc.code)
		_, err = c.Directives(b.Context(), "")
		wantCode(t, err, tc.code)
		_, err = c.Report(b.Context(), []lineshaft.Report{{First: 1}})
		wantCode(t, err, tc.code)
		_, err = c.EndTurn(b.Context(), lineshaft.ExecutionRef{}, lineshaft.TurnResult{})
		wantCode(t, err, tc.code)
		_, err = c.Upload(b.Context(), lineshaft.ExecutionRef{}, lineshaft.Upload{Kind: lineshaft.BlobArtifact}, strings.NewReader("x"))
		wantCode(t, err, tc.code)
		_, err = c.Download(b.Context(), lineshaft.ExecutionRef{}, "x")
		wantCode(t, err, tc.code)
		wantCode(t, c.Leave(b.Context()), tc.code)
	}
}

// one minor version apart is fine; more is refused with what to upgrade. What
// has begun may still end.
func TestX1VersionSkew(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir()+"/test.db")
	for version, upgrade := range map[string]string{"0.3.9": "", "0.5.0": "", "dev": "", "0.2.0": "upgrade the worker", "0.6.0": "upgrade the server"} {
		c := b.client(func(c *remote.Config) { c.Version = version })
		welcome, err := c.Connect(b.Context())
		if upgrade == "" {
			if err != nil || welcome.Version != "0.4.0" {
				t.Errorf("%s: %+v, %v", version, welcome, err)
			}
			continue
		}
		if !remote.Refused(err) || !strings.Contains(err.Error(), upgrade) {
			t.Errorf("%s: %v", version, err)
		}
		if _, err := c.Claim(b.Context(), lineshaft.ClaimRequest{Limit: 1, Capacity: 1}); !remote.Refused(err) {
			t.Errorf("%s claims: %v", version, err)
		}
		if _, err := c.Heartbeat(b.Context(), "", nil); err != nil {
			t.Errorf("%s may not end what it began: %v", version, err)
		}
	}
}

// What is not the server's own word is an outage: it must not end an agent.
func TestX3OnlyTheServersWordEndsAnAgent(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir()+"/test.db")
	c := b.client()
	problem := func(status int, code string, ours bool) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/problem+json")
			if ours {
				w.Header().Set("Lineshaft-Worker-Protocol", "1")
			}
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"code":%q,"title":"t","detail":"d"}`, code)
		}
	}
	plain := func(status int, kind, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter)
		code   lineshaft.Code // empty: an outage
	}{
		"conflict":                {problem(409, "conflict", true), lineshaft.CodeConflict},
		"bad request":             {problem(400, "invalid_request", true), lineshaft.CodeInvalidRequest},
		"too large":               {problem(413, "payload_too_large", true), lineshaft.CodePayloadTooLarge},
		"bad key":                 {problem(401, "authentication_required", false), lineshaft.CodeAuthenticationRequired},
		"conflict of another":     {problem(409, "conflict", false), ""},
		"a server without routes": {problem(404, "resource_not_found", false), ""},
		"unavailable":             {problem(503, "resource_unavailable", true), ""},
		"too many":                {problem(429, "resource_unavailable", true), ""},
		"an unknown code":         {problem(409, "who_knows", true), ""},
		"proxy's 404":             {plain(404, "text/html", "<h1>not here</h1>"), ""},
		"proxy's 409":             {plain(409, "text/plain", "conflict"), ""},
		"proxy's 502":             {plain(502, "text/html", "bad gateway"), ""},
		"proxy's 504":             {plain(504, "text/html", "too slow"), ""},
		"a login page":            {plain(200, "text/html", "<form>"), ""},
		"a redirect":              {plain(302, "text/html", ""), ""},
		"half an answer":          {func(w http.ResponseWriter) { w.Header().Set("Content-Length", "100"); _, _ = io.WriteString(w, "{") }, ""},
	} {
		b.front.set(func(w http.ResponseWriter, _ *http.Request) bool { tc.answer(w); return true })
		_, err := c.EndTurn(b.Context(), lineshaft.ExecutionRef{}, lineshaft.TurnResult{})
		switch {
		case err == nil:
			t.Errorf("%s: no error", name)
		case tc.code == "" && remote.Refused(err):
			t.Errorf("%s: %v is taken as the server's word", name, err)
		case tc.code != "" && (!remote.Refused(err) || lineshaft.CodeOf(err) != tc.code):
			t.Errorf("%s: %v, want %s", name, err, tc.code)
		}
	}
}

// The worker's own rules read the code through any wrapping, so an outage must hide
// codes that end agents.
func TestX3AnOutageHasNoCodeThatEndsAgents(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir()+"/test.db")
	b.front.set(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"code":"conflict","detail":"from elsewhere"}`)
		return true
	})
	_, err := b.client().EndTurn(b.Context(), lineshaft.ExecutionRef{}, lineshaft.TurnResult{})
	if code := lineshaft.CodeOf(err); code != lineshaft.CodeInternal {
		t.Errorf("an answer that is not the server's has the code %s", code)
	}
}

// People are told once when the server goes away and once when it is back.
func TestX3AwayAndBack(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir()+"/test.db")
	var mu sync.Mutex
	var told []string
	c := b.client(func(c *remote.Config) {
		c.Away = func(reason error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(reason != nil))
		}
	})
	call := func() error { _, err := c.Heartbeat(b.Context(), "", nil); return err }
	wantCode(t, call(), "")
	b.front.set(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true })
	for range 3 {
		if err := call(); err == nil || remote.Refused(err) {
			t.Error(err)
		}
	}
	b.front.set(nil)
	wantCode(t, call(), "")
	wantCode(t, call(), "")
	if got := strings.Join(told, " "); got != "true false" {
		t.Errorf("told %s", got)
	}
}

// a job that arrives is one whose heartbeat is due, whatever the worker's clock
// and however long the answer took.
func TestX1AJobNeedsAHeartbeatFirst(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir()+"/test.db")
	b.start(lineshaft.AgentConfig{})
	job := b.claim(b.client(), 1)[0]
	if age := time.Since(job.Granted); age <= job.Lease/3 || age > job.Lease*2/3 {
		t.Errorf("the lease of %s counts as %s old", job.Lease, age)
	}
}

// S-1: secrets cross in the claim's answer and are found nowhere else.
func TestS1SecretsCrossAndAreNotLogged(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir()+"/test.db")
	if _, err := b.service.CreateSecret(b.Context(), b.admin, lineshaft.Secret{Name: "DEPLOY_TOKEN", Access: lineshaft.AccessRuns}, "hunter2-hunter2"); err != nil {
		t.Fatal(err)
	}
	b.start(lineshaft.AgentConfig{Secrets: []string{"DEPLOY_TOKEN"}})
	var control string
	b.front.set(func(w http.ResponseWriter, r *http.Request) bool {
		b.front.handler.ServeHTTP(w, r)
		control = w.Header().Get("Cache-Control")
		return true
	})
	job := b.claim(b.client(), 1)[0]
	if job.Secrets["DEPLOY_TOKEN"] != "hunter2-hunter2" {
		t.Errorf("secrets %v", map[string]string(job.Secrets))
	}
	if control != "no-store" {
		t.Errorf("Cache-Control: %q", control)
	}
	for _, secret := range []string{"hunter2", job.Token, job.RunToken, b.key} {
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	if !strings.Contains(b.log.String(), "/api/v1/worker/claim") {
		t.Error("the log does not tell of the call at all")
	}
}

// A heartbeat that the rate limit refuses would end agents; the bench allows 5 calls.
func TestX3WorkersHaveNoRateLimit(t *testing.T) {
	t.Parallel()
	c := open(t, t.TempDir()+"/test.db").client()
	for range 20 {
		if _, err := c.Heartbeat(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A server that stops does not keep workers waiting.
func TestX3StoppingEndsLongPolls(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	b := open(t, t.TempDir()+"/test.db", func(d *api.Deps) { d.Stopping = stopping })
	c := b.client()
	asked := make(chan struct{}, 2)
	b.front.set(func(http.ResponseWriter, *http.Request) bool { asked <- struct{}{}; return false })
	results := make(chan error, 2)
	go func() {
		_, err := c.Claim(t.Context(), lineshaft.ClaimRequest{Limit: 1, Capacity: 1})
		results <- err
	}()
	go func() { _, err := c.Directives(t.Context(), ""); results <- err }()
	<-asked
	<-asked
	begun := time.Now()
	close(stopping)
	for range 2 {
		if err := <-results; err == nil || remote.Refused(err) {
			t.Errorf("a stopping server is an outage, not %v", err)
		}
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestX1AddressesAreChecked(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "example.com", "ftp://x", "http://", "::"} {
		if _, err := remote.New(remote.Config{Server: address}); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

// An answer to a download that is cut off is an error, not a shorter file.
func TestR11ADownloadThatIsCutIsAnError(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir()+"/test.db")
	b.front.set(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Lineshaft-Worker-Protocol", "1")
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	content, err := b.client().Download(b.Context(), lineshaft.ExecutionRef{}, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	if text, err := io.ReadAll(content); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("%q, %v", text, err)
	}
}

// the server is told at once that what an earlier life held is over.
func TestX3ConnectGivesUp(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database)
		runID := b.start(lineshaft.AgentConfig{})
		b.claim(b.client(), 1)
		welcome, err := b.client().Connect(b.Context())
		if err != nil || welcome.Ended != 1 {
			t.Fatalf("%+v, %v", welcome, err)
		}
		b.want(runID, lineshaft.Queued)
	})
}

// HTTPS means HTTP/2 where it is spoken, and a certificate that is checked.
func TestX1HTTPS(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir()+"/test.db")
	spoken := make(chan string, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		spoken <- r.Proto
		b.front.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	trusting, _ := server.Client().Transport.(*http.Transport)
	base, _ := http.DefaultTransport.(*http.Transport)
	base = base.Clone()
	base.TLSClientConfig = &tls.Config{RootCAs: trusting.TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12}
	httpClient := remote.NewHTTPClient(base)
	defer httpClient.CloseIdleConnections()
	c := b.client(func(c *remote.Config) { c.Server, c.HTTP = server.URL, httpClient })
	if _, err := c.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if proto := <-spoken; proto != "HTTP/2.0" {
		t.Errorf("spoke %s", proto)
	}
	runID := b.start(lineshaft.AgentConfig{})
	ref := b.claim(c, 1)[0].ExecutionRef
	if _, err := c.Upload(t.Context(), ref, lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "f"}, io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), iotest.ErrReader(io.ErrClosedPipe))); err == nil {
		t.Error("half a file was taken")
	}
	if run, err := b.service.GetRun(t.Context(), b.admin, runID); err != nil || len(run.Artifacts) != 0 {
		t.Errorf("artifacts %+v, %v", run, err)
	}
	suspicious := b.client(func(c *remote.Config) { c.Server = server.URL })
	if _, err := suspicious.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a stranger's certificate: %v", err)
	}
}
