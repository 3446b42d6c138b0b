// Package fakemodel is a model that costs nothing and always says the same: a
// real HTTP server that speaks the APIs of the vendors, so that real agents, the
// built-in agent and the gateway can be tested without a network. It is for
// tests, benchmarks and demonstrations only; nothing of the product imports it.
//
// It speaks OpenAI Chat Completions and Responses, Anthropic Messages and Gemini
// generateContent, streamed and whole, with lists of models and token counts.
//
// # What it answers
//
// The text of the last message of the user decides. Each of these words starts a
// step, on a line of its own or anywhere in one; a step takes the rest of its line:
//
//	RUN: COMMAND      run a shell command with the tool that is offered for that
//	SLOW              run a shell command that takes five minutes
//	MCP: NAME TEXT    call the tool of that name, whatever stands before it; TEXT is its text
//	TOOL: NAME JSON   call the tool of exactly that name with exactly these arguments
//	PLAN              call the tool for plans or to-do lists, where there is one
//	THINK: TEXT       show a thought before the next answer
//	LOOP              call the shell tool again and again without end
//	SAY: TEXT         end with this text instead of the usual one
//	LONG              end with a text of 100,000 characters
//
// Steps with tools are done one after the other, one for each request. A message
// without any of these words is as if it said RUN: with [DefaultCommand]. A
// request that offers no tool for a step, such as the one for a title, gets a
// text at once. When all steps are done, the answer is [FinalText].
//
// # What it counts
//
// Every answer with tool calls costs [CallUsage], every other one [TextUsage], so
// that the sum of a run follows from its requests; [Server.Usage] has the sum.
package fakemodel
