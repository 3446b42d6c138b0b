// Command seed fills the server at LINESHAFT_URL with runs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/tests/clients/runseed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("seed", flag.ContinueOnError)
	count := flags.Int("runs", 10_000, "how many runs to make")
	name := flags.String("name", "paging", "their name")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := client.New(os.Getenv("LINESHAFT_URL"), os.Getenv("LINESHAFT_API_KEY"))
	if err != nil {
		return err
	}
	return runseed.Fill(ctx, c, *name, *count)
}
