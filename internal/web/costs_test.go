package web_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// consume lets the next run use a model and end.
func (s *site) consume(model string, tokens, micros int64) {
	s.Helper()
	job := s.begin()
	used := lineshaft.UsageData{ModelID: model, InputTokens: tokens, CostMicros: micros}
	events := []lineshaft.Draft{lineshaft.NewDraft(lineshaft.EventUsage, time.Now(), used)}
	s.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: events})
	s.end(job, lineshaft.TurnResult{Turn: lineshaft.PromptTurn, State: lineshaft.Succeeded})
}

func TestI2CostsByWhoCausedThem(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	far := h.another("Far away", "builds")
	h.shows("/costs", "Nothing was spent", "No run used a model")
	triage := h.automate("Triage", "")
	far.automate("Picky", "")
	h.deliver("one", `{}`)
	h.consume("opus-9", 1000, 2_500_000)
	dear := h.lastRun().ID
	far.deliver("two", `{}`)
	h.consume("haiku-9", 100, 10_000)
	h.start("=by hand")
	h.consume("opus-9", 10, 500_000)
	byHand := h.lastRun().ID
	page := h.shows("/costs", "$2.51 and", "works", "Far away", "Triage", "/automations/"+triage.UID, "Picky", "foreman",
		"opus-9", "haiku-9", "$3.00", "$2.50", "$0.01", "all 3 runs that started", "/runs/"+dear, "/runs/"+byHand,
		"/costs/export?days=7", "Spending by day")
	if strings.Index(page, "/runs/"+dear) > strings.Index(page, "/runs/"+byHand) {
		t.Error("the dearest run is not the first")
	}
	h.shows("/costs?days=1&factory="+far.factory, "$0.01 and", "Picky", "!Triage", "!opus-9", "!/runs/"+byHand)
	h.shows("/costs?days=7", `class="spent n1"`, `class="spent n2"`, `<th scope="col" class="num">Far away</th>`)
	h.shows("/costs?days=7&factory="+far.factory, `<rect class="spent"`, "US dollars", "!spent n1")
	h.shows("/", `href="/costs?days=1"`, `class="spent n2"`)
	for _, wrong := range []string{"?days=2", "?days=x"} {
		if status, _, _ := h.get("/costs" + wrong); status != http.StatusBadRequest {
			t.Errorf("%s: %d", wrong, status)
		}
	}
	_, _, text := h.get("/costs/export?days=30")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, row := range rows {
		found[row[0]+" "+row[2]] = row[6]
	}
	for name, cost := range map[string]string{
		"factory works": "2.500000", "automation Triage": "2.500000", "automation Picky": "0.010000", "model opus-9": "3.000000",
		"day " + time.Now().UTC().Format(time.DateOnly): "2.510000", "kind name": "cost_usd", "run '=by hand": "0.500000",
	} {
		if found[name] != cost {
			t.Errorf("%s: %q, want %s\n%s", name, found[name], cost, text)
		}
	}
	// A key that sees one factory sees what that one cost.
	h.as(lineshaft.RoleViewer, far.factory)
	h.shows("/costs", "$0.01 and", "!Triage", "!opus-9", "!"+dear)
	if status, _, _ := h.get("/costs?factory=" + h.factory); status != http.StatusNotFound {
		t.Errorf("a foreign factory: %d", status)
	}
}

// The chart names factories beyond those that a form offers, and a budget has a bar.
func TestI2CostsOfManyFactories(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	for i := range page.MaxOptions {
		h.site.factory(fmt.Sprintf("A %03d", i))
	}
	far := h.another("Zinc works", "builds")
	h.automate("Triage", "")
	far.automate("Picky", "")
	h.deliver("one", `{}`)
	h.consume("opus-9", 1000, 2_500_000)
	far.deliver("two", `{}`)
	h.consume("opus-9", 1000, 1_000_000)
	h.shows("/costs", `<th scope="col" class="num">works</th>`, `<th scope="col" class="num">Zinc works</th>`, "!Deleted factory")
	h.shows("/factories/"+far.factory, "!<meter")
	budget := lineshaft.Budget{MaxCostMicros: 4_000_000}
	must(h.control.UpdateFactory(t.Context(), h.admin, far.factory, factories.FactoryChange{DailyBudget: &budget}))
	h.shows("/factories/"+far.factory, `<meter min="0" max="4000000" value="1000000"`)
}
