// Command script serves the scenarios that every client of Lineshaft has to pass, and
// prints its address. tests/clients/README.md says how a driver uses it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/lineshaft/lineshaft/tests/clients/scriptserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "script:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("script", flag.ContinueOnError)
	dir := flags.String("scenarios", "tests/clients/scenarios", "the folder with the scenarios")
	if err := flags.Parse(args); err != nil {
		return err
	}
	scenarios, err := scriptserver.Load(*dir)
	if err != nil {
		return err
	}
	server := scriptserver.New(scenarios)
	defer server.Close()
	if _, err := fmt.Fprintln(out, server.URL()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
