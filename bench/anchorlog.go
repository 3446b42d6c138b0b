package main

import (
	"context"
	"sync"
)

// anchorBatch is the most rows of one transaction.
const anchorBatch = 256

// anchorRow is a delivery of an anchor.
type anchorRow struct {
	id, webhook, identity string
	body                  []byte
	err                   error
	done                  chan struct{}
}

// anchorTable writes rows so that they are durable when it returns.
type anchorTable interface {
	write(ctx context.Context, rows []*anchorRow) error
	close(ctx context.Context) error
}

// anchorLog is a group commit: one goroutine writes everything that waits, in one
// transaction, while the next gather.
type anchorLog struct {
	table anchorTable
	queue chan *anchorRow
	over  sync.WaitGroup
}

func newAnchorLog(ctx context.Context, table anchorTable) *anchorLog {
	l := &anchorLog{table: table, queue: make(chan *anchorRow, anchorBatch)}
	ctx = context.WithoutCancel(ctx) // what was taken is written
	l.over.Go(func() { l.loop(ctx) })
	return l
}

// insert waits until a row is durable.
func (l *anchorLog) insert(row *anchorRow) error {
	row.done = make(chan struct{})
	l.queue <- row
	<-row.done
	return row.err
}

func (l *anchorLog) loop(ctx context.Context) {
	batch := make([]*anchorRow, 0, anchorBatch)
	for first := range l.queue {
		batch = append(batch[:0], first)
	gather:
		for len(batch) < anchorBatch {
			select {
			case row, open := <-l.queue:
				if !open {
					break gather
				}
				batch = append(batch, row)
			default:
				break gather
			}
		}
		err := l.table.write(ctx, batch)
		for _, row := range batch {
			row.err = err
			close(row.done)
		}
	}
}

// stop ends the writer after what waits; nothing may be inserted any more.
func (l *anchorLog) stop(ctx context.Context) error {
	close(l.queue)
	l.over.Wait()
	return l.table.close(ctx)
}
