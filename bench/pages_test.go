package main

import (
	"context"
	"database/sql"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestB13PagesAreThere opens every page of a small database once, with this program as
// the server, and looks for what each has to have in it.
func TestB13PagesAreThere(t *testing.T) {
	t.Parallel()
	eachEngine(t, 300, func(t *testing.T, s *session, db *database) {
		world, err := s.makeRecent(t.Context(), db.engine, 300)
		must(t, err)
		s.opts.cpuProfile = t.TempDir() + "/profile" // then it is this program that serves
		side, err := s.openPages(t.Context(), world)
		must(t, err)
		t.Cleanup(func() { must(t, side.server.stop()) })

		parts := map[string]string{
			"overview, 24 hours": "Fix module", "runs": "Fix module", "run with a long log": "Step", "search for words": "module42", "factories": "factory-05",
			"automations": "automation-", "webhooks": "hook", "schedules": "schedule-05", "environments": "environment-05", "secrets": "SECRET_05",
			"keys": "key-05", "audit, filtered": "webhook.rotate",
			"runs with an error code": "Fix module", "runs of an automation": "Fix module", "runs of a webhook": "Fix module", "runs by title": "Fix module",
			"deliveries": "hook", "deliveries that were not matched": "hook", "notifications": "callback-05",
			"delivery": "Payload", "run beside another": "Results", "run beside the one before": "Results", "worker": "hosted", "revisions": "factory-00",
		}
		names := map[string]bool{}
		for i, page := range side.pages {
			text, err := side.open(t.Context(), i)
			must(t, err)
			if page.status == 0 && !strings.Contains(text, parts[page.name]) || page.status == 0 && !strings.HasSuffix(strings.TrimSpace(text), "</html>") {
				t.Errorf("%s: the page of %d bytes has no %q", page.name, len(text), parts[page.name])
			}
			names[page.name] = true
		}
		equal(t, "different names", len(names), len(side.pages))
		for name := range parts {
			equal(t, name+" is measured", names[name], true)
		}
		found, err := s.pagesOf(t.Context(), db.engine, side, &pageSide{recent: side.recent, server: side.server, boss: side.boss, limited: side.limited, pages: side.pages[:1]})
		must(t, err)
		if f := found[0]; f.Calls < 3 || f.P50 <= 0 || f.P99 < f.P50 || f.TogetherP99 <= 0 || f.SmallP99 <= 0 {
			t.Errorf("found %+v", f)
		}
	})
}

// TestB13RecentDoesAsSaid compares the database with what the pages are said to show.
func TestB13RecentDoesAsSaid(t *testing.T) {
	t.Parallel()
	eachEngine(t, 2000, func(t *testing.T, s *session, db *database) {
		world, err := s.makeRecent(t.Context(), db.engine, 2000)
		must(t, err)
		equal(t, "recent runs", world.added, 200)
		for query, least := range map[string]int64{
			"SELECT COUNT(*) FROM runs":                                                                                                         2200,
			"SELECT COUNT(*) FROM events WHERE run_id = '" + world.id(1) + "'":                                                                  longLog + 2,
			"SELECT COUNT(*) FROM deliveries WHERE webhook_uid = '" + world.team.webhooks[0] + "'":                                              200,
			"SELECT COUNT(*) FROM deliveries WHERE status = 'rejected_auth'":                                                                    5,
			"SELECT COUNT(DISTINCT state) FROM runs WHERE id >= '" + world.id(0) + "'":                                                          5,
			"SELECT COUNT(*) FROM audit_log":                                                                                                    500,
			"SELECT COUNT(DISTINCT factory_uid) FROM run_rates":                                                                                 4,
			"SELECT SUM(succeeded + failed + errored + cancelled) FROM run_rates WHERE span = 3600 AND factory_uid = ''":                        190,
			"SELECT COUNT(*) FROM runs JOIN factories ON uid = factory_uid WHERE id >= '" + world.id(0) + "' AND id <= '" + world.id(199) + "'": 30,
		} {
			n, err := db.number(t.Context(), query)
			must(t, err)
			if n < least {
				t.Errorf("%s: %d, want %d or more", query, n, least)
			}
		}
		must(t, db.with(t.Context(), func(ctx context.Context, raw *sql.DB) error {
			var future int
			err := raw.QueryRowContext(ctx, "SELECT COUNT(*) FROM runs WHERE updated_at > $1", time.Now().UnixMicro()).Scan(&future)
			equal(t, "runs of the future", future, 0)
			return err
		}))
	})
}

func TestB13WrongAnswersAreErrors(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.001)
	db, err := s.newDatabase(t.Context(), sqlite, "pages")
	must(t, err)
	srv, err := s.startChild(t.Context(), serveOrder{Database: db.url, DataDir: t.TempDir(), NoWorker: true})
	must(t, err)
	t.Cleanup(func() { must(t, srv.stop()) })
	if _, err := signIn(t.Context(), srv.url, "ls_wrong"); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("signing in with a wrong key: %v", err)
	}
	browser, err := signIn(t.Context(), srv.url, adminKey)
	must(t, err)
	if _, err := fetch(t.Context(), browser, srv.url+"/runs/none", http.StatusOK); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a page that is not there: %v", err)
	}
	side := &pageSide{server: srv, boss: browser, pages: []pageCase{{name: "none", path: "/factories/none"}}}
	if _, err := side.times(t.Context(), 0, 10, 2, time.Second); err == nil {
		t.Error("a page that is not there was measured")
	}
}

func TestB13Rows(t *testing.T) {
	t.Parallel()
	s := testSession(t, 1)
	s.pageRows(sqlite, &recent{runs: 1000, added: 100}, []pageFound{
		{Name: "a", P50: 5, P99: 40, SmallP99: 20},
		{Name: "b", P50: 6, P99: 60, SmallP99: 30, TogetherP99: 100},
		{Name: "c", P50: 7, P99: 50, SmallP99: 10},
	})
	for i, want := range []struct {
		measured float64
		verdict  verdict
	}{{60, missed}, {40, met}, {60, missed}, {50, met}} {
		equal(t, "measured", s.report.Rows[i].Measured, figure{want.measured, milliseconds})
		equal(t, s.report.Rows[i].What, s.report.Rows[i].Verdict, want.verdict)
	}
	if note := s.report.Rows[0].Note; !strings.Contains(note, "the worst of 3 pages: b; 1 above the bar") {
		t.Error(note)
	}
}
