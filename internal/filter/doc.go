// Package filter decides which automations a webhook body starts. It compiles
// payload filters, matches parsed bodies against one or thousands of them, and
// explains a decision leaf by leaf.
//
// It is not for reading JSON (jsontext does that) and knows nothing of webhooks,
// automations or storage: a trigger's webhook_ids are checked by the part that holds
// them. Filters, sets and documents do not change once made and may be used by many goroutines at once.
//
// # What a filter says
//
// A filter is an object that mirrors the body; its keys AND. A value is a set
// (array of scalars), an operator object (in, not_in, exists), or another object
// that nests. Body fields named in, not_in or exists are out of reach. Where the
// rules leave room, this is what holds here:
//
//   - {} is the empty filter only at the top; inside it is refused, as are
//     operators at the top.
//   - Depth counts field names, not operators: 10 may stand one inside the other.
//     A leaf is a field with a set or an operator object, whatever its operators.
//   - A set looks at a scalar, or at the scalars directly inside an array. Objects
//     equal no scalar: they fail in and pass not_in. A nested pattern looks at an
//     object, or at the objects directly inside an array. In a mixed array each
//     sees its own kind. An array inside an array is seen by neither.
//   - not_in: [] excludes nothing and always passes.
//   - Strings are equal when their characters are: "\u0041" is "A". Half of a
//     surrogate pair reads as U+FFFD, as in encoding/json. Nothing is normalised.
//   - Numbers are equal when their values are, exactly, at any size; an exponent
//     beyond 10^15 is refused in a filter and so equals nothing in a body.
//   - A key written twice in a filter is refused; in a body the last one counts.
//   - A nil *Filter stands for one that could not be compiled and never matches.
//
// Paths in errors and checks begin with "payload", the name of the filter inside
// a trigger's filter; keys are joined with dots as they are.
package filter
