// Package sse is how Server-Sent Events are written and read inside of the house: by the
// API, the dashboard, the gateway and the clients of models. The public client reads with
// its own code, which knows how to resume.
package sse
