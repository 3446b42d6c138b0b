package certificate

import (
	"context"
)

// endKey is the context key of what ends an attempt.
type endKey struct{}

// onEvent hears of every attempt, the first ones and those to renew.
func (m *ACME) onEvent(ctx context.Context, event string, data map[string]any) error {
	name, _ := data["identifier"].(string)
	switch event {
	case "cert_obtaining":
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.waiting, name)
	case "cert_failed":
		err, _ := data["error"].(error)
		end, first := ctx.Value(endKey{}).(context.CancelCauseFunc)
		switch {
		case first && unreachable(err):
			end(err) // obtain reports it, and tries again
		case first:
			m.mu.Lock()
			m.waiting[name] = end
			m.mu.Unlock()
			m.fail(ctx, name, err)
		default:
			m.fail(ctx, name, err)
		}
	case "cert_obtained":
		m.succeed(name)
		m.cfg.Logger.InfoContext(ctx, "certificate obtained", "name", name, "renewal", data["renewal"])
	case "cached_managed_cert":
		names, _ := data["sans"].([]string)
		m.succeed(names...)
	}
	return nil
}
