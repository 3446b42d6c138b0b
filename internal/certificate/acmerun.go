package certificate

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"
)

const (
	// firstWait and longestWait are between attempts while the CA cannot be reached, or
	// the database. When the CA refuses, certmagic waits longer, by its own schedule.
	firstWait, longestWait = time.Second, time.Minute
	// looksPerLife is how often a certificate is looked at in its life, so that those of
	// an hour are renewed in time, too.
	looksPerLife = 40
)

// errAgain ends a wait because somebody asked for another attempt.
var errAgain = errors.New("asked to try again")

// Run gets and renews the certificates until ctx ends.
func (m *ACME) Run(ctx context.Context) {
	var work sync.WaitGroup
	for _, name := range m.cfg.Domains {
		work.Go(func() { m.obtain(ctx, name) })
	}
	m.renew(ctx)
	work.Wait()
	m.cache.Stop()
}

// Reload makes the next attempt for all names that wait for one now.
func (m *ACME) Reload() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.again)
	m.again = make(chan struct{})
	for _, end := range m.waiting {
		end(errAgain)
	}
}

// obtain tries until there is a certificate for a name.
func (m *ACME) obtain(ctx context.Context, name string) {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		m.mu.Lock()
		again := m.again
		m.mu.Unlock()
		err := m.try(ctx, name)
		if err == nil || ctx.Err() != nil {
			m.fresh <- struct{}{}
			return
		}
		if errors.Is(err, errAgain) {
			wait = firstWait
			continue
		}
		m.fail(ctx, name, err)
		select {
		case <-ctx.Done():
			return
		case <-again:
			wait = firstWait
		case <-time.After(wait):
		}
	}
}

// try takes a name's certificate from the database, or asks the CA for it. It comes
// back when the CA cannot be reached: how long to wait then is not for certmagic, which
// spares a CA that has answered.
func (m *ACME) try(ctx context.Context, name string) error {
	_, err := m.magic.CacheManagedCertificate(ctx, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	attempt, end := context.WithCancelCause(ctx)
	defer end(nil)
	if err := m.magic.ObtainCertAsync(context.WithValue(attempt, endKey{}, end), name); err != nil {
		if cause := context.Cause(attempt); cause != nil {
			return cause
		}
		return err
	}
	_, err = m.magic.CacheManagedCertificate(ctx, name)
	return err
}

// renew looks at the certificates as often as the one with the shortest life needs.
func (m *ACME) renew(ctx context.Context) {
	for {
		every := certmagic.DefaultRenewCheckInterval
		for _, name := range m.cfg.Domains {
			if leaf := newest(m.cache.AllMatchingCertificates(name)); leaf != nil {
				every = min(every, leaf.NotAfter.Sub(leaf.NotBefore)/looksPerLife)
			}
		}
		every = max(every, time.Second)
		m.cache.SetOptions(m.options(every))
		m.mu.Lock()
		again := m.again
		m.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-m.fresh:
		case <-again:
		case <-time.After(every):
		}
		if err := m.cache.RenewManagedCertificates(ctx); err != nil {
			m.cfg.Logger.WarnContext(ctx, "certificates not checked; this is tried again", "err", err)
		}
	}
}
