package stream

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/internal/pause"
	"github.com/lineshaft/lineshaft/internal/store"
)

// Nodes carries wake-ups to and from the other nodes on the same database (PostgreSQL;
// with SQLite there are none). A notification may get lost with a connection, so
// everything that waits also reads the store from time to time.
type Nodes struct {
	store *store.Store
	hub   *Hub
	log   *slog.Logger
	send  chan []string
}

// maxPayload keeps a notification below PostgreSQL's limit of 8,000 bytes.
const maxPayload = 7000

// NewNodes returns the carrier; Run starts it.
func NewNodes(s *store.Store, hub *Hub, log *slog.Logger) *Nodes {
	return &Nodes{store: s, hub: hub, log: log, send: make(chan []string, 1024)}
}

// Publish wakes this node now and the others soon. It never blocks: when the other
// nodes cannot be notified fast enough, they find out by polling.
func (n *Nodes) Publish(topics []string) {
	n.hub.Wake(topics)
	if n.store == nil || n.store.Engine() != "postgres" {
		return
	}
	select {
	case n.send <- topics:
	default:
	}
}

// Attach gives the carrier its store, which itself needs Publish to be opened.
func (n *Nodes) Attach(s *store.Store) { n.store = s }

// Run listens and sends until ctx ends.
func (n *Nodes) Run(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.sendLoop(ctx)
	}()
	for ctx.Err() == nil {
		err := n.store.Listen(ctx, n.hub.WakeAll, func(payload string) { n.hub.Wake(strings.Split(payload, "\n")) })
		if ctx.Err() == nil {
			n.log.WarnContext(ctx, "listen for other nodes", "err", err)
			pause.For(ctx, time.Second)
		}
	}
	<-done
}

// sendLoop gathers topics for a moment, so that a busy node sends few notifications.
func (n *Nodes) sendLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case topics := <-n.send:
			pause.For(ctx, 2*time.Millisecond)
			for _, payload := range n.payloads(n.gather(topics)) {
				if err := n.store.Notify(ctx, payload); err != nil && ctx.Err() == nil {
					n.log.WarnContext(ctx, "notify other nodes", "err", err)
				}
			}
		}
	}
}

func (n *Nodes) gather(topics []string) map[string]bool {
	all := map[string]bool{}
	for {
		for _, topic := range topics {
			all[topic] = true
		}
		select {
		case topics = <-n.send:
		default:
			return all
		}
	}
}

func (n *Nodes) payloads(topics map[string]bool) []string {
	var out []string
	var text strings.Builder
	for topic := range topics {
		if text.Len()+len(topic) > maxPayload {
			out = append(out, text.String())
			text.Reset()
		}
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(topic)
	}
	if text.Len() > 0 {
		out = append(out, text.String())
	}
	return out
}
