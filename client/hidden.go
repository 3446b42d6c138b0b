package client

import (
	"fmt"
	"io"
	"log/slog"
)

// hidden keeps a value where neither fmt nor reflection finds it: they see a function.
type hidden[T any] func() T

func hide[T any](value T) hidden[T] { return func() T { return value } }

// Format tells the server alone, whatever the verb. Of a Client by value fmt shows the
// fields, and in them nothing secret.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.told()) }

// LogValue is what log/slog shows of a client.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.told()) }

func (c *Client) told() string {
	if c == nil || c.base == nil {
		return "lineshaft client without a server: make it with client.New"
	}
	return "lineshaft client of " + c.base.String()
}
