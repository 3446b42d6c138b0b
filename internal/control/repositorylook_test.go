package control_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

const (
	commitA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commitB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// eachFake runs fn on every engine with a factory that follows what a fake says: at
// first commit A.
func eachFake(t *testing.T, fn func(b *bench, g *fakeGit, uid string)) {
	t.Helper()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		g := &fakeGit{
			head: func(context.Context) (string, error) { return commitA, nil },
			tree: func(context.Context) (map[string]string, error) { return folder("A"), nil },
		}
		b := open(t, database, withGit(g))
		made := must[*lineshaft.Factory](b)(b.s.CreateFactory(b.Context(), b.admin, factories.NewFactory{
			Name: "Given", Repository: &lineshaft.GitSource{URL: "https://forge.example/o/r", Branch: "main"},
		}))
		fn(b, g, made.UID)
	})
}

// A push during a look is seen by another look, and what the first one had found is not
// put in force after it.
func TestF5PushDuringALookIsNotLost(t *testing.T) {
	t.Parallel()
	eachFake(t, func(b *bench, g *fakeGit, uid string) {
		looks := 0
		g.head = func(ctx context.Context) (string, error) {
			if looks++; looks > 1 {
				g.tree = func(context.Context) (map[string]string, error) { return folder("B"), nil }
				return commitB, nil
			}
			b.write(func(ctx context.Context, tx *store.Tx) error { return tx.DueRepository(ctx, uid) })
			return commitA, nil
		}
		b.wantRepository(b.rounds(uid, 2), "B", commitB, commitB)
		if looks != 2 {
			b.Errorf("%d looks", looks)
		}
		for _, e := range b.audits(uid) {
			if e.Detail["commit"] == commitA {
				b.Errorf("the older commit was applied: %+v", e)
			}
		}
	})
}

// rounds looks until nothing is due, which must take that number of looks.
func (b *bench) rounds(uid string, want int) *lineshaft.Factory {
	b.Helper()
	b.write(func(ctx context.Context, tx *store.Tx) error { return tx.DueRepository(ctx, uid) })
	if n := must[int](b)(b.s.SyncRepositories(b.Context())); n != want {
		b.Fatalf("%d looks, want %d", n, want)
	}
	return must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, uid))
}

func TestF5FactoryThatChangesDuringALook(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(b *bench, uid string) error{
		"unlinked": func(b *bench, uid string) error {
			return second(b.s.UpdateFactory(b.Context(), b.admin, uid, factories.FactoryChange{Unlink: true}))
		},
		"linked elsewhere": func(b *bench, uid string) error {
			source := lineshaft.GitSource{URL: "https://forge.example/o/other"}
			return second(b.s.UpdateFactory(b.Context(), b.admin, uid, factories.FactoryChange{Repository: &source}))
		},
		"deleted": func(b *bench, uid string) error { return b.s.DeleteFactory(b.Context(), b.admin, uid) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachFake(t, func(b *bench, g *fakeGit, uid string) {
				done := false
				g.tree = func(context.Context) (map[string]string, error) {
					if !done {
						done = true
						wantCode(b, meanwhile(b, uid), "")
						return folder("A"), nil
					}
					return folder("Elsewhere"), nil
				}
				if _, err := b.s.SyncRepositories(b.Context()); err != nil {
					b.Fatal(err)
				}
				f, err := b.s.GetFactory(b.Context(), b.admin, uid)
				switch name {
				case "deleted":
					wantCode(b, err, lineshaft.CodeNotFound)
				case "unlinked":
					if err != nil || f.Name != "Given" || f.Mode != lineshaft.ModeManaged {
						b.Errorf("%+v, %v", f, err)
					}
				default:
					if err != nil || f.Name != "Elsewhere" || f.Repository.Source.URL != "https://forge.example/o/other" {
						b.Errorf("%+v, %v", f, err)
					}
				}
			})
		})
	}
}

// A node that is stopped in the middle gives the look back; one that is killed loses
// it with the lease.
func TestF5NodeThatStopsInTheMiddle(t *testing.T) {
	t.Parallel()
	eachFake(t, func(b *bench, g *fakeGit, uid string) {
		ctx, cancel := context.WithCancel(b.Context())
		g.tree = func(ctx context.Context) (map[string]string, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if _, err := b.s.SyncRepositories(ctx); !errors.Is(err, context.Canceled) {
			b.Errorf("error %v", err)
		}
		g.tree = func(context.Context) (map[string]string, error) { return folder("A"), nil }
		if n := must[int](b)(b.s.SyncRepositories(b.Context())); n != 1 {
			b.Errorf("%d repositories are due, want the one that was given back", n)
		}
		b.wantRepository(must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, uid)), "A", commitA, commitA)
	})
}

func TestF5FaultsThatAreNotPublic(t *testing.T) {
	t.Parallel()
	eachFake(t, func(b *bench, g *fakeGit, uid string) {
		g.head = func(context.Context) (string, error) { return "", errors.New("open /var/secret/path: no") }
		f := b.round(uid)
		if f.Repository.Fault == "" || strings.Contains(f.Repository.Fault, "/var/secret") {
			b.Errorf("fault is %q", f.Repository.Fault)
		}
		if f.Repository.CheckedAt.IsZero() || f.Repository.Seen != "" || f.Name != "Given" {
			b.Errorf("%+v", f.Repository)
		}
	})
}

func TestF5FilesOfADefinitionAlone(t *testing.T) {
	t.Parallel()
	eachFake(t, func(b *bench, g *fakeGit, uid string) {
		g.tree = func(context.Context) (map[string]string, error) {
			files := folder("A")
			files["src/main.go"], files["logo.png"], files["README.md"] = "package main", "\xff\xfe", "hello"
			return files, nil
		}
		b.wantRepository(b.round(uid), "A", commitA, commitA)
		g.head = func(context.Context) (string, error) { return commitB, nil }
		g.tree = func(context.Context) (map[string]string, error) {
			files := folder("B")
			files["agents/boss/agent.md"] = strings.Repeat("x", 5<<20)
			return files, nil
		}
		f := b.round(uid)
		b.wantRepository(f, "A", commitB, commitA)
		if p := f.Repository.Problems; len(p) != 1 || p[0].File != "agents/boss/agent.md" || !strings.Contains(p[0].Message, "bytes") {
			b.Errorf("problems: %+v", p)
		}
	})
}

// A new factory need not wait for the next poll.
func TestF5FollowersAreWoken(t *testing.T) {
	t.Parallel()
	eachFake(t, func(b *bench, g *fakeGit, uid string) {
		looked := make(chan string, 10)
		g.head = func(context.Context) (string, error) {
			looked <- "look"
			return commitA, nil
		}
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); b.s.FollowRepositories(ctx) }()
		<-looked
		must[*lineshaft.Factory](b)(b.s.CreateFactory(b.Context(), b.admin, factories.NewFactory{Name: "Second", Repository: &lineshaft.GitSource{URL: "https://forge.example/o/r"}}))
		<-looked
		cancel()
		<-ended
	})
}
