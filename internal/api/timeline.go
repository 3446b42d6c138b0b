package api

import (
	"context"
	"encoding/json"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// TimelineEvent is a state change of a run.
type TimelineEvent struct {
	EventUUID   string `json:"event_uuid"`
	RunID       string `json:"run_id"`
	EventType   string `json:"event_type" enum:"oz_run_created,oz_run_queued,oz_run_pending,oz_run_claimed,worker_container_ready,shared_session_started,agent_started,oz_run_done,oz_run_blocked,oz_run_cancelled,oz_run_failed,oz_run_errored,vm_shutdown"`
	OccurredAt  string `json:"occurred_at" format:"date-time"`
	ExecutionID int64  `json:"execution_id,omitempty" doc:"Counts the executions of the run from 1; payload.execution_id has the id."`
	Payload     Object `json:"payload,omitempty" doc:"from, state, message, error_code, worker and execution_id, as far as they are known."`
}

// TimelineResponse lists the state changes of a run in order.
type TimelineResponse struct {
	Events []TimelineEvent `json:"events"`
}

// maxStates is how many state changes of a run are shown: the first, or fewer when they are long.
const maxStates = 2000

func (s *server) getTimeline(ctx context.Context, in *RunPath) (*answer[TimelineResponse], error) {
	if err := s.takeTurn(ctx, weightPage); err != nil {
		return nil, err
	}
	states := runs.EventMatch{Types: []lineshaft.EventType{lineshaft.EventState}}
	b, last, size := timelineBuilder{executions: map[string]int64{}}, int64(0), 0
	for more := true; more && len(b.events) < maxStates && size < runs.StretchBytes; {
		found, err := s.Control.FindEvents(ctx, callerOf(ctx), in.RunID, last, states, maxStates-len(b.events))
		if err != nil {
			return nil, err
		}
		for i := range found.Events {
			b.add(&found.Events[i])
			size += len(found.Events[i].Data) + runs.EventOverhead
		}
		last, more = found.Last, found.More
	}
	return &answer[TimelineResponse]{Body: b.finish()}, nil
}

// timelineBuilder picks the state changes out of a log and numbers the executions
// in the order in which they appear.
type timelineBuilder struct {
	events     []TimelineEvent
	executions map[string]int64
}

func (b *timelineBuilder) add(e *lineshaft.Event) {
	if e.ExecutionID != "" && b.executions[e.ExecutionID] == 0 {
		b.executions[e.ExecutionID] = int64(len(b.executions) + 1)
	}
	var data lineshaft.StateData
	if e.Type != lineshaft.EventState || json.Unmarshal(e.Data, &data) != nil {
		return
	}
	payload := Object{"state": string(data.To)}
	for name, value := range map[string]string{
		"from": string(data.From), "message": data.Message, "error_code": string(data.ErrorCode),
		"worker": data.Worker, "execution_id": e.ExecutionID,
	} {
		if value != "" {
			payload[name] = value
		}
	}
	b.events = append(b.events, TimelineEvent{
		EventUUID: e.ID, RunID: e.RunID, EventType: timelineType(data, len(b.events) == 0), OccurredAt: stamp(e.Time),
		ExecutionID: b.executions[e.ExecutionID], Payload: payload,
	})
}

func (b *timelineBuilder) finish() TimelineResponse {
	if b.events == nil {
		b.events = []TimelineEvent{}
	}
	return TimelineResponse{Events: b.events}
}

// timelineType maps a move to the published event type. Waiting again and being
// prepared have none there; ours are named in the same manner.
func timelineType(data lineshaft.StateData, first bool) string {
	switch data.To {
	case lineshaft.Queued:
		if first && data.From == "" {
			return "oz_run_created"
		}
		return "oz_run_queued"
	case lineshaft.Pending:
		return "oz_run_pending"
	case lineshaft.Claimed:
		return "oz_run_claimed"
	case lineshaft.InProgress:
		return "agent_started"
	case lineshaft.Blocked:
		return "oz_run_blocked"
	case lineshaft.Succeeded:
		return "oz_run_done"
	case lineshaft.Failed:
		return "oz_run_failed"
	case lineshaft.Cancelled:
		return "oz_run_cancelled"
	case lineshaft.Errored:
	}
	return "oz_run_errored"
}
