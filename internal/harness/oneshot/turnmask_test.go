package oneshot

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/mask"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// S-2: what is too long is masked before it is cut: no part of a secret stays at the end.
func TestS2CutTextsHoldNoPartOfASecret(t *testing.T) {
	t.Parallel()
	const secret = "sk-a-secret-that-the-cut-goes-through"
	m := mask.New(map[string]string{"KEY": secret})
	env := harness.Environment{Now: time.Now, Mask: func() *mask.Masker { return m }}
	var shown string
	agent := newTurn(&session{program: []string{"agent"}, env: env}, func(d lineshaft.Draft) {
		shown += string(d.Data)
	})
	long := strings.Repeat("x", 1990) + secret
	agent.notice("error", long)
	agent.fault = long
	shown += agent.result(sandbox.Exit{}, false).Message
	if !strings.Contains(shown, "xxx") || strings.Contains(shown, secret[:5]) {
		t.Errorf("got the beginning of the secret in %q", shown[max(0, len(shown)-60):])
	}
}
