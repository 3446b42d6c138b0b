package control_test

import (
	"fmt"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

func TestX2WorkersThatRunsWaitFor(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		waiting := func() string {
			b.Helper()
			return fmt.Sprint(must[[]runs.WaitingWorker](b)(b.s.WaitingWorkers(b.Context(), b.admin)))
		}
		if got := waiting(); got != "[]" {
			b.Errorf("nothing waits: %s", got)
		}
		for _, host := range []string{"mac", "mac", "box", ""} {
			b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: host}})
		}
		if got := waiting(); got != "[{box 1 false} {hosted 1 false} {mac 2 false}]" {
			b.Errorf("waiting: %s", got)
		}
		b.claimFor("mac", 1)
		if got := waiting(); got != "[{box 1 false} {hosted 1 false}]" {
			b.Errorf("with mac: %s", got)
		}
		limited := b.caller(lineshaft.RoleViewer, "f")
		if list := must[[]runs.WaitingWorker](b)(b.s.WaitingWorkers(b.Context(), limited)); list != nil {
			b.Errorf("a limited key is told %v", list)
		}
	})
}
