package shell

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

// Noun is a kind of things whose commands repeat from kind to kind. T is what a finder returns
// for one: itself, or its id.
type Noun[T any] struct {
	Sh *Shell
	// Word is the command, such as schedule, and Sample a thing of the examples.
	Word, Sample string
	// Arg is the word for a thing in usage lines; the word in capitals when empty.
	Arg string
	// Refs says what is asked for.
	Refs string
	// Open makes ready what finds things; nothing is found before.
	Open func(ctx context.Context) (Find[T], error)
}

// Find finds a thing by what was typed, and the client to do something with it.
type Find[T any] func(ctx context.Context, ref string) (*client.Client, T, error)

// Finding opens a finder that needs nothing but a connection.
func Finding[T any](sh *Shell, find func(ctx context.Context, c *client.Client, ref string) (T, error)) func(context.Context) (Find[T], error) {
	return func(ctx context.Context) (Find[T], error) {
		c, err := sh.Connect(ctx)
		return func(ctx context.Context, ref string) (*client.Client, T, error) {
			found, err := find(ctx, c, ref)
			return c, found, err
		}, err
	}
}

// AsTyped finds what goes by its id alone.
func AsTyped(_ context.Context, _ *client.Client, ref string) (string, error) { return ref, nil }

func (n Noun[T]) arg() string {
	if n.Arg != "" {
		return n.Arg
	}
	return strings.ToUpper(n.Word)
}

// Get is the command that shows one thing.
func (n Noun[T]) Get(short string, show func(ctx context.Context, c *client.Client, thing T) error, examples ...string) *cobra.Command {
	return &cobra.Command{
		Use: "get " + n.arg(), Short: short, Args: Needs(1, 1, n.Refs), Example: Example(examples...),
		RunE: func(cmd *cobra.Command, args []string) error {
			find, err := n.Open(cmd.Context())
			if err != nil {
				return err
			}
			c, thing, err := find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return show(cmd.Context(), c, thing)
		},
	}
}

// Each is a command that does one thing to each of several: the verb, what it is called when
// it is done, and what the example is for.
func (n Noun[T]) Each(verb, done, short, why string, do func(ctx context.Context, c *client.Client, thing T) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " " + n.arg() + "...", Short: short, Args: Needs(1, -1, n.Refs),
		Example: Example(fmt.Sprintf("lineshaft %s %s %s", n.Word, verb, n.Sample), why),
		RunE: func(cmd *cobra.Command, args []string) error {
			find, err := n.Open(cmd.Context())
			if err != nil {
				return err
			}
			return n.Sh.Each(cmd.Context(), args, done, func(ctx context.Context, ref string) error {
				c, thing, err := find(ctx, ref)
				if err != nil {
					return err
				}
				return do(ctx, c, thing)
			})
		},
	}
}

// Pick finds the one thing of a name. None and hint are said when nothing has it, and several
// asks which one is meant.
func Pick[T any](list []T, ref string, name func(*T) string, none, hint string, several func(found []*T) error) (*T, error) {
	var found []*T
	var names []string
	for i := range list {
		names = append(names, name(&list[i]))
		if names[i] == ref {
			found = append(found, &list[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, NotFound(fmt.Sprintf(none, ref), DidYouMean(ref, names)+hint)
	case 1:
		return found[0], nil
	}
	return nil, several(found)
}
