package control

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// changeBatch is how many state changes one round of a reader looks at.
	changeBatch = 200
	// changePoll is how often readers look even when nothing woke them: a change may be
	// announced before all that comes before it has settled.
	changePoll = 500 * time.Millisecond
	// bookmarkNote is how long a node goes on without noting how far it is, as long as
	// there was nothing to do.
	bookmarkNote = 5 * time.Second
)

// bookmark is how far this node has read the state changes of runs. All nodes share the
// note of it in the settings; what lies between the note and where this node is gave
// nothing to do, so that it does no harm to read it again.
type bookmark struct {
	setting string
	// at is nil before the first round. Only rounds change it.
	at    atomic.Pointer[store.StatePosition]
	noted string
	last  time.Time // when it was noted
}

// goTo continues at a note that this node did not write.
func (m *bookmark) goTo(noted string, at store.StatePosition) {
	m.at.Store(&at)
	m.noted, m.last = noted, time.Now()
}

// rested says that it is time to note the place again.
func (m *bookmark) rested() bool { return time.Since(m.last) >= bookmarkNote }

// note stores where this node is, unless another one was faster.
func (m *bookmark) note(ctx context.Context, st *store.Store) error {
	m.last = time.Now()
	to := m.at.Load().Encode()
	if to == m.noted {
		return nil
	}
	err := st.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.ReplaceSetting(ctx, m.setting, m.noted, to)
	})
	if err == nil {
		m.noted = to // if another one was faster, the next round reads its note
	}
	return err
}

// move does what the changes up to a place ask for and notes that place, in one
// transaction with the note locked: of several nodes one does it. The others read its
// note in their next round.
func (m *bookmark) move(ctx context.Context, st *store.Store, to store.StatePosition, do func(ctx context.Context, tx *store.Tx) error) error {
	faster := false
	err := st.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		noted, err := tx.LockSetting(ctx, m.setting)
		if faster = err == nil && noted != m.noted; err != nil || faster {
			return err
		}
		if err := do(ctx, tx); err != nil {
			return err
		}
		return tx.ReplaceSetting(ctx, m.setting, noted, to.Encode())
	})
	if err == nil && !faster {
		m.goTo(to.Encode(), to)
	}
	return err
}
