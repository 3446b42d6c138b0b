package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/server"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

func TestI1ManPages(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	dir := filepath.Join(t.TempDir(), "man", "man1")
	if r := s.run(t.Context(), "docs", "man", "--dir", dir); r.code != shell.ExitOK || !strings.Contains(r.out, " pages in ") {
		t.Fatalf("%+v", r)
	}
	root := newProgram(shell.Surroundings{Environ: []string{}}).root(server.Programs{})
	for path, args := range commands(root, nil) {
		cmd, _, err := root.Find(args)
		if err != nil {
			t.Fatal(err)
		}
		shown := path == "lineshaft" || cmd.IsAvailableCommand()
		for parent := cmd; parent.HasParent(); parent = parent.Parent() {
			shown = shown && !parent.Hidden
		}
		text, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(path, " ", "-")+".1"))
		if shown != (err == nil) {
			t.Errorf("%s: shown %v, %v", path, shown, err)
			continue
		}
		for _, want := range []string{".TH ", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", ".SH EXAMPLES\n", ".SH EXIT STATUS\n"} {
			if shown && !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q", path, want)
			}
		}
	}
}

// TestI1ManPagesAreWellFormed: the formatter that man calls has nothing to say.
func TestI1ManPagesAreWellFormed(t *testing.T) {
	t.Parallel()
	groff, err := exec.LookPath("groff")
	if err != nil && os.Getenv("LINESHAFT_TEST_FULL") != "" {
		t.Fatal("make test needs groff: scripts/install-deps installs it")
	}
	if err != nil {
		t.Skip("this machine has no groff; scripts/install-deps installs it")
	}
	for _, page := range manPages(newProgram(shell.Surroundings{Environ: []string{}}).root(server.Programs{})) {
		cmd := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-Tutf8")
		cmd.Stdin = strings.NewReader(page.text)
		var out, complaints bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &complaints
		if err := cmd.Run(); err != nil || complaints.Len() > 0 || out.Len() < 200 {
			t.Errorf("%s: %v\n%s", page.name, err, complaints.String())
		}
	}
}

func TestI1RoffEscapes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":   "plain",
		".TH x":   `\&.TH x`,
		"'quote'": `\&'quote'`,
		`a\fBb`:   `a\efBb`,
		"--flag":  `\-\-flag`,
	} {
		if got := roff(text); got != want {
			t.Errorf("roff(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestI1ManPagesNeedAFolder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if r := s.run(t.Context(), "docs", "man"); r.code != shell.ExitUsage || !strings.Contains(r.err, "--dir man") {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "docs", "man", "--dir", filepath.Join(file(t, "f", ""), "below")); r.code != shell.ExitUsage || !strings.Contains(r.err, "cannot create the folder") {
		t.Errorf("%+v", r)
	}
}

// TestI1EveryCommandIsInAGroup of the first help.
func TestI1EveryCommandIsInAGroup(t *testing.T) {
	t.Parallel()
	for _, cmd := range newProgram(shell.Surroundings{Environ: []string{}}).root(server.Programs{}).Commands() {
		if cmd.IsAvailableCommand() && cmd.GroupID == "" {
			t.Errorf("%s is in no group: add it in arrange", cmd.Name())
		}
	}
	if r := newStage(t).run(t.Context()); strings.Contains(r.out, "Additional Commands") {
		t.Error(r.out)
	}
}
