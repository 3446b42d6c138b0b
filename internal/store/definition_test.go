package store_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func newRevision(factoryUID string, number int64) lineshaft.Revision {
	return lineshaft.Revision{
		FactoryUID: factoryUID, Number: number, Source: lineshaft.RevisionRepository, Comment: "ü <&>", Commit: "c0ffee",
		Actor:     lineshaft.Principal{UID: "u1", Type: lineshaft.ServiceAccount, DisplayName: "Ada"},
		CreatedAt: time.UnixMicro(1_800_000_000_000_000 + number).UTC(),
	}
}

func putRevision(t *testing.T, s *store.Store, r lineshaft.Revision, files map[string]string) lineshaft.Revision {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		r, err = tx.InsertRevision(ctx, nil, r, files)
		return err
	})
	return r
}

// texts in the table of a factory.
func countTexts(t *testing.T, s *store.Store, factoryUID string) (n int) {
	t.Helper()
	must(t, s.DB().QueryRowContext(t.Context(), strings.Replace("SELECT count(*) FROM definition_files WHERE factory_uid = '?'", "?", factoryUID, 1)).Scan(&n))
	return n
}

func TestF4RevisionsRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		factory, other := rowID(s), rowID(s)
		if last, err := s.LastRevision(t.Context(), factory); err != nil || last != nil {
			t.Fatalf("%+v, %v", last, err)
		}
		files := map[string]string{"factory.yaml": "name: x\r\n", "agents/a/agent.md": "---\n---\nü\n", "copy.md": "---\n---\nü\n", "empty": ""}
		first := putRevision(t, s, newRevision(factory, 3), files)
		if len(first.Files) != 4 || first.Files["copy.md"] != first.Files["agents/a/agent.md"] || countTexts(t, s, factory) != 3 {
			t.Errorf("%+v, %d texts", first.Files, countTexts(t, s, factory))
		}
		files["factory.yaml"] = "name: y\n"
		second := putRevision(t, s, newRevision(factory, 7), files)
		if countTexts(t, s, factory) != 4 {
			t.Errorf("%d texts", countTexts(t, s, factory))
		}
		same := putRevision(t, s, newRevision(other, 3), files) // texts are kept for each factory
		for want, uid := range map[*lineshaft.Revision]string{&first: factory, &second: factory, &same: other} {
			got, err := s.GetRevision(t.Context(), uid, want.Number)
			must(t, err)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("revision\n%+v, want\n%+v", got, want)
			}
		}
		if last, err := s.LastRevision(t.Context(), factory); err != nil || !reflect.DeepEqual(*last, second) {
			t.Errorf("%+v, %v", last, err)
		}
		got, err := s.RevisionTexts(t.Context(), &first)
		must(t, err)
		files["factory.yaml"] = "name: x\r\n"
		if !reflect.DeepEqual(got, files) {
			t.Errorf("texts %q", got)
		}
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.InsertRevision(ctx, nil, newRevision(factory, 7), nil)
			return err
		})
		wantCode(t, err, lineshaft.CodeConflict)
	})
}

func TestF4RevisionsNewestFirst(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		factory, other := rowID(s), rowID(s)
		for i := int64(1); i <= 10; i++ {
			putRevision(t, s, newRevision(factory, i*i), map[string]string{"factory.yaml": fmt.Sprint(i)})
		}
		putRevision(t, s, newRevision(other, 50), nil)
		for _, tc := range []struct {
			before int64
			limit  int
			want   []int64
		}{{0, 3, []int64{100, 81, 64}}, {64, 2, []int64{49, 36}}, {4, 5, []int64{1}}, {1, 5, nil}, {-1, 5, nil}} {
			list, err := s.ListRevisions(t.Context(), factory, tc.before, tc.limit)
			must(t, err)
			var got []int64
			for _, r := range list {
				got = append(got, r.Number)
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("before %d: %v, want %v", tc.before, got, tc.want)
			}
		}
		_, err := s.GetRevision(t.Context(), factory, 50)
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}

// A folder of many files takes several statements, and goes with its factory.
func TestF4RevisionsOfALargeFolder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		factory, other := rowID(s), rowID(s)
		files := map[string]string{}
		for i := range 1001 {
			files[fmt.Sprintf("skills/s%04d/SKILL.md", i)] = fmt.Sprint("text ", i)
		}
		made := putRevision(t, s, newRevision(factory, 1), files)
		kept := putRevision(t, s, newRevision(other, 1), files)
		if got, err := s.RevisionTexts(t.Context(), &made); err != nil || !reflect.DeepEqual(got, files) {
			t.Errorf("%d texts, %v", len(got), err)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteFactory(ctx, factory, time.Now()) })
		_, err := s.RevisionTexts(t.Context(), &made)
		wantCode(t, err, lineshaft.CodeNotFound)
		if last, err := s.LastRevision(t.Context(), factory); err != nil || last != nil || countTexts(t, s, factory) != 0 {
			t.Errorf("%+v, %v", last, err)
		}
		if got, err := s.RevisionTexts(t.Context(), &kept); err != nil || len(got) != 1001 {
			t.Errorf("%d texts, %v", len(got), err)
		}
	})
}

// Bodies come one by one, newest first, and only those of accepted deliveries.
func TestF4PayloadsOneByOne(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		hook, other := rowID(s), rowID(s)
		var rows []store.NewDelivery
		add := func(uid string, status lineshaft.DeliveryStatus, body []byte, outcomes ...lineshaft.DeliveryOutcome) {
			rows = append(rows, store.NewDelivery{Delivery: lineshaft.Delivery{ID: rowID(s), WebhookUID: uid, Status: status, Event: "push", Outcomes: outcomes}, Body: body})
		}
		add(hook, lineshaft.DeliveryAccepted, []byte("1"))
		add(hook, lineshaft.DeliveryDuplicate, nil)
		add(other, lineshaft.DeliveryAccepted, []byte("no"))
		add(hook, lineshaft.DeliveryAccepted, []byte("2"), lineshaft.DeliveryOutcome{AutomationName: `"result":"handshake"`, Result: lineshaft.ResultStarted})
		add(hook, lineshaft.DeliveryAccepted, []byte("3"), lineshaft.DeliveryOutcome{Result: lineshaft.ResultHandshake})
		add(hook, lineshaft.DeliveryAccepted, nil) // a handshake without a body
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertDeliveries(ctx, rows) })
		var got []string
		last := ""
		read := func(before string, limit int) error {
			return s.EachPayload(t.Context(), hook, before, limit, func(p store.Payload) error {
				got, last = append(got, fmt.Sprint(string(p.Body), p.Event, p.Handshake)), p.DeliveryID
				return nil
			})
		}
		must(t, read("", 2))
		must(t, read(last, 2))
		if want := []string{"3pushtrue", "2pushfalse", "1pushfalse"}; !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if err := s.EachPayload(t.Context(), hook, "", 9, func(store.Payload) error { return errUndo }); !errors.Is(err, errUndo) {
			t.Errorf("%v", err)
		}
	})
}
