package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// question is one that init asks; Enter takes what the answer holds already.
type question struct {
	text   string
	answer *string
	// shown stands for a long proposal.
	shown string
	check func(string) error
}

// askAll asks for what will be used: what is there already stays as it is.
func (f *firstRun) askAll(ctx context.Context, terminal *os.File) error {
	fmt.Fprintln(f.err, "Enter takes what is in brackets; Ctrl-C ends it, and nothing is made before the last answer.")
	lines := bufio.NewReader(terminal)
	if err := f.askEach(ctx, lines,
		question{text: "Factory", answer: &f.factoryName, check: needsName},
		question{text: "Name of the webhook", answer: &f.webhookName, check: needsName},
	); err != nil {
		return err
	}
	if err := f.lookThere(ctx); err != nil {
		return err
	}
	if f.hook == nil {
		if err := f.askEach(ctx, lines, question{text: "Kind: token (a bearer token), or who signs, such as github", answer: &f.kind, check: func(kind string) error {
			return known("the kind", kind, append([]string{tokenKind}, schemeNames()...))
		}}); err != nil {
			return err
		}
	}
	if f.listener == nil {
		if err := f.askEach(ctx, lines,
			question{text: `Filter, such as {"status": ["failed"]}`, answer: &f.filter, shown: "every delivery", check: f.typedFilter},
			question{text: "Prompt", answer: &f.prompt, shown: "say hello and show the payload", check: func(string) error { return nil }},
		); err != nil {
			return err
		}
	}
	filter, err := f.filterThere()
	if err != nil || f.data != "" || len(filter) == 0 || !f.sends() {
		return err
	}
	f.data = f.passes(filter)
	return f.ask(ctx, lines, question{text: "A delivery that the filter lets through, as JSON or @FILE", answer: &f.data, shown: "none", check: func(text string) error {
		if text == "" {
			return usage("it needs a delivery", `Type JSON such as {"status": "failed"}, or @FILE.`)
		}
		if err := f.typedJSON("the delivery")(text); err != nil {
			return err
		}
		return f.checkPasses(filter, text)
	}})
}

func (f *firstRun) askEach(ctx context.Context, lines *bufio.Reader, questions ...question) error {
	for _, q := range questions {
		if err := f.ask(ctx, lines, q); err != nil {
			return err
		}
	}
	return nil
}

// typedFilter checks a filter before anything is made with it.
func (f *firstRun) typedFilter(text string) error {
	if err := f.typedJSON("the filter")(text); err != nil {
		return err
	}
	raw, err := f.jsonOrFile("filter", text)
	if err != nil {
		return err
	}
	return checkFilter(raw)
}

// typedJSON checks an answer, and speaks of it rather than of the flag that it replaces.
func (f *firstRun) typedJSON(what string) func(string) error {
	return func(text string) error {
		_, err := f.jsonFrom(what, `Type JSON such as {"action": ["opened"]}, or @FILE.`, text)
		return err
	}
}

func needsName(text string) error {
	if strings.TrimSpace(text) == "" {
		return usage("it needs a name", "Type one.")
	}
	return nil
}

// ask puts one question until its answer can be used.
func (f *firstRun) ask(ctx context.Context, lines *bufio.Reader, q question) error {
	for {
		proposal := clip(oneLine(cmp.Or(*q.answer, q.shown)), 60)
		fmt.Fprintf(f.err, "%s [%s]: ", q.text, f.paint(f.errWidth, styleBold, proposal))
		typed, err := readLine(ctx, lines)
		if err != nil {
			fmt.Fprintln(f.err)
			return failure(err, "interrupted", "Nothing was made.")
		}
		typed = cmp.Or(strings.TrimSpace(typed), *q.answer)
		mistake := q.check(typed)
		if mistake == nil {
			*q.answer = typed
			return nil
		}
		e := f.explain(mistake)
		fmt.Fprintf(f.err, "  %s. %s\n", clean(e.message), clean(e.hint))
	}
}

// readLine reads what a person types, and stops waiting when ctx ends.
func readLine(ctx context.Context, lines *bufio.Reader) (string, error) {
	type line struct {
		text string
		err  error
	}
	typed := make(chan line, 1)
	go func() { // reading does not end with ctx; the process does
		text, err := lines.ReadString('\n')
		typed <- line{text, err}
	}()
	select {
	case got := <-typed:
		if errors.Is(got.err, io.EOF) && got.text != "" {
			got.err = nil
		}
		return got.text, got.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
