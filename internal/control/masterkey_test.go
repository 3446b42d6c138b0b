package control_test

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	controlsecrets "github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
	"github.com/lineshaft/lineshaft/internal/stream"
	"github.com/lineshaft/lineshaft/internal/vault"
)

func masterKey(t *testing.T, text string) vault.Key {
	t.Helper()
	key, err := vault.NewKey([]byte(strings.Repeat(text, 32)[:32]))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// under is a setting that makes a service use these master keys.
func under(t *testing.T, current string, old ...string) func(*base.Config) {
	t.Helper()
	var olds []vault.Key
	for _, text := range old {
		olds = append(olds, masterKey(t, text))
	}
	v := vault.New(masterKey(t, current), olds...)
	return func(c *base.Config) { c.Vault = v }
}

// node opens a further service on the store of b, or says why it cannot.
func (b *bench) node(set func(*base.Config)) (*bench, error) {
	b.Helper()
	cfg := base.Config{}
	set(&cfg)
	hub := stream.NewHub()
	s, err := control.New(b.Context(), b.store, hub, stream.New(b.store, hub, func(lineshaft.Event) []byte { return nil }), cfg)
	return &bench{T: b.T, s: s, store: b.store, admin: b.admin, clock: b.clock}, err
}

func (b *bench) with(set func(*base.Config)) *bench {
	b.Helper()
	return must[*bench](b)(b.node(set))
}

func TestS1AServerWithAnotherKeyDoesNotStart(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database, under(t, "first"))
		b.managed("TOKEN", lineshaft.AccessRuns)
		_, err := b.node(under(t, "second"))
		if err == nil {
			t.Fatal("a server with another key starts")
		}
		for _, want := range []string{masterKey(t, "first").ID(), masterKey(t, "second").ID(), "LINESHAFT_MASTER_KEY_OLD", "same key"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
		b.with(under(t, "first"))
		b.with(under(t, "second", "first"))
	})
}

// Two nodes that begin together with keys of their own: one of them is refused.
func TestS1FirstKeyWins(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		errs := make([]error, 8)
		sets := make([]func(*base.Config), len(errs))
		for i := range sets {
			sets[i] = under(b.T, strconv.Itoa(i))
		}
		together(len(errs), func(i int) { _, errs[i] = b.node(sets[i]) })
		started := 0
		for _, err := range errs {
			if err == nil {
				started++
			}
		}
		if started != 1 {
			b.Errorf("%d of 8 nodes with different keys started", started)
		}
	})
}

func TestS1RotationRewrapsEverything(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database, under(t, "first"))
		const secrets = 230 // more than two steps
		b.write(func(ctx context.Context, tx *store.Tx) error {
			for i := range secrets {
				err := control.InsertSecret(ctx, b.s, tx, b.admin, lineshaft.Secret{Name: "S" + strconv.Itoa(i), Kind: lineshaft.SecretManaged, Access: lineshaft.AccessRuns}, hidden)
				if err != nil {
					return err
				}
			}
			return nil
		})
		b.sealedWebhook("w1", hidden, changed)
		b.sealedWebhook("w2", "", "")
		const kept = store.SealedPrefix + "acme/account.key"
		b.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.PutSetting(ctx, kept, must[string](b)(vault.New(masterKey(t, "first")).Seal(kept, []byte(hidden))))
		})

		var log bytes.Buffer
		next := b.with(func(c *base.Config) {
			under(t, "second", "first")(c)
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		if n := must[int](b)(next.s.RewrapSecrets(t.Context())); n != secrets+3 {
			t.Errorf("wrapped %d again, want %d", n, secrets+3)
		}
		if n := must[int](b)(next.s.RewrapSecrets(t.Context())); n != 0 {
			t.Errorf("a second time %d", n)
		}
		if text := log.String(); !strings.Contains(text, "count=233") || strings.Contains(text, hidden) || strings.Count(text, "\n") != 1 {
			t.Errorf("logged %s", text)
		}
		// The old key is not needed any more, and does not work any more.
		alone := b.with(under(t, "second"))
		alone.start(naming("S0", "S229"))
		if job := alone.claim(1)[0]; job.Secrets["S0"] != hidden || job.Secrets["S229"] != hidden {
			t.Errorf("after the rotation: fault %q", job.Fault)
		}
		alone.wantCredentials("w1", hidden, changed)
		sealed := must[string](b)(b.store.GetSetting(t.Context(), kept))
		if value, err := vault.New(masterKey(t, "second")).Open(kept, sealed); err != nil || string(value) != hidden {
			t.Errorf("what another part keeps was left under the old key: %v", err)
		}
		if _, err := b.node(under(t, "first")); err == nil {
			t.Error("a server with the old key alone starts")
		}
	})
}

