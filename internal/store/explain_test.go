package store_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
)

// litePlan is a line of EXPLAIN QUERY PLAN.
type litePlan struct {
	id, parent int
	detail     string
}

// liteBad says what is wrong with a plan: a table that is read without an index,
// or rows of a table that are sorted before they are cut off, unless they were looked up by id.
func liteBad(plan []litePlan) string {
	reads := func(line litePlan, tables ...string) bool {
		words := strings.Fields(line.detail)
		return len(words) > 1 && (words[0] == "SCAN" || words[0] == "SEARCH") && slices.Contains(tables, words[1])
	}
	tables := []string{"runs", "run_list", "run_tags", "events", "executions", "followups", "blobs", "idempotency_keys", "artifacts", "attachments"}
	for _, line := range plan {
		if reads(line, tables...) && !strings.Contains(line.detail, " USING ") {
			return "full scan: " + line.detail
		}
		if !strings.Contains(line.detail, "TEMP B-TREE") {
			continue
		}
		for _, other := range plan {
			if other.parent == line.parent && reads(other, tables...) && !strings.Contains(other.detail, " (id=?)") {
				return "sorts what it reads: " + other.detail + ", " + line.detail
			}
		}
	}
	return ""
}

func explainSQLite(t *testing.T, db *sql.DB, st store.Statement) []litePlan {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+st.Text, st.Args...)
	must(t, err)
	defer rows.Close()
	var plan []litePlan
	for rows.Next() {
		var line litePlan
		var unused int
		must(t, rows.Scan(&line.id, &line.parent, &unused, &line.detail))
		plan = append(plan, line)
	}
	must(t, rows.Err())
	return plan
}

// pgNode is a node of a plan that was run.
type pgNode struct {
	Type     string   `json:"Node Type"`
	Relation string   `json:"Relation Name"`
	Index    string   `json:"Index Name"`
	Rows     float64  `json:"Actual Rows"`
	Filtered float64  `json:"Rows Removed by Filter"`
	Recheck  float64  `json:"Rows Removed by Index Recheck"`
	Loops    float64  `json:"Actual Loops"`
	Plans    []pgNode `json:"Plans"`
}

// read is the number of rows that a node read in its table.
func (n pgNode) read() int { return int((n.Rows + n.Filtered + n.Recheck) * n.Loops) }

// each calls fn for the node and all below it.
func (n pgNode) each(fn func(pgNode)) {
	fn(n)
	for _, child := range n.Plans {
		child.each(fn)
	}
}

// explainPostgres runs a statement and undoes it. A generic plan is one that is
// made without looking at the values, as PostgreSQL does for statements it has
// seen often.
func explainPostgres(t *testing.T, db *sql.DB, st store.Statement, generic bool) pgNode {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	query, args := "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "+st.Text, st.Args
	if generic {
		_, err = tx.ExecContext(t.Context(), "SET LOCAL plan_cache_mode = force_generic_plan")
		must(t, err)
		_, err = tx.ExecContext(t.Context(), "PREPARE generic AS "+st.Text)
		must(t, err)
		defer func() { _, _ = tx.ExecContext(t.Context(), "DEALLOCATE generic") }()
		query, args = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE generic"+literals(t, st.Args), nil
	}
	var text string
	must(t, tx.QueryRowContext(t.Context(), query, args...).Scan(&text))
	var plans []struct {
		Plan pgNode `json:"Plan"`
	}
	must(t, json.Unmarshal([]byte(text), &plans))
	return plans[0].Plan
}

// literals writes arguments as SQL; the tests' own have no quotes in them.
func literals(t *testing.T, args []any) string {
	t.Helper()
	if len(args) == 0 {
		return ""
	}
	texts := make([]string, len(args))
	for i, arg := range args {
		text := fmt.Sprint(arg)
		if strings.Contains(text, "'") {
			t.Fatalf("argument %q has a quote", text)
		}
		texts[i] = "'" + text + "'"
		if arg == nil {
			texts[i] = "NULL"
		}
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// analyze lets PostgreSQL count what is in the tables. SQLite never does.
func analyze(t *testing.T, s *store.Store) {
	t.Helper()
	if s.Engine() == "postgres" {
		_, err := s.DB().ExecContext(t.Context(), "ANALYZE")
		must(t, err)
	}
}

// checkReads wants the statement to follow indexes and, where that can be
// counted, to look at no more than most rows of each table.
func checkReads(t *testing.T, s *store.Store, st store.Statement, most int, generic bool) {
	t.Helper()
	if s.Engine() == "sqlite" {
		plan := explainSQLite(t, s.DB(), st)
		if bad := liteBad(plan); bad != "" {
			t.Errorf("%s\n%s %v\n%v", bad, st.Text, st.Args, plan)
		}
		return
	}
	explainPostgres(t, s.DB(), st, generic).each(func(n pgNode) {
		if n.Relation != "" && n.read() > most {
			t.Errorf("generic=%v: %s of %s by %s read %d rows, more than %d\n%s %v", generic, n.Type, n.Relation, n.Index, n.read(), most, st.Text, st.Args)
		}
	})
}
