package stream

import "github.com/lineshaft/lineshaft"

// Item is an event with its encoded form, made once for all followers.
type Item struct {
	Event lineshaft.Event
	// Frame is what the encoder given to New made of the event.
	Frame []byte
}

// StateChange is one move of one run in the stream over all runs.
type StateChange struct {
	// Cursor resumes after this change.
	Cursor string
	Event  lineshaft.Event
}