// As long as something is sealed under a key that nobody has here, the older key may
// be needed: a server without it does not start.
func TestS1ProbeStaysWhileSomethingIsStuck(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database, under(t, "first"))
		b.managed("TOKEN", lineshaft.AccessRuns)
		b.write(func(ctx context.Context, tx *store.Tx) error {
			secret, err := tx.LockSecret(ctx, "TOKEN")
			if err != nil {
				return err
			}
			return tx.ReplaceSealed(ctx, "TOKEN", secret.Sealed, "damaged")
		})
		next := b.with(under(t, "second", "first"))
		must[int](b)(next.s.RewrapSecrets(t.Context()))
		if _, err := b.node(under(t, "second")); err == nil {
			t.Error("a server without the older key starts")
		}
	})
}

func (b *bench) sealedWebhook(uid, credential, old string) {
	b.Helper()
	b.secretHook(uid, "X", false)
	seal := func(value string) string {
		if value == "" {
			return ""
		}
		return must[string](b)(control.SealCredential(b.s, uid, value))
	}
	b.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetCredentials(ctx, store.Webhook{Webhook: lineshaft.Webhook{UID: uid}}, seal(credential), seal(old))
	})
}

func (b *bench) wantCredentials(uid, credential, old string) {
	b.Helper()
	hook := must[*store.Webhook](b)(b.store.GetWebhook(b.Context(), factoryF, uid))
	for sealed, want := range map[string]string{hook.Credential: credential, hook.OldCredential: old} {
		if got, err := control.OpenCredential(b.s, uid, sealed); err != nil || string(got) != want {
			b.Errorf("credential of %s: %v", uid, err)
		}
	}
}

// A change that comes between the look and the write is not undone.
func TestS1RotationBesideUpdates(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database, under(t, "first"))
		b.managed("TOKEN", lineshaft.AccessRuns)
		next := b.with(under(t, "second", "first"))
		value := changed
		together(8, func(i int) {
			var err error
			if i%2 == 0 {
				_, err = next.s.RewrapSecrets(t.Context())
			} else {
				_, err = b.s.UpdateSecret(t.Context(), b.admin, "TOKEN", controlsecrets.SecretChange{Value: &value})
			}
			if err != nil {
				t.Error(err)
			}
		})
		must[int](b)(next.s.RewrapSecrets(t.Context()))
		alone := b.with(under(t, "second"))
		alone.start(naming("TOKEN"))
		if job := alone.claim(1)[0]; job.Secrets["TOKEN"] != changed {
			t.Errorf("the update is lost: %q", job.Fault)
		}
	})
}

