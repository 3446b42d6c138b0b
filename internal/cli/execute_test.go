package cli

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/server"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// TestX5ExecuteHasTwoSteps: the two containers of a pod call the same command.
func TestX5ExecuteHasTwoSteps(t *testing.T) {
	t.Parallel()
	var did []string
	var out bytes.Buffer
	deps := Deps{Programs: server.Programs{Install: func(root string) error { did = append(did, "install "+root); return nil }, Execute: func(ctx context.Context, root string, logger *slog.Logger) error {
		did = append(did, "execute "+root)
		logger.WarnContext(ctx, "hello")
		if root == "/bad" {
			return errors.New("read job: no such file")
		}
		return nil
	}}, Surroundings: shell.Surroundings{
		Stdout: &out,
		Stderr: &out,
	}}
	for _, step := range []struct {
		args string
		code int
		want string
	}{
		{"execute --install", 0, "install /lineshaft"},
		{"execute", 0, "execute /lineshaft"},
		{"execute --root /elsewhere", 0, "execute /elsewhere"},
		{"execute --root /bad", 1, "execute /bad"},
		{"execute more", 2, ""},
	} {
		did = nil
		if code := Main(t.Context(), strings.Fields(step.args), deps); code != step.code || strings.Join(did, ",") != step.want {
			t.Errorf("%s: %d, %v", step.args, code, did)
		}
	}
	if text := out.String(); !strings.Contains(text, "no such file") || !strings.Contains(text, "hello") {
		t.Errorf("said %q", text)
	}
	if code := Main(t.Context(), []string{"execute"}, Deps{Surroundings: shell.Surroundings{Stdout: &out, Stderr: &out}}); code == 0 {
		t.Error("a build without it executed something")
	}
}
