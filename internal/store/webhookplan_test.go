package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// hookNumbers counts: i from 0 up, and n as text that sorts by number.
const hookNumbers = `WITH RECURSIVE k (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i + 1 < CAST($1 AS INTEGER)),
	numbers (i, n) AS (SELECT i, CAST(100000000 + i AS TEXT) FROM k) `

// bulkHooks makes a row of each table for each number. Webhook h7 has twice as many
// deliveries as the others, one webhook in three is live, and one identity in ten has
// lost its delivery.
func bulkHooks() []string {
	return []string{
		"INSERT INTO secrets (name, kind, access, description, sealed, created_at, updated_at) SELECT 'S' || n, 'managed', 'runs', '', '', 1, 1 FROM numbers",
		`INSERT INTO factories (uid, name, alias, alias_key, description, mode, defaults, paused, foreman, revision, created_at, updated_at)
			SELECT 'f' || i, 'f', 'A' || n, 'a' || n, '', 'managed', '{}', 0, '', 1, 1, 1 FROM numbers`,
		`INSERT INTO agents (uid, factory_uid, name, type, description, prompt, config, created_at, updated_at)
			SELECT 'g' || i, 'f' || (i / 5), 'g' || n, 'CUSTOM', '', '', '{}', 1, 1 FROM numbers`,
		`INSERT INTO automations (uid, factory_uid, name, prompt, enabled, agent, triggers, config, max_runs_per_hour, created_at, updated_at)
			SELECT 'u' || i, 'f' || (i / 5), 'u' || n, '', 1, '', '[]', '{}', 0, 1, 1 FROM numbers`,
		`INSERT INTO webhooks (uid, factory_uid, name, auth_mode, signature_scheme, secret_name, owns_secret, delivery_id_header, enabled, needs_secret,
			rate_limit, max_body_bytes, replay_guard, hmac, credential, old_credential, old_until, created_at, updated_at, deleted_at)
			SELECT 'h' || i, 'f' || (i / 9), 'h' || n, 'token', '', 'S' || (i / 9), 0, '', 1, 0, 60, 1, 0, '{}', '', '', 0, 1, 1, i % 3 FROM numbers`,
		`INSERT INTO deliveries (id, webhook_uid, status, size, identity, identity_source, remote_addr, duplicate_of, redelivery_of, not_matched, outcomes)
			SELECT '01900000-0000-7000-8000-000' || n, CASE WHEN i % 100 = 0 THEN 'h7' ELSE 'h' || (i % 100) END, 'accepted', 1, '', '', '', '', '', 0, '[]'
			FROM numbers`,
		"INSERT INTO delivery_payloads (delivery_id, body) SELECT '01900000-0000-7000-8000-000' || n, '1' FROM numbers",
		`INSERT INTO delivery_identities (digest, delivery_id)
			SELECT 'd' || n, '01900000-0000-7000-8000-000' || n || CASE WHEN i % 10 = 0 THEN 'gone' ELSE '' END FROM numbers`,
		`INSERT INTO attachments (id, run_id, followup_id, file_name, mime_type, size, blob_id)
			SELECT 'a' || n, 'r' || (i / 2), '', '', '', 1, 'delivery/01900000-0000-7000-8000-000' || n FROM numbers WHERE i % 2 = 0`,
		`INSERT INTO factory_repositories (factory_uid, url, branch, path, seen, applied, problems, fault, checked_at, applied_at, claim, next_at)
			SELECT 'f' || i, '', '', '', '', '', '[]', '', 1, 1, '', i FROM numbers`,
		"INSERT INTO timers (owner, factory_uid, timing, next_at, slot, anchor) SELECT 'automation/' || n, 'f' || (i / 5), '{}', i, '', 0 FROM numbers",
		`INSERT INTO schedules (id, name, timing, enabled, prompt, agent_uid, factory_uid, config, metadata, last_error, last_run, creator_uid, editor_uid, created_at, updated_at)
			SELECT 'c' || n, 'c', '{}', 1, '', CASE WHEN i % 2 = 0 THEN 'g' || (i / 6) ELSE '' END, '', '{}', '{}', '', 0, 'p' || n, 'p' || n, 1, 1 FROM numbers`,
		"INSERT INTO timers (owner, factory_uid, timing, next_at, slot, anchor) SELECT 'schedule/c' || n, '', '{}', i, '', 0 FROM numbers",
		"INSERT INTO principals (uid, type, display_name, email, created_at) SELECT 'p' || n, 'user', '', '', 1 FROM numbers",
		"INSERT INTO rate_windows (name, count, last_at) SELECT 'w' || i, 5, 1000 + i FROM numbers",
		"INSERT INTO rate_hits (name, number, at) SELECT 'w' || i, 5, 1000 + i FROM numbers",
		"INSERT INTO runners (uid, factory_uid, name, config, created_at, updated_at) SELECT 'n' || i, 'f' || (i / 5), 'n' || n, '{}', 1, 1 FROM numbers",
		"INSERT INTO factory_spending (factory_uid, day, tokens, cost_micros) SELECT 'f' || (i / 5), '2026-01-0' || (i % 5), 1, 1 FROM numbers",
		"INSERT INTO skills (factory_uid, agent, name, description, body) SELECT 'f' || (i / 5), '', 's' || n, '', '' FROM numbers",
		`INSERT INTO definition_revisions (factory_uid, number, source, actor_uid, actor_type, actor_name, comment, commit_id, files, created_at)
			SELECT 'f' || (i % 100), i, 'edit', 'u', 'user', 'U', '', '', '{"factory.yaml":"d' || n || '"}', 1 FROM numbers`,
		"INSERT INTO definition_files (factory_uid, digest, body) SELECT 'f' || (i % 100), 'd' || n, 'name: x' FROM numbers",
	}
}

