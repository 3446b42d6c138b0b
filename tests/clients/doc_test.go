// Package clients_test holds the Go client to the behaviour that all clients share.
package clients_test
