package base

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// ChangeBatch is how many state changes one round of a reader looks at.
	ChangeBatch = 200
	// ChangePoll is how often readers look even when nothing woke them: a change may be
	// announced before everything ahead of it has settled.
	ChangePoll = 500 * time.Millisecond
	// bookmarkNote is how long a node continues without noting its position while there
	// is nothing to do.
	bookmarkNote = 5 * time.Second
)

// Bookmark is how far this node has read the state changes of runs. All nodes share the
// note of it in the settings. Changes between the note and this node's position gave
// nothing to do, so reading them again does no harm.
type Bookmark struct {
	// Mutex is held for a whole round, which may wait for the database.
	sync.Mutex
	Setting string
	// At is nil before the first round. Only rounds change it.
	At    atomic.Pointer[store.StatePosition]
	Noted string
	Last  time.Time // when it was noted
}

// Resume finds out where to continue. On a database without a note that is here: what
// has happened so far gives nothing to do.
func (m *Bookmark) Resume(ctx context.Context, st *store.Store) error {
	noted, err := st.GetSetting(ctx, m.Setting)
	if err != nil || noted != "" && noted == m.Noted {
		return err
	}
	end, err := st.StateEnd(ctx)
	if err != nil {
		return err
	}
	if noted == "" {
		err = st.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			noted, err = tx.EnsureSetting(ctx, m.Setting, end.Encode())
			return err
		})
		if err != nil {
			return err
		}
	}
	at, err := store.DecodePosition(noted)
	if err != nil {
		return fmt.Errorf("setting %s: %w", m.Setting, err)
	}
	// The numbers of transactions begin again when a database is moved to another cluster:
	// nothing would come after a position that is ahead of them.
	if end.Compare(at) < 0 {
		at = end
	}
	m.goTo(noted, at)
	return nil
}

// goTo continues at a note.
func (m *Bookmark) goTo(noted string, at store.StatePosition) {
	m.At.Store(&at)
	m.Noted, m.Last = noted, time.Now()
}

// Pass skips changes that gave nothing to do, and notes that now and then.
func (m *Bookmark) Pass(ctx context.Context, st *store.Store, to store.StatePosition) error {
	m.At.Store(&to)
	if !m.Rested() {
		return nil
	}
	return m.Note(ctx, st)
}

// Rested says that it is time to note the place again.
func (m *Bookmark) Rested() bool { return time.Since(m.Last) >= bookmarkNote }

// Note stores where this node is, unless another one was faster.
func (m *Bookmark) Note(ctx context.Context, st *store.Store) error {
	m.Last = time.Now()
	to := m.At.Load().Encode()
	if to == m.Noted {
		return nil
	}
	err := st.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.ReplaceSetting(ctx, m.Setting, m.Noted, to)
	})
	if err == nil {
		m.Noted = to // if another one was faster, the next round reads its note
	}
	return err
}

// Move does what the changes up to a place ask for and notes that place, in one
// transaction with the note locked: of several nodes one does it. The others read its
// note in their next round.
func (m *Bookmark) Move(ctx context.Context, st *store.Store, to store.StatePosition, do func(ctx context.Context, tx *store.Tx) error) error {
	faster := false
	err := st.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		noted, err := tx.LockSetting(ctx, m.Setting)
		if faster = err == nil && noted != m.Noted; err != nil || faster {
			return err
		}
		if err := do(ctx, tx); err != nil {
			return err
		}
		return tx.ReplaceSetting(ctx, m.Setting, noted, to.Encode())
	})
	if err == nil && !faster {
		m.goTo(to.Encode(), to)
	}
	return err
}