func fillHooks(t *testing.T, s *store.Store, n int) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, query := range bulkHooks() {
			if _, err := tx.Exec(ctx, hookNumbers+query, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// hookReads are the look-ups of the tables of webhooks, with the most rows of a
// table that each may read.
func hookReads(s *store.Store) map[string]lookup {
	return map[string]lookup{
		"factory":   {1, func(ctx context.Context) error { return second(s.GetFactory(ctx, "f7")) }, nil},
		"factories": {10, func(ctx context.Context) error { return second(s.ListFactories(ctx, "f3", 10)) }, nil},
		"alias":     {1, func(ctx context.Context) error { return second(s.AliasTaken(ctx, "A100000007", "")) }, nil},
		"agents":    {5, func(ctx context.Context) error { return second(s.ListAgents(ctx, "f7")) }, nil},
		"agent page": {22, func(ctx context.Context) error {
			return third(s.PageAgents(ctx, nil, store.PartKey{Factory: "f3"}, 10))
		}, nil},
		"automation page": {22, func(ctx context.Context) error {
			return third(s.PageAutomations(ctx, []string{"f7"}, store.PartKey{Factory: "f7"}, 10))
		}, nil},
		"schedule page": {22, func(ctx context.Context) error {
			return third(s.PageSchedules(ctx, nil, store.ScheduleKey{Name: "c", ID: "c100000007"}, 10))
		}, nil},
		"agent":           {1, func(ctx context.Context) error { return second(s.GetAgent(ctx, "g7")) }, nil},
		"schedules":       {3, func(ctx context.Context) error { return second(s.SchedulesOfAgent(ctx, "g7")) }, nil},
		"skills":          {5, func(ctx context.Context) error { return second(s.ListSkills(ctx, "f7")) }, nil},
		"automation":      {1, func(ctx context.Context) error { return second(s.GetAutomation(ctx, "f7", "u37")) }, nil},
		"automations":     {5, func(ctx context.Context) error { return second(s.ListAutomations(ctx, "f7")) }, nil},
		"webhook":         {1, func(ctx context.Context) error { return second(s.GetWebhook(ctx, "f7", "h65")) }, nil},
		"any webhook":     {1, func(ctx context.Context) error { return second(s.FindWebhook(ctx, "h65")) }, nil},
		"webhooks":        {3, func(ctx context.Context) error { return second(s.ListWebhooks(ctx, "f7")) }, nil},
		"webhooks secret": {3, func(ctx context.Context) error { return second(s.WebhooksWithSecret(ctx, "S7")) }, nil},
		"credentials":     {40, func(ctx context.Context) error { return second(s.ListCredentials(ctx, "h", 10)) }, nil},
		"webhook uids":    {10, func(ctx context.Context) error { return third(s.WebhookUIDs(ctx, "h", 10)) }, nil},
		"secret":          {1, func(ctx context.Context) error { return second(s.GetSecret(ctx, "S100000007")) }, nil},
		"secrets":         {10, func(ctx context.Context) error { return second(s.ListSecrets(ctx, "", "S", 10, true)) }, nil},
		"delivery":        {1, func(ctx context.Context) error { return second(s.GetDelivery(ctx, "h7", bulkID(107))) }, nil},
		"any delivery":    {1, func(ctx context.Context) error { return second(s.FindDelivery(ctx, bulkID(107))) }, nil},
		"newest":          {21, func(ctx context.Context) error { return third(s.ListDeliveries(ctx, "h7", "", "", 20)) }, nil},
		"all newest":      {21, func(ctx context.Context) error { return third(s.ListAllDeliveries(ctx, false, bulkID(15_000), "", 20)) }, nil},
		"volume": {20, func(ctx context.Context) error {
			return second(s.BriefDeliveries(ctx, store.DeliveryScope{}, bulkID(100), 20))
		}, nil},
		"volume to one": {21, func(ctx context.Context) error {
			return second(s.BriefDeliveries(ctx, store.DeliveryScope{WebhookUID: "h7"}, "", 20))
		}, nil},
		"volume of some": {21, func(ctx context.Context) error {
			return second(s.BriefDeliveries(ctx, store.DeliveryScope{FactoryUIDs: []string{"f7"}}, "", 20))
		}, nil},
		"all between": {21, func(ctx context.Context) error {
			return third(s.ListAllDeliveries(ctx, false, bulkID(15_000), bulkID(100), 20))
		}, nil},
		"all refused": {21, func(ctx context.Context) error { return third(s.ListAllDeliveries(ctx, true, "", "", 20)) }, nil},
		"of factories": {42, func(ctx context.Context) error {
			return third(s.ListDeliveriesOf(ctx, []string{"f0", "f2"}, "", "", 20))
		}, nil},
		"webhooks by uid": {2, func(ctx context.Context) error { return second(s.WebhooksByUID(ctx, []string{"h7", "h9"})) }, nil},
		"webhooks of":     {6, func(ctx context.Context) error { return second(s.WebhooksOf(ctx, "f7", "f9")) }, nil},
		"last of each":    {3, func(ctx context.Context) error { return second(s.LastDeliveries(ctx, "f7")) }, nil},
		"last of several": {6, func(ctx context.Context) error { return second(s.LastDeliveries(ctx, "f7", "f9")) }, nil},
		"older":           {21, func(ctx context.Context) error { return third(s.ListDeliveries(ctx, "h7", bulkID(15_000), "", 20)) }, nil},
		"none":            {0, func(ctx context.Context) error { return third(s.ListDeliveries(ctx, "nobody", "", "", 20)) }, nil},
		"attached":        {1, func(ctx context.Context) error { return second(s.Attached(ctx, "r7", "delivery/"+bulkID(14))) }, nil},
		"rate": {1, func(ctx context.Context) error {
			return second(s.RateWait(ctx, store.Rate{Name: "w7", Limit: 1, Window: 1}))
		}, nil},
		"payload": {1, func(ctx context.Context) error { return second(s.GetPayload(ctx, bulkID(107))) }, nil},
		"payloads": {20, func(ctx context.Context) error {
			return s.EachPayload(ctx, "h7", bulkID(15_000), 20, func(store.Payload) error { return nil })
		}, nil},
		"revision":  {1, func(ctx context.Context) error { return second(s.GetRevision(ctx, "f7", 107)) }, nil},
		"revisions": {10, func(ctx context.Context) error { return second(s.ListRevisions(ctx, "f7", 1_000_000, 10)) }, nil},
		"last":      {1, func(ctx context.Context) error { return second(s.LastRevision(ctx, "f7")) }, nil},
		"texts": {1, func(ctx context.Context) error {
			return second(s.RevisionTexts(ctx, &lineshaft.Revision{FactoryUID: "f7", Files: map[string]string{"factory.yaml": "d100000107"}}))
		}, nil},
	}
}

// That a webhook has no delivery is not found out by reading the log of a busy one.
func TestW11IdleWebhooksBesideABusyOne(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for _, query := range bulkHooks() {
				if strings.HasPrefix(query, "INSERT INTO deliveries") {
					query = strings.Replace(query, "CASE WHEN i % 100 = 0 THEN 'h7' ELSE 'h' || (i % 100) END", "'h0'", 1)
				} else if !strings.HasPrefix(query, "INSERT INTO webhooks") {
					continue
				}
				if _, err := tx.Exec(ctx, hookNumbers+query, 20_000); err != nil {
					return err
				}
			}
			return nil
		})
		analyze(t, s)
		recorder := s.Record()
		last, err := s.LastDeliveries(t.Context(), "f0", "f1", "f2")
		must(t, err)
		if len(last) != 1 || last[0].ID != "01900000-0000-7000-8000-000"+"100019999" {
			t.Errorf("the last deliveries are %+v", last)
		}
		for _, st := range recorder.Take() {
			checkReads(t, s, st, 50, false)
		}
	})
}

