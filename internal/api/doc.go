// Package api is the HTTP API under /api/v1, with the health, metrics and
// documentation pages beside it: operations, wire types, middleware and nothing
// else. A handler decodes, checks the shape, calls one method of control and
// encodes the answer.
//
// The wire types are the published ones, with their exact names. They are not the
// domain types: either may change without the other. The OpenAPI document is generated
// from them (see OpenAPI) and checked in as api/openapi.yaml.
//
// routes.go holds every route with its permission. A route without a row there
// cannot be reached.
package api
