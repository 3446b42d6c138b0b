// Package notify sends callbacks: the endpoints, the deliveries that state changes of runs
// make for them, the requests and their log.
package notify

import (
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// Notifier has the use cases of notifications.
type Notifier struct {
	*base.Base
	secrets *secrets.Secrets
	fanout  fanout
	backlog backlog
	// callbacks are the requests to endpoints that are being made.
	callbacks callbacks
}

// New returns the room of notifications.
func New(b *base.Base, s *secrets.Secrets) *Notifier {
	n := &Notifier{Base: b, secrets: s, callbacks: callbacks{busy: map[string]int{}, freed: make(chan struct{}, 1)}}
	n.fanout.Setting = notificationSetting
	return n
}