// hookWrites are the statements that change the tables of webhooks.
func hookWrites(s *store.Store) map[string]lookup {
	now := time.UnixMicro(1_800_000_000_000_000)
	work := func(most int, work func(ctx context.Context, tx *store.Tx) error) lookup {
		return lookup{most, nil, work}
	}
	return map[string]lookup{
		"lock factory": work(1, func(ctx context.Context, tx *store.Tx) error { return second(tx.LockFactory(ctx, "f7", now)) }),
		"share": work(3, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.ShareFactories(ctx, []string{"f7", "f9", "f8"}))
		}),
		"update factory": work(1, func(ctx context.Context, tx *store.Tx) error {
			return tx.UpdateFactory(ctx, lineshaft.Factory{UID: "f7"})
		}),
		"revision": work(1, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.InsertRevision(ctx, nil, lineshaft.Revision{FactoryUID: "f7", Number: 1 << 40, Source: lineshaft.RevisionEdit}, map[string]string{"a": "b", "c": "d"}))
		}),
		"delete factory": work(planSize(s)/100+5, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteFactory(ctx, "f7", now) }),
		"automation":     work(1, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteAutomation(ctx, "f7", "u37") }),
		"lock agent":     work(1, func(ctx context.Context, tx *store.Tx) error { return second(tx.LockAgent(ctx, "g37")) }),
		"delete agent":   work(1, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteAgent(ctx, "g37") }),
		"credentials": work(1, func(ctx context.Context, tx *store.Tx) error {
			return tx.SetCredentials(ctx, store.Webhook{Webhook: lineshaft.Webhook{UID: "h7"}}, "a", "b")
		}),
		"lock secret": work(1, func(ctx context.Context, tx *store.Tx) error { return second(tx.LockSecret(ctx, "S100000007")) }),
		"update secret": work(1, func(ctx context.Context, tx *store.Tx) error {
			return tx.UpdateSecret(ctx, store.Secret{Secret: lineshaft.Secret{Name: "S100000007", Access: lineshaft.AccessRuns}})
		}),
		"seal":          work(1, func(ctx context.Context, tx *store.Tx) error { return tx.ReplaceSealed(ctx, "S100000007", "", "x") }),
		"delete secret": work(1, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSecret(ctx, "S100000007") }),
		"claim": work(3, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.ClaimIdentities(ctx, []store.Identity{{Digest: "new", DeliveryID: "x"}, {Digest: "d100000007", DeliveryID: "x"}, {Digest: "d100000009", DeliveryID: "x"}}))
		}),
		"free": work(1, func(ctx context.Context, tx *store.Tx) error {
			return tx.FreeIdentity(ctx, store.Identity{Digest: "d100000007", DeliveryID: bulkID(7)})
		}),
		"deliveries": work(20, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.DeleteDeliveries(ctx, "h7", now, 20, 10))
		}),
		"all of them": work(10, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.DeleteDeliveries(ctx, "h7", now, 0, 10))
		}),
		"identities":  work(110, func(ctx context.Context, tx *store.Tx) error { return second(tx.DeleteIdentities(ctx, now, 10)) }),
		"attachments": work(1, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteAttachments(ctx, "r7") }),
		"webhook row": work(1, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteWebhookRow(ctx, "h199") }),
		"rates": work(10, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.DeleteRates(ctx, now, 10))
		}),
		"hit": work(1, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.HitRates(ctx, store.Rate{Name: "w7", Limit: 1, Window: time.Minute}, store.Rate{Name: "w9", Limit: 1, Window: time.Minute}))
		}),
	}
}

