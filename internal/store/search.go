package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	seen := make(map[string]bool, 64)
	var words []string
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), splitsWords) {
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

func splitsWords(r rune) bool {
	if r < unicode.MaxASCII {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}
	return !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// scanByWords lists the runs that a search finds. A rare word gives its few runs and
// they are sorted. A common one would give too many, so the list is walked instead and
// each run's words are checked: pages fill quickly then.
func (s *Store) scanByWords(ctx context.Context, q RunScan, words []string, found *scanResult) error {
	if s.upgrading.Load() { // the index does not know all runs
		return s.scanMatching(ctx, q, words, found)
	}
	// The backlog first: what is settled in between is in the index by then.
	ids, err := s.texts(ctx, "SELECT DISTINCT run_id FROM run_backlog LIMIT $1", s.budget)
	if err != nil {
		return fmt.Errorf("read changed runs: %w", err)
	}
	if len(ids) == s.budget { // to look at each run of the list is less then
		return s.scanMatching(ctx, q, words, found)
	}
	changed, err := s.searchTexts(ctx, ids)
	if err != nil {
		return err
	}
	few := s.budget / 10
	candidates, err := s.texts(ctx, s.d.searchMatch, s.d.searchQuery(words), few)
	if err != nil {
		return fmt.Errorf("search runs: %w", err)
	}
	if len(candidates) == few {
		return s.scanMatching(ctx, q, words, found)
	}
	candidates = slices.DeleteFunc(candidates, func(runID string) bool { _, ok := changed[runID]; return ok })
	for runID, text := range changed {
		if matchesText(runID, text, q.Filter.Query, words) {
			candidates = append(candidates, runID)
		}
	}
	if runID, ok := queryID(q.Filter.Query); ok && !slices.Contains(candidates, runID) {
		candidates = append(candidates, runID)
	}
	if len(candidates) == 0 {
		return nil
	}
	return s.scanRanks(ctx, q, candidates, found)
}

// queryID is the run id that a search asks for, if it is one.
func queryID(query string) (string, bool) {
	runID := strings.ToLower(strings.TrimSpace(query))
	return runID, id.Valid(runID)
}

// scanMatching walks the list without the search and keeps the runs whose words match.
func (s *Store) scanMatching(ctx context.Context, q RunScan, words []string, found *scanResult) error {
	for found.looked < found.budget {
		part := &scanResult{limit: 200, budget: found.budget - found.looked}
		if err := s.scanRanks(ctx, q, nil, part); err != nil {
			return err
		}
		texts, err := s.searchTexts(ctx, part.ids())
		if err != nil {
			return err
		}
		for _, key := range part.keys {
			text, there := texts[key.ID] // it may be deleted by now
			if !there || !matchesText(key.ID, text, q.Filter.Query, words) {
				continue
			}
			if len(found.keys) == found.limit {
				found.more = true
				return nil
			}
			found.keys = append(found.keys, key)
			found.last = &key
		}
		found.looked += part.looked
		found.more = part.more
		if !part.more {
			return nil
		}
		found.last, q.After = part.last, part.last
	}
	return nil
}

// matchesText says whether the query is the run's id, or each of its words begins a word of the
// run's text. Most texts do not even have the words within them.
func matchesText(runID, text, query string, words []string) bool {
	if asked, ok := queryID(query); ok && asked == runID {
		return true
	}
	text = strings.ToLower(text)
	if slices.ContainsFunc(words, func(want string) bool { return !strings.Contains(text, want) }) {
		return false
	}
	left := slices.Clone(words)
	for word := range strings.FieldsFuncSeq(text, splitsWords) {
		left = slices.DeleteFunc(left, func(want string) bool { return strings.HasPrefix(word, want) })
	}
	return len(left) == 0
}

// searchTexts reads what is searched of some runs.
func (r reader) searchTexts(ctx context.Context, ids []string) (map[string]string, error) {
	texts := map[string]string{}
	if len(ids) == 0 {
		return texts, nil
	}
	args := []any{searchBytes}
	err := r.each(ctx, `SELECT r.id, r.title, r.name, r.skill_spec, SUBSTR(b.prompt, 1, $1) FROM runs r JOIN run_bodies b ON b.run_id = r.id
		WHERE r.id IN `+list(&args, ids), args, func(scan rowScan) error {
		var name, skill *string
		var runID, title, prompt string
		err := scan(&runID, &title, &name, &skill, &prompt)
		texts[runID] = title + " " + text(name) + " " + text(skill) + " " + searchedPart(prompt)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read searchable text: %w", err)
	}
	return texts, nil
}

// searchedPart is the part of a prompt that is searched: what people asked for, above and below
// the note about a delivery, whose words all delivered runs have.
func searchedPart(prompt string) string {
	if above, note, ok := strings.Cut(prompt, lineshaft.DeliveryNote); ok {
		_, below, _ := strings.Cut(note, lineshaft.NoteEnd)
		prompt = above + "\n" + below
	}
	if len(prompt) > searchBytes {
		prompt = strings.ToValidUTF8(prompt[:searchBytes], "")
	}
	return prompt
}

// RunMatches says whether a filter selects one run.
func (s *Store) RunMatches(ctx context.Context, runID string, f lineshaft.RunFilter) (bool, error) {
	words, ok := queryWords(f)
	if !ok {
		return false, nil
	}
	found := &scanResult{limit: 1, budget: s.budget}
	if err := s.scanRanks(ctx, RunScan{Filter: f, Sort: lineshaft.SortCreated}, []string{runID}, found); err != nil {
		return false, fmt.Errorf("match run: %w", err)
	}
	if len(found.keys) == 0 || len(words) == 0 {
		return len(found.keys) == 1, nil
	}
	texts, err := s.searchTexts(ctx, found.ids())
	text, there := texts[runID] // it may be deleted by now
	return there && matchesText(runID, text, f.Query, words), err
}

// Named is something that people gave a name.
type Named struct {
	// Kind is agent, automation, webhook or schedule.
	Kind       string
	FactoryUID string
	UID        string
	Name       string
}

// namedLook is how many of each kind are checked for a part of a name, which no index knows.
const namedLook = 5000

// ListNamed reads the agents, automations, live webhooks and schedules with a text in their
// names, whatever its case, at most limit of each kind: those of the factories, or with none
// those of all and of the team. Names that are the text come first, then those that begin with it.
func (r reader) ListNamed(ctx context.Context, part string, factoryUIDs []string, limit int) ([]Named, error) {
	part = strings.ToLower(part)
	var found []Named
	for _, kind := range []struct{ name, query, within string }{
		{"agent", "SELECT factory_uid, uid, name FROM agents", " WHERE factory_uid IN "},
		{"automation", "SELECT factory_uid, uid, name FROM automations", " WHERE factory_uid IN "},
		{"webhook", "SELECT factory_uid, uid, name FROM webhooks WHERE deleted_at = 0", " AND factory_uid IN "},
		{"schedule", "SELECT factory_uid, id, name FROM schedules", " WHERE factory_uid IN "},
	} {
		args, query := []any{namedLook}, kind.query
		if len(factoryUIDs) > 0 {
			query += kind.within + list(&args, factoryUIDs)
		}
		var some []Named
		err := r.each(ctx, query+" LIMIT $1", args, func(scan rowScan) error {
			n := Named{Kind: kind.name}
			err := scan(&n.FactoryUID, &n.UID, &n.Name)
			if strings.Contains(strings.ToLower(n.Name), part) {
				some = append(some, n)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read what is named: %w", err)
		}
		slices.SortFunc(some, func(a, b Named) int {
			byName := cmp.Or(NameRank(a.Name, part)-NameRank(b.Name, part), strings.Compare(a.Name, b.Name))
			return cmp.Or(byName, strings.Compare(a.FactoryUID, b.FactoryUID))
		})
		found = append(found, some[:min(len(some), limit)]...)
	}
	return found, nil
}

// NameRank says how well a name fits a text in small letters: 0 it is the same, 1 it begins with
// it, 2 it has it in it, 3 it does not have it.
func NameRank(name, part string) int {
	switch name = strings.ToLower(name); {
	case name == part:
		return 0
	case strings.HasPrefix(name, part):
		return 1
	case strings.Contains(name, part):
		return 2
	}
	return 3
}
