package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

// webhookRival is adnanh/webhook, from its Debian package: it runs a command for
// each request that a rule lets through.
func webhookRival() rival {
	return rival{
		name: "webhook", install: installWebhook, start: startWebhook,
		promise: "its 200 promises nothing: nothing is stored, a delivery sent again is not noticed, and what the rule let through is lost with the process",
	}
}

// installWebhook unpacks the package without installing it.
func installWebhook(ctx context.Context, _ *session, dir string) (string, error) {
	if program, err := exec.LookPath("webhook"); err == nil {
		return program, nil
	}
	program := filepath.Join(dir, "usr", "bin", "webhook")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if _, err := output(ctx, dir, "apt-get", "download", "webhook"); err != nil {
		return "", err
	}
	packages, err := filepath.Glob(filepath.Join(dir, "webhook_*.deb"))
	if err != nil || len(packages) == 0 {
		return "", fmt.Errorf("apt-get downloaded nothing: %w", os.ErrNotExist)
	}
	_, err = output(ctx, dir, "dpkg-deb", "-x", packages[0], dir)
	return program, err
}

// webhookHooks is its configuration: a token, and a condition on the body that does
// not hold, as B1's filter does not.
func webhookHooks(token string) []map[string]any {
	match := func(value, source, name string) map[string]any {
		return map[string]any{"match": map[string]any{"type": "value", "value": value, "parameter": map[string]any{"source": source, "name": name}}}
	}
	hooks := make([]map[string]any, ingressHooks)
	for i := range hooks {
		hooks[i] = map[string]any{
			"id": webhookName(i), "execute-command": "/bin/true",
			"trigger-rule": map[string]any{"and": []any{match("Bearer "+token, "header", "Authorization"), match("closed", "payload", "action")}},
		}
	}
	return hooks
}

func startWebhook(ctx context.Context, s *session, program string) (*server, []hitTarget, error) {
	text, err := json.Marshal(webhookHooks(anchorToken))
	if err != nil {
		return nil, nil, fmt.Errorf("encode hooks: %w", err)
	}
	file := filepath.Join(s.dir, "webhook-hooks.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, nil, fmt.Errorf("write hooks: %w", err)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, err
	}
	srv, err := launchRival(ctx, s, "webhook", "/", address, nil, program, "-hooks", file, "-ip", host, "-port", port)
	if err != nil {
		return nil, nil, err
	}
	targets := make([]hitTarget, ingressHooks)
	for i := range targets {
		targets[i] = bearerTarget("/hooks/"+webhookName(i), anchorToken)
	}
	return srv, targets, nil
}
