package signature_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/signature"
)

// receiver checks what arrives as the ingress does, and remembers the identities.
type receiver struct {
	*httptest.Server

	mu       sync.Mutex // the requests come through another process
	verifier *signature.Verifier
	refused  error
	ids      []string
}

// expect takes another verifier.
func (r *receiver) expect(v *signature.Verifier) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verifier = v
}

// found is what came so far.
func (r *receiver) found() (ids []string, refused error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids, r.refused
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		got := signature.Request{Method: req.Method, URL: r.URL + req.URL.RequestURI(), Header: req.Header, Body: body, Now: time.Now()}
		if r.refused = r.verifier.Verify(got); r.refused != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		id, _ := r.verifier.Identity(got)
		r.ids = append(r.ids, id+string(body))
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(r.Close)
	return r
}

func shell(t *testing.T, script string) string {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		if os.Getenv("LINESHAFT_TEST_FULL") != "" {
			t.Fatal("openssl, which the scripts use, is not installed")
		}
		t.Skip("openssl, which the scripts use, is not installed")
	}
	out, err := exec.CommandContext(t.Context(), "bash", "-euc", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

// The script of every scheme is accepted when it is pasted into a shell, and each
// time it is another delivery.
func TestW3TrialOfEverySchemeIsAuthentic(t *testing.T) {
	t.Parallel()
	for _, s := range signature.Schemes() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			settings := signature.HMAC{}
			if s.Name == "hmac" {
				settings = signature.HMAC{Header: "X-Sig"}
			}
			tryScript(t, signature.Trial{Scheme: s.Name, Settings: settings, Secret: signature.Generate(s.Name), Told: true})
		})
	}
}

// What people may write in the settings and in a secret cannot break the script.
func TestW3TrialOfOddSettings(t *testing.T) {
	t.Parallel()
	for name, trial := range map[string]signature.Trial{
		"quotes":        {Scheme: "github", Secret: `it's "quoted" $HOME ` + "`id` \\ !x"},
		"dash":          {Scheme: "github", Secret: "-macopt-is-no-option"},
		"gitlab signed": {Scheme: "gitlab", Secret: signature.Generate("standard_webhooks")},
		"all settings": {Scheme: "hmac", Secret: "k", Settings: signature.HMAC{
			Header: "X-Sig", Prefix: "it's $1=", Digest: "sha512", Encoding: "base64",
			Template: "{method} {url}'\"$x`{timestamp}.{id}|{body}", TimestampHeader: "X-Time", IDHeader: "X-Id",
		}},
		"sha1":   {Scheme: "hmac", Secret: "k", Settings: signature.HMAC{Header: "X-Sig", Digest: "sha1", Template: "%s\\n{body}"}},
		"sha384": {Scheme: "hmac", Secret: "k", Settings: signature.HMAC{Header: "X-Sig", Digest: "sha384", Template: "-n{body}"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial.Told = true
			tryScript(t, trial)
		})
	}
}

func tryScript(t *testing.T, trial signature.Trial) {
	t.Helper()
	r := newReceiver(t)
	trial.URL = r.URL + "/webhooks/w/x"
	script, err := trial.Script()
	if trial.Scheme == "discord" {
		if !errors.Is(err, signature.ErrNoTrial) {
			t.Fatalf("only Discord has the key: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	right, err := signature.New(trial.Scheme, trial.Settings, trial.Secret)
	if err != nil {
		t.Fatal(err)
	}
	r.expect(right)
	for range 2 {
		out := shell(t, script)
		if _, refused := r.found(); !strings.Contains(out, "(202)") {
			t.Fatalf("%s: %v\n%s", out, refused, script)
		}
	}
	if ids, _ := r.found(); len(ids) != 2 || ids[0] == ids[1] {
		t.Errorf("the second is a duplicate: %q", ids)
	}
	// With another secret it is refused: the receiver does look.
	wrong, err := signature.New(trial.Scheme, trial.Settings, signature.Generate(trial.Scheme))
	if err != nil {
		t.Fatal(err)
	}
	r.expect(wrong)
	if out := shell(t, script); !strings.Contains(out, "(401)") {
		t.Errorf("a wrong secret: %s", out)
	}
}

func TestW3TrialKeepsASecretBack(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"", "hidden-from-the-page"} {
		script, err := signature.Trial{Scheme: "github", URL: "http://x/y", Secret: secret}.Script()
		if err != nil || strings.Contains(script, "hidden") || !strings.Contains(script, signature.SecretPlace) {
			t.Errorf("%v\n%s", err, script)
		}
	}
	if _, err := (signature.Trial{Scheme: "none"}).Script(); err == nil {
		t.Error("an unknown scheme has a script")
	}
	if _, err := (signature.Trial{Scheme: "standard_webhooks", Secret: "whpk_MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="}).Script(); !errors.Is(err, signature.ErrNoTrial) {
		t.Errorf("a public key: %v", err)
	}
}
