// Command lineshaft is the server, its worker and the command line for both.
package main

import (
	"context"
	"os"

	"github.com/lineshaft/lineshaft/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Program()))
}
