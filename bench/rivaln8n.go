package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/internal/pause"
)

// n8nVersion is the release that is measured: the last that Node.js 20 runs.
const n8nVersion = "1.123.81"

// n8nRival is n8n from npm, in its usual mode, on PostgreSQL: its SQLite module does not
// come from the registry.
func n8nRival() rival {
	return rival{
		name: "n8n", install: installN8N, start: startN8N,
		promise: "its 200 is sent before the execution is stored: a crash then loses the delivery, and one sent again is not noticed",
	}
}

// installN8N fetches it from the npm registry, which lacks one of its packages;
// nothing that is measured needs that one, so another release of it is installed instead.
func installN8N(ctx context.Context, _ *session, dir string) (string, error) {
	program := filepath.Join(dir, "node_modules", "n8n", "bin", "n8n")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	text, err := json.Marshal(map[string]any{
		"name": "rival", "private": true, "dependencies": map[string]string{"n8n": n8nVersion}, "overrides": map[string]string{"xlsx": "0.18.5"},
	})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), text, 0o644); err != nil {
		return "", fmt.Errorf("write package.json: %w", err)
	}
	cmd := exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund", "--omit=dev", "--no-progress", "--ignore-scripts")
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	if text, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("npm did not end within %s", rivalWithin)
		}
		return "", fmt.Errorf("npm: %w: %s", err, lastLine(string(text)))
	}
	return program, nil
}

// n8nWorkflows are as many workflows as B1 has webhooks: each has a webhook, with a token, and a
// condition on the body that does not hold.
func n8nWorkflows() []any {
	workflows := make([]any, ingressHooks)
	for i := range workflows {
		name := webhookName(i)
		hook := map[string]any{
			"id": name, "name": "Webhook", "type": "n8n-nodes-base.webhook", "typeVersion": 1, "position": []int{0, 0}, "webhookId": name,
			"parameters":  map[string]any{"path": name, "httpMethod": "POST", "responseMode": "onReceived", "authentication": "headerAuth"},
			"credentials": map[string]any{"httpHeaderAuth": map[string]any{"id": "bench", "name": "token"}},
		}
		condition := map[string]any{
			"id": name + "-if", "name": "If", "type": "n8n-nodes-base.if", "typeVersion": 1, "position": []int{400, 0},
			"parameters": map[string]any{"conditions": map[string]any{"string": []any{map[string]any{"value1": "={{ $json.body.action }}", "value2": "closed"}}}},
		}
		workflows[i] = map[string]any{
			"id": name, "name": name, "active": false, "nodes": []any{hook, condition}, "settings": map[string]any{},
			"connections": map[string]any{"Webhook": map[string]any{"main": []any{[]any{map[string]any{"node": "If", "type": "main", "index": 0}}}}},
		}
	}
	return workflows
}

// n8nEnvironment are its settings.
func n8nEnvironment(db *database, dir, address string) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(db.url)
	if err != nil {
		return nil, errors.New("the address of PostgreSQL is no URL")
	}
	password, _ := u.User.Password()
	return []string{
		"N8N_USER_FOLDER=" + dir, "N8N_LISTEN_ADDRESS=" + host, "N8N_PORT=" + port, "N8N_LOG_LEVEL=error", "N8N_DIAGNOSTICS_ENABLED=false",
		"N8N_VERSION_NOTIFICATIONS_ENABLED=false", "N8N_TEMPLATES_ENABLED=false", "N8N_HIRING_BANNER_ENABLED=false", "NODE_ENV=production", "N8N_EXPRESSION_ENGINE=legacy",
		"DB_TYPE=postgresdb", "DB_POSTGRESDB_HOST=" + u.Hostname(), "DB_POSTGRESDB_PORT=" + u.Port(), "DB_POSTGRESDB_USER=" + u.User.Username(),
		"DB_POSTGRESDB_PASSWORD=" + password, "DB_POSTGRESDB_DATABASE=" + strings.TrimPrefix(u.Path, "/"),
	}, nil
}

func startN8N(ctx context.Context, s *session, program string) (*server, []hitTarget, error) {
	db, err := s.newDatabase(ctx, postgres, "n8n")
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(s.dir, "n8n")
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, nil, err
	}
	env, err := n8nEnvironment(db, dir, address)
	if err != nil {
		return nil, nil, err
	}
	if err := prepareN8N(ctx, program, dir, env); err != nil {
		return nil, nil, err
	}
	srv, err := launchRival(ctx, s, "n8n", "/healthz/readiness", address, env, "node", program, "start")
	if err != nil {
		return nil, nil, err
	}
	targets := make([]hitTarget, ingressHooks)
	for i := range targets {
		targets[i] = bearerTarget("/webhook/"+webhookName(i), anchorToken)
	}
	if err := awaitN8N(ctx, srv, targets[len(targets)-1]); err != nil {
		return nil, nil, errors.Join(err, srv.stop())
	}
	return srv, targets, nil
}

// prepareN8N brings the token and the workflow into its database.
func prepareN8N(ctx context.Context, program, dir string, env []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	token := []any{map[string]any{
		"id": "bench", "name": "token", "type": "httpHeaderAuth", "data": map[string]string{"name": "Authorization", "value": "Bearer " + anchorToken},
	}}
	for _, step := range []struct {
		content any
		args    []string
	}{
		{token, []string{"import:credentials"}},
		{n8nWorkflows(), []string{"import:workflow"}},
		{nil, []string{"update:workflow", "--all", "--active=true"}},
	} {
		if step.content != nil {
			file := filepath.Join(dir, "input.json")
			if err := os.WriteFile(file, encoded(step.content), 0o600); err != nil {
				return fmt.Errorf("write %s: %w", step.args[0], err)
			}
			step.args = append(step.args, "--input="+file)
		}
		cmd := exec.CommandContext(ctx, "node", append([]string{program}, step.args...)...)
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, env...)
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", step.args[0], err, lastLine(string(text)))
		}
	}
	return nil
}

// awaitN8N waits until webhooks are taken, which is after the server is ready.
func awaitN8N(ctx context.Context, srv *server, target hitTarget) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	caller := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for ctx.Err() == nil {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.url+target.Path, strings.NewReader("{}"))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", target.Header["Authorization"])
		r.Header.Set("Content-Type", "application/json")
		if answer, err := caller.Do(r); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		pause.For(ctx, 200*time.Millisecond)
	}
	return errors.New("its webhooks did not come up")
}
