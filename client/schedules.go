package client

import (
	"context"
	"net/http"
	"net/url"
)

const schedulesPath = "/agent/schedules"

// SchedulesService manages what starts runs at given times. It is part of a Client.
type SchedulesService struct{ c *Client }

// Create makes a schedule; it fires from now on. It is not sent again by itself:
// names are not unique, so that there could be two.
func (s *SchedulesService) Create(ctx context.Context, req ScheduleRequest) (*Schedule, error) {
	var out Schedule
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: schedulesPath, body: req, out: &out}))
}

// Get reads one schedule.
func (s *SchedulesService) Get(ctx context.Context, id string) (*Schedule, error) {
	return s.one(ctx, http.MethodGet, id, "", nil)
}

// List reads all schedules by name.
func (s *SchedulesService) List(ctx context.Context) ([]Schedule, error) {
	return readAll(url.Values{}, func(query url.Values) ([]Schedule, PageInfo, error) {
		var page struct {
			Schedules []Schedule `json:"schedules"`
			PageInfo  PageInfo   `json:"page_info"`
		}
		err := s.c.do(ctx, call{method: http.MethodGet, path: schedulesPath, query: query, out: &page, replay: true})
		return page.Schedules, page.PageInfo, err
	})
}

// Update replaces a schedule. Sending it twice does the same.
func (s *SchedulesService) Update(ctx context.Context, id string, req ScheduleUpdate) (*Schedule, error) {
	return s.one(ctx, http.MethodPut, id, "", req)
}

// Pause stops a schedule until it is resumed.
func (s *SchedulesService) Pause(ctx context.Context, id string) (*Schedule, error) {
	return s.one(ctx, http.MethodPost, id, "/pause", nil)
}

// Resume lets a schedule fire from now on; what it missed is not made up.
func (s *SchedulesService) Resume(ctx context.Context, id string) (*Schedule, error) {
	return s.one(ctx, http.MethodPost, id, "/resume", nil)
}

func (s *SchedulesService) one(ctx context.Context, method, id, verb string, body any) (*Schedule, error) {
	part, err := segment("schedule", id)
	if err != nil {
		return nil, err
	}
	var out Schedule
	return result(&out, s.c.do(ctx, call{method: method, path: schedulesPath + "/" + part + verb, body: body, out: &out, replay: true}))
}

// Delete removes a schedule. Its runs stay.
func (s *SchedulesService) Delete(ctx context.Context, id string) error {
	part, err := segment("schedule", id)
	if err != nil {
		return err
	}
	return s.c.remove(ctx, schedulesPath+"/"+part)
}