// Every statement on the tables of webhooks follows an index: it reads as many rows
// as it is for, and sorts none.
func TestW7StatementsFollowAnIndex(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		fillHooks(t, s, planSize(s))
		analyze(t, s)
		reads := s.Record()
		for name, look := range hookReads(s) {
			t.Log(name) // shown with what fails
			must(t, look.read(t.Context()))
			checkHooks(t, s, reads.Take(), look.most)
		}
		for name, look := range hookWrites(s) {
			t.Log(name)
			var sent []store.Statement
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				recorder := tx.Record()
				err := look.work(ctx, tx)
				sent = recorder.Take()
				return errors.Join(err, errUndo)
			})
			if !errors.Is(err, errUndo) || lineshaft.CodeOf(err) != lineshaft.CodeInternal {
				must(t, err)
			}
			checkHooks(t, s, sent, look.most)
		}
	})
}

func checkHooks(t *testing.T, s *store.Store, sent []store.Statement, most int) {
	t.Helper()
	if len(sent) == 0 {
		t.Fatal("no statement")
	}
	for _, st := range sent {
		checkReads(t, s, st, most, false)
		if bad := unindexed(t, s, st); bad != "" {
			t.Errorf("%s\n%s %v", bad, st.Text, st.Args)
		}
		if !strings.Contains(st.Text, "LIMIT $") {
			checkReads(t, s, st, most, true)
		}
	}
}

