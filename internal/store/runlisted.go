package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// The bounds of a list of runs (H-14). The prompts of runs may be megabytes each, and a
// list must cost the same whatever others wrote into theirs.
const (
	// PageBytes is how long a page of a list becomes when it is written as JSON, unless a
	// single run is longer.
	PageBytes = 8 << 20
	// lookBytes is how much of the database is read for one page, and groupBytes how much
	// of that by one statement.
	lookBytes  = 32 << 20
	groupBytes = 4 << 20
	// listedConfig is how long a configuration may be, besides its base prompt, for a list
	// to show its tool servers and its command.
	listedConfig = 16 << 10
	// listedArtifacts and shownArtifacts are how many of a run's artifacts a list and the
	// run itself show: the first.
	listedArtifacts = 20
	shownArtifacts  = 1000
	// itemBytes is the size of a run besides the texts that are counted.
	itemBytes = 2 << 10
)

// listedPrompt selects the beginning of a text, in characters: the bytes are cut in Go,
// where a character is not cut in two.
const listedPrompt = "substr(%s, 1, 4097)"

// How a run is selected: whole, as lists show it, and without what may be long.
const (
	runWhole  = iota
	runListed // the prompts and the configuration cut
	runBare   // none of them but the names in the configuration
)

// selectRun is the beginning of a statement that scanRun reads.
func (d *dialect) selectRun(how int) string {
	prompt, submitted, config, skills := "b.prompt", "b.submitted_prompt", "b.config", "b.skills"
	switch how {
	case runListed:
		prompt, submitted = fmt.Sprintf(listedPrompt, prompt), fmt.Sprintf(listedPrompt, submitted)
	case runBare:
		prompt, submitted, skills = "''", "''", "''"
		config = "CAST(" + d.jsonObject + "('name', r.name, 'model_id', r.model_id) AS TEXT)"
	}
	return "SELECT " + runColumns + ", " + strings.Join([]string{prompt, submitted, config, skills}, ", ") + runTables
}

// listRuns reads runs as lists show them, in the order of their ids. Looked is how many of
// the ids fit into a page; with all, what does not fit is read without its prompts and
// configuration instead, as everything is with brief.
func (r reader) listRuns(ctx context.Context, ids []string, brief, all bool) (runs []*lineshaft.Run, looked int, err error) {
	sizes := map[string]int64{}
	if !brief {
		if sizes, err = r.runSizes(ctx, ids); err != nil {
			return nil, 0, err
		}
	}
	var read, written int64
	for looked < len(ids) {
		how := runListed
		if brief {
			how = runBare
		} else if read > 0 && read+sizes[ids[looked]] > lookBytes || written >= PageBytes {
			if !all {
				break
			}
			how = runBare
		}
		group, size := ids[looked:], int64(0)
		if how == runListed {
			group, size = nextGroup(group, sizes, lookBytes-read)
		}
		read += size
		found, err := r.runsByID(ctx, group, how)
		if err != nil {
			return nil, 0, err
		}
		for _, id := range group {
			run := found[id]
			if run == nil { // it was deleted meanwhile
				looked++
				continue
			}
			if written += answerBytes(run); written > PageBytes && len(runs) > 0 && !all {
				return runs, looked, nil
			}
			runs = append(runs, run)
			looked++
		}
	}
	return runs, looked, nil
}

// nextGroup takes the ids to read with one statement: as many as are short together.
func nextGroup(ids []string, sizes map[string]int64, left int64) (group []string, size int64) {
	for n, id := range ids {
		if next := size + sizes[id]; n > 0 && next > min(groupBytes, left) {
			return ids[:n], size
		}
		size += sizes[id]
	}
	return ids, size
}

// runSizes is how long what was written once of each run is. Neither engine reads the
// texts for that.
func (r reader) runSizes(ctx context.Context, ids []string) (map[string]int64, error) {
	if len(ids) == 0 {
		return map[string]int64{}, nil
	}
	var args []any
	query := `SELECT run_id, octet_length(prompt) + octet_length(submitted_prompt) + octet_length(config) + octet_length(skills)
		FROM run_bodies WHERE run_id IN ` + list(&args, ids)
	return pairs[string, int64](ctx, r, "read sizes of runs", query, args)
}

// shorten makes of a run what lists show.
func shorten(run *lineshaft.Run) {
	run.Truncated = cutTexts(&run.Config, &run.Prompt, &run.Submitted)
	for i := range run.Skills {
		run.Skills[i].Body = ""
	}
}

// restOf is a configuration without its base prompt, as it is answered.
func restOf(config lineshaft.AgentConfig) []byte {
	config.BasePrompt = ""
	text, _ := json.Marshal(config) // it was decoded from JSON
	return text
}

// head is the beginning of a text, in memory of its own: the rest of it is let go.
func head(text string, limit int) string { return strings.Clone(lineshaft.CutBytes(text, limit)) }

// answerBytes is about how long a run becomes in an answer.
func answerBytes(run *lineshaft.Run) int64 {
	sum := int64(itemBytes + len(restOf(run.Config)))
	for _, text := range []string{run.Title, run.Prompt, run.Submitted, run.Config.BasePrompt, run.Status.Message} {
		sum += jsonBytes(text)
	}
	for key, value := range run.Metadata {
		sum += int64(len(key)) + jsonBytes(value)
	}
	for i := range run.Artifacts {
		a := &run.Artifacts[i]
		for _, text := range []string{a.FileName, a.FilePath, a.MimeType, a.URL, a.Branch, a.Title, a.Description} {
			sum += jsonBytes(text)
		}
		sum += itemBytes / 4
	}
	return sum
}

// jsonBytes is how long a text is as JSON, where some characters take six bytes.
func jsonBytes(text string) int64 {
	sum := int64(len(text))
	for _, c := range []byte(text) {
		if c < ' ' || c == '"' || c == '\\' {
			sum += 5
		}
	}
	return sum
}
