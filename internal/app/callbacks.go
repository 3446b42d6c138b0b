package app

import (
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control/notify"
)

const (
	// heldLong is how long changes may wait for a transaction before doctor says so.
	heldLong = time.Minute
	mendHeld = "end that transaction: pg_terminate_backend(PROCESS), or ROLLBACK PREPARED for a prepared one; it may be in any database of the PostgreSQL server"
)

// gaugeCallbacks adds what this node last saw of callbacks to the metrics: reading them
// asks nothing of the database.
func (a *App) gaugeCallbacks() {
	gauge := func(name, help string, of func(notify.CallbackBacklog) float64) {
		a.metrics.Gauge(name, help, func() float64 { return of(a.control.CallbackBacklog()) })
	}
	gauge("lineshaft_callback_lag_seconds", "Age of the oldest state change that no callbacks were made of yet.", func(b notify.CallbackBacklog) float64 { return b.Lag.Seconds() })
	gauge("lineshaft_callbacks_pending", "Callbacks that wait for an attempt, of all nodes and of disabled notifications too; 100000 is that or more.", func(b notify.CallbackBacklog) float64 { return float64(b.Pending) })
	gauge("lineshaft_callback_overdue_seconds", "How long the callback is due that waits longest for its attempt.", func(b notify.CallbackBacklog) float64 { return b.Overdue.Seconds() })
}

// checkCallbacks says whether callbacks of a running server are late.
func checkCallbacks(b notify.CallbackBacklog) config.Check {
	const name = "callbacks"
	lag := b.Lag.Round(time.Second)
	switch {
	case b.Late() && b.HeldBy != "":
		return bad(name, config.CheckWarning, fmt.Sprintf("held back for %s by a transaction that has not ended: %s", lag, b.HeldBy), mendHeld)
	case b.Late():
		return bad(name, config.CheckWarning, fmt.Sprintf("late by %s", lag), "look at the log of this server for: make callbacks of state changes")
	}
	return good(name, "not late, %d waiting", b.Pending)
}
