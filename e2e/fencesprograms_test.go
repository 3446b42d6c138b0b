package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestI7FencesOfPrograms lets the programs read what the pages show of their files.
func TestI7FencesOfPrograms(t *testing.T) {
	t.Parallel()
	read := 0
	for page, fences := range docFences(t) {
		for _, f := range fences {
			check := map[string]func(t *testing.T, text string){"nginx": nginxReads, "caddy": caddyReads, "ini": systemdReads, "go": goCompiles}[f.language]
			switch {
			case f.language == "yaml" && strings.Contains(f.text, "scrape_configs:"):
				check = prometheusReads
			case check == nil || f.language == "go" && strings.HasPrefix(f.text, "package "): // a whole program is run elsewhere
				continue
			}
			read++
			t.Run(f.language+" of "+filepath.Base(page), func(t *testing.T) {
				t.Parallel()
				check(t, f.text)
			})
		}
	}
	if read < 6 {
		t.Errorf("only %d fences", read)
	}
}

// reads runs a program on a file with a text; a complaint fails the test.
func reads(t *testing.T, program, name, text string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), proxyProgram(t, program), append(args, filepath.Join(dir, name))...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s\n%s", program, err, out, text)
	}
	return string(out)
}

func nginxReads(t *testing.T, text string) {
	t.Helper()
	reads(t, "nginx", "nginx.conf", "pid /dev/null;\nevents {}\nhttp { access_log off; server { listen 127.0.0.1:1;\n"+text+"} }\n", "-e", "stderr", "-t", "-c")
}

func caddyReads(t *testing.T, text string) {
	t.Helper()
	reads(t, "caddy", "Caddyfile", text, "validate", "--adapter", "caddyfile", "--config")
}

func prometheusReads(t *testing.T, text string) {
	t.Helper()
	reads(t, "promtool", "prometheus.yml", text, "check", "config", "--syntax-only")
}

func systemdReads(t *testing.T, text string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "lineshaft")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	text = strings.Replace(text, "ExecStart=/usr/bin/lineshaft ", "ExecStart="+program+" ", 1)
	if out := reads(t, "systemd-analyze", "documented@.service", text, "verify", "--man=no"); strings.Contains(out, "documented") {
		t.Errorf("systemd: %s", out)
	}
}

// goCompiles puts lines into a function that has what they use.
func goCompiles(t *testing.T, text string) {
	t.Helper()
	source := "package main\n\nimport (\n\t\"context\"\n\t\"errors\"\n\t\"log\"\n\t\"net/http\"\n\t\"os\"\n\n" +
		"\t\"github.com/lineshaft/lineshaft/client/callback\"\n\t\"github.com/lineshaft/lineshaft/client/webhook\"\n)\n\n" +
		"var _ = []any{errors.Is, os.Getenv, log.Print, callback.New, webhook.Sender{}}\n\nfunc main() {}\n\n" +
		"func lines(ctx context.Context, address string, r *http.Request) {\n" + text + "\n_ = err\n"
	if strings.Contains(text, "req, err :=") {
		source += "_ = req\n"
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(source+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "vet", file)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out.String(), source)
	}
}
