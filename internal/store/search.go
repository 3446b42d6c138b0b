package store

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

// searchBytes is how much of a prompt is searchable.
const searchBytes = 2 << 10

// maxWordBytes bounds a word of the index.
const maxWordBytes = 64

// SearchWords splits text into the words of the search index: runs of letters
// and digits, in lower case, each once.
func SearchWords(text string) []string {
	seen := map[string]bool{}
	var words []string
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) > maxWordBytes {
			word = strings.ToValidUTF8(word[:maxWordBytes], "")
		}
		if !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	}
	return words
}

// idWord is a run's own word in the index, by which its entry is removed.
func idWord(runID string) string { return "id" + strings.ReplaceAll(runID, "-", "") }

// scanByWords lists the runs that a search finds. A rare word gives its few runs
// and they are sorted; a common one would give too many, so there the list is
// walked instead and each run's words are looked at: pages fill quickly then.
func (s *Store) scanByWords(ctx context.Context, q RunScan, words []string, found *scanResult) error {
	if runID := strings.TrimSpace(q.Filter.Query); id.Valid(runID) {
		return s.scanRanks(ctx, q, []string{strings.ToLower(runID)}, found)
	}
	candidates, err := s.searchRuns(ctx, words, ScanBudget/10)
	if err != nil {
		return err
	}
	if len(candidates) == 0 {
		return nil
	}
	if len(candidates) < ScanBudget/10 {
		return s.scanRanks(ctx, q, candidates, found)
	}
	return s.scanMatching(ctx, q, words, found)
}

func (s *Store) searchRuns(ctx context.Context, words []string, limit int) ([]string, error) {
	ids, err := s.texts(ctx, s.d.searchMatch, s.d.searchQuery(words, false), limit)
	if err != nil {
		return nil, fmt.Errorf("search runs: %w", err)
	}
	return ids, nil
}

// scanMatching walks the list without the search and keeps the runs whose words match.
func (s *Store) scanMatching(ctx context.Context, q RunScan, words []string, found *scanResult) error {
	for found.looked < ScanBudget {
		part := &scanResult{limit: 200}
		if err := s.scanRanks(ctx, q, nil, part); err != nil {
			return err
		}
		texts, err := s.searchTexts(ctx, part.ids)
		if err != nil {
			return err
		}
		for _, runID := range part.ids {
			if !matchWords(texts[runID].words, words) {
				continue
			}
			if len(found.ids) == found.limit {
				found.more = true
				return nil
			}
			found.ids = append(found.ids, runID)
			found.last = texts[runID].key(q)
		}
		found.looked += max(part.looked, 1)
		found.more = part.more
		if !part.more {
			return nil
		}
		found.last, q.After = part.last, part.last
	}
	return nil
}

// searchText is a run's searchable text with its place in every list.
type searchText struct {
	words   []string
	runID   string
	updated int64
	title   string
	skill   string
}

func (t searchText) key(q RunScan) *RunKey {
	k := &RunKey{ID: t.runID, Micro: t.updated}
	switch q.Sort {
	case lineshaft.SortTitle:
		k.Text = t.title
	case lineshaft.SortAgent:
		k.Text = t.skill
		if t.skill == "" {
			k.Rank = 1
		}
	case lineshaft.SortUpdated, lineshaft.SortCreated:
	}
	return k
}

// matchWords says whether each query word begins a word of the text.
func matchWords(text, query []string) bool {
	for _, want := range query {
		hit := false
		for _, have := range text {
			if strings.HasPrefix(have, want) {
				hit = true
				break
			}
		}
		if !hit {
			return false
		}
	}
	return true
}

func (r reader) searchTexts(ctx context.Context, ids []string) (map[string]searchText, error) {
	texts := map[string]searchText{}
	if len(ids) == 0 {
		return texts, nil
	}
	args := []any{searchBytes}
	err := r.each(ctx, `SELECT r.id, r.updated_at, r.title, r.name, r.skill_spec, SUBSTR(b.prompt, 1, $1) FROM runs r JOIN run_bodies b ON b.run_id = r.id
		WHERE r.id IN `+list(&args, ids), args, func(scan func(...any) error) error {
		var t searchText
		var name, skill *string
		var prompt string
		if err := scan(&t.runID, &t.updated, &t.title, &name, &skill, &prompt); err != nil {
			return err
		}
		t.skill = text(skill)
		if len(prompt) > searchBytes {
			prompt = strings.ToValidUTF8(prompt[:searchBytes], "")
		}
		t.words = SearchWords(t.title + " " + text(name) + " " + t.skill + " " + prompt)
		texts[t.runID] = t
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read searchable text: %w", err)
	}
	return texts, nil
}

// IndexSearch puts up to limit waiting runs into the search index and returns how
// many there were. Several nodes may do it at once.
func (s *Store) IndexSearch(ctx context.Context, limit int) (int, error) {
	var done int
	err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		done = 0
		ids, err := tx.texts(ctx, "SELECT run_id FROM search_queue ORDER BY run_id LIMIT $1"+tx.d.skipLocked, limit)
		if err != nil || len(ids) == 0 {
			return err
		}
		texts, err := tx.searchTexts(ctx, ids)
		if err != nil {
			return err
		}
		for runID, t := range texts {
			words := append(t.words, idWord(runID))
			if _, err := tx.exec(ctx, tx.d.searchInsert, runID, strings.Join(words, " ")); err != nil {
				return fmt.Errorf("index run: %w", err)
			}
		}
		var args []any
		if _, err := tx.exec(ctx, "DELETE FROM search_queue WHERE run_id IN "+list(&args, ids), args...); err != nil {
			return fmt.Errorf("empty search queue: %w", err)
		}
		done = len(ids)
		return nil
	})
	return done, err
}

// RunMatches says whether a filter selects one run.
func (s *Store) RunMatches(ctx context.Context, runID string, f lineshaft.RunFilter) (bool, error) {
	found := &scanResult{limit: 1}
	if err := s.scanRanks(ctx, RunScan{Filter: f, Sort: lineshaft.SortCreated}, []string{runID}, found); err != nil {
		return false, fmt.Errorf("match run: %w", err)
	}
	words := SearchWords(f.Query)
	if len(found.ids) == 0 || len(words) == 0 {
		return len(found.ids) == 1, nil
	}
	texts, err := s.searchTexts(ctx, found.ids)
	return matchWords(texts[runID].words, words), err
}