// unindexed says what a statement reads without an index or sorts. It is stricter
// than the checks of runs, whose lists may sort what they found.
func unindexed(t *testing.T, s *store.Store, st store.Statement) string {
	t.Helper()
	var bad string
	if s.Engine() == "sqlite" {
		for _, line := range explainSQLite(t, s.DB(), st) {
			if strings.HasPrefix(line.detail, "SCAN") && !strings.Contains(line.detail, "CONSTANT ROW") && !strings.Contains(line.detail, "VALUES CLAUSE") || strings.Contains(line.detail, "TEMP B-TREE") {
				bad = line.detail
			}
		}
		return bad
	}
	explainPostgres(t, s.DB(), st, false).each(func(n pgNode) {
		if n.Type == "Seq Scan" || n.Type == "Sort" {
			bad = n.Type + " " + n.Relation
		}
	})
	return bad
}

// The check above must be able to fail.
func TestHookPlanCheckFindsBadPlans(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		fillHooks(t, s, max(planSize(s)/10, 200))
		analyze(t, s)
		for _, text := range []string{
			"SELECT uid FROM webhooks WHERE secret_name = 'S7' ORDER BY factory_uid, name",
			"SELECT id FROM deliveries WHERE webhook_uid = 'h7' ORDER BY size LIMIT 1",
			"DELETE FROM rate_windows WHERE count = 7",
		} {
			if unindexed(t, s, store.Statement{Text: text}) == "" {
				t.Errorf("%q passes", text)
			}
		}
	})
}
