package fakemodel

import (
	"context"
	"net/http"
	"slices"
)

// Request is one that came, with what was made of it.
type Request struct {
	Path   string
	Key    string
	Header http.Header
	Body   []byte
	// Protocol is anthropic, chat, responses or gemini.
	Protocol     string
	Model        string
	Conversation Conversation
	// Status is what was answered; zero when the connection was cut or hung.
	Status int
	// Usage is what was counted for it; zero when no answer was completed.
	Usage Usage
}

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	close(s.more)
	s.more = make(chan struct{})
}

// Requests are those that came so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Await returns when the requests so far satisfy a test.
func (s *Server) Await(ctx context.Context, test func([]Request) bool) error {
	for {
		s.mu.Lock()
		more, requests := s.more, slices.Clone(s.requests)
		s.mu.Unlock()
		if test(requests) {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
