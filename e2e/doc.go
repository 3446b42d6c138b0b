// Package e2e tests the built binary from outside: real processes, real
// databases, kill -9. It has no code of its own.
package e2e