func TestS1DamageIsToldAndStaysWithItsSecret(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		var log bytes.Buffer
		b := open(t, database, under(t, "first"), func(c *base.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		b.managed("GOOD", lineshaft.AccessRuns)
		b.managed("SWAPPED", lineshaft.AccessRuns)
		good := must[*store.Secret](b)(b.store.GetSecret(t.Context(), "GOOD"))
		bad := must[*store.Secret](b)(b.store.GetSecret(t.Context(), "SWAPPED"))
		b.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.ReplaceSealed(ctx, "SWAPPED", bad.Sealed, good.Sealed)
		})
		b.start(naming("SWAPPED"))
		b.start(naming("GOOD"))
		jobs := b.claim(2)
		if len(jobs) != 2 || !strings.Contains(jobs[0].Fault, "SWAPPED cannot be opened") || len(jobs[0].Secrets) > 0 || jobs[1].Secrets["GOOD"] != hidden {
			t.Errorf("claimed %+v", jobs)
		}
		must[int](b)(b.s.RewrapSecrets(t.Context()))
		if text := log.String(); !strings.Contains(text, "secret=SWAPPED") || !strings.Contains(text, "count=1") || strings.Contains(text, hidden) {
			t.Errorf("logged %s", text)
		}
		found := must[controlsecrets.SealedCount](b)(controlsecrets.CountSealed(t.Context(), b.store, vault.New(masterKey(t, "second"), masterKey(t, "first"))))
		if found != (controlsecrets.SealedCount{Old: 1, Stuck: 1}) {
			t.Errorf("counted %+v", found)
		}
		value := changed
		must[lineshaft.Secret](b)(b.s.UpdateSecret(t.Context(), b.admin, "SWAPPED", controlsecrets.SecretChange{Value: &value})) // fixes it
		b.start(naming("SWAPPED"))
		if job := b.claim(1)[0]; job.Secrets["SWAPPED"] != changed {
			t.Errorf("fault %q", job.Fault)
		}
	})
}

// A node of the version before callbacks moves everything that it knows to the new key,
// the probe with it. The secrets of endpoints stay behind: a server that cannot open them
// says so at its start, while the old key is at hand.
func TestS1NotificationsLeftBehindByAnOlderVersion(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{Name: "chat"})
		second, err := vault.New(masterKey(t, "second")).Seal(controlsecrets.ProbeSetting, []byte(controlsecrets.ProbeSetting))
		wantCode(b, err, "")
		b.write(func(ctx context.Context, tx *store.Tx) error { // as that version does
			was, err := b.store.GetSetting(ctx, controlsecrets.ProbeSetting)
			if err != nil {
				return err
			}
			return tx.ReplaceSetting(ctx, controlsecrets.ProbeSetting, was, second)
		})
		_, err = b.node(under(t, "second"))
		if err == nil {
			b.Fatal("a server starts that cannot sign")
		}
		for _, want := range []string{`"chat"`, masterKey(t, "callbacks").ID(), masterKey(t, "second").ID(), "LINESHAFT_MASTER_KEY_OLD"} {
			if !strings.Contains(err.Error(), want) {
				b.Errorf("%q does not say %q", err, want)
			}
		}
		both := b.with(under(t, "second", "callbacks"))
		if moved := must[int](b.bench)(both.s.RewrapSecrets(t.Context())); moved != 1 {
			b.Errorf("%d were left behind", moved)
		}
		b.with(under(t, "second"))
		b.enable(n.ID, false) // by the node with the old key, which is not to start again
		if _, err := b.node(under(t, "callbacks")); err == nil {
			b.Error("a server with the old key alone starts")
		}
	})
}

// A disabled endpoint is not sent to: it keeps no server from starting.
func TestS1ALostSecretOfADisabledNotificationIsNoHindrance(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		b.endpoint(notify.NewNotification{Enabled: new(false)})
		storetest.Exec(t, b.database, "DELETE FROM settings WHERE name = '"+controlsecrets.ProbeSetting+"'")
		b.with(under(t, "second"))
	})
}

// Nor does a secret that signs no more; one that still does in its overlap does.
func TestS1ALostSecretCountsWhileItSigns(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		lost := must[string](b.bench)(vault.New(masterKey(t, "lost")).Seal("notification/"+n.ID, []byte("whsec_x")))
		for until, starts := range map[string]bool{"1": true, "9000000000000000": false} {
			storetest.Exec(t, b.database, "UPDATE notifications SET old_credential = '"+lost+"', old_until = "+until)
			if _, err := b.node(under(t, "callbacks")); (err == nil) != starts {
				b.Errorf("until %s: %v", until, err)
			}
		}
	})
}
