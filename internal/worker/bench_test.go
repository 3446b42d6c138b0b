package worker

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
)

// nullControl answers at once and keeps nothing.
type nullControl struct {
	left  atomic.Int64
	ended chan struct{}
}

func (n *nullControl) Claim(ctx context.Context, req lineshaft.ClaimRequest) ([]lineshaft.Job, error) {
	var jobs []lineshaft.Job
	for len(jobs) < req.Limit {
		i := n.left.Add(-1)
		if i < 0 {
			break
		}
		jobs = append(jobs, job(fmt.Sprint(i), ""))
	}
	if len(jobs) == 0 {
		<-ctx.Done()
	}
	return jobs, nil
}

func (n *nullControl) Heartbeat(context.Context, string, []lineshaft.ExecutionRef) ([]lineshaft.Directive, error) {
	return nil, nil
}

func (n *nullControl) Directives(ctx context.Context, _ string) ([]lineshaft.Directive, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (n *nullControl) Report(_ context.Context, reports []lineshaft.Report) ([]error, error) {
	return make([]error, len(reports)), nil
}

func (n *nullControl) EndTurn(context.Context, lineshaft.ExecutionRef, lineshaft.TurnResult) (*lineshaft.Turn, error) {
	n.ended <- struct{}{}
	return nil, nil
}

func (n *nullControl) Upload(context.Context, lineshaft.ExecutionRef, lineshaft.Upload, io.Reader) (string, error) {
	return "", nil
}

func (n *nullControl) Download(context.Context, lineshaft.ExecutionRef, string) (io.ReadCloser, error) {
	return nil, lineshaft.NotFound("blob", "")
}

// BenchmarkExecutions is what the worker itself costs: claim, start, report and
// end of a run whose agent does nothing, with a control plane that does nothing.
func BenchmarkExecutions(b *testing.B) {
	for _, slots := range []int{1, 8, 32} {
		b.Run(fmt.Sprint(slots), func(b *testing.B) {
			c := &nullControl{ended: make(chan struct{}, 1)}
			c.left.Store(int64(b.N))
			w, err := New(Config{
				WorkerID: "bench", DataDir: b.TempDir(), Slots: slots,
				Harnesses: harness.Set{Harnesses: []harness.Harness{silent{}}, Default: "silent"},
			}, c)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := w.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			for range b.N {
				<-c.ended
			}
			b.StopTimer()
			if err := w.Stop(b.Context()); err != nil {
				b.Error(err)
			}
		})
	}
}
