package client_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The program in docs/clients.md runs as it is printed.
func TestI3TheProgramOfTheDocumentationRuns(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```go\n(package main\n.*?\n)```\n").FindSubmatch(text)
	if program == nil {
		t.Fatal("docs/clients.md has no program in Go")
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, program[1], 0o600); err != nil {
		t.Fatal(err)
	}
	server := pretend()
	defer server.Close()
	cmd := exec.CommandContext(t.Context(), "go", "run", file)
	cmd.Env = append(os.Environ(), "LINESHAFT_URL="+server.URL, "LINESHAFT_API_KEY=ls_example")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "hello\nSUCCEEDED\n" {
		t.Errorf("it prints %q, %v", out, err)
	}
}
