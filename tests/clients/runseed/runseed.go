// Package runseed fills a server with runs, for tests of lists. It goes through the API
// as anybody would.
package runseed

import (
	"context"
	"fmt"
	"sync"

	"github.com/lineshaft/lineshaft/client"
)

// together is how many requests are on their way at a time; the server writes what
// comes together in one go.
const together = 64

// Fill makes runs with a name. A server without workers keeps them queued.
func Fill(ctx context.Context, c *client.Client, name string, count int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range together {
		workers.Go(func() {
			for i := range numbers {
				_, err := c.Runs.Create(ctx, client.RunRequest{
					Prompt: fmt.Sprintf("run %d", i), Config: &client.AgentConfig{Name: name},
				})
				if err != nil {
					cancel(fmt.Errorf("make run %d: %w", i, err))
				}
			}
		})
	}
	for i := 0; i < count && ctx.Err() == nil; i++ {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
	return context.Cause(ctx)
}
