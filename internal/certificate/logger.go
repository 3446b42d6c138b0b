package certificate

import (
	"context"
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger has certmagic's many steps logged as details: what an operator must know
// is logged here, once, from its events.
func newLogger(log *slog.Logger) *zap.Logger { return zap.New(debugCore{log}) }

// debugCore writes what zap is given to slog.
type debugCore struct{ log *slog.Logger }

// Enabled implements zapcore.Core.
func (c debugCore) Enabled(zapcore.Level) bool {
	return c.log.Enabled(context.Background(), slog.LevelDebug) //nolint:forbidigo // zap hands none on
}

// With implements zapcore.Core.
func (c debugCore) With(fields []zapcore.Field) zapcore.Core {
	return debugCore{c.log.With(attributes(fields)...)}
}

// Check implements zapcore.Core.
func (c debugCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c debugCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	c.log.Debug("acme", append(attributes(fields), "step", entry.Message, "level_there", entry.Level.String())...)
	return nil
}

// Sync implements zapcore.Core.
func (c debugCore) Sync() error { return nil }

func attributes(fields []zapcore.Field) []any {
	object := zapcore.NewMapObjectEncoder()
	var all []any
	for _, field := range fields {
		field.AddTo(object)
	}
	for key, value := range object.Fields {
		all = append(all, key, value)
	}
	return all
}

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
