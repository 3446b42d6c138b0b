package manual

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/lineshaft/lineshaft/internal/nearest"
)

// Hit is a page that a search has found, at its best section.
type Hit struct {
	Page             *Page
	Section, ID      string // the heading and its anchor; empty for the top of the page
	Before, In, Next string // a passage, with the first word that was found
	score            float64
}

// counted is a section with the number of times that it has each word.
type counted struct {
	page    *Page
	section section
	words   map[string]int
	heading map[string]int
	total   int
}

// finder ranks sections by the words of a question.
type finder struct {
	sections []counted
	in       map[string]int // how many sections have a word
	mean     float64
}

// What the words of a title count beside those of a text.
const (
	titleWeight   = 2.6
	headingWeight = 2.2
	namedWeight   = 2
)

// fillers are the words of questions.
const fillers = "a an and are as at be but by can do does for from get has have how i if in is it its me my no not of on or our so than that the " +
	"their them then there this to us was we what when where which who why will with you your should would could run runs lineshaft"

func newFinder(pages []*Page) *finder {
	f := &finder{in: map[string]int{}}
	total := 0
	for _, page := range pages {
		for i, s := range page.sections {
			c := counted{page: page, section: s, words: map[string]int{}, heading: map[string]int{}}
			if i == 0 {
				c.section.id = ""
			}
			for _, word := range words(s.title) {
				c.heading[word]++
			}
			for _, word := range words(s.title + " " + s.text) {
				c.words[word]++
				c.total++
			}
			for word := range c.words {
				f.in[word]++
			}
			total += c.total
			f.sections = append(f.sections, c)
		}
	}
	f.mean = float64(total) / float64(max(1, len(f.sections)))
	return f
}

// words are the words of a text, each without its ending.
func words(text string) (found []string) {
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		found = append(found, stem(word))
	}
	return found
}

// stem takes the commonest endings off a word, so that one form finds the others.
func stem(word string) string {
	for _, ending := range []string{"ies", "ing", "ed", "es", "s", "e", "y"} {
		if rest, ok := strings.CutSuffix(word, ending); ok && len(rest) > 2 {
			return rest
		}
	}
	return word
}

// asked are the words of a question that count; all of them where none would be left.
func asked(question string) (found []string) {
	for _, word := range strings.FieldsFunc(strings.ToLower(question), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if !slices.Contains(strings.Fields(fillers), word) {
			found = append(found, stem(word))
		}
	}
	if len(found) == 0 {
		found = words(question)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// likeliest is the word that a misspelt one stands for: one letter away, two for a long word, and of
// those the commonest. A word that no page has and that is like none stays as it is.
func (f *finder) likeliest(term string) string {
	if f.in[term] > 0 || len(term) < 4 {
		return term
	}
	best, nearby := term, 1+min(1, len(term)/9)
	for word, sections := range f.in {
		if len(word) < 4 || word[0] != term[0] || max(len(word)-len(term), len(term)-len(word)) > nearby {
			continue
		}
		d, more := nearest.Distance(term, word), cmp.Or(cmp.Compare(sections, f.in[best]), cmp.Compare(best, word))
		if d < nearby || d == nearby && more > 0 {
			best, nearby = word, d
		}
	}
	return best
}

// Find ranks the pages by a question, the best first.
func (m *Manual) Find(question string) []Hit {
	question = strings.ReplaceAll(strings.ToLower(question), "back up", "backup")
	terms, all := asked(question), words(question)
	for i, term := range terms {
		terms[i] = m.found.likeliest(term)
	}
	best := map[*Page]Hit{}
	for _, s := range m.found.sections {
		score := m.found.score(s, terms)
		if s.named(all) {
			score *= namedWeight
		}
		if score <= best[s.page].score {
			continue
		}
		hit := Hit{Page: s.page, Section: s.section.title, ID: s.section.id, score: score}
		hit.Before, hit.In, hit.Next = passage(s.section.text, terms)
		best[s.page] = hit
	}
	var hits []Hit
	for _, hit := range best {
		hits = append(hits, hit)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Page.Name, b.Page.Name))
	})
	return hits[:min(len(hits), 20)]
}

// score is BM25 over sections, with more for the headings and for pages named after a word.
func (f *finder) score(s counted, terms []string) (score float64) {
	title := words(s.page.Title + " " + strings.TrimSuffix(s.page.Name, ".md"))
	matched := 0
	for _, term := range terms {
		n := float64(f.in[term])
		if n == 0 {
			continue
		}
		weight := math.Log(1 + (float64(len(f.sections))-n+0.5)/(n+0.5))
		tf := float64(s.words[term])
		part := tf * 2.2 / (tf + 1.2*(0.25+0.75*float64(s.total)/f.mean))
		if s.heading[term] > 0 {
			part += headingWeight
		}
		if slices.Contains(title, term) {
			part += titleWeight
		}
		if part > 0 {
			matched++
		}
		score += weight * part
	}
	if s.page.Group == "" { // decisions and the like are seldom what a question is about
		score *= 0.6
	}
	return score * float64(matched) / float64(max(1, len(terms)))
}

// named says that a question has every word of a heading, such as that of a command, of which
// "run" counts for nothing elsewhere.
func (s counted) named(question []string) bool {
	wanted := 0
	for word := range s.heading {
		if word == "lineshaft" {
			continue
		}
		if wanted++; !slices.Contains(question, word) {
			return false
		}
	}
	return wanted > 1
}

// passage cuts a few words around the first one that was found.
func passage(text string, terms []string) (before, in, next string) {
	fields := strings.Fields(text)
	at := slices.IndexFunc(fields, func(field string) bool {
		return slices.ContainsFunc(words(field), func(word string) bool { return slices.Contains(terms, word) })
	})
	if at < 0 {
		return "", "", strings.Join(fields[:min(len(fields), 24)], " ")
	}
	return strings.Join(fields[max(0, at-12):at], " "), fields[at], strings.Join(fields[at+1:min(len(fields), at+16)], " ")
}
