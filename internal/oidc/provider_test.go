package oidc_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/oidc"
)

func TestS4TokenEndpointThatDoesNotWork(t *testing.T) {
	t.Parallel()
	plain := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, tc := range map[string]struct {
		handle http.HandlerFunc
		code   lineshaft.Code
	}{
		"away":          {plain(http.StatusBadGateway, "code-x "+clientSecret), lineshaft.CodeUnavailable},
		"refused":       {plain(http.StatusBadRequest, `{"error":"invalid_grant","error_description":"code-x"}`), lineshaft.CodeAuthenticationRequired},
		"echo":          {plain(http.StatusUnauthorized, `{"error":"code-x `+clientSecret+`"}`), lineshaft.CodeAuthenticationRequired},
		"not JSON":      {plain(http.StatusOK, "<html>"), lineshaft.CodeUnavailable},
		"no tokens":     {plain(http.StatusOK, "{}"), lineshaft.CodeUnavailable},
		"no ID token":   {plain(http.StatusOK, `{"access_token":"`+accessToken+`","token_type":"Bearer"}`), lineshaft.CodeAuthenticationRequired},
		"ID token list": {plain(http.StatusOK, `{"access_token":"`+accessToken+`","token_type":"Bearer","id_token":["x"]}`), lineshaft.CodeAuthenticationRequired},
		"huge":          {plain(http.StatusOK, `{"access_token":"`+strings.Repeat("x", 3<<20)+`"}`), lineshaft.CodeUnavailable},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, lineshaft.CodeUnavailable},
	} {
		s := newScripted(t)
		s.tokens = tc.handle
		_, err := s.signIn(oidc.New(s.config()))
		s.refused(name, err, tc.code)
	}
}

// Somebody who gives up waiting for a slow provider leaves nothing behind.
func TestS4SlowProviderEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	reached, over := make(chan struct{}), make(chan struct{})
	s.tokens = func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		close(reached)
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}
	defer close(over)
	p := oidc.New(s.config())
	address, ticket, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reached
		cancel()
	}()
	_, err = p.Finish(ctx, ticket, s.authorize(address))
	s.refused("slow", err, lineshaft.CodeUnavailable)
}

func TestS4ProvidersThatSayTheWrongThingOfThemselves(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(map[string]any){
		"other issuer":     func(m map[string]any) { m["issuer"] = "https://evil.example" },
		"no token address": func(m map[string]any) { delete(m, "token_endpoint") },
		"no address":       func(m map[string]any) { m["authorization_endpoint"] = "/relative" },
		"script":           func(m map[string]any) { m["authorization_endpoint"] = "javascript:alert(1)" },
		"no keys":          func(m map[string]any) { m["jwks_uri"] = "" },
		"file":             func(m map[string]any) { m["userinfo_endpoint"] = "file:///etc/passwd" },
	} {
		s := newScripted(t)
		s.discovery = func(w http.ResponseWriter, _ *http.Request) {
			about := s.about()
			change(about)
			answer(w, about)
		}
		p := oidc.New(s.config())
		_, _, err := p.Begin(t.Context())
		s.refused(name, err, lineshaft.CodeUnavailable)
		if p.Check(t.Context()) == nil {
			t.Errorf("%s: a check finds nothing", name)
		}
	}
}

func TestS4ProviderComesBack(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	now := time.Now()
	cfg := s.config()
	cfg.Now = func() time.Time { return now }
	p := oidc.New(cfg)
	away := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	s.discovery = away
	_, _, err := p.Begin(t.Context())
	s.refused("away", err, lineshaft.CodeUnavailable)
	s.discovery = nil
	if _, err := s.signIn(p); err != nil {
		t.Errorf("back again: %v", err)
	}
	// What is known goes on while it is away for a while.
	s.discovery = away
	now = now.Add(2 * time.Hour)
	if _, _, err := p.Begin(t.Context()); err != nil {
		t.Errorf("known: %v", err)
	}
}

func TestS7PrivateProvidersMustBeAllowed(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	cfg := s.config()
	cfg.AllowPrivate = false
	for _, issuer := range []string{s.server.URL, strings.Replace(s.server.URL, "127.0.0.1", "localhost", 1), "https://169.254.169.254", "https://[::1]:1", "https://[::ffff:10.0.0.1]"} {
		cfg.Issuer = issuer
		err := oidc.New(cfg).Check(t.Context())
		if err == nil || !strings.Contains(err.Error(), "--oidc-allow-private") {
			t.Errorf("%s: %v", issuer, err)
		}
	}
}

// The secret goes once, the way that the provider asks for.
func TestS4ClientShowsItselfAsTheProviderAsks(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	for _, methods := range [][]string{nil, {"client_secret_basic"}, {"client_secret_post"}} {
		s.discovery = func(w http.ResponseWriter, _ *http.Request) {
			about := s.about()
			about["token_endpoint_auth_methods_supported"] = methods
			answer(w, about)
		}
		var sent string
		s.tokens = func(_ http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			user, _, basic := r.BasicAuth()
			sent = fmt.Sprint(basic, user, r.PostForm.Has("client_secret"))
		}
		_, err := s.signIn(oidc.New(s.config()))
		s.refused("no tokens", err, lineshaft.CodeUnavailable)
		want := "true" + clientID + "false"
		if len(methods) > 0 && methods[0] == "client_secret_post" {
			want = "false" + "true"
		}
		if sent != want {
			t.Errorf("with %v the client showed itself as %s, want %s", methods, sent, want)
		}
	}
}
