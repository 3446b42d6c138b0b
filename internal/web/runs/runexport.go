package runs

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// What a file of runs holds at most, and how many parts of the list are read for it: a
// filter that matches little reads far. A part is in memory at once.
const (
	maxExported    = 10_000
	maxExportReads = 20
	exportBatch    = 500
)

// exportRuns hands out the list for a spreadsheet, a part at a time, in the order of the list.
func (s pages) exportRuns(r *page.Request) error {
	view, err := parseRunView(r.URL.Query())
	if err != nil {
		return err
	}
	query := view.Query
	query.Limit, query.Brief = exportBatch, true
	factories, err := s.FactoryNames(r.Context(), r.Caller)
	if err != nil {
		return err
	}
	part, err := s.readExported(r, query)
	if err != nil {
		return err
	}
	page.AsAttachment(r.W, "text/csv; charset=utf-8", "runs.csv")
	out, control := csv.NewWriter(r.W), http.NewResponseController(r.W)
	columns := []string{
		"id", "title", "state", "error", "source", "factory", "agent", "model", "creator",
		"created", "started", "finished", "seconds", "tokens", "cost_usd",
	}
	_ = out.Write(columns)
	for written, reads := 0, 1; ; reads++ {
		_ = control.SetWriteDeadline(time.Now().Add(page.WriteWithin)) // of each part, not of the whole
		for _, row := range rowsOf(r.Caller, part.Runs, factories) {
			_ = out.Write(exportedRun(row))
		}
		written += len(part.Runs)
		if out.Flush(); out.Error() != nil || part.Next == "" {
			return nil //nolint:nilerr // the reader has gone
		}
		why := exportEnd(written, reads)
		if why == "" {
			query.Cursor = part.Next
			if part, err = s.readExported(r, query); err == nil {
				err = s.Control.Recheck(r.Context(), r.Caller)
			}
			if err == nil {
				continue
			}
			if r.Context().Err() == nil { // a reader who leaves breaks nothing
				s.Logger.ErrorContext(r.Context(), "export of runs broke off", "err", err)
			}
			why = "the export broke off here; ask again"
		}
		// The status is sent already: the file itself has to show that it is not whole.
		clear(columns)
		columns[1] = why
		_ = out.Write(columns)
		out.Flush()
		return nil
	}
}

// exportEnd says why a file ends although the list goes on; empty while it goes on as well.
func exportEnd(written, reads int) string {
	if written < maxExported && reads < maxExportReads {
		return ""
	}
	return fmt.Sprintf("the file ends here, after %d runs; choose a shorter time or another filter for the rest", written)
}

// readExported reads a part of the list in the turn of its reader.
func (s pages) readExported(r *page.Request, query lineshaft.RunQuery) (lineshaft.RunPage, error) {
	release, err := s.Control.Turn(r.Context(), r.Caller, 3)
	if err != nil {
		return lineshaft.RunPage{}, err
	}
	defer release()
	defer s.Control.Work(r.Context())()
	return s.Control.ListRuns(r.Context(), r.Caller, query)
}

// exportedRun is a run as a line of the file.
func exportedRun(row runRow) []string {
	when := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return at.UTC().Format(time.RFC3339)
	}
	return []string{
		row.ID, page.Cell(row.Title), string(row.State), page.Cell(string(row.Status.ErrorCode)), string(row.Source),
		page.Cell(cmp.Or(row.Factory, row.FactoryUID)), page.Cell(row.Agent()), page.Cell(row.Config.Model()), page.Cell(row.Creator.DisplayName),
		when(row.CreatedAt), when(row.StartedAt), when(row.FinishedAt), strconv.FormatFloat(row.Worked.Seconds(), 'f', 3, 64),
		strconv.FormatInt(row.Usage.Total(), 10), fmt.Sprintf("%.6f", float64(row.Usage.CostMicros)/1e6),
	}
}
