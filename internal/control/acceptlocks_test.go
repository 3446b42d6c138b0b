package control_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// Batches whose deliveries name the same concurrency keys in different orders, on two
// nodes, take them in one order: none waits for another that waits for it.
func TestX10BatchesTakeKeysInOneOrder(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		w.automation("skipping", "", concurrency("{{payload.n}}", lineshaft.PolicySkip))
		w.automation("queuing", "", concurrency("{{payload.m}}", lineshaft.PolicyQueue))
		nodes := []*works{w}
		if strings.HasSuffix(w.Name(), "postgres") {
			nodes = append(nodes, w.node())
		}
		together(60, func(g int) {
			node := nodes[g%len(nodes)]
			h := node.ready()
			var list []trigger.Received
			for i := range 4 {
				list = append(list, received(h, fmt.Sprint(g, "-", i), fmt.Sprintf(`{"n":%d,"m":%d,"id":"%d-%d"}`, (g*7+i*3)%5, (g*3+i*2)%5, g, i)))
			}
			_, errs := node.s.AcceptTogether(node.Context(), list...)
			for _, err := range errs {
				if err != nil {
					w.Errorf("batch %d: %v", g, err)
				}
			}
		})
		for i, node := range nodes {
			if n := node.store.Deadlocks(); n > 0 {
				w.Errorf("node %d had %d deadlocks", i, n)
			}
		}
	})
}
