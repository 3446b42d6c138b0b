// Command cutter starts a proxy that damages connections to a server, and prints its
// address. tests/clients/README.md says how a test uses it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/lineshaft/lineshaft/tests/clients/cutproxy"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cutter:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("cutter", flag.ContinueOnError)
	target := flags.String("target", "", "the address of the server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	proxy, err := cutproxy.New(*target)
	if err != nil {
		return err
	}
	defer proxy.Close()
	if _, err := fmt.Fprintln(out, proxy.URL()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
