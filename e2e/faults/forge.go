//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// forge serves the one repository that environments clone, over HTTP: workers keep mirrors of
// what is on other machines only.
type forge struct {
	url    string
	server *http.Server
}

func newForge(ctx context.Context, dir string) (*forge, error) {
	repository := filepath.Join(dir, "acme", "shop.git")
	core, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("git --exec-path: %w", err)
	}
	commit := "git -C %[1]s commit-tree -m begin $(git -C %[1]s mktree </dev/null)"
	script := fmt.Sprintf("git init -q --bare -b main %[1]s && git -C %[1]s update-ref refs/heads/main $("+commit+")", repository)
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Env = append(cmd.Environ(), "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.com",
		"GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make a repository: %w: %s", err, out)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	handler := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(core)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"},
	}
	f := &forge{url: "http://" + listener.Addr().String() + "/{owner}/{repo}.git"}
	f.server = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = f.server.Serve(listener) }() // it ends when it is closed
	return f, nil
}
