// Package mcpserver answers /api/v1/mcp: the control plane as tools for other
// agents, over the Model Context Protocol.
//
// The way of a message: package api checks the key, the rate and the body, and calls
// Server.Serve with the caller. Serve refuses foreign origins and batches (server.go)
// and gives the message to the SDK, without a session: whatever a message does, it
// does as its own key. Every tool call passes through watch (call.go), which asks for
// the tool's permission and turns errors into answers. The tools are in a table
// (tools.go), each noun in its own file.
package mcpserver
